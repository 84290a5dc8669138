//! `ragscope models bench`: how fast a model reads here, and how far one device is from another.

use std::time::Instant;

use clap::Args;

use crate::model::{
    CacheDirectory, Capture, CaptureRequest, Decoder, DecoderError, DeviceChoice, LanguageModel, ModelError,
    ModelLocation, NumberType, Placement, StateLayer,
};

use super::super::{Failure, Outcome, Shared, output};

/// Text of everyday length of words, read over and over.
const TEXT: &str = include_str!("../../../sample_data/documents.jsonl");

/// Options of `ragscope models bench`.
#[derive(Debug, Args)]
pub struct BenchArguments {
    /// Tokens read, those of the answer included
    #[arg(long, default_value_t = 800, value_name = "N")]
    tokens: usize,
    /// Tokens of the answer, whose attention and states are kept
    #[arg(long, default_value_t = 200, value_name = "N")]
    answer: usize,
    /// Times are medians of this many rounds
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Also read on this device in f32, and print the largest differences
    #[arg(long, value_name = "DEVICE", value_parser = str::parse::<DeviceChoice>)]
    against: Option<DeviceChoice>,
}

/// Times a reading with and without capture; every line is `name value unit`.
pub fn run(shared: &Shared, cache: &CacheDirectory, arguments: &BenchArguments) -> Outcome {
    let placement = shared.placement()?;
    let other = arguments.against.map(|device| Placement { device, dtype: NumberType::F32 });
    if let Some(other) = other {
        other.check().map_err(|error| Failure::Usage(format!("--against: {error}")))?;
    }
    if arguments.answer < 2 || arguments.answer >= arguments.tokens {
        return Err(Failure::Usage(format!(
            "--answer: expected 2 tokens or more and fewer than --tokens ({}), {} came",
            arguments.tokens, arguments.answer
        )));
    }
    let location = ModelLocation::parse(shared.model.as_deref(), cache).map_err(Failure::model)?;
    let measured = measure(&location, cache, placement, arguments)?;
    let mut text = measured.lines("");
    if let Some(other) = other {
        let yardstick = measure(&location, cache, other, arguments)?;
        text += &yardstick.lines("against_");
        text += &differences(&measured.capture, &yardstick.capture);
    }
    output::print(&text)
}

struct Measured {
    place: String,
    load: f64,
    tokens: usize,
    answer: usize,
    plain: f64,
    with_capture: f64,
    capture: Capture,
}

impl Measured {
    fn lines(&self, prefix: &str) -> String {
        let speed = |seconds: f64| self.tokens as f64 / seconds.max(1e-9);
        let (device, dtype) = self.place.split_once(' ').unwrap_or((&self.place, "f32"));
        format!(
            "{prefix}device {device} name\n{prefix}dtype {dtype} name\n{prefix}tokens {} count\n\
             {prefix}answer_tokens {} count\n{prefix}load {:.3} s\n{prefix}prefill_plain {:.4} s\n\
             {prefix}prefill_plain_speed {:.1} tokens/s\n{prefix}prefill_capture {:.4} s\n\
             {prefix}prefill_capture_speed {:.1} tokens/s\n",
            self.tokens,
            self.answer,
            self.load,
            self.plain,
            speed(self.plain),
            self.with_capture,
            speed(self.with_capture)
        )
    }
}

fn measure(
    location: &ModelLocation,
    cache: &CacheDirectory,
    placement: Placement,
    arguments: &BenchArguments,
) -> Outcome<Measured> {
    let started = Instant::now();
    let model = LanguageModel::open_on(location, cache, placement).map_err(Failure::model)?;
    let load = started.elapsed().as_secs_f64();
    let decoder = &model.decoder;
    let ids = ids(&model, arguments.tokens).map_err(Failure::model)?;
    let before = arguments.tokens - arguments.answer;
    let capturing = everything_a_detector_asks(decoder.config().layers, before);
    // What is compiled or allocated at the first use is no part of the time.
    let mut capture = read(decoder, &ids, before, &capturing).map_err(Failure::model)?;
    let (mut plain, mut with_capture) = (Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        let started = Instant::now();
        read(decoder, &ids, before, &CaptureRequest::default()).map_err(Failure::model)?;
        plain.push(started.elapsed().as_secs_f64());
        let started = Instant::now();
        capture = read(decoder, &ids, before, &capturing).map_err(Failure::model)?;
        with_capture.push(started.elapsed().as_secs_f64());
    }
    Ok(Measured {
        place: decoder.placement(),
        load,
        tokens: arguments.tokens,
        answer: arguments.answer,
        plain: median(plain),
        with_capture: median(with_capture),
        capture,
    })
}

