//! Decoders out of GGUF files, good and hostile ones.

use std::fs;
use std::path::{Path, PathBuf};

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

use super::decoder_tests::{GOLDEN, assert_close, everything, flat, folder, golden_ids};
use super::small_gguf::{F32, Meta, Metadata, Stored, gguf, load, metadata, stored};
use super::*;

fn write(directory: &Path, bytes: &[u8]) -> PathBuf {
    let path = directory.join("model.gguf");
    fs::write(&path, bytes).unwrap();
    path
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
    for name in GOLDEN {
        let mut weights = stored(name);
        if name == "llama3-rope" {
            weights.push(llama3_divisors());
        }
        let from_file = load(&gguf(&metadata(name), &weights)).unwrap();
        let from_directory = Decoder::from_directory(&folder(name)).unwrap();
        let (ours, theirs) = (from_file.config(), from_directory.config());
        assert_eq!((ours.context_length, &ours.windows), (theirs.context_length, &theirs.windows), "{name}");
        let ids = golden_ids(name);
        let read = |decoder: &Decoder| {
            decoder
                .extend(
                    &decoder.prefix(&ids[..9]).unwrap(),
                    &ids[9..],
                    &everything(decoder.config().layers, &[0..9, 9..40]),
                )
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
    for (kind, number) in [
        (GgmlDType::Q4_0, 2),
        (GgmlDType::Q4_1, 3),
        (GgmlDType::Q5_0, 6),
        (GgmlDType::Q8_0, 8),
        (GgmlDType::F16, 1),
        (GgmlDType::BF16, 30),
    ] {
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

/// A Llama of one layer whose rows are as long as a block of 256, which the K types need.
fn wide_llama() -> (Metadata, Vec<Stored>) {
    let metadata = [
        ("general.architecture", Meta::Text("llama")),
        ("llama.block_count", Meta::Count(1)),
        ("llama.context_length", Meta::Count(64)),
        ("llama.embedding_length", Meta::Count(256)),
        ("llama.feed_forward_length", Meta::Count(256)),
        ("llama.attention.head_count", Meta::Count(4)),
        ("llama.attention.layer_norm_rms_epsilon", Meta::Number(1e-5)),
        ("llama.rope.freq_base", Meta::Number(10_000.0)),
    ];
    let mut state = 7u32;
    let mut tensor = |name: &str, shape: &[u64]| {
        let count = shape.iter().product::<u64>();
        let numbers = (0..count).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 83_886_080.0 - 0.1
        });
        let bytes = numbers.flat_map(f32::to_le_bytes).collect();
        Stored { name: format!("{name}.weight"), shape: shape.to_vec(), kind: F32, bytes }
    };
    let mut tensors = vec![tensor("token_embd", &[48, 256]), tensor("output_norm", &[256])];
    for name in ["attn_norm", "ffn_norm"] {
        tensors.push(tensor(&format!("blk.0.{name}"), &[256]));
    }
    for name in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"] {
        tensors.push(tensor(&format!("blk.0.{name}"), &[256, 256]));
    }
    (metadata.map(|(key, value)| (key.to_owned(), value)).to_vec(), tensors)
}

#[test]
fn tensors_in_k_types_mean_the_values_their_blocks_stand_for() {
    let (metadata, exact) = wide_llama();
    let ids: Vec<u32> = (0..40).map(|i| i * 7 % 48).collect();
    let read = |stored: &[Stored]| {
        let decoder = load(&gguf(&metadata, stored)).unwrap();
        decoder.extend(&decoder.prefix(&[]).unwrap(), &ids, &everything(1, &[])).unwrap()
    };
    let unrounded = read(&exact);
    for (kind, number) in [(GgmlDType::Q4K, 12), (GgmlDType::Q5K, 13), (GgmlDType::Q6K, 14)] {
        let of = |stored: &Stored, packs: bool| {
            let (bytes, values) = quantised(stored, kind);
            let (name, shape) = (stored.name.clone(), stored.shape.clone());
            if packs {
                return Stored { name, shape, kind: number, bytes };
            }
            let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            Stored { name, shape, kind: F32, bytes }
        };
        let packed: Vec<_> = exact.iter().map(|stored| of(stored, true)).collect();
        let rounded: Vec<_> = exact.iter().map(|stored| of(stored, false)).collect();
        assert_eq!(read(&packed), read(&rounded), "{kind:?}");
        assert_ne!(read(&packed), unrounded, "{kind:?} rounds");
    }
}

#[test]
fn files_of_other_architectures_are_refused_where_they_say_what_is_not_known() {
    let changed = |name: &str, key: &str, value: Option<Meta>| {
        let mut metadata = metadata(name);
        metadata.retain(|(k, _)| k != key);
        metadata.extend(value.map(|value| (key.to_owned(), value)));
        refusal(&gguf(&metadata, &stored(name)))
    };
    for (name, key, value) in [
        ("qwen2", "qwen2.rope.freq_base", None),
        ("gemma3", "gemma3.rope.freq_base", None),
        ("gemma3", "gemma3.attention.sliding_window", None),
        ("gemma3", "gemma3.final_logit_softcapping", Some(Meta::Number(30.0))),
        ("gemma3", "gemma3.rope.scaling.type", Some(Meta::Text("longrope"))),
        ("qwen2", "qwen2.attention.sliding_window", Some(Meta::Count(32))),
        ("phi3", "phi3.attention.sliding_window_pattern", Some(Meta::Count(2))),
    ] {
        let error = changed(name, key, value);
        assert!(error.contains(key), "{key}: {error}");
    }
    // Tensors that carry another rotation must not be passed over.
    let bytes = vec![0; 16];
    let long = Stored { name: "rope_factors_long.weight".to_owned(), shape: vec![4], kind: F32, bytes };
    let mut weights = stored("phi3");
    weights.push(long);
    let error = refusal(&gguf(&metadata("phi3"), &weights));
    assert!(error.contains("rope_factors_long.weight"), "{error}");
}

#[test]
fn phi3_reads_the_same_with_queries_keys_and_values_apart() {
    let read = |stored: &[Stored]| {
        let decoder = load(&gguf(&metadata("phi3"), stored)).unwrap();
        let ids = golden_ids("phi3");
        decoder.extend(&decoder.prefix(&[]).unwrap(), &ids, &everything(3, &[])).unwrap()
    };
    let together = stored("phi3");
    let mut apart = Vec::new();
    for tensor in stored("phi3") {
        let Some(layer) = tensor.name.strip_suffix("attn_qkv.weight") else {
            apart.push(tensor);
            continue;
        };
        let mut bytes = &tensor.bytes[..];
        for (part, rows) in [("attn_q", 32), ("attn_k", 16), ("attn_v", 16)] {
            let (mine, rest) = bytes.split_at(rows * 32 * 4);
            bytes = rest;
            let name = format!("{layer}{part}.weight");
            apart.push(Stored { name, shape: vec![rows as u64, 32], kind: F32, bytes: mine.to_vec() });
        }
    }
    assert_eq!(read(&apart), read(&together));
}

#[test]
fn a_model_in_several_files_reads_as_one_and_a_missing_part_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = |number: usize| directory.path().join(format!("m-0000{number}-of-00003.gguf"));
    let mut parts: [Vec<Stored>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    for (at, tensor) in stored("qwen2").into_iter().enumerate() {
        // The embedding may lie in any part.
        parts[at % 3].push(tensor);
    }
    for (number, part) in parts.iter().enumerate() {
        // All metadata lies in the first.
        let mut metadata = if number == 0 { metadata("qwen2") } else { Metadata::new() };
        metadata.push(("split.no".to_owned(), Meta::Count(number as u32)));
        metadata.push(("split.count".to_owned(), Meta::Count(3)));
        fs::write(path(number + 1), gguf(&metadata, part)).unwrap();
    }
    let read = |decoder: &Decoder| {
        let ids = golden_ids("qwen2");
        decoder.extend(&decoder.prefix(&[]).unwrap(), &ids, &everything(3, &[])).unwrap()
    };
    let whole = load(&gguf(&metadata("qwen2"), &stored("qwen2"))).unwrap();
    assert_eq!(read(&Decoder::from_gguf(&path(1)).unwrap()), read(&whole));

    let error = Decoder::from_gguf(&path(2)).unwrap_err().to_string();
    assert!(error.contains("split.count") && error.contains("00001-of-00003"), "{error}");
    fs::copy(path(2), path(3)).unwrap();
    let error = Decoder::from_gguf(&path(1)).unwrap_err().to_string();
    assert!(error.contains("split.no"), "{error}");
    fs::remove_file(path(3)).unwrap();
    let error = Decoder::from_gguf(&path(1)).unwrap_err().to_string();
    assert!(error.contains("m-00003-of-00003.gguf"), "{error}");
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
    let metadata: Vec<_> = metadata("llama").into_iter().filter(|(k, _)| k != "llama.vocab_size").collect();
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
type Edit<'a> = dyn Fn(&mut Metadata, &mut Vec<Stored>) + 'a;

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
        ("general.architecture", Meta::Text("mamba\u{1b}[2J")),
        ("llama.block_count", Meta::Count(0)),
        ("llama.attention.head_count_kv", Meta::Count(3)),
        ("llama.attention.layer_norm_rms_epsilon", Meta::Text("small")),
        ("llama.rope.dimension_count", Meta::Count(4)),
        ("llama.vocab_size", Meta::Count(97)),
        ("llama.context_length", Meta::Number(128.0)),
        ("llama.rope.scaling.type", Meta::Text("proportional")),
        ("llama.expert_count", Meta::Count(8)),
    ];
    for (key, value) in fields {
        let error = changed(&|m, _| {
            m.retain(|(k, _)| k != key);
            m.push((key.to_owned(), value));
        });
        let named = error.contains(key) || error.contains("divisor of the 4");
        assert!(named && !error.contains('\u{1b}'), "{key}: {error}");
    }
    let error = changed(&|m, _| {
        m.retain(|(k, _)| k != "llama.block_count");
        m.push(("llama.block_count".to_owned(), Meta::Count(1 << 20)));
    });
    assert!(error.contains("layers") && error.contains("29 tensors"), "{error}");
    let missing = Decoder::from_gguf(Path::new("no/such/model.gguf")).unwrap_err().to_string();
    assert!(missing.contains("no/such/model.gguf"), "{missing}");
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
