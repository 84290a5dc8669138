#!/bin/sh
# Realised coverage of correct retrieved chunks over 100 random halves, per-question calibration: the table of
# docs/coverage.md. Needs no model.
#
#   tests/coverage.sh RAGSCOPE DATA-FOLDER
#
# DATA-FOLDER holds xquad/, nq_open/, pubmedqa/ and clapnq/ as they are published.
set -eu
program=$1
data=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first=yes
for set in xquad/xquad.en.json nq_open/nq-open-oracle.jsonl.gz pubmedqa/ori_pqal.json \
    clapnq/annotated_data/dev/clapnq_dev_answerable.jsonl; do
    "$program" certify "$data/$set" --top-k 10 --repeats 100 --levels 0.05,0.1,0.2 --markdown \
        --output "$work/calibration.json" --force >"$work/table" 2>"$work/said" || { cat "$work/said" >&2; exit 1; }
    if [ $first = yes ]; then cat "$work/table"; else sed 1,2d "$work/table"; fi
    first=no
done
