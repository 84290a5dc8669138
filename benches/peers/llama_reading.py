"""llama.cpp as a worker, without capture: `llama_reading.py MODEL.gguf CONTEXT ANSWER`.

Only the last token's logits are asked for, which is less than the others compute.
"""

import os
import sys

from llama_cpp import Llama

from protocol import serve, token_ids


def main():
    context, answer = int(sys.argv[2]), int(sys.argv[3])
    ids = token_ids(context + answer)
    threads = int(os.environ.get("PEER_THREADS", os.cpu_count()))

    def load():
        return Llama(
            sys.argv[1],
            n_ctx=len(ids) + 8,
            n_batch=len(ids),
            n_ubatch=512,
            n_threads=threads,
            n_threads_batch=threads,
            verbose=False,
        )

    def read(model):
        model.reset()
        model.eval(ids)
        return None

    serve(load, read)


main()
