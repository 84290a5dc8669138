#!/usr/bin/env python3
"""Scores JSON lines with Spark: every partition is piped through the binary.

    pip install pyspark        # and Java 17
    python tests/scale/spark_pipe.py DATA.jsonl OUT.jsonl [options of `ragscope score`...]

RAGSCOPE names the binary (default: ragscope). checkCode=True makes a failed binary a failed task, which
Spark starts again; without it, its records would be missing in silence. The binary gives one line per
record in order, so the n-th line of the output is row n of the data.
"""

import os
import re
import shlex
import sys

ROW = re.compile(r'"row":\d+')


def main():
    from pyspark import SparkConf, SparkContext

    data, output, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    conf = SparkConf().setAppName("ragscope").setIfMissing("spark.master", "local[2]")
    spark = SparkContext(conf=conf)
    lines = spark.textFile(data, minPartitions=3).filter(lambda line: line.strip())
    name = os.path.splitext(os.path.basename(data))[0]
    binary = os.environ.get("RAGSCOPE", "ragscope")
    command = shlex.join([binary, "score", "-", "--data-name", name, *options])
    records = lines.count()
    scored = lines.pipe(command, env=dict(os.environ), checkCode=True)
    # Partitions number their rows from 0; here they get those of the data, as text: see ray_data.py.
    numbered = scored.zipWithIndex().map(lambda pair: ROW.sub(f'"row":{pair[1]}', pair[0], count=1))
    written = 0
    with open(output, "x", encoding="utf-8", newline="\n") as file:
        for line in numbered.toLocalIterator():
            file.write(line + "\n")
            written += 1
    spark.stop()
    if written != records:
        sys.exit(f"{records} records went in, {written} lines came out")
    print(f"{written} records scored: {output}")


if __name__ == "__main__":
    main()
