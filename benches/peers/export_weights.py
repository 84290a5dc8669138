"""The weights of a Llama GGUF file, dequantised, for the other engines: `export_weights.py MODEL.gguf FOLDER`.

Writes FOLDER/hf (config.json, model.safetensors in f32), FOLDER/f32.gguf and FOLDER/f16.gguf. GGUF stores the
rows of Llama's query and key projections permuted; Hugging Face's layout has them as they were trained.
"""

import json
import os
import sys

import gguf
import numpy as np
from gguf.quants import dequantize
from safetensors.numpy import save_file

NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def hugging_face_name(name):
    if name in NAMES:
        return NAMES[name]
    _, block, part, ending = name.split(".")
    return f"model.layers.{block}.{BLOCK_NAMES[part]}.{ending}"


def unpermuted(rows, heads):
    """Pairs (2i, 2i + 1) of a head's rows go back to (i, i + D/2)."""
    return rows.reshape(heads, -1, 2, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)


def main():
    path, folder = sys.argv[1:3]
    reader = gguf.GGUFReader(path)
    field = {name: part.contents() for name, part in reader.fields.items()}
    if field["general.architecture"] != "llama":
        sys.exit(f"{path}: expected the architecture llama, found {field['general.architecture']}")
    heads, kv_heads = field["llama.attention.head_count"], field["llama.attention.head_count_kv"]
    tensors = {one.name: dequantize(one.data, one.tensor_type).astype(np.float32) for one in reader.tensors}

    os.makedirs(os.path.join(folder, "hf"), exist_ok=True)
    out = {}
    for name, values in tensors.items():
        if ".attn_q." in name or ".attn_k." in name:
            values = unpermuted(values, heads if ".attn_q." in name else kv_heads)
        out[hugging_face_name(name)] = np.ascontiguousarray(values)
    save_file(out, os.path.join(folder, "hf", "model.safetensors"), metadata={"format": "pt"})
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": field["llama.embedding_length"],
        "intermediate_size": field["llama.feed_forward_length"],
        "max_position_embeddings": field["llama.context_length"],
        "num_attention_heads": heads,
        "num_hidden_layers": field["llama.block_count"],
        "num_key_value_heads": kv_heads,
        "rms_norm_eps": field["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": field["llama.rope.freq_base"],
        "rope_parameters": {"rope_type": "default", "rope_theta": field["llama.rope.freq_base"]},
        "tie_word_embeddings": "output.weight" not in tensors,
        "vocab_size": tensors["token_embd.weight"].shape[0],
        "torch_dtype": "float32",
    }
    with open(os.path.join(folder, "hf", "config.json"), "w") as file:
        json.dump(config, file, indent=2)

    for name, dtype, kind in (
        ("f32", np.float32, gguf.LlamaFileType.ALL_F32),
        ("f16", np.float16, gguf.LlamaFileType.MOSTLY_F16),
    ):
        writer = gguf.GGUFWriter(os.path.join(folder, name + ".gguf"), "llama")
        for key, part in reader.fields.items():
            if key.startswith("GGUF.") or key in ("general.architecture", "general.file_type"):
                continue
            inner = part.types[-1] if part.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(key, part.contents(), part.types[0], sub_type=inner)
        writer.add_file_type(kind)
        for tensor, values in tensors.items():
            # llama.cpp keeps vectors in f32 in every file.
            writer.add_tensor(tensor, values if values.ndim == 1 else values.astype(dtype))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


main()
