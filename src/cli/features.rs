//! Features of labelled answers: extracted once, kept in the cache, shared by `eval` and `train`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use sha2::{Digest, Sha256};

use crate::data::{Dataset, Row, grouped_folds};
use crate::evidence::{AnnotationFile, merge_labels};
use crate::inspect::{Corpus, RetrieverKind};
use crate::laboratory::{
    EvaluationError, FeatureSet, FeatureStore, OnError, extract as extract_features, store_header,
};
use crate::model::{CacheDirectory, LanguageModel, ModelLocation};
use crate::retrieval::RetrievalError;
use crate::text::hexadecimal;

use super::data_set::DataArguments;
use super::models::cache_directory;
use super::progress::progress_bar;
use super::retriever::RetrieverArguments;
use super::session::{failure_of, tell_on_standard_error};
use super::signals::{cancel_on_interrupt, cancelled};
use super::{Failure, Outcome, Shared, output};

/// Options of commands that need features.
#[derive(Debug, Clone, Args)]
pub struct FeatureArguments {
    /// Keep the features of DATA in this folder instead of the cache directory; a killed run continues
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,
    /// Chunks retrieved for answers that came without passages
    #[arg(long, default_value_t = 5)]
    top_k: usize,
    #[command(flatten)]
    retriever: RetrieverArguments,
    /// Marks made in the inspector: they become labels (a false alarm removes one, a missed span adds one)
    #[arg(long, value_name = "FILE")]
    annotations: Option<PathBuf>,
    /// Read no more than the first N passages of an answer; prompts of whole pages take long
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    passages: Option<u32>,
    /// What happens to an answer that cannot be read, or has features that are not finite
    #[arg(long, value_enum, default_value_t = OnErrorArgument::Skip)]
    on_error: OnErrorArgument,
}

impl FeatureArguments {
    /// The same for a further data set, whose features stay in the cache directory.
    pub fn in_cache(&self) -> Self {
        Self { store: None, ..self.clone() }
    }
}

/// [`OnError`] on the command line.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum OnErrorArgument {
    /// Leave it out and say so
    Skip,
    /// End with an error that names it; what was read is kept
    Stop,
}

/// The store and what it was made from.
pub struct Features {
    /// Features of every labelled answer.
    pub store: FeatureStore,
    /// The data set.
    pub dataset: Dataset,
}

impl Features {
    /// The fold of every stored answer; answers to one source never straddle them.
    pub fn folds(&self, folds: usize, seed: u64) -> Vec<usize> {
        let keys: Vec<&str> =
            self.store.answers().iter().map(|answer| answer.labelled.source.as_str()).collect();
        grouped_folds(&keys, folds, seed)
    }
}

/// Leaves each record its first `most` passages; how many records had more.
fn keep_passages(dataset: &mut Dataset, most: usize) -> usize {
    let mut cut = 0;
    for row in &mut dataset.rows {
        if let Row::Example(example) = row {
            cut += usize::from(example.passages.len() > most);
            example.passages.truncate(most);
        }
    }
    cut
}

