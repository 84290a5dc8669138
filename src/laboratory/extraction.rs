//! Reads the labelled answers of a data set once and keeps their features.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::data::{Dataset, Example, Row};
use crate::detect::signals_of;
use crate::inspect::{Corpus, MOST_TOGETHER, identity, same_prompt};
use crate::model::{LanguageModel, ModelError};
use crate::reading::Reader;
use crate::text::visible_line;

use super::{EvaluationError, FeatureSet, FeatureStore, LabelledAnswer, StoreHeader};

/// What happens to an answer that cannot be read or whose features are not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// It is left out and named.
    #[default]
    Skip,
    /// The extraction ends with an error that names it; what was read before is kept.
    Stop,
}

/// How far an extraction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtractionProgress {
    /// Answers done, those in the store before included.
    pub done: usize,
    /// Answers in all.
    pub total: usize,
    /// Answer tokens read now; each is read twice.
    pub tokens: usize,
}

/// What an extraction did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extraction {
    /// Answers read now.
    pub read: usize,
    /// Answers that were in the store already.
    pub kept: usize,
    /// Rows left out, with the reason.
    pub left_out: Vec<String>,
    /// Whether it was cancelled before the end.
    pub cancelled: bool,
}

/// The header of a store for `dataset` read by `model`, with the features of one set.
///
/// # Errors
/// As [`identity`].
pub fn store_header(
    model: &LanguageModel,
    dataset: &Dataset,
    features: FeatureSet,
) -> Result<StoreHeader, ModelError> {
    let layers = StoreHeader::default_layers(model.decoder.config().layers);
    let (identity, hash) = (identity(model)?, dataset.hash.clone());
    let mut header = match features {
        FeatureSet::Laboratory => StoreHeader::new(identity, hash, &layers),
        FeatureSet::CortexSwitches => StoreHeader::cortex_switches(identity, hash),
    };
    header.settings.insert("data".to_owned(), dataset.name.clone());
    Ok(header)
}

/// Reads every labelled answer that is not in `store` yet. Examples without passages of their own get
/// the top `top_k` chunks of `corpus`.
///
/// An answer that cannot be read, or has features that are not finite, is named with its record (and the
/// error names the feature, with its layer) and left out, or ends the extraction, as `on_error` says.
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller's")]
pub fn extract(
    dataset: &Dataset,
    model: &LanguageModel,
    corpus: Option<&Corpus>,
    top_k: usize,
    on_error: OnError,
    store: &mut FeatureStore,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(ExtractionProgress),
) -> Result<Extraction, EvaluationError> {
    let mut done = Extraction::default();
    let mut reader = Reader::new(model, store.header().layers()).keeping(signals_of(&store.header().blocks));
    let mut labelled: Vec<(&Example, &str)> = dataset
        .rows
        .iter()
        .filter_map(|row| match row {
            Row::Example(example) => Some((example, example.answer.as_deref()?)),
            Row::Bad(bad) => {
                done.left_out.push(bad.to_string());
                None
            }
        })
        .filter(|(example, _)| example.gold_spans.is_some())
        .collect();
    let total = labelled.len();
    labelled.retain(|(example, _)| !store.contains(&example.row.to_string()));
    done.kept = total - labelled.len();
    let mut finished = done.kept;
    let mut tokens = 0;
    let runs = labelled.chunk_by(|left, right| same_prompt(left.0, right.0));
    for run in runs.flat_map(|run| run.chunks(MOST_TOGETHER)) {
        if cancel.load(Ordering::Relaxed) {
            done.cancelled = true;
            store.save()?;
            return Ok(done);
        }
        let Some((first, _)) = run.first() else { continue };
        let retrieved = match corpus {
            Some(corpus) if first.passages.is_empty() => corpus.retrieve(&first.question, top_k)?.chunks,
            _ => Vec::new(),
        };
        let passages: Vec<&str> = if first.passages.is_empty() {
            retrieved.iter().map(|chunk| &*chunk.text).collect()
        } else {
            first.passages.iter().map(|passage| passage.text.as_str()).collect()
        };
        let answers: Vec<&str> = run.iter().map(|(_, answer)| *answer).collect();
        let readings = reader.read_many(&first.question, &passages, &answers);
        for ((example, answer), reading) in run.iter().zip(readings) {
            let stored = match reading {
                Ok(read) => {
                    let label = labelled_answer(example.row.to_string(), example, answer);
                    match store.append(&label, &read.trace) {
                        Ok(()) => Ok(read.trace.token_ids.len()),
                        Err(EvaluationError::Detect(error)) => Err(error.to_string()),
                        Err(error) => return Err(error),
                    }
                }
                Err(error) => Err(error.to_string()),
            };
            match stored {
                Ok(read) => {
                    done.read += 1;
                    tokens += read;
                }
                Err(error) => {
                    let reason = format!("row {}, id {}: {error}", example.row, visible_line(&example.id));
                    if on_error == OnError::Stop {
                        store.save()?;
                        return Err(EvaluationError::Unreadable { reason });
                    }
                    done.left_out.push(reason);
                }
            }
            finished += 1;
            progress(ExtractionProgress { done: finished, total, tokens });
        }
    }
    store.save()?;
    Ok(done)
}

fn labelled_answer(key: String, example: &Example, answer: &str) -> LabelledAnswer {
    LabelledAnswer {
        key,
        source: example.split_key().to_owned(),
        generator: example.groups.get("generator").cloned(),
        task: example.groups.get("task").cloned(),
        split: example.groups.get("split").cloned(),
        answer: answer.to_owned(),
        gold_spans: example.gold_spans.iter().flatten().map(|span| span.range.clone()).collect(),
        inconsistent: example.labelled_inconsistent().unwrap_or(false),
    }
}
