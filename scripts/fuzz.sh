#!/usr/bin/env bash
# Runs every fuzz target for a while, each in a process of its own with limits on memory and time, and prints a table.
#   scripts/fuzz.sh [SECONDS] [TARGET...]      RAGSCOPE_FUZZ_SEED, RAGSCOPE_FUZZ_MEMORY (KiB, default 4 GiB)
# What crashed lies in target/fuzz/crashes; put it into tests/fuzz/regressions/TARGET once it is fixed.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-60}"
shift || true
memory="${RAGSCOPE_FUZZ_MEMORY:-4194304}"
seed="${RAGSCOPE_FUZZ_SEED:-$RANDOM}"
out=target/fuzz
mkdir -p "$out/crashes"

binary="${RAGSCOPE_FUZZ_BINARY:-}"
if [ -z "$binary" ]; then
  binary=$(cargo test --release --locked --test fuzz --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"name":"fuzz".*"executable":"\([^"]*\)".*/\1/p' | tail -1)
fi
run=("$binary" --ignored --exact one_target_for_a_while --nocapture)
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  # Two lines of the harness stand around the names.
  read -r -a targets < <("${run[@]}" | grep -v -e '^running' -e '^test ' -e '^$' | head -1)
fi

printf '%-20s %12s %10s %9s %8s %8s %10s\n' target executions accepted outcomes crashes seconds 'peak MiB'
failed=0
for target in "${targets[@]}"; do
  last="$out/last-$target"
  log="$out/log-$target"
  status=0
  (
    ulimit -v "$memory"
    export RAYON_NUM_THREADS=1 RAGSCOPE_FUZZ_TARGET="$target" RAGSCOPE_FUZZ_SECONDS="$seconds" \
      RAGSCOPE_FUZZ_SEED="$seed" RAGSCOPE_FUZZ_LAST="$last" RAGSCOPE_FUZZ_CRASHES="$out/crashes"
    exec timeout --kill-after=5 $((seconds + 120)) "${run[@]}"
  ) >"$log" 2>&1 || status=$?
  if line=$(grep -a -o 'FUZZ.*' "$log"); then
    IFS=$'\t' read -r _ name executions accepted outcomes crashes took peak <<<"$line"
    printf '%-20s %12s %10s %9s %8s %8s %10s\n' "$name" "$executions" "$accepted" "$outcomes" "$crashes" "$took" "$peak"
    [ "$crashes" = 0 ] || failed=1
  else
    # The process is gone: out of memory, out of stack, or out of time. Its input was written down before.
    cp "$last" "$out/crashes/$target-process" 2>/dev/null || true
    printf '%-20s %s\n' "$target" "the process ended with $status: see $log"
    failed=1
  fi
done
echo "seed $seed, ${memory} KiB of address space a process"
exit "$failed"
