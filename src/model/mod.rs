//! The model that reads: found and fetched, its tokenizer and chat prompt, its decoder.
//!
//! | files | hold |
//! |---|---|
//! | `language_model` | all of it opened together: [`LanguageModel`] |
//! | `location`, `hugging_face_cache`, `ollama` | where models lie |
//! | `hub` | models of the Hugging Face hub, downloaded into its cache |
//! | `registry`, `cache`, `fetch`, `pip`, `hash`, `verify` | models with a name of their own, and how they get there |
//! | `gguf_metadata`, `gguf_split`, `facts`, `fingerprint` | what a model file says of itself, and its hashes |
//! | `tokenizer`, `token_ranges` | text to ids with byte ranges |
//! | `tokenizer_gguf`, `tokenizer_byte_level`, `tokenizer_scores` | tokenizers out of GGUF vocabularies |
//! | `chat`, `chat_engine`, `prompt` | the model's own template, segments mapped to token ranges |
//! | `chat_source`, `chat_operators`, `chat_budget` | what a template costs, so that a hostile one runs out |
//! | `config`, `weights`, `rope`, `decoder`, `block` | the instrumented decoder, of every architecture |
//! | `device` | the same decoder over tensors of a GPU |
//! | `encoder` | sentence embeddings, for dense retrieval |
//! | `generation`, `stop_tokens`, `text_stream` | answers written by the model, as text that comes in pieces |
//! | `attention`, `attention_plain`, `capture` | fused attention that sums while rows are hot, and its oracle |
//! | `contribution`, `divergence` | what a layer's update has to do with its attention; two next-token distributions compared |

mod attention;
mod attention_plain;
mod block;
mod cache;
mod capture;
mod chat;
mod chat_budget;
mod chat_engine;
mod chat_operators;
mod chat_source;
mod config;
mod contribution;
mod decoder;
mod decoder_error;
#[cfg(test)]
mod decoder_peer_tests;
#[cfg(test)]
mod decoder_real_model_tests;
#[cfg(test)]
mod decoder_tests;
mod device;
mod divergence;
mod elementwise;
mod encoder;
mod facts;
mod fetch;
mod fingerprint;
mod generation;
mod gguf_metadata;
mod gguf_split;
mod hash;
mod hub;
mod hugging_face_cache;
mod lanes;
mod language_model;
mod layer;
mod location;
mod next_token;
mod ollama;
mod pip;
mod product;
mod prompt;
mod registry;
mod rope;
#[cfg(test)]
mod small_gguf;
#[cfg(test)]
mod small_model;
mod space_prefix;
mod stop_tokens;
mod text_error;
mod text_model;
mod text_stream;
mod token_ranges;
mod tokenizer;
mod tokenizer_byte_level;
mod tokenizer_gguf;
#[cfg(test)]
mod tokenizer_gguf_tests;
mod tokenizer_scores;
mod verify;
mod weights;
#[cfg(test)]
mod weights_gguf_tests;
#[cfg(test)]
mod weights_tests;

pub use attention::AttentionKernel;
pub use cache::{
    CacheDirectory, CachedModel, CachedState, DEFAULT_MODEL, KnownModel, WheelMember, cached_models,
};
pub use capture::{Capture, CaptureRequest};
pub use chat::{ChatLayout, ChatPiece, ChatTemplate};
pub use config::{Architecture, ModelConfig};
pub use decoder::{Decoder, MemoryEstimate, ModelSummary, Prefix, Sequence, StoredAs};
pub use decoder_error::DecoderError;
pub use device::{DeviceChoice, NumberType, Placement, found_devices};
pub use encoder::{Embeddings, EncoderError, Pooling, SentenceEncoder};
pub use facts::TextModelFacts;
pub use fetch::{
    FetchError, FetchProgress, FetchStage, Fetched, by_hand, fetch, fetch_files, install, install_files,
};
pub use fingerprint::TextFingerprint;
pub use generation::{Generated, GenerationError, GenerationSettings, StopReason};
pub use gguf_metadata::{GgufMetadata, GgufValue};
pub use hash::{remembered_sha256, sha256_file, sha256_of};
pub use hub::{Hub, HubError};
pub use language_model::{LanguageModel, ModelError};
pub use layer::StateLayer;
pub use location::{LocationError, ModelLocation};
pub use pip::PipCommand;
pub use prompt::{Prompt, PromptSegment, SegmentKind, UserTurn};
pub use registry::{HubRepository, ModelSource, ModelTerms, PackagedFile, PackagedFolder, RegisteredModel};
pub use rope::{RopeConfig, RopeScaling};
pub use stop_tokens::StopTokens;
pub use text_error::ModelTextError;
pub use text_model::TextModel;
pub use text_stream::TextStream;
pub use tokenizer::{ModelTokenizer, TokenizedText};
pub use verify::{Verification, verify};
