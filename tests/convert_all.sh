#!/usr/bin/env bash
# Converts every file under a folder, and every folder that is a layout of several files, with `ragscope convert`, and
# prints a table: format, container, examples, documents, unusable records, warnings.
#
#   tests/convert_all.sh BINARY FOLDER
set -uo pipefail
binary=$1
folder=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$folder" || exit 1

row() {
  local path=$1 said=$2 read_as last
  read_as=$(sed -n 's/ (override with --format)$//; s/.*read as \([a-z-]*\) because it is \(.*\)/\1 | \2/p' <<<"$said" |
    head -n 1 | sed 's/ with .*//; s/ row by row//')
  last=$(tail -n 1 <<<"$said")
  local examples unusable warnings documents
  examples=$(sed -n 's/^\([0-9]*\) examples.*/\1/p' <<<"$last")
  unusable=$(sed -n 's/.* \([0-9]*\) records unusable.*/\1/p' <<<"$last")
  warnings=$(sed -n 's/.* \([0-9]*\) warnings.*/\1/p' <<<"$last")
  documents=$(sed -n 's/.* \([0-9]*\) documents$/\1/p' <<<"$last")
  echo "| \`$path\` | $read_as | $examples | ${documents:-0} | $unusable | $warnings |"
}

convert() {
  said=$("$binary" convert "$1" -o "$out/" --force 2>&1)
  local code=$?
  rm -f "$out"/*.jsonl
  return $code
}

echo '| file | read as | container | examples | documents | unusable | warnings |'
echo '|---|---|---|---|---|---|---|'
refused=$(mktemp -p "$out")
find . -mindepth 1 \( -type f -o -type d \) ! -iname 'LICENSE*' ! -iname 'README*' | LC_ALL=C sort | while read -r path; do
  if [ -d "$path" ]; then
    convert "$path" && row "${path#./}/" "$said"
  elif convert "$path"; then
    row "${path#./}" "$said"
  else
    echo "| \`${path#./}\` | $(tail -n 1 <<<"$said" | sed "s|^ragscope: $path: ||; s|expected one of the layouts .*, found|no known layout, found|" | cut -c1-230 | tr '|' '/')… |" >>"$refused"
  fi
done
echo
echo '| not read | what was said |'
echo '|---|---|'
cat "$refused"
