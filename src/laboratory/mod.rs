//! How well detectors do on labelled answers, over features kept once: by grouped cross-validation, on a data set's own
//! splits, or on another data set; and heads trained on all answers.
//!
//! | file | holds |
//! |---|---|
//! | `extraction` | every labelled answer read once, its features into a store |
//! | `store`, `store_answer`, `store_header`, `store_shard` | the feature store on disk: extraction happens once |
//! | `pool` | several stores side by side |
//! | `protocol` | who trains, who chooses, who is judged |
//! | `method`, `variants` | what is compared: features and classifier of each row |
//! | `scoring` | token scores by the rounds of a protocol |
//! | `smoothed` | scores after smoothing |
//! | `ground` | labels and sources of the answers that are scored and judged |
//! | `token_measures` | token, answer and span figures of one method |
//! | `lookback_measures` | answer factuality from look-back ratios, C fixed and tuned |
//! | `lookback_groups` | the same, trained on one group and tested on another |
//! | `fitted`, `score_cache` | classifiers fitted on some rows; their scores, computed once |
//! | `temper`, `llm_check` | what single methods need |
//! | `comparison` | two rows on the same resamples |
//! | `evaluate` | all rows together |
//! | `curves` | precision-recall and reliability as pictures |
//! | `report`, `table` | the result, as JSON, text and Markdown |
//! | `training` | heads trained on all answers, thresholds from out-of-fold scores |
//!
//! Memory: the feature blocks of a method are loaded where they fit the store's limit (1 GiB, as they are
//! stored); larger ones stay on disk and every pass reads them again. Perceptrons turn one batch at a time
//! into f32; logistic regressions keep the training rows of a fold dense only within the same limit.

mod comparison;
mod curves;
mod error;
mod evaluate;
mod extraction;
mod fitted;
mod ground;
mod llm_check;
mod lookback_groups;
mod lookback_measures;
mod method;
mod pool;
mod protocol;
mod report;
mod score_cache;
mod scoring;
mod smoothed;
mod store;
mod store_answer;
mod store_header;
mod store_shard;
#[cfg(test)]
mod synthetic_store;
mod table;
mod temper;
mod token_measures;
mod training;
mod variants;

pub use comparison::{Comparison, ComparisonRow, Stage};
pub use error::EvaluationError;
pub use evaluate::{EvaluationSettings, MoreTraining, evaluate};
pub use extraction::{Extraction, ExtractionProgress, OnError, extract, store_header};
pub use lookback_groups::{Group, GroupCell, GroupMatrix};
pub use method::{TokenClassifier, TokenMethod};
pub use pool::{FeaturePool, LoadedFeatures};
pub use protocol::{PartSize, Protocol, ProtocolKind};
pub use report::{
    EvaluationReport, GeneratorFigures, HighlightingLevel, HighlightingRow, LookbackRow, MethodRow,
    RankingEstimate, SkippedRow, SpanFigures,
};
pub use score_cache::ScoreCache;
pub use store::{FeatureStore, LoadedBlock};
pub use store_answer::{LabelledAnswer, StoredAnswer};
pub use store_header::{FeatureSet, StoreHeader};
pub use training::{train_answer_head, train_token_head};
