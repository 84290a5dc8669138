#!/usr/bin/env bash
# Runs the steps of docs/ci-example.yml in their order, as they stand there, on twelve answers of the sample data, in a
# folder of its own, with the real model; the output is in docs/in-continuous-integration.md.
#
#   tests/ci_example.sh [FOLDER-OF-THE-BINARY]
#
# `uses:` steps are GitHub's and are named only, and so is the one that installs where a folder with ragscope is given. A
# step after a failed one runs if its `if` says so, as on GitHub; the exit code is the first failed one's.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 - "$repository" <<'PYTHON'
import json, re, shlex, sys
root = sys.argv[1]
read = lambda name: [json.loads(line) for line in open(f"{root}/sample_data/{name}.jsonl", encoding="utf-8")]
texts = {document["id"]: document["text"] for document in read("documents")}
answered = [one for one in read("examples") if one.get("answer") and one.get("source_ids")]
with open("answers.jsonl", "w", encoding="utf-8") as answers:
    for one in answered[:12]:
        contexts = [texts[name] for name in one["source_ids"] if name in texts]
        keep = {"id": one["id"], "question": one["question"], "answer": one["answer"], "contexts": contexts}
        answers.write(json.dumps(keep) + "\n")

steps, folded = [], False
for line in open(f"{root}/docs/ci-example.yml", encoding="utf-8"):
    text = line.strip()
    if line.startswith("      - "):
        steps.append({})
        text = text[2:]
    if not steps or text.startswith("#"):
        continue
    key, _, value = text.partition(": ")
    if folded and line.startswith("          "):
        steps[-1]["run"] = f"{steps[-1]['run']} {text}".strip()
    elif key in ("name", "uses", "run", "env", "if"):
        folded = value == ">-"
        steps[-1][key] = "" if folded else value
print_ = lambda *words: print(*words, file=script)
with open("steps.sh", "w", encoding="utf-8") as script:
    print_("failed=0")
    for step in steps:
        title = step.get("name") or step["uses"]
        print_(f"echo {shlex.quote('# ' + title)}")
        if "run" not in step:
            continue
        environment = re.sub(r"\$\{\{ github\.workspace \}\}", "$PWD", step.get("env", ""))
        pairs = re.findall(r'(\w+): ("[^"]*")', environment)
        assigned = " ".join(f"{name}={value}" for name, value in pairs)
        wanted = "true" if "!cancelled()" in step.get("if", "") else "[ $failed = 0 ]"
        if title == "Install":
            wanted = '[ -z "${INSTALLED:-}" ]'
        print_(f"if {wanted}; then echo {shlex.quote('$ ' + step['run'])}")
        print_(f"  code=0; {assigned} {step['run']} || code=$?; echo \"exit code $code\"")
        print_("  [ $failed != 0 ] || failed=$code; fi")
    print_("exit $failed")
PYTHON

[ $# = 0 ] || export PATH="$1:$PATH" INSTALLED=yes
code=0
bash steps.sh </dev/null 2>&1 || code=$?
echo "SARIF results: $(python3 -c 'import json; print(len(json.load(open("ragscope.sarif"))["runs"][0]["results"]))')"
exit $code
