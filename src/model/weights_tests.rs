//! Weights out of GGUF files and safetensors, good and hostile ones.

use std::fs;
use std::path::{Path, PathBuf};

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

use super::decoder_tests::{assert_close, everything, flat, folder, golden_ids, tensors};
use super::*;

const F32: u32 = 0;

/// One tensor as a GGUF file stores it.
struct Stored {
    name: String,
    /// Rows first.
    shape: Vec<u64>,
    kind: u32,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Meta {
    Text(&'static str),
    Count(u32),
    Number(f32),
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn gguf(metadata: &[(&str, Meta)], tensors: &[Stored]) -> Vec<u8> {
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

fn metadata(name: &str) -> Vec<(&'static str, Meta)> {
    let llama3 = name == "llama3-rope";
    vec![
        ("general.architecture", Meta::Text("llama")),
        ("llama.block_count", Meta::Count(3)),
        ("llama.context_length", Meta::Count(if llama3 { 256 } else { 128 })),
        ("llama.embedding_length", Meta::Count(32)),
        ("llama.feed_forward_length", Meta::Count(48)),
        ("llama.attention.head_count", Meta::Count(4)),
        ("llama.attention.head_count_kv", Meta::Count(2)),
        ("llama.attention.layer_norm_rms_epsilon", Meta::Number(1e-5)),
        ("llama.rope.freq_base", Meta::Number(if llama3 { 500_000.0 } else { 10_000.0 })),
        ("llama.rope.dimension_count", Meta::Count(8)),
        ("llama.vocab_size", Meta::Count(96)),
    ]
}

const NAMES: [(&str, &str); 9] = [
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("post_attention_layernorm", "ffn_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
];

fn gguf_name(name: &str) -> String {
    match name {
        "model.embed_tokens.weight" => "token_embd.weight".to_owned(),
        "model.norm.weight" => "output_norm.weight".to_owned(),
        "lm_head.weight" => "output.weight".to_owned(),
        _ => {
            let rest = name.strip_prefix("model.layers.").unwrap();
            let (layer, part) = rest.strip_suffix(".weight").unwrap().split_once('.').unwrap();
            let (_, part) = NAMES.iter().find(|(hf, _)| *hf == part).unwrap();
            format!("blk.{layer}.{part}.weight")
        }
    }
}

/// The golden weights as a converter to GGUF writes them: rows of Q and K of each head interleaved.
fn stored(name: &str) -> Vec<Stored> {
    let mut all: Vec<_> = tensors(name, "model.safetensors").into_iter().collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.into_iter()
        .map(|(name, tensor)| {
            let shape: Vec<u64> = tensor.dims().iter().map(|side| *side as u64).collect();
            let interleaved = if name.contains("q_proj") || name.contains("k_proj") {
                let heads = tensor.dims()[0] / 8;
                tensor.reshape((heads, 2, 4, 32)).unwrap().transpose(1, 2).unwrap().contiguous().unwrap()
            } else {
                tensor
            };
            let bytes = flat(&interleaved).iter().flat_map(|x| x.to_le_bytes()).collect();
            Stored { name: gguf_name(&name), shape, kind: F32, bytes }
        })
        .collect()
}

fn write(directory: &Path, bytes: &[u8]) -> PathBuf {
    let path = directory.join("model.gguf");
    fs::write(&path, bytes).unwrap();
    path
}

fn load(bytes: &[u8]) -> Result<Decoder, DecoderError> {
    let directory = tempfile::tempdir().unwrap();
    Decoder::from_gguf(&write(directory.path(), bytes))
}

fn refusal(bytes: &[u8]) -> String {
    load(bytes).unwrap_err().to_string()
}

/// Llama 3's divisors, computed as the converter to GGUF does: it stores them instead of the settings.
fn llama3_divisors() -> Stored {
    let divisors = (0..4).map(|i| {
        let wavelength = 2.0 * std::f32::consts::PI * 500_000f32.powf(i as f32 / 4.0);
        if wavelength < 32.0 / 4.0 {
            1.0
        } else if wavelength > 32.0 {
            8.0
        } else {
            let smooth = (32.0 / wavelength - 1.0) / 3.0;
            1.0 / ((1.0 - smooth) / 8.0 + smooth)
        }
    });
    let bytes = divisors.flat_map(|x: f32| x.to_le_bytes()).collect();
    Stored { name: "rope_freqs.weight".to_owned(), shape: vec![4], kind: F32, bytes }
}

#[test]
fn a_gguf_file_reads_as_the_directory_it_was_made_from() {
    for name in ["llama", "llama3-rope"] {
        let mut weights = stored(name);
        if name == "llama3-rope" {
            weights.push(llama3_divisors());
        }
        let from_file = load(&gguf(&metadata(name), &weights)).unwrap();
        let from_directory = Decoder::from_directory(&folder(name)).unwrap();
        assert_eq!(from_file.config().context_length, from_directory.config().context_length);
        let ids = golden_ids(name);
        let read = |decoder: &Decoder| {
            decoder
                .extend(&decoder.prefix(&ids[..9]).unwrap(), &ids[9..], &everything(3, &[0..9, 9..40]))
                .unwrap()
        };
        let (a, b) = (read(&from_file), read(&from_directory));
        assert_close(a.logits.as_ref().unwrap(), b.logits.as_ref().unwrap(), 1e-5, name);
        assert_close(&a.segment_mass, &b.segment_mass, 1e-5, name);
        for (a, b) in a.states.iter().zip(&b.states) {
            assert_close(a, b, 1e-5, name);
        }
    }
}

/// Rounds a weight as a storage type does: the bytes it stores and the values these stand for.
fn quantised(stored: &Stored, kind: GgmlDType) -> (Vec<u8>, Vec<f32>) {
    let values: Vec<f32> =
        stored.bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    let shape: Vec<usize> = stored.shape.iter().map(|s| *s as usize).collect();
    let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
    let quantised = QTensor::quantize(&tensor, kind).unwrap();
    (quantised.data().unwrap().into_owned(), flat(&quantised.dequantize(&Device::Cpu).unwrap()))
}

#[test]
fn quantised_tensors_mean_the_values_their_blocks_stand_for() {
    for (kind, number) in
        [(GgmlDType::Q4_1, 3), (GgmlDType::Q8_0, 8), (GgmlDType::F16, 1), (GgmlDType::BF16, 30)]
    {
        let (mut packed, mut rounded) = (stored("llama"), stored("llama"));
        for (packed, rounded) in packed.iter_mut().zip(&mut rounded) {
            if packed.shape.len() == 2 && packed.shape[1] == 32 {
                let (bytes, values) = quantised(packed, kind);
                packed.bytes = bytes;
                packed.kind = number;
                rounded.bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            }
        }
        let ids = golden_ids("llama");
        let read = |stored: &[Stored]| {
            let decoder = load(&gguf(&metadata("llama"), stored)).unwrap();
            decoder.extend(&decoder.prefix(&[]).unwrap(), &ids, &everything(3, &[])).unwrap()
        };
        assert_eq!(read(&packed), read(&rounded), "{kind:?}");
    }
}

#[test]
fn a_file_cut_short_anywhere_is_an_error() {
    let whole = gguf(&metadata("llama"), &stored("llama"));
    for end in (0..whole.len()).step_by(997).chain([whole.len() - 1]) {
        assert!(load(&whole[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn every_header_byte_may_lie_without_a_panic() {
    // Without the vocabulary size, which would catch a lie about the embedding early.
    let metadata: Vec<_> = metadata("llama").into_iter().filter(|(k, _)| *k != "llama.vocab_size").collect();
    let whole = gguf(&metadata, &stored("llama"));
    let header = whole.len() - stored("llama").iter().map(|t| t.bytes.len()).sum::<usize>();
    let directory = tempfile::tempdir().unwrap();
    for place in 0..header {
        let mut bytes = whole.clone();
        bytes[place] ^= 0xff;
        let _ = Decoder::from_gguf(&write(directory.path(), &bytes));
    }
}

/// A change of metadata and tensors before a file is written.
type Edit<'a> = dyn Fn(&mut Vec<(&'static str, Meta)>, &mut Vec<Stored>) + 'a;

#[test]
fn what_is_wrong_with_a_gguf_file_is_named() {
    let changed = |edit: &Edit<'_>| {
        let (mut metadata, mut stored) = (metadata("llama"), stored("llama"));
        edit(&mut metadata, &mut stored);
        refusal(&gguf(&metadata, &stored))
    };
    let tensor = |stored: &mut Vec<Stored>, name: &str| stored.iter().position(|t| t.name == name).unwrap();

    let error = changed(&|_, s| s.retain(|t| !t.name.contains("ffn_down") && t.name != "output_norm.weight"));
    for name in ["output_norm.weight", "blk.0.ffn_down.weight", "blk.2.ffn_down.weight", "4 tensor"] {
        assert!(error.contains(name), "{error}");
    }
    let error = changed(&|_, s| s.retain(|t| t.name != "token_embd.weight"));
    assert!(error.contains("token_embd.weight"), "{error}");
    let error = changed(&|_, s| {
        let i = tensor(s, "blk.1.attn_k.weight");
        s[i].shape = vec![32, 16];
    });
    assert!(error.contains("blk.1.attn_k.weight") && error.contains("[16, 32]"), "{error}");
    let error = changed(&|_, s| {
        let i = tensor(s, "blk.1.attn_k.weight");
        s[i].kind = 23;
    });
    assert!(error.contains("blk.1.attn_k.weight") && error.contains("23"), "{error}");
    let error = changed(&|_, s| {
        let i = tensor(s, "blk.1.attn_k.weight");
        s[i].bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    });
    assert!(error.contains("blk.1.attn_k.weight") && error.contains("not finite"), "{error}");
    let error = changed(&|_, s| {
        let bytes = vec![0; 32 * 4];
        s.push(Stored { name: "blk.0.attn_q.bias".to_owned(), shape: vec![32], kind: F32, bytes });
    });
    assert!(error.contains("blk.0.attn_q.bias"), "{error}");

    let fields = [
        ("general.architecture", Meta::Text("qwen2\u{1b}[2J")),
        ("llama.block_count", Meta::Count(0)),
        ("llama.attention.head_count_kv", Meta::Count(3)),
        ("llama.attention.layer_norm_rms_epsilon", Meta::Text("small")),
        ("llama.rope.dimension_count", Meta::Count(4)),
        ("llama.vocab_size", Meta::Count(97)),
        ("llama.context_length", Meta::Number(128.0)),
        ("llama.rope.scaling.type", Meta::Text("yarn")),
        ("llama.expert_count", Meta::Count(8)),
    ];
    for (key, value) in fields {
        let error = changed(&|m, _| {
            m.retain(|(k, _)| *k != key);
            m.push((key, value));
        });
        let named = error.contains(key) || error.contains("divisor of the 4");
        assert!(named && !error.contains('\u{1b}'), "{key}: {error}");
    }
    let error = changed(&|m, _| {
        m.retain(|(k, _)| *k != "llama.block_count");
        m.push(("llama.block_count", Meta::Count(1 << 20)));
    });
    assert!(error.contains("layers") && error.contains("29 tensors"), "{error}");
    let missing = Decoder::from_gguf(Path::new("no/such/model.gguf")).unwrap_err().to_string();
    assert!(missing.contains("no/such/model.gguf"), "{missing}");
}

fn copy_golden(to: &Path) {
    for file in ["config.json", "model.safetensors"] {
        fs::copy(folder("llama").join(file), to.join(file)).unwrap();
    }
}

/// Splits the golden safetensors into two shards and an index.
fn shard(directory: &Path) {
    copy_golden(directory);
    fs::remove_file(directory.join("model.safetensors")).unwrap();
    let mut shards = [std::collections::HashMap::new(), std::collections::HashMap::new()];
    let mut map = serde_json::Map::new();
    for (i, (name, tensor)) in tensors("llama", "model.safetensors").into_iter().enumerate() {
        map.insert(name.clone(), format!("model-0000{}-of-00002.safetensors", i % 2 + 1).into());
        shards[i % 2].insert(name, tensor);
    }
    for (i, shard) in shards.iter().enumerate() {
        let file = directory.join(format!("model-0000{}-of-00002.safetensors", i + 1));
        candle_core::safetensors::save(shard, file).unwrap();
    }
    let index = serde_json::json!({"metadata": {}, "weight_map": map});
    fs::write(directory.join("model.safetensors.index.json"), index.to_string()).unwrap();
}

#[test]
fn shards_read_as_one_file_and_every_missing_one_is_named() {
    let directory = tempfile::tempdir().unwrap();
    shard(directory.path());
    let read = |decoder: &Decoder| {
        decoder.extend(&decoder.prefix(&[3, 4]).unwrap(), &[5, 6, 7], &everything(3, &[])).unwrap()
    };
    let single = Decoder::from_directory(&folder("llama")).unwrap();
    assert_eq!(read(&Decoder::from_directory(directory.path()).unwrap()), read(&single));

    for i in 1..=2 {
        fs::remove_file(directory.path().join(format!("model-0000{i}-of-00002.safetensors"))).unwrap();
    }
    let error = Decoder::from_directory(directory.path()).unwrap_err().to_string();
    assert!(error.contains("model-00001-of") && error.contains("model-00002-of"), "{error}");

    let outside = r#"{"weight_map": {"model.norm.weight": "../elsewhere.safetensors"}}"#;
    fs::write(directory.path().join("model.safetensors.index.json"), outside).unwrap();
    let error = Decoder::from_directory(directory.path()).unwrap_err().to_string();
    assert!(error.contains("plain file names"), "{error}");
}

#[test]
fn half_precision_safetensors_mean_their_rounded_values() {
    for dtype in [candle_core::DType::F16, candle_core::DType::BF16] {
        let read = |back: bool| {
            let directory = tempfile::tempdir().unwrap();
            copy_golden(directory.path());
            let rounded = tensors("llama", "model.safetensors").into_iter().map(|(name, tensor)| {
                let half = tensor.to_dtype(dtype).unwrap();
                (name, if back { half.to_dtype(candle_core::DType::F32).unwrap() } else { half })
            });
            let rounded = rounded.collect::<std::collections::HashMap<_, _>>();
            candle_core::safetensors::save(&rounded, directory.path().join("model.safetensors")).unwrap();
            let decoder = Decoder::from_directory(directory.path()).unwrap();
            decoder.extend(&decoder.prefix(&[]).unwrap(), &[5, 6, 7], &everything(3, &[])).unwrap()
        };
        assert_eq!(read(false), read(true), "{dtype:?}");
    }
}

#[test]
fn hostile_safetensors_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    copy_golden(directory.path());
    let file = directory.path().join("model.safetensors");
    let whole = fs::read(&file).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        Decoder::from_directory(directory.path()).unwrap_err().to_string()
    };
    for end in (0..whole.len()).step_by(4999).chain([whole.len() - 1]) {
        assert!(refused(&whole[..end]).contains("model.safetensors"));
    }
    let mut long = whole.clone();
    long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(refused(&long).contains("header"));

    let with_header = |header: &str| {
        let data = &whole[8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize..];
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
    };
    let length = u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&whole[8..8 + length]).unwrap();
    let norm = header.find("\"model.norm.weight\"").unwrap();
    let (before, after) = header.split_at(norm);
    let edited = |from: &str, to: &str| with_header(&format!("{before}{}", after.replacen(from, to, 1)));
    for (from, to) in
        [("F32", "I64"), ("[32]", "[31]"), ("[32]", "[18446744073709551615,4]"), ("model.norm", "model.rom")]
    {
        let error = refused(&edited(from, to));
        assert!(error.contains("model.norm.weight"), "{to}: {error}");
    }
    assert!(
        refused(&with_header("{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[9,1]}}"))
            .contains("9..1")
    );
    assert!(refused(&with_header("[]")).contains("not a readable safetensors"));
    fs::remove_file(&file).unwrap();
    assert!(Decoder::from_directory(directory.path()).unwrap_err().to_string().contains("model.safetensors"));
}

#[test]
fn a_state_that_overflows_names_its_block() {
    let mut weights = stored("llama");
    let down = weights.iter_mut().find(|t| t.name == "blk.1.ffn_down.weight").unwrap();
    down.bytes = f32::MAX.to_le_bytes().repeat(32 * 48);
    let decoder = load(&gguf(&metadata("llama"), &weights)).unwrap();
    let ids = golden_ids("llama");
    let error = decoder.prefix(&ids).unwrap_err().to_string();
    assert!(error.contains("block 2"), "{error}");
    let error = decoder.extend(&decoder.prefix(&[]).unwrap(), &ids, &CaptureRequest::default()).unwrap_err();
    assert!(error.to_string().contains("block 2"), "{error}");
}
