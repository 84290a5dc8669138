//! What a model is given, as hashes: another vocabulary or another chat template is another input, whatever the
//! weights are.

use sha2::{Digest, Sha256};

use super::chat::{ChatLayout, ChatPiece, ChatTemplate};
use super::text_error::ModelTextError;
use super::text_model::TextModel;
use super::tokenizer::ModelTokenizer;
use crate::text::hexadecimal;

/// Text whose ids tell tokenizers of one vocabulary apart: white space, case, digits, accents, several scripts, a name
/// of a special token.
const PROBE: &str = "The ferry  \"Alba\" isn't 1,931 m long.\n\tÉté naïve, ZAŻÓŁĆ; 市長は12月に辞任した 🙂 <|im_end|></s>[SEP]\r\n";

/// The hashes of a model's text side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFingerprint {
    /// First 16 hexadecimal digits of a SHA-256 over the vocabulary in the order of its ids, the tokens that data can
    /// never become, and the ids of a probe text. Equal for one tokenizer in two file formats.
    pub tokenizer: String,
    /// The same over the rendered chat, with a system message and without; not over the template's source, which may
    /// differ in what is never rendered.
    pub template: String,
}

impl TextModel {
    /// Who the text side is.
    pub fn fingerprint(&self) -> Result<TextFingerprint, ModelTextError> {
        Ok(TextFingerprint { tokenizer: self.tokenizer.fingerprint()?, template: self.chat.fingerprint() })
    }
}

impl ModelTokenizer {
    fn fingerprint(&self) -> Result<String, ModelTextError> {
        let mut hasher = Sha256::new();
        for id in 0..u32::try_from(self.vocabulary_size()).unwrap_or(u32::MAX) {
            // A gap among the ids is a mark of its own.
            hasher.update(self.token(id).map_or_else(|| "\u{0}".to_owned(), |token| token + "\n"));
            hasher.update([u8::from(self.is_structural(id))]);
        }
        for id in self.encode_data(PROBE)?.ids.into_iter().chain(self.encode_template(PROBE)?) {
            hasher.update(id.to_le_bytes());
        }
        Ok(short(hasher))
    }
}

impl ChatTemplate {
    fn fingerprint(&self) -> String {
        let mut hasher = Sha256::new();
        for with_system in [false, true] {
            let ChatLayout { pieces, trims_start, trims_end } = self.layout(with_system);
            for piece in pieces {
                let (mark, text) = match piece {
                    ChatPiece::Template(text) => ("template", text.as_str()),
                    ChatPiece::System => ("system", ""),
                    ChatPiece::User => ("user", ""),
                };
                hasher.update(format!("{mark} {}\n{text}", text.len()));
            }
            hasher.update(format!("trims {trims_start} {trims_end}\n"));
        }
        short(hasher)
    }
}

fn short(hasher: Sha256) -> String {
    hexadecimal(&hasher.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::super::small_model::{CHATML, metadata};
    use super::super::{CacheDirectory, ModelLocation};
    use super::*;

    fn fingerprint(template: &str, merges: &[&str]) -> TextFingerprint {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.gguf");
        std::fs::write(&path, metadata(template, &["er"], merges).bytes()).unwrap();
        let cache = CacheDirectory::at(folder.path().join("cache"));
        TextModel::open(&ModelLocation::Gguf(path), &cache).unwrap().fingerprint().unwrap()
    }

    #[test]
    fn another_template_is_another_template_and_the_same_tokenizer() {
        let first = fingerprint(CHATML, &[]);
        assert_eq!(first, fingerprint(CHATML, &[]));
        assert_eq!((first.tokenizer.len(), first.template.len()), (16, 16));
        let other = fingerprint(&CHATML.replace("assistant", "helper"), &[]);
        assert_eq!(other.tokenizer, first.tokenizer);
        assert_ne!(other.template, first.template);
        // A comment renders nothing.
        assert_eq!(fingerprint(&format!("{CHATML}{{# a note #}}"), &[]), first);
    }

    #[test]
    fn another_merge_is_another_tokenizer_even_with_the_same_vocabulary() {
        let (without, with) = (fingerprint(CHATML, &[]), fingerprint(CHATML, &["e r"]));
        assert_ne!(without.tokenizer, with.tokenizer);
        assert_eq!(without.template, with.template);
    }
}
