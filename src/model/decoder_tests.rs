//! The decoder against the golden values of Hugging Face transformers, against itself by other paths, and
//! against candle-transformers.

use std::collections::HashMap;
use std::path::PathBuf;

use candle_core::{Device, Tensor};

use super::*;

pub(super) const GOLDEN: [&str; 7] =
    ["llama", "llama3-rope", "mistral-window", "qwen2", "qwen3", "gemma3", "phi3"];

pub(super) fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/decoders").join(name)
}

pub(super) fn tensors(name: &str, file: &str) -> HashMap<String, Tensor> {
    candle_core::safetensors::load(folder(name).join(file), &Device::Cpu).unwrap()
}

pub(super) fn flat(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

pub(super) fn golden_ids(name: &str) -> Vec<u32> {
    let ids = &tensors(name, "reference.safetensors")["input_ids"];
    ids.flatten_all().unwrap().to_vec1::<i32>().unwrap().into_iter().map(|id| id as u32).collect()
}

pub(super) fn assert_close(got: &[f32], want: &[f32], tolerance: f32, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let worst = got
        .iter()
        .zip(want)
        .map(|(a, b)| (a - b).abs())
        .fold(0f32, |a, b| if b > a || b.is_nan() { b } else { a });
    assert!(worst <= tolerance, "{what}: differs by {worst}");
}

/// Everything a reading can keep.
pub(super) fn everything(layers: usize, segments: &[std::ops::Range<usize>]) -> CaptureRequest {
    let states: Vec<_> = (1..=layers).map(StateLayer::Block).chain([StateLayer::FinalNorm]).collect();
    CaptureRequest {
        segments: segments.to_vec(),
        attention_among_new: states.clone(),
        states,
        self_attention: true,
        logits: true,
        full_attention: true,
        ..CaptureRequest::default()
    }
}

/// Rows `cut..` of a [heads, rows, tokens] array.
fn rows_of(attention: &[f32], heads: usize, rows: usize, cut: usize) -> Vec<f32> {
    let tokens = rows;
    (0..heads).flat_map(|h| attention[(h * rows + cut) * tokens..(h + 1) * rows * tokens].to_vec()).collect()
}

#[test]
fn states_logits_and_attentions_are_those_of_transformers_at_every_cut() {
    for name in GOLDEN {
        let reference = tensors(name, "reference.safetensors");
        let ids = golden_ids(name);
        for kernel in [AttentionKernel::Fused, AttentionKernel::Plain] {
            let decoder = Decoder::from_directory(&folder(name)).unwrap().with_attention(kernel);
            let (layers, heads, hidden) = (decoder.config().layers, 4, 32);
            assert_close(&decoder.embed(&ids), &flat(&reference["hidden_states.0"]), 1e-4, "embeddings");
            for cut in [0, 1, 7, 20, 38, 39] {
                let prefix = decoder.prefix(&ids[..cut]).unwrap();
                assert_eq!(prefix.tokens(), cut);
                let capture = decoder.extend(&prefix, &ids[cut..], &everything(layers, &[])).unwrap();
                let what = format!("{name}, {kernel:?}, cut at {cut}");
                for layer in 1..layers {
                    let want = &flat(&reference[&format!("hidden_states.{layer}")])[cut * hidden..];
                    assert_close(&capture.states[layer - 1], want, 1e-4, &format!("{what}, state {layer}"));
                }
                let last = &reference[&format!("hidden_states.{layers}")];
                let want = &flat(last)[cut * hidden..];
                assert_close(&capture.states[layers], want, 1e-4, &format!("{what}, final state"));
                let want = &flat(&reference["logits"])[cut * 96..];
                assert_close(capture.logits.as_ref().unwrap(), want, 1e-4, &format!("{what}, logits"));
                let want: Vec<f32> = (0..layers)
                    .flat_map(|l| rows_of(&flat(&reference[&format!("attentions.{l}")]), heads, 40, cut))
                    .collect();
                assert_close(
                    capture.full_attention.as_ref().unwrap(),
                    &want,
                    1e-4,
                    &format!("{what}, attention"),
                );
            }
        }
    }
}

#[test]
fn log_prob_and_entropy_follow_from_the_reference_logits() {
    for name in GOLDEN {
        let logits = flat(&tensors(name, "reference.safetensors")["logits"]);
        let ids = golden_ids(name);
        let decoder = Decoder::from_directory(&folder(name)).unwrap();
        let cut = 11;
        let capture = decoder
            .extend(&decoder.prefix(&ids[..cut]).unwrap(), &ids[cut..], &CaptureRequest::default())
            .unwrap();
        assert_eq!((capture.log_prob.len(), capture.entropy.len()), (28, 28));
        assert!(
            capture.logits.is_none() && capture.full_attention.is_none() && capture.segment_mass.is_empty()
        );
        for r in 0..28 {
            let row = &logits[(cut + r) * 96..][..96];
            let total: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
            let log_prob = |x: f32| f64::from(x) - total.ln();
            let entropy: f64 = row.iter().map(|x| -log_prob(*x) * log_prob(*x).exp()).sum();
            assert!((f64::from(capture.log_prob[r]) - log_prob(row[ids[cut + r + 1] as usize])).abs() < 1e-4);
            assert!((f64::from(capture.entropy[r]) - entropy).abs() < 1e-4);
        }
    }
}

#[test]
fn masses_and_pooled_weights_are_sums_of_the_full_attention() {
    let segments = [0..5, 5..17, 3..9, 17..17, 10..30, 0..40, 39..40, 25..31];
    for name in GOLDEN {
        let ids = golden_ids(name);
        for cut in [0, 9, 25] {
            let decoder = Decoder::from_directory(&folder(name)).unwrap();
            let layers = decoder.config().layers;
            let prefix = decoder.prefix(&ids[..cut]).unwrap();
            let capture = decoder.extend(&prefix, &ids[cut..], &everything(layers, &segments)).unwrap();
            let (rows, full) = (40 - cut, capture.full_attention.as_ref().unwrap());
            let weights = |l: usize, h: usize, r: usize| &full[((l * 4 + h) * rows + r) * 40..][..40];
            for (r, l, h) in (0..rows).flat_map(|r| (0..4 * layers).map(move |i| (r, i / 4, i % 4))) {
                let place = ((r * layers + l) * 4 + h) * segments.len();
                let mass = &capture.segment_mass[place..][..segments.len()];
                for (segment, mass) in segments.iter().zip(mass) {
                    let want: f32 = weights(l, h, r)[segment.clone()].iter().sum();
                    assert!((mass - want).abs() < 1e-5, "{segment:?}: {mass} {want}");
                }
                assert!((mass[5] - 1.0).abs() < 1e-5, "all tokens together weigh 1");
            }
            for (r, l) in (0..rows).flat_map(|r| (0..layers).map(move |l| (r, l))) {
                let want: f32 = (0..4).map(|h| weights(l, h, r)[cut + r].ln()).sum();
                assert!((capture.self_attention[r * layers + l] - want).abs() < 1e-4);
            }
            for (which, among) in capture.attention_among_new.iter().enumerate() {
                let layer = which.min(layers - 1);
                for (r, k) in (0..rows).flat_map(|r| (0..rows).map(move |k| (r, k))) {
                    let want = (0..4).map(|h| weights(layer, h, r)[cut + k]).sum::<f32>() / 4.0;
                    assert!((among[r * rows + k] - want).abs() < 1e-6);
                    assert!(k <= r || among[r * rows + k] == 0.0, "nothing above the diagonal");
                }
            }
        }
    }
}

#[test]
fn weights_of_the_fused_pass_add_up_and_its_logits_are_those_of_the_plain_path() {
    // P8: three chunks, the rest of the prompt, and twelve answer tokens.
    let ids = golden_ids("llama3-rope");
    let (prompt, answer) = ids[..40].split_at(28);
    let segments = [2..9, 9..15, 15..24, 0..2, 24..28, 28..40];
    let read = |kernel| {
        let decoder = Decoder::from_directory(&folder("llama3-rope")).unwrap().with_attention(kernel);
        let (last, before) = prompt.split_last().unwrap();
        let new: Vec<u32> = std::iter::once(*last).chain(answer.iter().copied()).collect();
        decoder.extend(&decoder.prefix(before).unwrap(), &new, &everything(3, &segments)).unwrap()
    };
    let (fused, plain) = (read(AttentionKernel::Fused), read(AttentionKernel::Plain));
    assert_close(fused.logits.as_ref().unwrap(), plain.logits.as_ref().unwrap(), 1e-4, "logits");
    assert_close(&fused.segment_mass, &plain.segment_mass, 1e-5, "masses");
    for (a, b) in fused.attention_among_new.iter().zip(&plain.attention_among_new) {
        assert_close(a, b, 1e-5, "attention among new tokens");
    }
    assert_eq!(fused.segment_mass.len(), 13 * 3 * 4 * 6);
    for mass in fused.segment_mass.chunks(6) {
        assert!((mass.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{mass:?}");
        assert!(mass.iter().all(|m| (0.0..=1.0).contains(m)));
    }
}

#[test]
fn chunks_outside_of_the_window_weigh_exactly_nothing() {
    for (name, window) in [("mistral-window", 8), ("gemma3", 8)] {
        let ids = golden_ids(name);
        let each: Vec<_> = (0..40).map(|token| token..token + 1).collect();
        for (kernel, cut) in
            [AttentionKernel::Fused, AttentionKernel::Plain].map(|k| [(k, 0), (k, 30)]).as_flattened()
        {
            let decoder = Decoder::from_directory(&folder(name)).unwrap().with_attention(*kernel);
            let config = decoder.config();
            assert!(config.windows.contains(&Some(window)));
            let (layers, windows) = (config.layers, config.windows.clone());
            let request = CaptureRequest { segments: each.clone(), ..CaptureRequest::default() };
            let capture =
                decoder.extend(&decoder.prefix(&ids[..*cut]).unwrap(), &ids[*cut..], &request).unwrap();
            for (place, mass) in capture.segment_mass.iter().enumerate() {
                let (token, layer, row) = (place % 40, place / 160 % layers, place / 160 / layers + cut);
                let in_window = windows[layer].is_none_or(|window| token + window > row);
                assert_eq!(*mass > 0.0, token <= row && in_window, "{name}: {row} to {token} in {layer}");
            }
        }
    }
}

#[test]
fn a_shared_prefix_reads_as_a_prefix_of_ones_own() {
    let ids = golden_ids("llama");
    let decoder = Decoder::from_directory(&folder("llama")).unwrap();
    let shared = decoder.prefix(&ids[..19]).unwrap();
    let request = everything(3, &[0..10, 10..19]);
    let continuations = [&ids[19..40], &ids[25..33], &ids[1..2]];
    let first: Vec<_> =
        continuations.iter().map(|c| decoder.extend(&shared.clone(), c, &request).unwrap()).collect();
    for (continuation, first) in continuations.iter().zip(&first) {
        let own = decoder.prefix(&ids[..19]).unwrap();
        assert_eq!(&decoder.extend(&own, continuation, &request).unwrap(), first, "own prefix");
        assert_eq!(&decoder.extend(&shared, continuation, &request).unwrap(), first, "prefix used before");
        // Read in one piece: the same rows of a whole sequence.
        let whole: Vec<u32> = ids[..19].iter().chain(*continuation).copied().collect();
        let whole = decoder.extend(&decoder.prefix(&[]).unwrap(), &whole, &request).unwrap();
        for (a, b) in first.states.iter().zip(&whole.states) {
            assert_close(a, &b[19 * 32..], 1e-5, "states");
        }
        assert_close(&first.segment_mass, &whole.segment_mass[19 * 3 * 4 * 2..], 1e-5, "masses");
    }
}

#[test]
fn wrong_requests_are_refused_with_both_numbers() {
    let decoder = Decoder::from_directory(&folder("llama")).unwrap();
    let prefix = decoder.prefix(&[1; 100]).unwrap();
    let plain = CaptureRequest::default();
    let error = |ids: &[u32], request: &CaptureRequest| decoder.extend(&prefix, ids, request).unwrap_err();
    assert!(matches!(error(&[], &plain), DecoderError::NoTokens));
    assert!(matches!(error(&[3, 96], &plain), DecoderError::UnknownToken { position: 101, id: 96, .. }));
    let message = error(&[1; 29], &plain).to_string();
    assert!(message.contains("100") && message.contains("29") && message.contains("128"), "{message}");
    assert!(decoder.extend(&prefix, &[1; 28], &plain).is_ok());
    for (start, end) in [(0, 103), (5, 4)] {
        let segment = start..end;
        let request = CaptureRequest { segments: vec![0..1, segment], ..CaptureRequest::default() };
        assert!(matches!(error(&[1, 2], &request), DecoderError::Segment { index: 1, tokens: 102, .. }));
    }
    for layer in [StateLayer::Block(0), StateLayer::Block(4)] {
        let request = CaptureRequest { states: vec![layer], ..CaptureRequest::default() };
        assert!(matches!(error(&[1], &request), DecoderError::UnknownLayer { layers: 3, .. }));
        let request = CaptureRequest { attention_among_new: vec![layer], ..CaptureRequest::default() };
        assert!(matches!(error(&[1], &request), DecoderError::UnknownLayer { .. }));
    }
    let other = Decoder::from_directory(&folder("llama")).unwrap();
    assert!(matches!(other.extend(&prefix, &[1], &plain), Err(DecoderError::ForeignPrefix)));
    assert!(matches!(decoder.prefix(&[1; 129]), Err(DecoderError::ContextExceeded { .. })));
    assert!(matches!(decoder.prefix(&[4_000_000_000]), Err(DecoderError::UnknownToken { .. })));
}
