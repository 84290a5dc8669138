//! The model's own chat template, rendered once with marks where the messages go.
//!
//! Data never reaches the template engine: the template is rendered with marks of ragscope's own as
//! messages, cut at the marks, and the messages are put between the pieces as tokens. So no document
//! can forge a turn, whatever it holds.

use std::io;
use std::path::Path;

use serde_json::Value as Json;

use super::chat_engine::{SpecialTexts, render};
use super::chat_source;
use super::gguf_metadata::GgufMetadata;
use super::text_error::ModelTextError;
use crate::disk::{LONGEST_SETTINGS, read_regular_text};

/// The longest known template has 20 kB.
const MAX_SOURCE: usize = 256 << 10;
/// Put round the marks to see whether the template trims what it is given.
const PADDING: &str = "\t \t";
/// One piece of a rendered chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatPiece {
    /// Text of the template: special tokens in it are meant.
    Template(String),
    /// Here stands the system message.
    System,
    /// Here stands the user message.
    User,
}

/// A rendered chat with holes for the messages, up to where the assistant's answer begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatLayout {
    pub pieces: Vec<ChatPiece>,
    /// Whether the template takes white space off the start or the end of a message.
    pub trims_start: bool,
    pub trims_end: bool,
}

/// A model's chat template, for a chat with and one without a system message.
///
/// A model without a template gets the plain form `{bos}{system}\n{user}\n`, where `bos` is there only
/// if the model asks for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatTemplate {
    source: Option<String>,
    with_system: ChatLayout,
    without_system: ChatLayout,
}

impl ChatTemplate {
    /// From `tokenizer.chat_template` and the special tokens of a GGUF file.
    pub fn from_gguf(metadata: &GgufMetadata) -> Result<Self, ModelTextError> {
        let tokens = metadata.texts("tokenizer.ggml.tokens")?.unwrap_or_default();
        let token = |field: &str| {
            let id = usize::try_from(metadata.unsigned(field)?).ok()?;
            tokens.get(id).cloned()
        };
        let special = SpecialTexts {
            bos: token("tokenizer.ggml.bos_token_id").unwrap_or_default(),
            eos: token("tokenizer.ggml.eos_token_id").unwrap_or_default(),
            starts_with_bos: metadata.flag("tokenizer.ggml.add_bos_token") == Some(true),
        };
        Self::build(metadata.text("tokenizer.chat_template")?, &special)
    }

    /// From `chat_template.jinja`, else `tokenizer_config.json`, of a directory in Hugging Face form.
    pub fn from_directory(directory: &Path) -> Result<Self, ModelTextError> {
        let config_path = directory.join("tokenizer_config.json");
        let config: Json = match read_if_there(&config_path)? {
            None => Json::Null,
            Some(text) => serde_json::from_str(&text).map_err(|error| ModelTextError::File {
                path: config_path.clone(),
                reason: error.to_string(),
            })?,
        };
        // A token is its text, or an object that holds its text.
        let token = |name: &str| {
            let value = &config[name];
            value.as_str().or_else(|| value["content"].as_str()).unwrap_or_default().to_owned()
        };
        let special = SpecialTexts {
            bos: token("bos_token"),
            eos: token("eos_token"),
            starts_with_bos: config["add_bos_token"].as_bool() == Some(true),
        };
        let own_file = read_if_there(&directory.join("chat_template.jinja"))?;
        let source = own_file.as_deref().or_else(|| match &config["chat_template"] {
            Json::String(source) => Some(source.as_str()),
            // Several templates by name: the one for plain chats is called default.
            Json::Array(named) => named
                .iter()
                .find(|entry| entry["name"] == "default")
                .and_then(|entry| entry["template"].as_str()),
            _ => None,
        });
        Self::build(source, &special)
    }

    /// The plain form, for a model without a template.
    pub fn plain() -> Self {
        Self::plain_with(&SpecialTexts::default())
    }

    /// From the source of a Jinja template, with no special tokens defined.
    pub fn from_source(source: &str) -> Result<Self, ModelTextError> {
        Self::build(Some(source), &SpecialTexts::default())
    }

    /// Source of the model's template; `None` means the plain form.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The rendered chat, with a system message or without.
    pub fn layout(&self, with_system: bool) -> &ChatLayout {
        if with_system { &self.with_system } else { &self.without_system }
    }

