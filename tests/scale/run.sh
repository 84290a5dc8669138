#!/usr/bin/env bash
# Scores DATA whole, with Ray Data, with Spark and in shell shards, and holds the sorted lines against each other.
#
#   tests/scale/run.sh [DATA.jsonl [options of `ragscope score`...]]
#
# Without DATA: the first 12 answers of the sample data, with the documents that hold them as passages.
# RAGSCOPE names the binary (default: ragscope), PYTHON a Python with ray[data] and pyspark.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export RAGSCOPE=${RAGSCOPE:-ragscope}
python=${PYTHON:-python3}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
if [ $# -gt 0 ]; then
    data=$1
    shift
else
    data=$out/sample.jsonl
    "$python" - "$here/../../sample_data" >"$data" <<'PYTHON'
import json, sys
read = lambda name: [json.loads(line) for line in open(f"{sys.argv[1]}/{name}.jsonl", encoding="utf-8")]
texts = {document["id"]: document["text"] for document in read("documents")}
answered = [one for one in read("examples") if one.get("answer") and one.get("source_ids")]
for one in answered[:12]:
    contexts = [texts[name] for name in one["source_ids"] if name in texts]
    print(json.dumps({"id": one["id"], "question": one["question"], "answer": one["answer"], "contexts": contexts}))
PYTHON
fi
name=$(basename "$data")
name=${name%%.*}

echo "$("$RAGSCOPE" --version), $(grep -c . "$data") records of $name"
"$python" -c 'import ray, pyspark; print(f"ray {ray.__version__}, pyspark {pyspark.__version__}")'
# The data as a stream with its name: what every engine sees. A whole run carries the hash of the file as well.
"$RAGSCOPE" score - --data-name "$name" "$@" <"$data" >"$out/whole.jsonl" 2>/dev/null
"$python" "$here/ray_data.py" "$data" "$out/ray.jsonl" "$@" >/dev/null 2>"$out/ray.log" || { cat "$out/ray.log" >&2; exit 1; }
"$python" "$here/spark_pipe.py" "$data" "$out/spark.jsonl" "$@" >/dev/null 2>"$out/spark.log" || { cat "$out/spark.log" >&2; exit 1; }
"$here/shards.sh" "$data" 2 "$out/shards.jsonl" "$@" >/dev/null 2>"$out/shards.log" || { cat "$out/shards.log" >&2; exit 1; }
"$RAGSCOPE" score "$data" "$@" >"$out/file.jsonl" 2>/dev/null
LC_ALL=C
for engine in ray spark; do
    cmp <(sort "$out/whole.jsonl") <(sort "$out/$engine.jsonl")
    echo "$engine: $(wc -l <"$out/$engine.jsonl") lines, sorted byte for byte those of one run"
done
cmp "$out/file.jsonl" "$out/shards.jsonl"
echo "shards: $(wc -l <"$out/shards.jsonl") lines, byte for byte those of one run"
