"""Hugging Face transformers as a worker: `transformers_reading.py FOLDER WAY CONTEXT ANSWER`.

WAY is `eager` (with attentions and hidden states, reduced to what ragscope keeps) or `sdpa` (nothing kept);
`answers FILE` instead of two numbers reads the answers that `ragscope_reading sample` wrote.
"""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM

from protocol import serve, token_ids

SEGMENTS = 4


def load(folder, way):
    torch.set_grad_enabled(False)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation=way)
    return model.eval()


def reduced(out, rows, segments):
    """What detectors use: attention mass of every head on every segment, the states of two layers, and the
    attention among the answer's tokens of two layers. Everything else is dropped."""
    first = out.attentions[0].shape[-1] - rows
    layers = len(out.attentions)
    mass = [
        torch.stack([one[0, :, first:, start:end].sum(-1) for start, end in segments], -1)
        for one in out.attentions
        if segments
    ]
    middle = layers * 3 // 4
    states = [out.hidden_states[middle][0, first:].clone(), out.hidden_states[-1][0, first:].clone()]
    among = [out.attentions[layer][0, :, first:, first:].mean(0) for layer in (middle - 1, layers - 1)]
    return mass, states, among


def log_probability(logits, ids):
    """Sum of the log-probabilities of the answer's tokens; `logits` are those of the rows before and in it."""
    rows = torch.log_softmax(logits[0].float(), -1)[:-1]
    return rows[torch.arange(len(ids)), torch.tensor(ids)].sum().item()


def read(model, way, prompt, answer, segments):
    ids = torch.tensor([prompt + answer])
    capture = way == "eager"
    rows = len(answer) + 1
    out = model(
        ids,
        use_cache=False,
        output_attentions=capture,
        output_hidden_states=capture,
        logits_to_keep=rows,
    )
    if capture:
        reduced(out, rows, segments)
    return log_probability(out.logits, answer)


def main():
    folder, way = sys.argv[1:3]
    torch.set_num_threads(int(os.environ.get("PEER_THREADS", os.cpu_count())))
    if sys.argv[3] == "answers":
        answers = [json.loads(line) for line in open(sys.argv[4])]

        def every(model):
            total = 0.0
            for one in answers:
                total += read(model, way, one["with"], one["answer"], one["chunks"])
                total += read(model, way, one["without"], one["answer"], [])
            return total

        serve(lambda: load(folder, way), every)
        return
    context, answer = int(sys.argv[3]), int(sys.argv[4])
    ids = token_ids(context + answer)
    quarter = context // SEGMENTS
    segments = [(at * quarter, (at + 1) * quarter) for at in range(SEGMENTS)]
    serve(lambda: load(folder, way), lambda model: read(model, way, ids[:context], ids[context:], segments))


main()
