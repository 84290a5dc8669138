use std::fs;

use super::super::synthetic_store::{examples, filled, header};
use super::super::{FeaturePool, LoadedFeatures};
use super::*;
use crate::reading::StateLayer;

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn features_come_back_as_they_were_computed() {
    let folder = tempfile::tempdir().unwrap();
    let examples = examples(4, 1.0);
    drop(filled(folder.path(), &examples));
    let store = FeatureStore::open(folder.path(), &header()).unwrap();
    store.verify().unwrap();
    assert_eq!(store.token_count(), 160);
    let LoadedBlock::F32(likelihood) = store.load(FeatureBlock::Likelihood).unwrap() else { panic!() };
    assert_eq!(likelihood[40 * 4 * 2..40 * 4 * 3], FeatureBlock::Likelihood.compute(&examples[2].1).unwrap());
    let residual = FeatureBlock::Residual { layer: StateLayer::Block(1), renormalised: false };
    let LoadedBlock::F16(found) = store.load(residual).unwrap() else { panic!() };
    let wanted = residual.compute(&examples[3].1).unwrap();
    for (found, wanted) in found[120 * 6..].iter().zip(wanted) {
        assert!((found.to_f32() - wanted).abs() < 2e-3);
    }
    let vectors = store.load_answers(AnswerFeatures::ChunkWise { blocks: 3 }).unwrap();
    assert_eq!(vectors.len(), 4 * 3 * 6);
    assert_eq!(vectors[18..36], AnswerFeatures::ChunkWise { blocks: 3 }.ratios(&examples[1].1).unwrap());
    let answer = &store.answers()[0];
    assert_eq!(answer.labelled, examples[0].0);
    let positives = answer.token_labels().iter().filter(|&&label| label).count();
    assert_eq!(positives, if answer.labelled.inconsistent { 8 } else { 0 });
}

#[test]
fn a_run_killed_in_the_middle_continues_and_ends_with_the_same_bytes() {
    let (whole, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let examples = examples(SHARD_ANSWERS + 6, 1.0);
    drop(filled(whole.path(), &examples));
    drop(filled(killed.path(), &examples[..SHARD_ANSWERS + 2]));
    // What a killed process leaves: a shard that was never renamed.
    let unfinished = format!("{}x", crate::disk::UNFINISHED);
    fs::write(killed.path().join(unfinished), [1, 2, 3]).unwrap();

    let mut store = FeatureStore::open(killed.path(), &header()).unwrap();
    assert_eq!(store.answers().len(), SHARD_ANSWERS + 2);
    for (label, trace) in &examples {
        if !store.contains(&label.key) {
            store.append(label, trace).unwrap();
        }
    }
    drop(store);
    assert_eq!(files(whole.path()).len(), 4, "a header, a lock and two shards");
    assert_eq!(files(killed.path()), files(whole.path()));
}

#[test]
fn only_whole_shards_survive_a_kill_and_unsaved_answers_are_not_read_as_features() {
    let folder = tempfile::tempdir().unwrap();
    let examples = examples(SHARD_ANSWERS + 3, 1.0);
    let mut store = FeatureStore::open(folder.path(), &header()).unwrap();
    for (label, trace) in &examples {
        store.append(label, trace).unwrap();
    }
    let unsaved = store.load(FeatureBlock::Likelihood);
    assert!(matches!(unsaved, Err(EvaluationError::Unsaved { answers: 3 })));
    // A kill: the process ends without `drop`, and with it the lock.
    store.growing.clear();
    drop(store);
    let store = FeatureStore::read(folder.path()).unwrap();
    assert_eq!(store.answers().len(), SHARD_ANSWERS);
    store.verify().unwrap();
}

#[test]
fn a_damaged_shard_is_named_and_its_answers_are_read_again_once_it_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let examples = examples(SHARD_ANSWERS + 3, 1.0);
    drop(filled(folder.path(), &examples));
    let path = folder.path().join("shard-00000.safetensors");
    let bytes = fs::read(&path).unwrap();
    let refused = |bytes: &[u8], words: &str| {
        fs::write(&path, bytes).unwrap();
        let error = FeatureStore::read(folder.path()).and_then(|store| store.verify()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("shard-00000") && message.contains("delete this file"), "{message}");
        assert!(message.contains(words), "{message}");
    };
    refused(&bytes[..bytes.len() - 1], "bytes, found");
    refused(&bytes[..3], "ends within its header");
    refused(&[], "ends within its header");
    let mut changed = bytes.clone();
    changed[bytes.len() - 2] ^= 1;
    refused(&changed, "answers does not match its checksum");
    let mut changed = bytes.clone();
    let at = bytes.windows(4).position(|window| window == b"1280").unwrap();
    changed[at] = b'2';
    refused(&changed, "header does not match");
    fs::remove_file(&path).unwrap();
    let mut store = FeatureStore::open(folder.path(), &header()).unwrap();
    assert_eq!(store.answers().len(), 3);
    for (label, trace) in &examples {
        if !store.contains(&label.key) {
            store.append(label, trace).unwrap();
        }
    }
    store.save().unwrap();
    store.verify().unwrap();
    assert_eq!(store.answers().len(), examples.len());
}

