//! Rotary settings in a `config.json`: the old keys `rope_theta` and `rope_scaling`, the new
//! `rope_parameters`, and Gemma's pairs of both.

use super::Architecture;
use super::json_fields::Fields;
use crate::model::DecoderError;
use crate::model::rope::{RopeConfig, RopeScaling};

/// What a `LlamaConfig` without any theta means: Llama 1 and 2 were published so.
const LLAMA_THETA: f64 = 10_000.0;

/// The rotation of all blocks and, where it differs, that of the blocks with a window.
pub(super) fn rope(
    fields: &Fields,
    architecture: Architecture,
) -> Result<(RopeConfig, Option<RopeConfig>), DecoderError> {
    if architecture == Architecture::Gemma3 {
        let (global, local) = gemma(fields)?;
        return Ok((global, Some(local)));
    }
    whole_head(fields)?;
    let outer = fields.positive_or_absent("rope_theta")?;
    let new = fields.object("rope_parameters")?;
    let inner = match &new {
        Some(_) => new,
        None => fields.object("rope_scaling")?,
    };
    let Some(inner) = inner else {
        let theta = match outer {
            Some(theta) => theta,
            None if architecture == Architecture::Llama => LLAMA_THETA,
            None => return Err(fields.wrong("rope_theta", "the base of the rotary frequencies")),
        };
        return Ok((RopeConfig { theta, scaling: RopeScaling::None }, None));
    };
    whole_head(&inner)?;
    let Some(theta) = inner.positive_or_absent("rope_theta")?.or(outer) else {
        return Err(inner.wrong("rope_theta", "the base of the rotary frequencies"));
    };
    Ok((RopeConfig { theta, scaling: scaling(&inner)? }, None))
}

/// Refuses heads of which only a part rotates.
fn whole_head(fields: &Fields) -> Result<(), DecoderError> {
    if fields.present("partial_rotary_factor").is_some_and(|v| v.as_f64() != Some(1.0)) {
        return Err(fields.wrong("partial_rotary_factor", "1: the whole head rotates"));
    }
    Ok(())
}

fn scaling(inner: &Fields) -> Result<RopeScaling, DecoderError> {
    // `type` is the key of the oldest files.
    let key = if inner.present("rope_type").is_some() { "rope_type" } else { "type" };
    Ok(match inner.one_of(key, None, &["default", "linear", "llama3"])? {
        "linear" => RopeScaling::Linear { factor: inner.positive("factor")? },
        "llama3" => RopeScaling::Llama3 {
            factor: inner.positive("factor")?,
            low_freq_factor: inner.positive("low_freq_factor")?,
            high_freq_factor: inner.positive("high_freq_factor")?,
            original_context_length: inner.positive("original_max_position_embeddings")?,
        },
        _ => RopeScaling::None,
    })
}

/// Global and local rotation. New files hold both in `rope_parameters` by type of layer; old ones hold
/// `rope_theta` with `rope_scaling`, which is for global blocks alone, and `rope_local_base_freq`.
fn gemma(fields: &Fields) -> Result<(RopeConfig, RopeConfig), DecoderError> {
    if let Some(parameters) = fields.object("rope_parameters")? {
        let of = |kind: &str| -> Result<RopeConfig, DecoderError> {
            let inner = parameters
                .object(kind)?
                .ok_or_else(|| parameters.wrong(kind, "an object with rope_theta and rope_type"))?;
            whole_head(&inner)?;
            Ok(RopeConfig { theta: inner.positive("rope_theta")?, scaling: scaling(&inner)? })
        };
        return Ok((of("full_attention")?, of("sliding_attention")?));
    }
    let scaling = match fields.object("rope_scaling")? {
        Some(inner) => scaling(&inner)?,
        None => RopeScaling::None,
    };
    let local = RopeConfig { theta: fields.positive("rope_local_base_freq")?, scaling: RopeScaling::None };
    Ok((RopeConfig { theta: fields.positive("rope_theta")?, scaling }, local))
}
