#!/bin/sh
# BM25, dense and fused retrieval on XQuAD and NQ-open, K = 5: the table of docs/retrieval.md. Needs the encoder
# (`ragscope models fetch all-minilm-l6-v2`); its first run embeds 2,840 passages, which takes minutes on a CPU.
#
#   tests/retrievers.sh RAGSCOPE DATA-FOLDER
set -eu
program=$1
data=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first=yes
for set in xquad/xquad.en.json nq_open/nq-open-oracle.jsonl.gz; do
    for retriever in bm25 dense fusion; do
        "$program" certify "$data/$set" --retriever "$retriever" --chunk-tokens 180 --top-k 5 --repeats 100 \
            --levels 0.1 --markdown --output "$work/calibration.json" --force >"$work/table" 2>"$work/said" ||
            { cat "$work/said" >&2; exit 1; }
        grep '^note' "$work/said" >&2 || true
        if [ $first = yes ]; then cat "$work/table"; else sed 1,2d "$work/table"; fi
        first=no
    done
done
