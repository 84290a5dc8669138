//! `ragscope heads`: which heads there are, what they are, and whether they fit the model in use.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::detect::{AnswerFeatures, AnswerHeadCard, FeatureBlock, ModelIdentity, TokenHeadCard, signals_of};
use crate::inspect::{HeadFiles, HeadSource, SHIPPED_HEADS, identity_at};
use crate::model::ModelLocation;
use crate::text::{visible_line, visible_path};

use super::models::cache_directory;
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope heads`.
#[derive(Debug, Args)]
pub struct HeadsArguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// The shipped heads, and those in folders: what they read, how good they are, whether they fit the model
    List {
        /// Folders of heads, or folders that hold such folders [also: --heads]
        #[arg(value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// All that the cards of two heads say, and why they fit the model or not
    Show {
        /// `smollm2-135m-instruct` (the shipped ones) or a folder written by `ragscope train` [default: --heads,
        /// else the shipped ones]
        #[arg(value_name = "NAME-or-FOLDER")]
        heads: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the chosen action.
pub fn run(shared: &Shared, arguments: &HeadsArguments) -> Outcome {
    match &arguments.action {
        None => list(shared, &[], false),
        Some(Action::List { folders, json }) => list(shared, folders, *json),
        Some(Action::Show { heads, json }) => show(shared, heads.as_deref(), *json),
    }
}

/// The model that heads would be used with, or why there is none.
struct InUse(Result<ModelIdentity, String>);

impl InUse {
    fn find(shared: &Shared) -> Outcome<Self> {
        let cache = cache_directory()?;
        let found = ModelLocation::parse(shared.model.as_deref(), &cache)
            .map_err(|error| error.to_string())
            .and_then(|location| identity_at(&location, &cache).map_err(|error| error.to_string()));
        Ok(Self(found))
    }

    fn name(&self) -> Option<String> {
        self.0.as_ref().ok().map(|model| format!("{} ({})", model.name, model.hash))
    }

    /// Whether the heads fit, and why they do not, or why nobody knows.
    fn judge(&self, files: &HeadFiles) -> (Option<bool>, Option<String>) {
        match &self.0 {
            Err(reason) => (None, Some(reason.clone())),
            Ok(model) => match files.fit(model) {
                Ok(()) => (Some(true), None),
                Err(error) => (Some(false), Some(error.to_string())),
            },
        }
    }
}

/// One pair of heads.
#[derive(Serialize)]
struct Heads {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// Names the pair in evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<TokenHeadCard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<AnswerHeadCard>,
    /// What a reading must keep for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needs: Vec<String>,
    /// The model they are held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_in_use: Option<String>,
    /// `null`: there is no model to hold them against.
    fits: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Heads {
    fn read(name: String, source: &HeadSource, in_use: &InUse) -> Self {
        let folder = match source {
            HeadSource::Shipped => None,
            HeadSource::Folder(folder) => Some(folder.display().to_string()),
        };
        let mut heads = Self {
            name,
            folder,
            hash: None,
            token: None,
            answer: None,
            needs: Vec::new(),
            model_in_use: in_use.name(),
            fits: Some(false),
            reason: None,
        };
        let cards = HeadFiles::read(source).and_then(|files| {
            let (token, answer) = (files.card()?, files.answer_card()?);
            Ok((files, token, answer))
        });
        match cards {
            Err(error) => heads.reason = Some(error.to_string()),
            Ok((files, token, answer)) => {
                heads.hash = Some(files.hash());
                heads.needs = needs(&token, &answer);
                (heads.fits, heads.reason) = in_use.judge(&files);
                (heads.token, heads.answer) = (Some(token), Some(answer));
            }
        }
        heads
    }

    fn fits(&self) -> &'static str {
        match self.fits {
            Some(true) => "fits",
            Some(false) => "does not fit",
            None => "unknown",
        }
    }
}

/// What a reading must keep, in words.
fn needs(token: &TokenHeadCard, answer: &AnswerHeadCard) -> Vec<String> {
    let pooled = token.blocks.iter().any(|block| matches!(block, FeatureBlock::PooledResidual { .. }));
    let mut needs: Vec<String> = crate::detect::layers_of(&token.blocks, 0)
        .into_iter()
        .map(|layer| {
            format!("hidden states of {}, with and without references", crate::detect::layer_name(layer))
        })
        .collect();
    let signals = signals_of(&token.blocks);
    for (kept, words) in [
        (pooled, "the attention among answer tokens of every layer"),
        (signals.divergence, "the next-token distributions with and without references"),
        (signals.self_attention, "the attention of every token on itself"),
        (signals.information_contribution, "the information contribution of every layer"),
    ] {
        if kept {
            needs.push(words.to_owned());
        }
    }
    needs.push(match answer.features {
        AnswerFeatures::FullContext => "look-back ratios of every head, full context".to_owned(),
        AnswerFeatures::ChunkWise { blocks } => {
            format!("look-back ratios of every head, per chunk, {blocks} chunks at most")
        }
    });
    needs
}

/// The folders of heads below a folder, itself included.
fn folders_of_heads(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let is_heads = |folder: &Path| folder.join("token.safetensors").is_file();
    if is_heads(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let entries = std::fs::read_dir(folder)
        .map_err(|error| Failure::input_message(format!("cannot read {}: {error}", visible_path(folder))))?;
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_heads(path)).collect();
    found.sort();
    if found.is_empty() {
        return Err(Failure::input_message(format!(
            "{} holds no heads: expected token.safetensors and answer.safetensors, as `ragscope train` writes them, \
             in it or in a folder of it",
            visible_path(folder)
        )));
    }
    Ok(found)
}

fn name_of(folder: &Path) -> String {
    folder
        .file_name()
        .map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn list(shared: &Shared, folders: &[PathBuf], json: bool) -> Outcome {
    let in_use = InUse::find(shared)?;
    let mut all = vec![Heads::read(SHIPPED_HEADS.to_owned(), &HeadSource::Shipped, &in_use)];
    for folder in folders.iter().chain(&shared.heads) {
        for folder in folders_of_heads(folder)? {
            all.push(Heads::read(name_of(&folder), &HeadSource::Folder(folder), &in_use));
        }
    }
    if json {
        return output::print_json(&all);
    }
    let mut text = match &in_use.0 {
        Ok(model) => format!("model in use: {} ({})\n\n", visible_line(&model.name), model.hash),
        Err(reason) => format!("no model to hold heads against: {}\n\n", visible_line(reason)),
    };
    for heads in &all {
        text += &format!("{:<12}  {}", heads.fits(), visible_line(&heads.name));
        if let Some(token) = &heads.token {
            let blocks: Vec<String> = token.blocks.iter().map(|block| block.name()).collect();
            text += &format!("  {}: {}", visible_line(&token.name), blocks.join(", "));
            text +=
                &format!("\n              for {} ({})", visible_line(&token.model.name), token.model.hash);
            if let Some(precision) = token.making.training.get("out_of_fold_token_average_precision") {
                let data = token.making.training.get("data").map_or("unnamed data", String::as_str);
                text +=
                    &format!("; token AP {} out of fold on {}", visible_line(precision), visible_line(data));
            }
        }
        if let (Some(reason), Some(false)) = (&heads.reason, heads.fits) {
            text += &format!("\n              {}", visible_line(reason));
        }
        text.push('\n');
    }
    text +=
        "\n`ragscope heads show NAME-or-FOLDER` says what a pair of heads is; `--heads FOLDER` uses it.\n";
    output::print(&text)
}

fn show(shared: &Shared, named: Option<&Path>, json: bool) -> Outcome {
    let in_use = InUse::find(shared)?;
    let (name, source) = match named.or(shared.heads.as_deref()) {
        Some(folder) if folder.as_os_str() != SHIPPED_HEADS || folder.is_dir() => {
            (name_of(folder), HeadSource::Folder(folder.to_owned()))
        }
        _ => (SHIPPED_HEADS.to_owned(), HeadSource::Shipped),
    };
    let heads = Heads::read(name, &source, &in_use);
    let (Some(token), Some(answer)) = (&heads.token, &heads.answer) else {
        return Err(Failure::model_message(heads.reason.unwrap_or_default()));
    };
    if json {
        return output::print_json(&heads);
    }
    let mut text = String::new();
    let mut line = |what: &str, said: &str| text += &format!("{what:<14} {}\n", visible_line(said));
    line("name", &heads.name);
    line("from", heads.folder.as_deref().unwrap_or("shipped inside the program"));
    line("hash", heads.hash.as_deref().unwrap_or_default());
    let model = &token.model;
    line("model", &format!("{}, hash {}, {}", model.name, model.hash, model.shape));
    match &model.text {
        Some(own) => {
            line("tokenizer", &own.tokenizer);
            line("chat template", &own.template);
            line("prompt form", &own.prompt);
        }
        None => line("text side", "not recorded: only the weights are compared"),
    }
    line(
        "fits",
        &match (&heads.fits, &heads.model_in_use, &heads.reason) {
            (Some(true), Some(model), _) => format!("yes, {model}"),
            (Some(false), _, Some(reason)) => format!("no: {reason}"),
            (_, _, reason) => format!("unknown: {}", reason.as_deref().unwrap_or("no model is here")),
        },
    );
    for need in &heads.needs {
        line("needs", need);
    }
    text += &format!("\ntoken head: {}\n", visible_line(&token.name));
    let blocks: Vec<String> = token.blocks.iter().map(|block| block.name()).collect();
    let mut rows = vec![
        ("features".to_owned(), blocks.join(", ")),
        ("threshold".to_owned(), format!("{:.4} on smoothed scores", token.threshold)),
        (
            "label persistence".to_owned(),
            format!("{} for tokens, {} for answers", token.rho, token.rho_answer),
        ),
        ("made by".to_owned(), token.making.tool.clone()),
    ];
    rows.extend(token.making.training.clone());
    text += &table(&rows);
    text += &format!("\nanswer head: {}\n", visible_line(&answer.name));
    let mut rows = vec![
        ("features".to_owned(), answer_features(answer.features)),
        ("C".to_owned(), answer.c.to_string()),
        ("made by".to_owned(), answer.making.tool.clone()),
    ];
    rows.extend(answer.making.training.clone());
    text += &table(&rows);
    output::print(&text)
}

fn answer_features(features: AnswerFeatures) -> String {
    match features {
        AnswerFeatures::FullContext => "look-back ratios, full context".to_owned(),
        AnswerFeatures::ChunkWise { blocks } => format!("look-back ratios per chunk, {blocks} chunks"),
    }
}

fn table(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.iter()
        .map(|(name, value)| format!("  {:<width$}  {}\n", visible_line(name), visible_line(value)))
        .collect()
}
