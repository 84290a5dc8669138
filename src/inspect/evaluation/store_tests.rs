use std::fs;
use std::io::Write;

use super::super::synthetic_store::{examples, filled, header};
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
    let examples = examples(6, 1.0);
    drop(filled(whole.path(), &examples));
    drop(filled(killed.path(), &examples[..3]));
    // What a killed process leaves: features of an answer without its line, and half a line.
    let mut column = OpenOptions::new().append(true).open(killed.path().join("context-ratio.f16")).unwrap();
    column.write_all(&[1, 2, 3, 4, 5]).unwrap();
    let mut index = OpenOptions::new().append(true).open(killed.path().join(INDEX)).unwrap();
    index.write_all(b"{\"key\":\"row-3\",\"sou").unwrap();
    drop((column, index));

    let mut store = FeatureStore::open(killed.path(), &header()).unwrap();
    assert_eq!(store.answers().len(), 3);
    for (label, trace) in &examples {
        if !store.contains(&label.key) {
            store.append(label, trace).unwrap();
        }
    }
    drop(store);
    assert_eq!(files(killed.path()), files(whole.path()));
}

#[test]
fn an_answer_whose_features_were_lost_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let examples = examples(3, 1.0);
    drop(filled(folder.path(), &examples));
    let whole = files(folder.path());
    let path = folder.path().join("likelihood.f32");
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(fs::metadata(&path).unwrap().len() - 1)
        .unwrap();
    let mut store = FeatureStore::open(folder.path(), &header()).unwrap();
    assert!(!store.contains("row-2") && store.contains("row-1"));
    store.append(&examples[2].0, &examples[2].1).unwrap();
    drop(store);
    assert_eq!(files(folder.path()), whole);
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
    let path = folder.path().join("log-chunk-mass.f16");
    let mut bytes = fs::read(&path).unwrap();
    bytes[40 * 6 * 2 + 1] ^= 1;
    fs::write(&path, bytes).unwrap();
    let store = FeatureStore::read(folder.path()).unwrap();
    let message = store.verify().unwrap_err().to_string();
    assert!(message.contains("answer row-1"), "{message}");
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
    assert_eq!(store.answers().len(), 3);
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
