#!/usr/bin/env bash
# The checks that need a GPU: exactness against the CPU, and times with and without capture. No network.
#
#   tests/gpu.sh BINARY MODEL.gguf
#
# BINARY is built by `cargo build --release --features cuda` (docs/gpu.md), anywhere. RAGSCOPE_GPU names another
# device than cuda:0; `cpu:tensors` tries the script itself where there is no GPU. RAGSCOPE_GPU_TOKENS is the length of
# the timed readings. Ends with 0 when everything holds, with 1 when a difference is too large.
set -euo pipefail

binary=${1:?usage: tests/gpu.sh BINARY MODEL.gguf}
model=${2:?usage: tests/gpu.sh BINARY MODEL.gguf}
device=${RAGSCOPE_GPU:-cuda:0}
lengths=${RAGSCOPE_GPU_TOKENS:-800 3000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RAGSCOPE_CACHE="$work/cache"
failed=0

bench() { timeout 120 "$binary" --model "$model" models bench "$@"; }

# at_most NAME LIMIT FILE
at_most() {
    if awk -v name="$1" -v limit="$2" '$1 == name { found = 1; if ($2 + 0 <= limit + 0 && $2 != "NaN") good = 1 }
            END { exit !(found && good) }' "$3"; then
        echo "ok      $1 at most $2: $(awk -v name="$1" '$1 == name { print $2, $3 }' "$3")"
    else
        echo "FAILED  $1 at most $2: $(awk -v name="$1" '$1 == name { print $2, $3 }' "$3")"
        failed=1
    fi
}

echo "== f32 on $device against the CPU"
bench --device "$device" --dtype f32 --tokens 300 --answer 60 --rounds 1 --against cpu >"$work/f32"
cat "$work/f32"
at_most difference_segment_mass 1e-4 "$work/f32"
at_most difference_attention_among_new 1e-4 "$work/f32"
at_most difference_states 1e-4 "$work/f32"
at_most difference_log_prob_mean 1e-4 "$work/f32"
# Single tokens: logits of a real model differ by rounding alone between two orders of the same sums.
at_most difference_log_prob 5e-4 "$work/f32"
at_most difference_entropy 5e-4 "$work/f32"

echo "== bf16 on $device against the CPU in f32"
bench --device "$device" --dtype bf16 --tokens 300 --answer 60 --rounds 1 --against cpu >"$work/bf16"
cat "$work/bf16"
# bf16 keeps 8 bits; docs/gpu.md says where the limits come from.
at_most difference_segment_mass 0.06 "$work/bf16"
at_most difference_states 0.02 "$work/bf16"
at_most difference_log_prob_mean 0.05 "$work/bf16"

for tokens in $lengths; do
    for dtype in f32 bf16; do
        echo "== $tokens tokens, $dtype"
        bench --device "$device" --dtype "$dtype" --tokens "$tokens" --answer $((tokens / 5)) --rounds 3
    done
done
[ "$failed" = 0 ] && echo "all GPU checks passed"
exit "$failed"
