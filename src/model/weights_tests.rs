//! Weights out of safetensors, good and hostile ones.

use std::fs;
use std::path::Path;

use super::decoder_tests::{everything, folder, tensors};
use super::*;

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
