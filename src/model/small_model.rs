//! A byte-level tokenizer without merges and a chat template, for tests; and the real model, if it is here.

use std::path::PathBuf;

use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use super::gguf_metadata::tests::GgufWriter;
use super::{CacheDirectory, ChatTemplate, DEFAULT_MODEL, GgufMetadata, ModelTokenizer};

/// Chat template in the `ChatML` form, with a default system message.
pub(super) const CHATML: &str = "{% for message in messages %}\
    {% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}{% endif %}\
    {{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}\
    {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

pub(super) const SPECIAL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/// Vocabulary: three special tokens, two user-defined ones (`<tool>`, two spaces), the 256 byte letters,
/// then `more`.
pub(super) fn tokens(more: &[&str]) -> Vec<String> {
    let mut letters: Vec<char> = ByteLevel::alphabet().into_iter().collect();
    letters.sort_unstable();
    let named = SPECIAL.iter().chain(&["<tool>", "  "]).map(ToString::to_string);
    let letters = letters.into_iter().map(String::from);
    named.chain(letters).chain(more.iter().map(ToString::to_string)).collect()
}

pub(super) fn metadata(template: &str, more: &[&str], merges: &[&str]) -> GgufWriter {
    let tokens = tokens(more);
    let mut types = vec![1; tokens.len()];
    types[..5].copy_from_slice(&[3, 3, 3, 4, 4]);
    let writer = GgufWriter::new()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "smollm")
        .texts("tokenizer.ggml.tokens", &tokens)
        .integers("tokenizer.ggml.token_type", &types)
        .texts("tokenizer.ggml.merges", merges)
        .number("tokenizer.ggml.bos_token_id", 1)
        .number("tokenizer.ggml.eos_token_id", 2);
    if template.is_empty() { writer } else { writer.text("tokenizer.chat_template", template) }
}

pub(super) fn small_model(template: &str) -> (ModelTokenizer, ChatTemplate) {
    let metadata = metadata(template, &[], &[]).metadata();
    (ModelTokenizer::from_gguf(&metadata).unwrap(), ChatTemplate::from_gguf(&metadata).unwrap())
}

/// The default model's metadata. Says so when it is not here.
pub(super) fn real_metadata(test: &str) -> Option<GgufMetadata> {
    real_model_path(test).map(|path| GgufMetadata::open(&path).unwrap())
}

/// The default model from `RAGSCOPE_TEST_MODEL` or the cache. Says so when it is not here.
pub(super) fn real_model_path(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("RAGSCOPE_TEST_MODEL").filter(|path| !path.is_empty()).map(PathBuf::from);
    let cached = || {
        let cache = CacheDirectory::from_environment(&|name| std::env::var_os(name)).ok()?;
        Some(cache.model_path(&DEFAULT_MODEL)).filter(|path| path.is_file())
    };
    let path = named.or_else(cached);
    if path.is_none() {
        eprintln!(
            "{test}: skipped, the default model is not here (`ragscope models fetch`, or RAGSCOPE_TEST_MODEL=PATH)"
        );
    }
    path
}
