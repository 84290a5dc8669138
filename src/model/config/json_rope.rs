//! Rotary settings in a `config.json`: the old keys `rope_theta` and `rope_scaling`, the new
//! `rope_parameters`, and Gemma's pairs of both.

use serde_json::Value;

use super::Architecture;
use super::json_fields::Fields;
use crate::model::DecoderError;
use crate::model::rope::{RopeConfig, RopeScaling, long_rope_magnitude, yarn_magnitude};

/// What a `LlamaConfig` without any theta means: Llama 1 and 2 were published so.
const LLAMA_THETA: f64 = 10_000.0;

/// The rotation of all blocks and, where it differs, that of the blocks with a window.
pub(super) fn rope(
    fields: &Fields,
    architecture: Architecture,
    head_dim: usize,
) -> Result<(RopeConfig, Option<RopeConfig>), DecoderError> {
    if architecture == Architecture::Gemma3 {
        let (global, local) = gemma(fields, head_dim)?;
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
    Ok((RopeConfig { theta, scaling: scaling(fields, &inner, head_dim)? }, None))
}

/// Refuses heads of which only a part rotates.
fn whole_head(fields: &Fields) -> Result<(), DecoderError> {
    if fields.present("partial_rotary_factor").is_some_and(|v| v.as_f64() != Some(1.0)) {
        return Err(fields.wrong("partial_rotary_factor", "1: the whole head rotates"));
    }
    Ok(())
}

/// `outer` is the whole file: some settings stand there, beside the object of the rope.
fn scaling(outer: &Fields, inner: &Fields, head_dim: usize) -> Result<RopeScaling, DecoderError> {
    // `type` is the key of the oldest files.
    let key = if inner.present("rope_type").is_some() { "rope_type" } else { "type" };
    // The oldest name of longrope is su.
    let known = ["default", "linear", "dynamic", "llama3", "yarn", "longrope", "su"];
    Ok(match inner.one_of(key, None, &known)? {
        "linear" => RopeScaling::Linear { factor: inner.positive("factor")? },
        "llama3" => RopeScaling::Llama3 {
            factor: inner.positive("factor")?,
            low_freq_factor: inner.positive("low_freq_factor")?,
            high_freq_factor: inner.positive("high_freq_factor")?,
            original_context_length: inner.positive("original_max_position_embeddings")?,
        },
        "yarn" => yarn(outer, inner)?,
        "longrope" | "su" => long_rope(outer, inner, head_dim)?,
        "dynamic" => {
            // Raises theta for texts longer than max_position_embeddings, and none longer is ever read.
            inner.positive("factor")?;
            RopeScaling::None
        }
        _ => RopeScaling::None,
    })
}

/// The context before it was stretched, and by how much.
fn original(outer: &Fields, inner: &Fields) -> Result<(usize, f64), DecoderError> {
    let field = "original_max_position_embeddings";
    let holder = if inner.present(field).is_some() { inner } else { outer };
    if holder.present(field).is_none() {
        return Err(inner.wrong(field, "the context that the model was trained with first"));
    }
    let length = holder.count(field)?;
    let factor = match inner.positive_or_absent("factor")? {
        Some(factor) => factor,
        None => outer.count("max_position_embeddings")? as f64 / length as f64,
    };
    Ok((length, factor))
}

fn yarn(outer: &Fields, inner: &Fields) -> Result<RopeScaling, DecoderError> {
    let (length, factor) = original(outer, inner)?;
    let magnitude = match inner.positive_or_absent("attention_factor")? {
        Some(given) => given,
        None => match (inner.positive_or_absent("mscale")?, inner.positive_or_absent("mscale_all_dim")?) {
            (Some(scale), Some(all)) => yarn_magnitude(factor, scale) / yarn_magnitude(factor, all),
            _ => yarn_magnitude(factor, 1.0),
        },
    };
    Ok(RopeScaling::Yarn {
        factor,
        original_context_length: length as f64,
        // The values of the paper.
        beta_fast: inner.positive_or_absent("beta_fast")?.unwrap_or(32.0),
        beta_slow: inner.positive_or_absent("beta_slow")?.unwrap_or(1.0),
        truncate: inner.present("truncate").is_none() || inner.flag("truncate")?,
        magnitude,
    })
}

fn long_rope(outer: &Fields, inner: &Fields, head_dim: usize) -> Result<RopeScaling, DecoderError> {
    let (length, factor) = original(outer, inner)?;
    let divisors = |field: &str| -> Result<Vec<f32>, DecoderError> {
        let values = inner.present(field).and_then(Value::as_array);
        let numbers: Option<Vec<f32>> =
            values.and_then(|values| values.iter().map(|x| x.as_f64().map(|x| x as f32)).collect());
        let fitting = numbers.filter(|numbers| numbers.len() == head_dim / 2);
        fitting.ok_or_else(|| inner.wrong(field, &format!("{} numbers, one for each pair", head_dim / 2)))
    };
    divisors("long_factor")?;
    Ok(RopeScaling::LongRope {
        divisors: divisors("short_factor")?,
        original_context_length: length,
        magnitude: match inner.positive_or_absent("attention_factor")? {
            Some(given) => given,
            None => long_rope_magnitude(factor, length as f64),
        },
    })
}

/// Global and local rotation. New files hold both in `rope_parameters` by type of layer; old ones hold
/// `rope_theta` with `rope_scaling`, which is for global blocks alone, and `rope_local_base_freq`.
fn gemma(fields: &Fields, head_dim: usize) -> Result<(RopeConfig, RopeConfig), DecoderError> {
    if let Some(parameters) = fields.object("rope_parameters")? {
        let of = |kind: &str| -> Result<RopeConfig, DecoderError> {
            let inner = parameters
                .object(kind)?
                .ok_or_else(|| parameters.wrong(kind, "an object with rope_theta and rope_type"))?;
            whole_head(&inner)?;
            Ok(RopeConfig {
                theta: inner.positive("rope_theta")?,
                scaling: scaling(fields, &inner, head_dim)?,
            })
        };
        return Ok((of("full_attention")?, of("sliding_attention")?));
    }
    let scaling = match fields.object("rope_scaling")? {
        Some(inner) => scaling(fields, &inner, head_dim)?,
        None => RopeScaling::None,
    };
    let local = RopeConfig { theta: fields.positive("rope_local_base_freq")?, scaling: RopeScaling::None };
    Ok((RopeConfig { theta: fields.positive("rope_theta")?, scaling }, local))
}
