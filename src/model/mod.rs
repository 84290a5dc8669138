//! (room under construction)

mod cache;
mod chat;
mod chat_engine;
mod chat_source;
mod facts;
mod fetch;
mod gguf_metadata;
mod hash;
mod layer;
mod location;
mod pip;
mod prompt;
#[cfg(test)]
mod small_model;
mod text_error;
mod text_model;
mod token_ranges;
mod tokenizer;
mod tokenizer_gguf;

pub use cache::{CacheDirectory, CachedModel, CachedState, DEFAULT_MODEL, KnownModel, cached_models};
pub use chat::{ChatLayout, ChatPiece, ChatTemplate};
pub use facts::TextModelFacts;
pub use fetch::{FetchError, FetchProgress, FetchStage, Fetched, by_hand, fetch, install};
pub use gguf_metadata::{GgufMetadata, GgufValue};
pub use hash::{remembered_sha256, sha256_file, sha256_of};
pub use layer::StateLayer;
pub use location::{LocationError, ModelLocation};
pub use pip::PipCommand;
pub use prompt::{Prompt, PromptSegment, SegmentKind, UserTurn};
pub use text_error::ModelTextError;
pub use text_model::TextModel;
pub use tokenizer::{ModelTokenizer, TokenizedText};
