"""Start-up of the program: `start_up.py RAGSCOPE`, median of 20 runs of `--help` and `doctor`."""

import statistics
import subprocess
import sys
import time

for words in (["--help"], ["doctor"]):
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        subprocess.run([sys.argv[1], *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        seconds.append(time.perf_counter() - start)
    print(f"ragscope {words[0]}: {statistics.median(seconds) * 1000:.1f} ms")
