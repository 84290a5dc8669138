"""What every engine of the comparison shares: the token ids, the clock, and the words spoken with compare.py.

A worker loads its model, prints one line of JSON ({"load": seconds}), then reads the tokens once for each line
that comes in and prints {"seconds": ..., "check": ...}. When its input ends it prints {"peak_mb": ...}.
"""

import json
import resource
import sys
import time

VOCABULARY = 40_000


def token_ids(count):
    """The same ids for everybody: spread over the vocabulary, away from special tokens."""
    return [100 + (index * 7919 + 13) % VOCABULARY for index in range(count)]


def peak_mb():
    """Most memory this process ever had resident, in MB of 10^6 bytes."""
    try:
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def say(**words):
    print(json.dumps(words), flush=True)


def serve(load, read):
    """`load()` gives a model, `read(model)` reads the tokens once and gives a number to compare."""
    start = time.perf_counter()
    model = load()
    say(load=time.perf_counter() - start)
    for _ in sys.stdin:
        start = time.perf_counter()
        check = read(model)
        say(seconds=time.perf_counter() - start, check=check)
    say(peak_mb=peak_mb())
