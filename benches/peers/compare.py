"""Runs engines in turn on the same tokens: `compare.py WORK RAGSCOPE MODEL.gguf [options]`.

All engines of a length are loaded first; then, round after round, each reads once while the others wait.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Worker:
    def __init__(self, name, command):
        self.name, self.seconds = name, []
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.load = self.hear()["load"]

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended without a word")
        return json.loads(line)

    def read(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        heard = self.hear()
        self.check = heard["check"]
        return heard["seconds"]

    def end(self):
        self.process.stdin.close()
        self.peak = self.hear()["peak_mb"]
        self.process.wait()


def in_turn(workers, rounds, warm):
    for worker in workers if warm else []:
        worker.read()
    for _ in range(rounds):
        for worker in workers:
            worker.seconds.append(worker.read())
    for worker in workers:
        worker.end()
        worker.median = statistics.median(worker.seconds)


def table(workers, tokens):
    ours = workers[0]
    print("| engine | seconds | tokens/s | ragscope with capture is faster by | peak MB | load s | log p of the answer |")
    print("|---|---|---|---|---|---|---|")
    for one in workers:
        ratio = statistics.median(theirs / own for theirs, own in zip(one.seconds, ours.seconds))
        check = "" if one.check is None else f"{one.check:.3f}"
        print(
            f"| {one.name} | {one.median:.2f} | {tokens / one.median:.0f} | {ratio:.2f} | {one.peak:.0f}"
            f" | {one.load:.2f} | {check} |"
        )
    print(flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("ragscope")
    parser.add_argument("model")
    parser.add_argument("--context", type=int, default=600)
    parser.add_argument("--answer", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="no round to warm up")
    parser.add_argument("--answers", help="a file of `ragscope_reading sample`: compare on these answers instead")
    parser.add_argument("--data", help="the data set that the file was made of")
    parser.add_argument("--of", type=int, default=900, help="answers to extrapolate to")
    given = parser.parse_args()
    python = [sys.executable]
    hf = os.path.join(given.work, "hf")
    transformers = [*python, os.path.join(HERE, "transformers_reading.py"), hf]
    llama = [*python, os.path.join(HERE, "llama_reading.py")]
    if given.answers:
        answers = [json.loads(line) for line in open(given.answers)]
        sources = str(len({json.dumps(one["with"]) for one in answers}))
        workers = [
            Worker("ragscope", [given.ragscope, "answers", given.model, given.data, sources]),
            Worker("transformers eager", [*transformers, "eager", "answers", given.answers]),
        ]
        in_turn(workers, given.rounds, False)
        tokens = sum(len(one["with"]) + len(one["without"]) + 2 * len(one["answer"]) for one in answers)
        print(f"{len(answers)} answers to {sources} sources, read with and without references: {tokens} tokens\n")
        table(workers, tokens)
        for one in workers:
            total = one.median / len(answers) * given.of
            print(f"{one.name}: {total:.0f} s for {given.of} answers, extrapolated from {len(answers)}")
        return
    lengths = [str(given.context), str(given.answer)]
    workers = [
        Worker("ragscope, full capture", [given.ragscope, "read", given.model, "capture", *lengths]),
        Worker("ragscope, no capture", [given.ragscope, "read", given.model, "plain", *lengths]),
        Worker("transformers eager, all outputs", [*transformers, "eager", *lengths]),
        Worker("transformers SDPA, no capture", [*transformers, "sdpa", *lengths]),
        Worker("llama.cpp f16, no capture", [*llama, os.path.join(given.work, "f16.gguf"), *lengths]),
        Worker("llama.cpp f32, no capture", [*llama, os.path.join(given.work, "f32.gguf"), *lengths]),
    ]
    in_turn(workers, given.rounds, not given.cold)
    print(f"{given.context} context and {given.answer} answer tokens, median of {given.rounds} rounds in turn\n")
    table(workers, given.context + given.answer)


main()
