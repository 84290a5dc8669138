"""Logits of the exported weights in transformers against ragscope's: `check_agreement.py HF_FOLDER LOGITS`.

LOGITS holds f32 numbers, [rows, vocabulary], that `ragscope_reading logits` wrote of the same token ids.
Ends with 1 where they differ by more than 1e-3.
"""

import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from protocol import token_ids

CONTEXT, ANSWER = 60, 20

torch.set_grad_enabled(False)
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32, attn_implementation="eager").eval()
want = model(torch.tensor([token_ids(CONTEXT + ANSWER)])).logits[0, CONTEXT:].numpy()
got = np.fromfile(sys.argv[2], dtype="<f4").reshape(want.shape)
worst = float(np.abs(got - want).max())
print(f"logits of ragscope and transformers differ by at most {worst:.2e} (largest logit {np.abs(want).max():.1f})")
sys.exit(0 if worst < 1e-3 else 1)
