//! A small model as a GGUF file: metadata with a tokenizer and a chat template, then weights.

use std::path::Path;

use safetensors::SafeTensors;
use serde_json::Value;

struct Writer(Vec<u8>, u64);

impl Writer {
    fn text_bytes(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
    }

    fn entry(&mut self, key: &str, kind: u32, value: &[u8]) {
        self.0.extend(Self::text_bytes(key));
        self.0.extend(kind.to_le_bytes());
        self.0.extend(value);
        self.1 += 1;
    }

    fn text(&mut self, key: &str, value: &str) {
        self.entry(key, 8, &Self::text_bytes(value));
    }

    fn count(&mut self, key: &str, value: u32) {
        self.entry(key, 4, &value.to_le_bytes());
    }

    fn number(&mut self, key: &str, value: f32) {
        self.entry(key, 6, &value.to_le_bytes());
    }

    fn list(&mut self, key: &str, kind: u32, count: usize, items: &[u8]) {
        let head = [&kind.to_le_bytes()[..], &(count as u64).to_le_bytes()[..]].concat();
        self.entry(key, 9, &[&head, items].concat());
    }
}

const NAMES: [(&str, &str); 9] = [
    ("input_layernorm", "attn_norm"),
    ("post_attention_layernorm", "ffn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
];

fn gguf_name(name: &str) -> String {
    match name {
        "model.embed_tokens.weight" => return "token_embd.weight".to_owned(),
        "model.norm.weight" => return "output_norm.weight".to_owned(),
        "lm_head.weight" => return "output.weight".to_owned(),
        _ => {}
    }
    let mut name = name.replace("model.layers.", "blk.");
    for (theirs, ours) in NAMES {
        name = name.replace(theirs, ours);
    }
    name
}

/// The model that `tiny_model` wrote to `folder`, as one file.
pub fn of(folder: &Path) -> Vec<u8> {
    let read = |name: &str| std::fs::read(folder.join(name)).expect("the tiny model");
    let tokenizer: Value = serde_json::from_slice(&read("tokenizer.json")).expect("JSON");
    let template: Value = serde_json::from_slice(&read("tokenizer_config.json")).expect("JSON");
    let config: Value = serde_json::from_slice(&read("config.json")).expect("JSON");
    let size = |name: &str| config[name].as_u64().expect("a size") as u32;
    let vocabulary = tokenizer["model"]["vocab"].as_object().expect("a vocabulary");
    let mut tokens: Vec<(u64, &String)> =
        vocabulary.iter().map(|(token, id)| (id.as_u64().expect("an id"), token)).collect();
    tokens.sort_unstable();
    let mut out = Writer(Vec::new(), 0);
    out.text("general.architecture", "llama");
    out.text("tokenizer.ggml.model", "gpt2");
    out.text("tokenizer.ggml.pre", "smollm");
    let texts: Vec<u8> = tokens.iter().flat_map(|(_, token)| Writer::text_bytes(token)).collect();
    out.list("tokenizer.ggml.tokens", 8, tokens.len(), &texts);
    let types: Vec<u8> =
        (0..tokens.len()).flat_map(|id| if id < 3 { 3i32 } else { 1 }.to_le_bytes()).collect();
    out.list("tokenizer.ggml.token_type", 5, tokens.len(), &types);
    out.list("tokenizer.ggml.merges", 8, 0, &[]);
    out.count("tokenizer.ggml.bos_token_id", 1);
    out.count("tokenizer.ggml.eos_token_id", 2);
    out.text("tokenizer.chat_template", template["chat_template"].as_str().expect("a template"));
    out.count("llama.block_count", size("num_hidden_layers"));
    out.count("llama.context_length", 256);
    out.count("llama.embedding_length", size("hidden_size"));
    out.count("llama.feed_forward_length", size("intermediate_size"));
    out.count("llama.attention.head_count", size("num_attention_heads"));
    out.count("llama.attention.head_count_kv", size("num_key_value_heads"));
    out.number("llama.attention.layer_norm_rms_epsilon", 1e-5);
    out.number("llama.rope.freq_base", 10_000.0);
    let bytes = read("model.safetensors");
    let weights = SafeTensors::deserialize(&bytes).expect("weights");
    let mut tensors = weights.tensors();
    tensors.sort_by(|one, other| one.0.cmp(&other.0));
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend(out.1.to_le_bytes());
    file.extend(out.0);
    let mut offset = 0u64;
    for (name, tensor) in &tensors {
        file.extend(Writer::text_bytes(&gguf_name(name)));
        file.extend((tensor.shape().len() as u32).to_le_bytes());
        tensor.shape().iter().rev().for_each(|side| file.extend((*side as u64).to_le_bytes()));
        file.extend(0u32.to_le_bytes());
        file.extend(offset.to_le_bytes());
        offset += (tensor.data().len() as u64).next_multiple_of(32);
    }
    for (_, tensor) in &tensors {
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(tensor.data());
    }
    file
}
