//! A model small enough for every test: the decoder of `tests/golden/decoders/llama` with a byte-level
//! vocabulary of its own. Its numbers mean nothing; that it reads is what counts.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

const SPECIAL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + \
                      message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt \
                      %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// Writes the model as a Hugging Face directory.
pub fn write(folder: &Path) {
    let golden = super::repository("tests/golden/decoders/llama");
    let mut config: Value =
        serde_json::from_slice(&std::fs::read(golden.join("config.json")).expect("the golden decoder"))
            .expect("its configuration is JSON");
    let vocabulary = vocabulary();
    let hidden = config["hidden_size"].as_u64().expect("a size") as usize;
    config["vocab_size"] = json!(vocabulary.len());
    config["max_position_embeddings"] = json!(4096);
    let bytes = std::fs::read(golden.join("model.safetensors")).expect("the golden weights");
    let weights = SafeTensors::deserialize(&bytes).expect("the golden weights are safetensors");
    let embedding = embedding(vocabulary.len() * hidden);
    let mut tensors: BTreeMap<String, TensorView<'_>> =
        weights.tensors().into_iter().filter(|(name, _)| name != "model.embed_tokens.weight").collect();
    assert!(!tensors.is_empty());
    let shape = vec![vocabulary.len(), hidden];
    let embedding = TensorView::new(Dtype::F32, shape, &embedding).expect("the shape fits its bytes");
    tensors.insert("model.embed_tokens.weight".to_owned(), embedding);
    std::fs::create_dir_all(folder).expect("a folder");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("a file");
    write("model.safetensors", &safetensors::serialize(tensors, None).expect("tensors can be written"));
    write("config.json", config.to_string().as_bytes());
    write("tokenizer.json", tokenizer(&vocabulary).to_string().as_bytes());
    let template = json!({ "chat_template": CHATML, "bos_token": SPECIAL[0], "eos_token": SPECIAL[2] });
    write("tokenizer_config.json", template.to_string().as_bytes());
}

/// Fills one tensor of a model that [`write`] wrote with the largest number, so that its layer overflows.
pub fn overflow(folder: &Path, tensor: &str) {
    let path = folder.join("model.safetensors");
    let mut bytes = std::fs::read(&path).expect("the tiny weights");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).expect("JSON");
    let place = &header[tensor]["data_offsets"];
    let (from, to) = (place[0].as_u64().expect("a place"), place[1].as_u64().expect("a place"));
    for number in bytes[8 + length + from as usize..8 + length + to as usize].chunks_exact_mut(4) {
        number.copy_from_slice(&f32::MAX.to_le_bytes());
    }
    std::fs::write(&path, bytes).expect("a file");
}

/// Numbers between -0.02 and 0.02 that are the same everywhere.
fn embedding(count: usize) -> Vec<u8> {
    (0..count as u64)
        .map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9))
        .flat_map(|bits| ((bits >> 40) as f32 / (1u64 << 24) as f32 * 0.04 - 0.02).to_le_bytes())
        .collect()
}

/// Special tokens, then the 256 letters that stand for bytes.
fn vocabulary() -> Vec<String> {
    let printable = |byte: u32| (33..=126).contains(&byte) || (161..=172).contains(&byte) || byte >= 174;
    let mut next = 256;
    let letters = (0..256u32).map(|byte| {
        let code = if printable(byte) {
            byte
        } else {
            next += 1;
            next - 1
        };
        char::from_u32(code).expect("a letter").to_string()
    });
    SPECIAL.iter().map(ToString::to_string).chain(letters).collect()
}

fn tokenizer(vocabulary: &[String]) -> Value {
    let ids: serde_json::Map<String, Value> =
        vocabulary.iter().enumerate().map(|(id, token)| (token.clone(), json!(id))).collect();
    let added: Vec<Value> = SPECIAL
        .iter()
        .enumerate()
        .map(|(id, token)| {
            json!({ "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                    "normalized": false, "special": true })
        })
        .collect();
    let byte_level = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false,
                             "use_regex": true });
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null,
        "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
        "model": { "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                   "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": ids,
                   "merges": [] }
    })
}