    fn plain_with(special: &SpecialTexts) -> Self {
        let line_feed = || ChatPiece::Template("\n".to_owned());
        let bos = special.starts_with_bos && !special.bos.is_empty();
        let start: Vec<_> = bos.then(|| ChatPiece::Template(special.bos.clone())).into_iter().collect();
        let layout = |system: Vec<ChatPiece>| ChatLayout {
            pieces: start.iter().cloned().chain(system).chain([ChatPiece::User, line_feed()]).collect(),
            trims_start: false,
            trims_end: false,
        };
        Self {
            source: None,
            with_system: layout(vec![ChatPiece::System, line_feed()]),
            without_system: layout(Vec::new()),
        }
    }

    fn build(source: Option<&str>, special: &SpecialTexts) -> Result<Self, ModelTextError> {
        let Some(source) = source.filter(|source| !source.trim().is_empty()) else {
            return Ok(Self::plain_with(special));
        };
        if source.len() > MAX_SOURCE {
            let reason = format!("its source has {} bytes, more than {MAX_SOURCE}", source.len());
            return Err(ModelTextError::Template(reason));
        }
        let marks = Marks::absent_from(&[source, &special.bos, &special.eos]);
        let prepared = chat_source::prepare(source);
        let render = |messages: &[(&str, String)]| render(&prepared, source.len(), messages, special);

        let padded = |mark: &str| format!("{PADDING}{mark}{PADDING}");
        let user = padded(&marks.user);
        let without_system = marks.cut(&render(&[("user", user.clone())])?, &[ChatPiece::User])?;

        let both = [ChatPiece::System, ChatPiece::User];
        let system = padded(&marks.system);
        // A template that refuses or drops a system message gets it at the head of the user message.
        let with_system = render(&[("system", system), ("user", user.clone())])
            .and_then(|text| marks.cut(&text, &both))
            .or_else(|_| {
                let folded = format!("{}\n\n{}", padded(&marks.system), padded(&marks.user));
                marks.cut(&render(&[("user", folded)])?, &both)
            })?;
        Ok(Self { source: Some(source.to_owned()), with_system, without_system })
    }
}

fn read_if_there(path: &Path) -> Result<Option<String>, ModelTextError> {
    match read_regular_text(path, LONGEST_SETTINGS) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ModelTextError::Io { path: path.to_owned(), source }),
    }
}

/// Texts that stand for the messages and occur nowhere in the template.
struct Marks {
    system: String,
    user: String,
}

impl Marks {
    fn absent_from(texts: &[&str]) -> Self {
        let mut number = 0u32;
        loop {
            let stem = format!("ragscope{number}mark");
            // Ends: no text is finitely long and holds every number.
            if !texts.iter().any(|text| text.contains(&stem)) {
                return Self { system: format!("{stem}system"), user: format!("{stem}user") };
            }
            number += 1;
        }
    }

    /// Cuts a rendered chat at the marks of `wanted`, each of which must be there exactly once.
    fn cut(&self, text: &str, wanted: &[ChatPiece]) -> Result<ChatLayout, ModelTextError> {
        let mut holes = Vec::new();
        for piece in wanted {
            let (mark, name) = match piece {
                ChatPiece::System => (&self.system, "system"),
                _ => (&self.user, "user"),
            };
            let found: Vec<usize> = text.match_indices(mark.as_str()).map(|(at, _)| at).collect();
            let [at] = found[..] else {
                let times = found.len();
                return Err(ModelTextError::Template(format!(
                    "it writes the {name} message {times} times, expected once"
                )));
            };
            holes.push((at, at + mark.len(), piece.clone()));
        }
        holes.sort_by_key(|hole| hole.0);

        let (mut trims_start, mut trims_end) = (false, false);
        let mut pieces = Vec::new();
        let push_text = |text: &str, pieces: &mut Vec<ChatPiece>| {
            if !text.is_empty() {
                pieces.push(ChatPiece::Template(text.to_owned()));
            }
        };
        let mut rest = text;
        for (start, end, piece) in holes {
            let before = &rest[..start - (text.len() - rest.len())];
            let padded = before.strip_suffix(PADDING);
            trims_start |= padded.is_none();
            push_text(padded.unwrap_or(before), &mut pieces);
            pieces.push(piece);
            let behind = text[end..].strip_prefix(PADDING);
            trims_end |= behind.is_none();
            rest = behind.unwrap_or(&text[end..]);
        }
        push_text(rest, &mut pieces);
        Ok(ChatLayout { pieces, trims_start, trims_end })
    }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
