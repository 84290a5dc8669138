//! A Llama decoder with numbers of no meaning, of the size that a benchmark asks for.

use std::path::Path;

use ragscope::model::Decoder;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::json;

const HIDDEN: usize = 576;
const HEADS: usize = 9;
const KV_HEADS: usize = 3;
const VOCABULARY: usize = 512;

/// Attention of SmolLM2's shape between feed-forward layers of `intermediate` numbers.
pub fn decoder(layers: usize, intermediate: usize) -> Decoder {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), layers, intermediate);
    Decoder::from_directory(folder.path()).expect("a sound model")
}

/// Ids below the vocabulary.
pub fn token_ids(count: usize) -> Vec<u32> {
    (0..count).map(|index| ((index * 7919 + 13) % VOCABULARY) as u32).collect()
}

fn write(folder: &Path, layers: usize, intermediate: usize) {
    let config = json!({
        "model_type": "llama", "hidden_act": "silu", "hidden_size": HIDDEN, "intermediate_size": intermediate,
        "max_position_embeddings": 8192, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
        "num_hidden_layers": layers, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "vocab_size": VOCABULARY,
    });
    std::fs::write(folder.join("config.json"), config.to_string()).expect("a file");
    let keys = HIDDEN / HEADS * KV_HEADS;
    let mut shapes: Vec<(String, Vec<usize>)> = vec![
        ("model.embed_tokens.weight".to_owned(), vec![VOCABULARY, HIDDEN]),
        ("model.norm.weight".to_owned(), vec![HIDDEN]),
    ];
    for layer in 0..layers {
        for (name, shape) in [
            ("input_layernorm", vec![HIDDEN]),
            ("self_attn.q_proj", vec![HIDDEN, HIDDEN]),
            ("self_attn.k_proj", vec![keys, HIDDEN]),
            ("self_attn.v_proj", vec![keys, HIDDEN]),
            ("self_attn.o_proj", vec![HIDDEN, HIDDEN]),
            ("post_attention_layernorm", vec![HIDDEN]),
            ("mlp.gate_proj", vec![intermediate, HIDDEN]),
            ("mlp.up_proj", vec![intermediate, HIDDEN]),
            ("mlp.down_proj", vec![HIDDEN, intermediate]),
        ] {
            shapes.push((format!("model.layers.{layer}.{name}.weight"), shape));
        }
    }
    let values: Vec<(String, Vec<usize>, Vec<u8>)> = shapes
        .into_iter()
        .enumerate()
        .map(|(seed, (name, shape))| {
            let bytes = numbers(seed as u64, shape.iter().product());
            (name, shape, bytes)
        })
        .collect();
    let views = values.iter().map(|(name, shape, bytes)| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).expect("the shape fits"))
    });
    let file = safetensors::serialize(views, None).expect("tensors can be written");
    std::fs::write(folder.join("model.safetensors"), file).expect("a file");
}

/// Numbers between -0.05 and 0.05 that are the same at every run.
fn numbers(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32 * 0.1 - 0.05
    };
    (0..count).flat_map(|_| next().to_le_bytes()).collect()
}
