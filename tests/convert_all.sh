#!/usr/bin/env bash
# Converts every file under a folder with `ragscope convert` and prints a table: file, format, kind, records,
# unusable ones, warnings. Usage: tests/convert_all.sh BINARY FOLDER
set -uo pipefail
binary=$1
folder=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
echo '| file | read as | examples | documents | unusable | warnings |'
echo '|---|---|---|---|---|---|'
cd "$folder" || exit 1
find . -type f ! -iname 'LICENSE*' ! -iname 'README*' | sort | while read -r file; do
  said=$("$binary" convert "$file" -o "$out/" --force 2>&1)
  code=$?
  rm -f "$out"/*.jsonl
  if [ $code -ne 0 ]; then
    printf '| `%s` | not read: %s | | | | |\n' "${file#./}" "$(tail -n 1 <<<"$said" | cut -c1-160 | tr '|' '/')"
    continue
  fi
  format=$(sed -n 's/.*read as \([a-z-]*\) because it is \(.*\) with .*/\1 (\2)/p' <<<"$said" | head -n 1)
  last=$(tail -n 1 <<<"$said")
  examples=$(sed -n 's/^\([0-9]*\) examples.*/\1/p' <<<"$last")
  unusable=$(sed -n 's/.* \([0-9]*\) records unusable.*/\1/p' <<<"$last")
  warnings=$(sed -n 's/.* \([0-9]*\) warnings.*/\1/p' <<<"$last")
  documents=$(sed -n 's/.* \([0-9]*\) documents$/\1/p' <<<"$last")
  printf '| `%s` | %s | %s | %s | %s | %s |\n' "${file#./}" "$format" "$examples" "${documents:-0}" "$unusable" "$warnings"
done