/// Opens data and model, reads what is not in the store of this set of features yet.
pub fn extract(
    shared: &Shared,
    data: &DataArguments,
    arguments: &FeatureArguments,
    features: FeatureSet,
) -> Outcome<Features> {
    let placement = shared.placement()?;
    let mut dataset = data.open()?;
    if let Some(path) = &arguments.annotations {
        annotate(&mut dataset, path)?;
    }
    let cut = arguments.passages.map_or(0, |most| keep_passages(&mut dataset, most as usize));
    let cache = cache_directory()?;
    let location = ModelLocation::parse(shared.model.as_deref(), &cache).map_err(Failure::model)?;
    let model = LanguageModel::open_on(&location, &cache, placement).map_err(Failure::model)?;
    let mut header = store_header(&model, &dataset, features).map_err(Failure::model)?;
    let mut suffix = placement.suffix().to_owned();
    if features == FeatureSet::CortexSwitches {
        suffix = format!("-cortex-switches{suffix}");
    }
    if let (Some(most), true) = (arguments.passages, cut > 0) {
        output::tell(&format!(
            "read with their first {most} passages: {cut} of {} records",
            dataset.rows.len()
        ));
        header.settings.insert("passages".to_owned(), most.to_string());
        suffix = format!("-{most}-passages{suffix}");
    }
    let corpus = retriever(&dataset, arguments, &cache)?;
    if let Some(corpus) = &corpus {
        let retrieval = retrieval_settings(corpus, arguments.top_k);
        suffix = format!("-{}{suffix}", short_hash(&retrieval));
        header.settings.extend(retrieval);
    }
    let folder = arguments.store.clone().unwrap_or_else(|| {
        cache.path().join("features").join(format!("{}-{}{suffix}", header.data_hash, header.model.hash))
    });
    let mut store = FeatureStore::open(&folder, &header).map_err(Failure::input)?;
    let cancel = cancel_on_interrupt();
    let bar = progress_bar("answers read");
    let started = Instant::now();
    let tokens_before = store.token_count();
    let done = extract_features(
        &dataset,
        &model,
        corpus.as_ref(),
        arguments.top_k,
        match arguments.on_error {
            OnErrorArgument::Skip => OnError::Skip,
            OnErrorArgument::Stop => OnError::Stop,
        },
        &mut store,
        &cancel,
        &mut |progress| {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
            let rate = progress.tokens as f64 / started.elapsed().as_secs_f64().max(1e-3);
            bar.set_message(format!("answers read, {rate:.0} tokens/s"));
        },
    )
    .map_err(|error| match error {
        EvaluationError::Model(_) | EvaluationError::Retrieval(RetrievalError::Encoder(_)) => {
            Failure::model(error)
        }
        error => Failure::input(error),
    })?;
    bar.finish_and_clear();
    if cancelled(&cancel) {
        return Err(Failure::Interrupted);
    }
    if done.read > 0 {
        let seconds = started.elapsed().as_secs_f64();
        output::tell(&format!(
            "read {} answers ({} answer tokens) twice in {seconds:.0} s",
            done.read,
            store.token_count() - tokens_before
        ));
    }
    if !done.left_out.is_empty() {
        output::tell(&format!("{} answers or records left out", done.left_out.len()));
    }
    for reason in done.left_out.iter().take(10) {
        output::tell(&format!("left out: {reason}"));
    }
    if done.left_out.len() > 10 {
        output::tell(&format!("left out: {} more", done.left_out.len() - 10));
    }
    if store.answers().is_empty() {
        return Err(Failure::input_message(format!(
            "{} has no labelled answer that could be read; labels are spans of unsupported text (`labels` in \
             ragscope's own JSONL)",
            dataset.name
        )));
    }
    Ok(Features { store, dataset })
}

/// What finds chunks for the labelled answers that came without passages; `None` where all brought theirs, or
/// nothing can be searched.
fn retriever(
    dataset: &Dataset,
    arguments: &FeatureArguments,
    cache: &CacheDirectory,
) -> Outcome<Option<Corpus>> {
    let settings = arguments.retriever.settings(None)?;
    let searches = !dataset.documents.is_empty() || matches!(settings.kind, RetrieverKind::Server(_));
    let is_needed = dataset.examples().any(|example| {
        example.passages.is_empty() && example.answer.is_some() && example.gold_spans.is_some()
    });
    if searches && is_needed {
        let corpus = Corpus::open(&dataset.documents, &settings, cache, &mut tell_on_standard_error);
        return corpus.map(Some).map_err(failure_of);
    }
    if arguments.retriever.is_named() {
        let why =
            if is_needed { "there are no documents to search" } else { "every labelled answer has passages" };
        output::tell(&format!(
            "note: nothing is retrieved for {}, since {why}: --retriever has no effect",
            dataset.name
        ));
    }
    Ok(None)
}

/// Whose chunks the answers were read with, for stores and for the cards of heads.
fn retrieval_settings(corpus: &Corpus, top_k: usize) -> BTreeMap<String, String> {
    let kind = corpus.score_kind();
    let mut settings = kind.settings;
    settings.insert("retriever".to_owned(), kind.retriever);
    settings.insert("top_k".to_owned(), top_k.to_string());
    settings
}

/// Tells the stores of one data set apart that were read with chunks of different retrievers.
fn short_hash(settings: &BTreeMap<String, String>) -> String {
    let text: String = settings.iter().map(|(name, value)| format!("{name}\n{value}\n")).collect();
    hexadecimal(&Sha256::digest(text)[..4])
}

/// Works the marks of a file into the labels, and says what became of them.
fn annotate(dataset: &mut Dataset, path: &Path) -> Outcome {
    let shown = crate::text::visible_path(path);
    if !path.exists() {
        return Err(Failure::input_message(format!(
            "there are no annotations in {shown}: mark spans in `ragscope open`, it says where they are kept"
        )));
    }
    let (_, annotations, notices) = AnnotationFile::open(path).map_err(Failure::input)?;
    for notice in notices {
        output::tell(&format!("note: {notice}"));
    }
    let merged = merge_labels(&annotations, dataset);
    output::tell(&format!(
        "{shown}: answers with corrected labels: {} ({} had none before)",
        merged.answers, merged.newly_labelled
    ));
    if merged.other_answer > 0 {
        output::tell(&format!(
            "note: records whose answer is another one than was marked: {}; their marks are not used",
            merged.other_answer
        ));
    }
    if merged.unknown > 0 {
        output::tell(&format!("note: marked records that are not in this data: {}", merged.unknown));
    }
    Ok(())
}
