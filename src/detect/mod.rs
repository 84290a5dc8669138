//! Detectors: CORTEX, look-back ratios, their heads, smoothing, spans.
//!
//! | file | holds |
//! |---|---|
//! | `detector` | the [`Detector`] trait; negative log-likelihood as the plainest one |
//! | `features` | named blocks of token features, rows assembled from them |
//! | `stored_rows` | blocks that stay on disk and are read row by row |
//! | `cortex` | D, Dbar and c of CORTEX |
//! | `lookback` | look-back ratios of DRAG and their reductions |
//! | `standardisation`, `mlp`, `mlp_training` | the perceptron of CORTEX eq. 7 |
//! | `sparse_autoencoder` | the dictionary of RAGLens, and which of its features tell the label |
//! | `principal_components` | features projected on the directions in which they vary most |
//! | `logistic_regression`, `minimiser` | scikit-learn's logistic regression, L-BFGS |
//! | `card`, `head`, `answer_head` | trained heads as files that name their model |
//! | `smoothing` | label-persistence smoothing |
//! | `spans`, `labels` | tokens to text and text to tokens |

mod answer_head;
mod card;
mod cortex;
mod detector;
mod error;
mod features;
mod head;
mod labels;
mod logistic_regression;
mod lookback;
mod minimiser;
mod mlp;
mod mlp_training;
mod principal_components;
mod smoothing;
mod spans;
mod sparse_autoencoder;
mod standardisation;
mod stored_rows;
#[cfg(test)]
pub(crate) mod synthetic;

pub use answer_head::{AnswerFeatures, AnswerHead, AnswerHeadCard, answer_vector};
pub use card::{Making, ModelIdentity, TextIdentity};
pub use cortex::{CortexSettings, difference, layer_name, pooled_residual, residual};
pub use detector::{Detector, NegativeLogLikelihood};
pub use error::DetectError;
pub use features::{BlockValues, FeatureBlock, FeatureRows, MEMORY_LIMIT, ModelShape, layers_of, signals_of};
pub use head::{TokenHead, TokenHeadCard, TokenModel};
pub use labels::token_labels;
pub use logistic_regression::{LogisticRegression, LogisticSettings};
pub use lookback::{
    LookbackSummary, chunk_blocks, chunk_mass_by_token, chunk_ratios, context_ratios, log_chunk_mass,
    lookback_summary, mean_chunk_ratios, mean_context_ratios, scale_by_own_range,
};
pub use mlp::Mlp;
pub use mlp_training::MlpSettings;
pub use principal_components::PrincipalComponents;
pub use smoothing::{CLIP, Chain, answer_score, smooth};
pub use spans::{DisplayUnit, TokenSpan, display_units, flagged_spans, spans_of_units, unit_scores};
pub use sparse_autoencoder::{SparseAutoencoder, SparseAutoencoderSettings};
pub use standardisation::Standardisation;
pub use stored_rows::{Precision, RowSegment, StoredRows};