/// The same tokens for every device: the text, begun again where it ends.
fn ids(model: &LanguageModel, tokens: usize) -> Result<Vec<u32>, ModelError> {
    let text = model.tokenize(TEXT)?.ids;
    Ok(text.into_iter().cycle().take(tokens).collect())
}

/// Four segments of the prompt, states and attention of a middle and of the last layer.
fn everything_a_detector_asks(layers: usize, before: usize) -> CaptureRequest {
    let layer = vec![StateLayer::Block((layers * 3 / 4).max(1)), StateLayer::FinalNorm];
    CaptureRequest {
        segments: (0..4).map(|part| before * part / 4..before * (part + 1) / 4).collect(),
        states: layer.clone(),
        attention_among_new: layer,
        ..CaptureRequest::default()
    }
}

fn read(
    decoder: &Decoder,
    ids: &[u32],
    before: usize,
    request: &CaptureRequest,
) -> Result<Capture, DecoderError> {
    let (prompt, answer) = ids.split_at(before.min(ids.len()));
    decoder.extend(&decoder.prefix(prompt)?, answer, request)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or_default()
}

/// Largest differences of two readings of the same tokens; those of states in units of their largest number.
fn differences(one: &Capture, other: &Capture) -> String {
    let largest = |a: &[f32], b: &[f32]| {
        let apart = a.iter().zip(b).map(|(a, b)| f64::from((a - b).abs()));
        apart.fold(if a.len() == b.len() { 0.0 } else { f64::NAN }, f64::max)
    };
    let mean = |a: &[f32], b: &[f32]| {
        a.iter().zip(b).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>() / a.len().max(1) as f64
    };
    let pairs = |a: &[Vec<f32>], b: &[Vec<f32>], relative: bool| {
        let each = a.iter().zip(b).map(|(a, b)| {
            let size = b.iter().fold(0f32, |size, x| size.max(x.abs()));
            largest(a, b) / if relative && size > 0.0 { f64::from(size) } else { 1.0 }
        });
        each.fold(0.0, f64::max)
    };
    format!(
        "difference_segment_mass {:.3e} share\ndifference_attention_among_new {:.3e} share\n\
         difference_states {:.3e} relative\ndifference_log_prob {:.3e} nats\n\
         difference_log_prob_mean {:.3e} nats\ndifference_entropy {:.3e} nats\n",
        largest(&one.segment_mass, &other.segment_mass),
        pairs(&one.attention_among_new, &other.attention_among_new, false),
        pairs(&one.states, &other.states, true),
        largest(&one.log_prob, &other.log_prob),
        mean(&one.log_prob, &other.log_prob),
        largest(&one.entropy, &other.entropy)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_time_and_the_largest_difference_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        let capture = |log_prob: f32, state: f32| Capture {
            rows: 2,
            layers: 1,
            heads: 1,
            hidden_size: 1,
            segments: 1,
            states: vec![vec![4.0, state]],
            attention_among_new: Vec::new(),
            self_attention: Vec::new(),
            information_contribution: Vec::new(),
            segment_mass: vec![0.5, 0.5],
            log_prob: vec![log_prob],
            entropy: vec![1.0],
            logits: None,
            full_attention: None,
        };
        let text = differences(&capture(-1.0, 2.0), &capture(-1.5, 1.0));
        for line in [
            "difference_log_prob 5.000e-1 nats",
            "difference_states 2.500e-1 relative",
            "difference_segment_mass 0.000e0 share",
        ] {
            assert!(text.lines().any(|found| found == line), "{text}");
        }
    }
}
