//! The golden decoders as GGUF files, for tests: metadata, tensor names and the order of rows as llama.cpp's
//! converter writes them.

use super::decoder_tests::{flat, folder, tensors};
use super::{Architecture, Decoder, DecoderError};

pub(super) const F32: u32 = 0;

/// One tensor as a GGUF file stores it.
pub(super) struct Stored {
    pub name: String,
    /// Rows first.
    pub shape: Vec<u64>,
    pub kind: u32,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
pub(super) enum Meta {
    Text(&'static str),
    Count(u32),
    Number(f32),
}

pub(super) type Metadata = Vec<(String, Meta)>;

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

/// The bytes of a file.
pub(super) fn gguf(metadata: &[(String, Meta)], tensors: &[Stored]) -> Vec<u8> {
    let mut out = b"GGUF\x03\0\0\0".to_vec();
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        put_text(&mut out, key);
        match value {
            Meta::Text(text) => {
                out.extend(8u32.to_le_bytes());
                put_text(&mut out, text);
            }
            Meta::Count(n) => out.extend([4u32.to_le_bytes(), n.to_le_bytes()].concat()),
            Meta::Number(x) => out.extend([6u32.to_le_bytes(), x.to_le_bytes()].concat()),
        }
    }
    let mut offset = 0u64;
    for tensor in tensors {
        put_text(&mut out, &tensor.name);
        out.extend((tensor.shape.len() as u32).to_le_bytes());
        tensor.shape.iter().rev().for_each(|side| out.extend(side.to_le_bytes()));
        out.extend(tensor.kind.to_le_bytes());
        out.extend(offset.to_le_bytes());
        offset += (tensor.bytes.len() as u64).next_multiple_of(32);
    }
    for tensor in tensors {
        out.resize(out.len().next_multiple_of(32), 0);
        out.extend(&tensor.bytes);
    }
    out
}

/// What the converter says of a golden decoder.
pub(super) fn metadata(name: &str) -> Metadata {
    let decoder = Decoder::from_directory(&folder(name)).unwrap();
    let config = decoder.config();
    // Mistral has no architecture of its own there, Gemma's second base is never written.
    let architecture = match config.architecture {
        Architecture::Mistral => "llama",
        other => other.name(),
    };
    let mut all: Vec<(&str, Meta)> = vec![
        (".block_count", Meta::Count(config.layers as u32)),
        (".context_length", Meta::Count(config.context_length as u32)),
        (".embedding_length", Meta::Count(32)),
        (".feed_forward_length", Meta::Count(48)),
        (".attention.head_count", Meta::Count(4)),
        (".attention.head_count_kv", Meta::Count(2)),
        (".attention.layer_norm_rms_epsilon", Meta::Number(1e-5)),
        (".rope.freq_base", Meta::Number(config.rope.theta as f32)),
        (".vocab_size", Meta::Count(96)),
    ];
    match config.architecture {
        Architecture::Llama | Architecture::Mistral | Architecture::Phi3 => {
            all.push((".rope.dimension_count", Meta::Count(8)));
        }
        _ => {
            let width = Meta::Count(config.head_dim as u32);
            all.extend([(".attention.key_length", width), (".attention.value_length", width)]);
        }
    }
    if let Some(window) = config.windows.iter().flatten().next() {
        all.push((".attention.sliding_window", Meta::Count(*window as u32)));
    }
    if config.architecture == Architecture::Gemma3 {
        // Real files have six and say nothing.
        all.push((".attention.sliding_window_pattern", Meta::Count(3)));
    }
    let first = ("general.architecture".to_owned(), Meta::Text(architecture));
    let rest = all.into_iter().map(|(key, value)| (format!("{architecture}{key}"), value));
    std::iter::once(first).chain(rest).collect()
}

const NAMES: [(&str, &str); 14] = [
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.qkv_proj", "attn_qkv"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("self_attn.o_proj", "attn_output"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.gate_up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
    ("pre_feedforward_layernorm", "ffn_norm"),
    ("post_feedforward_layernorm", "post_ffw_norm"),
];

fn gguf_name(name: &str, architecture: Architecture) -> String {
    match name {
        "model.embed_tokens.weight" => "token_embd.weight".to_owned(),
        "model.norm.weight" => "output_norm.weight".to_owned(),
        "lm_head.weight" => "output.weight".to_owned(),
        _ => {
            let rest = name.strip_prefix("model.layers.").unwrap();
            let (layer, rest) = rest.split_once('.').unwrap();
            let (part, kind) = rest.rsplit_once('.').unwrap();
            let part = match (part, architecture) {
                ("post_attention_layernorm", Architecture::Gemma3) => "post_attention_norm",
                ("post_attention_layernorm", _) => "ffn_norm",
                _ => NAMES.iter().find(|(hf, _)| *hf == part).unwrap().1,
            };
            format!("blk.{layer}.{part}.{kind}")
        }
    }
}

/// The golden weights as the converter writes them: rows of Q and K of each head interleaved in a Llama, norms
/// of Gemma with their one added.
pub(super) fn stored(name: &str) -> Vec<Stored> {
    let architecture = Decoder::from_directory(&folder(name)).unwrap().config().architecture;
    let mut all: Vec<_> = tensors(name, "model.safetensors").into_iter().collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.into_iter()
        .map(|(name, tensor)| {
            let shape: Vec<u64> = tensor.dims().iter().map(|side| *side as u64).collect();
            let interleaves = matches!(architecture, Architecture::Llama | Architecture::Mistral)
                && (name.contains("q_proj") || name.contains("k_proj"));
            let written = if interleaves {
                let heads = tensor.dims()[0] / 8;
                tensor.reshape((heads, 2, 4, 32)).unwrap().transpose(1, 2).unwrap().contiguous().unwrap()
            } else if architecture == Architecture::Gemma3 && name.ends_with("norm.weight") {
                (tensor + 1.0).unwrap()
            } else {
                tensor
            };
            let bytes = flat(&written).iter().flat_map(|x| x.to_le_bytes()).collect();
            Stored { name: gguf_name(&name, architecture), shape, kind: F32, bytes }
        })
        .collect()
}

pub(super) fn load(bytes: &[u8]) -> Result<Decoder, DecoderError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    Decoder::from_gguf(&path)
}
