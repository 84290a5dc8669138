#!/usr/bin/env bash
# ragscope, Hugging Face transformers and llama.cpp on the same weights and tokens, in turn within a round.
#
#   benches/peers/run.sh MODEL.gguf [RAGTRUTH]
#
# MODEL.gguf is a Llama in any storage type; RAGTRUTH a data set of `ragscope`, for the comparison end to end.
#   PEERS_WORK   folder for what is built here [target/peers]
#   PEERS_PYTHON a Python that has the packages below; without it a throw-away environment is made
#   PEER_THREADS threads of every engine [all]
#   ROUNDS_SHORT, ROUNDS_LONG  rounds at 800 and at 3,000 tokens [5, 3]
set -euo pipefail
model=$(realpath "$1")
data=${2:+$(realpath "$2")}
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
work=${PEERS_WORK:-target/peers}
mkdir -p "$work"
work=$(realpath "$work")
export PEER_THREADS=${PEER_THREADS:-$(nproc)}
export RAYON_NUM_THREADS=$PEER_THREADS OMP_NUM_THREADS=$PEER_THREADS

python=${PEERS_PYTHON:-}
if [[ -z $python ]]; then
  python=$work/venv/bin/python
  if [[ ! -x $python ]]; then
    python3 -m venv "$work/venv"
    "$python" -m pip install --quiet torch==2.15.0 transformers==5.24.0 gguf==0.19.0 llama-cpp-python==0.3.36
  fi
fi

# The path of the bench binary, as cargo says it.
built=$(cargo bench --locked --no-run --bench ragscope_reading --message-format=json |
  "$python" -c 'import json, sys
for line in sys.stdin:
    one = json.loads(line)
    if one.get("target", {}).get("name") == "ragscope_reading" and one.get("executable"):
        print(one["executable"])')

if [[ ! -f $work/f16.gguf ]]; then
  "$python" "$here/export_weights.py" "$model" "$work"
fi
"$built" logits "$model" "$work/logits.f32"
"$python" "$here/check_agreement.py" "$work/hf" "$work/logits.f32" 2>/dev/null

compare() { "$python" "$here/compare.py" "$work" "$built" "$model" "$@"; }
compare --context 600 --answer 200 --rounds "${ROUNDS_SHORT:-5}"
compare --context 2800 --answer 200 --rounds "${ROUNDS_LONG:-3}"
if [[ -n $data ]]; then
  "$built" sample "$model" "$data" 4 "$work/sample.jsonl"
  compare --answers "$work/sample.jsonl" --data "$data" --rounds 3 --of 900
fi
"$built" bound "$model"
"$built" growth "$model"

# The program itself: cargo builds it beside the bench binary.
cargo build --release --locked --bin ragscope
"$python" "$here/start_up.py" "${CARGO_TARGET_DIR:-target}/release/ragscope"
