#!/usr/bin/env python3
"""Scores JSON lines with Ray Data: every block is piped through the binary.

    pip install 'ray[data]'
    python tests/scale/ray_data.py DATA.jsonl OUT.jsonl [options of `ragscope score`...]

RAGSCOPE names the binary (default: ragscope). Rows get their numbers here, before Ray cuts them into
blocks, so that they are stable: block after block carries its rows, whatever order blocks end in. Each
block starts the binary once, so blocks should hold some hundred records. Blank lines are no records.
"""

import os
import re
import subprocess
import sys

BLOCK = 256
ROW = re.compile(r'"row":\d+')


def score(batch, options):
    """One output line per input line, in order; the row number of the data in place of the block's."""
    lines = [str(line) for line in batch["line"]]
    ran = subprocess.run(
        [os.environ.get("RAGSCOPE", "ragscope"), "score", "-", *options],
        input="".join(line + "\n" for line in lines),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        encoding="utf-8",
    )
    out = [line for line in ran.stdout.split("\n") if line]
    if len(out) != len(lines):
        raise RuntimeError(f"{len(lines)} records went in, {len(out)} lines came out")
    # `schema`, `id` and `row` are the first keys. An id that holds `"row":1` has its quotes escaped, so the
    # first match is the key. Only this text changes: numbers are never parsed and printed again.
    out = [ROW.sub(f'"row":{int(row)}', line, count=1) for row, line in zip(batch["row"], out)]
    return {"row": batch["row"], "evidence": out}


def main():
    import ray

    data, output, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(data, encoding="utf-8-sig", newline="\n") as file:
        lines = [line.rstrip("\r\n") for line in file if line.strip()]
    items = [{"row": row, "line": line} for row, line in enumerate(lines)]
    options = ["--data-name", os.path.splitext(os.path.basename(data))[0], *options]
    ray.init(include_dashboard=False, log_to_driver=False)
    scored = ray.data.from_items(items).map_batches(
        score, fn_kwargs={"options": options}, batch_size=BLOCK, batch_format="numpy"
    )
    rows = sorted(scored.take_all(), key=lambda item: item["row"])
    with open(output, "x", encoding="utf-8", newline="\n") as file:
        file.writelines(item["evidence"] + "\n" for item in rows)
    print(f"{len(rows)} records scored in blocks of at most {BLOCK}: {output}")


if __name__ == "__main__":
    main()
