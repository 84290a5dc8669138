//! Who a model is, for heads and for what is kept of its readings.

use crate::detect::{ModelIdentity, ModelShape, TextIdentity};
use crate::model::{
    CacheDirectory, LanguageModel, ModelConfig, ModelError, ModelLocation, ModelSummary, ModelTextError,
    TextModel,
};
use crate::reading::prompt_form;

/// Who a model is, for heads and stores.
///
/// # Errors
/// A tokenizer that cannot tokenise.
pub fn identity(model: &LanguageModel) -> Result<ModelIdentity, ModelError> {
    Ok(identity_of(&model.text, model.decoder.config())?)
}

/// Who the model at `location` is, from its headers, tokenizer and template; no weights are loaded.
///
/// # Errors
/// What cannot be opened.
pub fn identity_at(location: &ModelLocation, cache: &CacheDirectory) -> Result<ModelIdentity, ModelError> {
    let summary = ModelSummary::of(location)?;
    Ok(identity_of(&TextModel::open(location, cache)?, &summary.config)?)
}

fn identity_of(text: &TextModel, config: &ModelConfig) -> Result<ModelIdentity, ModelTextError> {
    let fingerprint = text.fingerprint()?;
    Ok(ModelIdentity {
        name: text.facts.name.clone(),
        hash: text.facts.short_hash().to_owned(),
        shape: ModelShape { layers: config.layers, heads: config.heads, hidden_size: config.hidden_size },
        text: Some(TextIdentity {
            tokenizer: fingerprint.tokenizer,
            template: fingerprint.template,
            prompt: prompt_form(),
        }),
    })
}
