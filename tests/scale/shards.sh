#!/usr/bin/env bash
# Scores DATA in N processes on one machine, merges, and holds the result against a whole run.
#
#   tests/scale/shards.sh DATA N OUT [options of `ragscope score`...]
#
# RAGSCOPE names the binary (default: ragscope). COMPARE=1 also scores without shards and compares bytes.
set -euo pipefail
if [ $# -lt 3 ]; then
    sed -n '2,7p' "$0" >&2
    exit 2
fi
data=$1 shards=$2 out=$3
shift 3
ragscope=${RAGSCOPE:-ragscope}
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
pids=()
for i in $(seq 1 "$shards"); do
    "$ragscope" score "$data" --shard "$i/$shards" -o "$parts/$i.jsonl" "$@" 2>"$parts/$i.log" &
    pids+=($!)
done
failed=0
for i in $(seq 1 "$shards"); do
    if ! wait "${pids[$((i - 1))]}"; then
        echo "shard $i/$shards failed:" >&2
        cat "$parts/$i.log" >&2
        failed=1
    fi
done
[ "$failed" = 0 ] || exit 1
# --force: an output of an earlier run is replaced.
"$ragscope" merge "$parts"/*.jsonl -o "$out" --force
if [ "${COMPARE:-0}" = 1 ]; then
    "$ragscope" score "$data" -o "$parts/whole" "$@" 2>/dev/null
    cmp "$parts/whole" "$out"
    echo "$shards shards merged: the bytes of the whole run"
fi
