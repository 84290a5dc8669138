//! `ragscope models show`: what a model is, from its headers.

use clap::Args;
use indicatif::HumanBytes;
use serde::Serialize;

use crate::detect::TextIdentity;
use crate::inspect::{HeadFiles, identity_at};
use crate::model::{CacheDirectory, ModelError, ModelLocation, ModelSummary, TextModelFacts};
use crate::text::visible_line;

use super::super::open::head_source;
use super::super::{Failure, Outcome, Shared, output};

/// Options of `ragscope models show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// A name, a .gguf file, a directory, org/name in the Hugging Face cache, or ollama:name
    #[arg(value_name = "NAME-or-PATH", default_value = "default")]
    model: String,
    /// Estimate memory for reading this many tokens
    #[arg(long, default_value_t = 2048, value_name = "N")]
    tokens: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    path: String,
    sha256: String,
    /// What heads name beside the weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextIdentity>,
    architecture: &'static str,
    layers: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    hidden_size: usize,
    intermediate_size: usize,
    vocabulary: usize,
    context_length: usize,
    /// The smallest window of a block that does not see everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<usize>,
    parameters: u64,
    stored_as: Vec<Stored>,
    file_bytes: u64,
    memory: Memory,
    heads_that_fit: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    heads_that_do_not: Option<String>,
}

#[derive(Serialize)]
struct Stored {
    dtype: String,
    tensors: usize,
    values: u64,
}

#[derive(Serialize)]
struct Memory {
    tokens: usize,
    fits_the_context: bool,
    weights: u64,
    key_value_cache: u64,
    working: u64,
    total: u64,
}

/// Reads headers, hashes the weights the first time, and tells.
pub fn run(shared: &Shared, cache: &CacheDirectory, arguments: &ShowArguments) -> Outcome {
    let location = ModelLocation::parse(Some(&arguments.model), cache).map_err(Failure::model)?;
    let summary = ModelSummary::of(&location).map_err(Failure::model)?;
    let facts =
        TextModelFacts::of(&location, cache).map_err(|error| Failure::model(ModelError::from(error)))?;
    let config = &summary.config;
    let identity = identity_at(&location, cache).map_err(Failure::model)?;
    let mut fitting = Vec::new();
    // Heads that cannot be read say nothing against the model.
    let unfit = match HeadFiles::read(&head_source(shared)).and_then(|files| files.card()) {
        Err(error) => Some(error.to_string()),
        Ok(card) => match card.model.admits(&identity) {
            Ok(()) => {
                fitting.push(format!("{} (tokens) and the look-back head (answers)", card.name));
                None
            }
            Err(error) => Some(format!("{}: {error}", card.name)),
        },
    };
    fitting.push("negative log-likelihood (untrained, fits every model)".to_owned());
    let memory = summary.memory(arguments.tokens);
    let shown = Shown {
        path: location.path().display().to_string(),
        architecture: config.architecture.name(),
        layers: config.layers,
        heads: config.heads,
        kv_heads: config.kv_heads,
        head_dim: config.head_dim,
        hidden_size: config.hidden_size,
        intermediate_size: config.intermediate_size,
        vocabulary: config.vocab_size,
        context_length: config.context_length,
        window: config.windows.iter().flatten().min().copied(),
        parameters: summary.parameters(),
        stored_as: summary
            .stored
            .iter()
            .map(|kind| Stored { dtype: kind.dtype.clone(), tensors: kind.tensors, values: kind.values })
            .collect(),
        file_bytes: summary.file_bytes,
        memory: Memory {
            tokens: memory.tokens,
            fits_the_context: memory.tokens <= config.context_length,
            weights: memory.weights,
            key_value_cache: memory.cache,
            working: memory.working,
            total: memory.total(),
        },
        heads_that_fit: fitting,
        heads_that_do_not: unfit,
        text: identity.text,
        sha256: facts.sha256,
        name: facts.name,
    };
    if arguments.json { output::print_json(&shown) } else { output::print(&text(&shown)) }
}

fn text(shown: &Shown) -> String {
    let mut lines = Vec::new();
    let mut line = |what: &str, found: String| lines.push(format!("{what:<14} {}\n", visible_line(&found)));
    line("name", shown.name.clone());
    line("path", shown.path.clone());
    line("sha256", shown.sha256.clone());
    if let Some(text) = &shown.text {
        line("tokenizer", text.tokenizer.clone());
        line("chat template", text.template.clone());
        line("prompt form", text.prompt.clone());
    }
    line("architecture", shown.architecture.to_owned());
    line("layers", shown.layers.to_string());
    line(
        "heads",
        format!("{}, {} for keys and values, of width {}", shown.heads, shown.kv_heads, shown.head_dim),
    );
    line("hidden size", format!("{}, feed-forward {}", shown.hidden_size, shown.intermediate_size));
    line("vocabulary", format!("{} tokens", shown.vocabulary));
    line(
        "context",
        match shown.window {
            Some(window) => format!("{} tokens, windows of {window}", shown.context_length),
            None => format!("{} tokens", shown.context_length),
        },
    );
    line("parameters", format!("{:.1} million", shown.parameters as f64 / 1e6));
    let kinds: Vec<String> = shown
        .stored_as
        .iter()
        .map(|kind| {
            let share = 100.0 * kind.values as f64 / (shown.parameters as f64).max(1.0);
            format!("{} ({} tensors, {share:.1} %)", kind.dtype, kind.tensors)
        })
        .collect();
    line("stored as", format!("{}; read as f32", kinds.join(", ")));
    line("file size", HumanBytes(shown.file_bytes).to_string());
    let memory = &shown.memory;
    let beyond = if memory.fits_the_context { "" } else { "; more than the context holds" };
    line(
        "memory",
        format!(
            "about {} for {} tokens: weights {}, keys and values {}, working space {}{beyond}",
            HumanBytes(memory.total),
            memory.tokens,
            HumanBytes(memory.weights),
            HumanBytes(memory.key_value_cache),
            HumanBytes(memory.working)
        ),
    );
    for head in &shown.heads_that_fit {
        line("head fits", head.clone());
    }
    if let Some(unfit) = &shown.heads_that_do_not {
        line("does not fit", unfit.clone());
    }
    lines.concat()
}
