//! All of a model that deals in text, opened together.

use super::cache::CacheDirectory;
use super::chat::ChatTemplate;
use super::facts::TextModelFacts;
use super::gguf_metadata::GgufMetadata;
use super::location::ModelLocation;
use super::prompt::{Prompt, UserTurn};
use super::stop_tokens::StopTokens;
use super::text_error::ModelTextError;
use super::tokenizer::ModelTokenizer;

/// A model's tokenizer, chat template, stop tokens and facts: everything but the weights.
#[derive(Debug)]
pub struct TextModel {
    pub tokenizer: ModelTokenizer,
    pub chat: ChatTemplate,
    /// What ends an answer.
    pub stop: StopTokens,
    pub facts: TextModelFacts,
}

impl TextModel {
    /// Opens what is at `location`. The first time, the weights are hashed; later their hash is remembered
    /// in `cache`.
    pub fn open(location: &ModelLocation, cache: &CacheDirectory) -> Result<Self, ModelTextError> {
        let path = location.path();
        if location.is_gguf() {
            let metadata = GgufMetadata::open(path)?;
            let tokenizer = ModelTokenizer::from_gguf(&metadata)?;
            return Ok(Self {
                stop: StopTokens::from_gguf(&metadata, &tokenizer),
                tokenizer,
                chat: ChatTemplate::from_gguf(&metadata)?,
                facts: TextModelFacts::of_gguf(path, &metadata, cache)?,
            });
        }
        let chat = ChatTemplate::from_directory(path)?;
        let tokenizer = ModelTokenizer::from_directory(path, chat.source())?;
        Ok(Self {
            stop: StopTokens::from_directory(path, &tokenizer)?,
            tokenizer,
            chat,
            facts: TextModelFacts::of_directory(path, cache)?,
        })
    }

    /// The prompt for a system message and a user message; see [`Prompt::new`].
    pub fn prompt(&self, system: Option<&str>, user: &UserTurn) -> Result<Prompt, ModelTextError> {
        Prompt::new(&self.tokenizer, &self.chat, system, user)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SegmentKind;
    use super::super::small_model::{CHATML, metadata};
    use super::*;

    #[test]
    fn a_gguf_file_gives_tokenizer_template_and_facts_that_work_together() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.gguf");
        std::fs::write(&path, metadata(CHATML, &[], &[]).bytes()).unwrap();
        let cache = CacheDirectory::at(folder.path().join("cache"));
        let model = TextModel::open(&ModelLocation::Gguf(path), &cache).unwrap();
        let mut user = UserTurn::new();
        user.push(SegmentKind::Question, "Why?");
        let prompt = model.prompt(None, &user).unwrap();
        let text = model.tokenizer.decode(&prompt.ids).unwrap();
        assert!(text.ends_with("<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"), "{text}");
        assert_eq!(model.facts.name, "small");
    }
}
