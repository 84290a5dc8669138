//! (room under construction)

mod attention;
mod attention_plain;
mod capture;
mod config;
mod decoder;
mod decoder_error;
#[cfg(test)]
mod decoder_real_model_tests;
#[cfg(test)]
mod decoder_tests;
mod elementwise;
mod lanes;
mod layer;
mod next_token;
mod product;
mod rope;
mod weights;
#[cfg(test)]
mod weights_tests;

pub use attention::AttentionKernel;
pub use capture::{Capture, CaptureRequest};
pub use config::{Architecture, ModelConfig};
pub use decoder::{Decoder, Prefix};
pub use decoder_error::DecoderError;
pub use layer::StateLayer;
pub use rope::{RopeConfig, RopeScaling};