#[test]
fn a_block_left_on_disk_has_the_rows_of_the_one_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = filled(folder.path(), &examples(SHARD_ANSWERS + 3, 1.0));
    let blocks = [
        FeatureBlock::Difference { layer: StateLayer::FinalNorm },
        FeatureBlock::Residual { layer: StateLayer::Block(1), renormalised: false },
        FeatureBlock::Likelihood,
    ];
    let dense = |store: &FeatureStore| {
        let loaded = LoadedFeatures::load(&FeaturePool::of(store), &blocks).unwrap();
        let rows = loaded.rows().unwrap();
        let mut values = vec![0.0; rows.rows() * rows.width()];
        rows.copy_rows(&(0..rows.rows()).collect::<Vec<_>>(), &mut values).unwrap();
        values
    };
    let memory = dense(&store);
    assert_eq!(memory.len(), store.token_count() * 16);
    store.set_memory_limit(0);
    assert_eq!(dense(&store), memory);
}

#[test]
fn a_shard_is_a_safetensors_file_that_others_can_read() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), &examples(2, 1.0)));
    let bytes = fs::read(folder.path().join("shard-00000.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let likelihood = tensors.tensor("likelihood").unwrap();
    assert_eq!((likelihood.shape(), likelihood.dtype()), (&[80, 4][..], safetensors::Dtype::F32));
    assert_eq!(tensors.tensor("difference-block-1").unwrap().dtype(), safetensors::Dtype::F16);
}

#[test]
fn a_store_of_another_model_data_set_or_setting_is_refused_with_both_values() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), &examples(2, 1.0)));
    let refused = |change: &dyn Fn(&mut StoreHeader), words: &str| {
        let mut wanted = header();
        change(&mut wanted);
        let message = FeatureStore::open(folder.path(), &wanted).unwrap_err().to_string();
        assert!(message.contains("stale") && message.contains(words), "{message}");
    };
    refused(&|header| header.model.hash = "bb22".to_owned(), "model hash is aa11, wanted is bb22");
    refused(&|header| header.data_hash = "ee55".to_owned(), "data hash is dd44, wanted is ee55");
    refused(&|header| header.blocks.truncate(3), "list of features");
    refused(&|header| header.chunk_blocks = 5, "number of chunk blocks is 3, wanted is 5");
    refused(
        &|header| {
            header.settings.insert("prompt".to_owned(), "plain".to_owned());
        },
        "settings",
    );
}

#[test]
fn a_changed_header_or_feature_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), &examples(2, 1.0)));
    let path = folder.path().join("shard-00000.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let data = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let layout: serde_json::Value = serde_json::from_slice(&bytes[8..data]).unwrap();
    let likelihood = layout["likelihood"]["data_offsets"][0].as_u64().unwrap() as usize;
    bytes[data + likelihood + 1] ^= 1;
    fs::write(&path, bytes).unwrap();
    let store = FeatureStore::read(folder.path()).unwrap();
    let message = store.load(FeatureBlock::Likelihood).unwrap_err().to_string();
    assert!(message.contains("likelihood does not match"), "{message}");
    assert!(store.stored(FeatureBlock::Likelihood).is_err() && store.verify().is_err());
    assert!(store.load(FeatureBlock::ContextRatio).is_ok());
    drop(store);
    let path = folder.path().join(HEADER);
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("dd44", "dd45")).unwrap();
    let message = FeatureStore::read(folder.path()).unwrap_err().to_string();
    assert!(message.contains("checksum"), "{message}");
}

#[test]
fn an_answer_that_cannot_be_stored_leaves_the_store_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let examples = examples(3, 1.0);
    let mut store = filled(folder.path(), &examples[..2]);
    let before = files(folder.path());
    assert!(matches!(store.append(&examples[0].0, &examples[0].1), Err(EvaluationError::Duplicate { .. })));
    let mut broken = examples[2].1.clone();
    broken.log_prob_with[3] = f32::NAN;
    assert!(matches!(store.append(&examples[2].0, &broken), Err(EvaluationError::Detect(_))));
    broken.states.clear();
    assert!(store.append(&examples[2].0, &broken).is_err());
    assert_eq!(files(folder.path()), before);
    store.append(&examples[2].0, &examples[2].1).unwrap();
    store.save().unwrap();
    assert_eq!(store.answers().len(), 3);
    store.verify().unwrap();
}

#[test]
fn a_store_in_use_is_not_opened_a_second_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), &examples(1, 1.0));
    assert!(matches!(FeatureStore::read(folder.path()), Err(EvaluationError::InUse { .. })));
    drop(store);
    assert!(FeatureStore::read(folder.path()).is_ok());
}

#[test]
fn values_beyond_half_precision_are_kept_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut examples = examples(1, 1.0);
    examples[0].1.states[0].with_references[0] = 1e9;
    let store = filled(folder.path(), &examples);
    let LoadedBlock::F16(states) = store.load(FeatureBlock::State { layer: StateLayer::Block(1) }).unwrap()
    else {
        panic!()
    };
    assert_eq!(states[0], f16::MAX);
}
