//! The path of the GPUs, on the CPU: against Hugging Face's golden values and the decoder over slices.

use super::{DeviceChoice, NumberType, Placement};
use crate::model::decoder_tests::{GOLDEN, assert_close, everything, flat, folder, golden_ids, tensors};
use crate::model::{Capture, CaptureRequest, Decoder, DecoderError};

const SEGMENTS: [std::ops::Range<usize>; 5] = [0..5, 5..17, 17..17, 10..30, 39..40];

/// Everything that a device keeps.
fn everything_here(layers: usize, segments: &[std::ops::Range<usize>]) -> CaptureRequest {
    CaptureRequest { self_attention: false, ..everything(layers, segments) }
}

fn on_tensors(name: &str, dtype: NumberType) -> Decoder {
    let placement = Placement { device: DeviceChoice::CpuTensors, dtype };
    Decoder::from_directory(&folder(name)).unwrap().placed(placement).unwrap()
}

/// All golden architectures, with small blocks of rows as well: the result must not depend on them.
fn decoders(name: &str) -> [Decoder; 2] {
    [usize::MAX / 2, 400].map(|numbers| {
        let mut decoder = on_tensors(name, NumberType::F32);
        decoder.device_mut().unwrap().memory = super::memory::MemoryBudget::new(numbers);
        decoder
    })
}

fn assert_same(got: &Capture, want: &Capture, tolerance: f32, what: &str) {
    assert_eq!(
        (got.rows, got.layers, got.heads, got.hidden_size, got.segments),
        (want.rows, want.layers, want.heads, want.hidden_size, want.segments)
    );
    for (which, (got, want)) in got.states.iter().zip(&want.states).enumerate() {
        assert_close(got, want, tolerance, &format!("{what}, state {which}"));
    }
    for (got, want) in got.attention_among_new.iter().zip(&want.attention_among_new) {
        assert_close(got, want, tolerance, &format!("{what}, among new"));
    }
    assert_close(&got.segment_mass, &want.segment_mass, tolerance, &format!("{what}, masses"));
    assert_close(&got.log_prob, &want.log_prob, tolerance, &format!("{what}, log-probabilities"));
    assert_close(&got.entropy, &want.entropy, tolerance, &format!("{what}, entropies"));
    let (one, other) = (got.logits.as_ref(), want.logits.as_ref());
    assert_close(one.unwrap(), other.unwrap(), tolerance, &format!("{what}, logits"));
    let (one, other) = (got.full_attention.as_ref(), want.full_attention.as_ref());
    assert_close(one.unwrap(), other.unwrap(), tolerance, &format!("{what}, weights"));
}

#[test]
fn logits_and_final_states_are_those_of_transformers_in_every_architecture() {
    for name in GOLDEN {
        let reference = tensors(name, "reference.safetensors");
        let ids = golden_ids(name);
        for (decoder, cut) in decoders(name).iter().zip([0, 23]) {
            let layers = decoder.config().layers;
            let prefix = decoder.prefix(&ids[..cut]).unwrap();
            let capture = decoder.extend(&prefix, &ids[cut..], &everything_here(layers, &[])).unwrap();
            let want = &flat(&reference["logits"])[cut * 96..];
            assert_close(capture.logits.as_ref().unwrap(), want, 1e-4, name);
            let want = &flat(&reference[&format!("hidden_states.{layers}")])[cut * 32..];
            assert_close(&capture.states[layers], want, 1e-4, name);
            for layer in 1..layers {
                let want = &flat(&reference[&format!("hidden_states.{layer}")])[cut * 32..];
                assert_close(&capture.states[layer - 1], want, 1e-4, name);
            }
            for layer in 0..layers {
                let want = flat(&reference[&format!("attentions.{layer}")]);
                let rows = 40 - cut;
                let of_layer = &capture.full_attention.as_ref().unwrap()[layer * 4 * rows * 40..];
                for head in 0..4 {
                    let want = &want[(head * 40 + cut) * 40..(head + 1) * 40 * 40];
                    assert_close(&of_layer[head * rows * 40..][..rows * 40], want, 1e-4, name);
                }
            }
        }
    }
}

#[test]
fn every_capture_is_that_of_the_decoder_over_slices_at_every_cut() {
    for name in GOLDEN {
        let ids = golden_ids(name);
        let slices = Decoder::from_directory(&folder(name)).unwrap();
        let request = everything_here(slices.config().layers, &SEGMENTS);
        for decoder in decoders(name) {
            for cut in [0, 1, 9, 38, 39] {
                let read = |decoder: &Decoder| {
                    decoder.extend(&decoder.prefix(&ids[..cut]).unwrap(), &ids[cut..], &request).unwrap()
                };
                assert_same(&read(&decoder), &read(&slices), 1e-4, &format!("{name}, cut at {cut}"));
            }
        }
    }
}

#[test]
fn a_token_outside_of_the_window_weighs_exactly_nothing() {
    for name in ["mistral-window", "gemma3"] {
        let ids = golden_ids(name);
        for decoder in decoders(name) {
            let (layers, windows) = (decoder.config().layers, decoder.config().windows.clone());
            let request =
                CaptureRequest { segments: (0..40).map(|t| t..t + 1).collect(), ..CaptureRequest::default() };
            let capture = decoder.extend(&decoder.prefix(&ids[..7]).unwrap(), &ids[7..], &request).unwrap();
            for (place, mass) in capture.segment_mass.iter().enumerate() {
                let (token, layer, row) = (place % 40, place / 160 % layers, place / 160 / layers + 7);
                let near = windows[layer].is_none_or(|window| token + window > row);
                assert_eq!(*mass > 0.0, token <= row && near, "{name}: {row} to {token} in {layer}");
            }
        }
    }
}

#[test]
fn several_continuations_of_a_shared_prefix_read_as_each_alone() {
    for name in ["qwen2", "gemma3"] {
        let ids = golden_ids(name);
        let decoder = on_tensors(name, NumberType::F32);
        let request = everything_here(decoder.config().layers, &[0..10, 10..19]);
        let prefix = decoder.prefix(&ids[..19]).unwrap();
        let sequences = [&ids[19..40], &ids[25..33], &ids[1..2]];
        let together = decoder.extend_many(&prefix, &sequences, &request).unwrap();
        for (together, ids) in together.iter().zip(&sequences) {
            assert_same(together, &decoder.extend(&prefix.clone(), ids, &request).unwrap(), 1e-5, name);
        }
    }
}

#[test]
fn stepping_gives_the_reference_logits_in_every_architecture() {
    for name in GOLDEN {
        let decoder = on_tensors(name, NumberType::F32);
        let ids = golden_ids(name);
        let want = flat(&tensors(name, "reference.safetensors")["logits"]);
        for cut in [0, 17] {
            let prefix = decoder.prefix(&ids[..cut]).unwrap();
            let mut sequence = decoder.start(&prefix).unwrap();
            let mut other = decoder.start(&prefix).unwrap();
            for (at, id) in ids.iter().enumerate().skip(cut) {
                decoder.step(&mut other, 3).unwrap();
                let logits = decoder.step(&mut sequence, *id).unwrap();
                assert_close(&logits, &want[at * 96..][..96], 1e-4, &format!("{name}, {cut}, row {at}"));
            }
            assert_eq!(sequence.tokens(), ids.len());
        }
    }
}

/// Half precision keeps 8 (bf16) or 11 (f16) bits. Measured on the golden models: see the tolerances.
#[test]
fn half_precision_stays_within_its_rounding() {
    for (dtype, masses, log_prob) in [(NumberType::Bf16, 0.02, 0.1), (NumberType::F16, 0.003, 0.015)] {
        for name in GOLDEN {
            let ids = golden_ids(name);
            let request =
                everything_here(Decoder::from_directory(&folder(name)).unwrap().config().layers, &SEGMENTS);
            let read = |decoder: Decoder| {
                decoder.extend(&decoder.prefix(&ids[..20]).unwrap(), &ids[20..], &request).unwrap()
            };
            let (half, exact) = (read(on_tensors(name, dtype)), read(on_tensors(name, NumberType::F32)));
            let what = format!("{name}, {dtype:?}");
            assert_close(&half.segment_mass, &exact.segment_mass, masses, &what);
            assert_close(&half.log_prob, &exact.log_prob, log_prob, &what);
            assert_ne!(half.log_prob, exact.log_prob, "{what} rounds");
        }
    }
}

#[test]
fn wrong_requests_and_foreign_prefixes_are_refused_as_on_the_cpu() {
    let decoder = on_tensors("llama", NumberType::F32);
    assert_eq!(decoder.placement(), "cpu:tensors f32");
    let prefix = decoder.prefix(&[1; 100]).unwrap();
    let plain = CaptureRequest::default();
    let error = |ids: &[u32]| decoder.extend(&prefix, ids, &plain).unwrap_err();
    assert!(matches!(error(&[]), DecoderError::NoTokens));
    assert!(matches!(error(&[3, 96]), DecoderError::UnknownToken { position: 101, .. }));
    assert!(matches!(error(&[1; 29]), DecoderError::ContextExceeded { .. }));
    let slices = Decoder::from_directory(&folder("llama")).unwrap();
    assert!(matches!(slices.extend(&prefix, &[1], &plain), Err(DecoderError::ForeignPrefix)));
    let before = slices.prefix(&[1]).unwrap();
    let moved =
        slices.placed(Placement { device: DeviceChoice::CpuTensors, dtype: NumberType::F32 }).unwrap();
    assert!(matches!(moved.extend(&before, &[1], &plain), Err(DecoderError::ForeignPrefix)));
}

#[test]
fn numbers_beyond_the_type_are_an_error_that_names_the_place() {
    let mut decoder = on_tensors("llama", NumberType::F32);
    let norm = &mut decoder.device_mut().unwrap().weights.blocks[1].feed_forward_norm;
    *norm = (&*norm * 1e30).unwrap();
    let read = decoder.extend(&decoder.prefix(&[]).unwrap(), &[1, 2, 3], &CaptureRequest::default());
    let error = read.unwrap_err().to_string();
    assert!(error.contains("the state after block 2"), "{error}");
    let error = decoder.prefix(&[1, 2, 3]).unwrap_err().to_string();
    assert!(error.contains("the state after block 2"), "{error}");
}

#[test]
fn squares_that_overflow_make_no_row_of_zeros_on_a_device_either() {
    let device = candle_core::Device::Cpu;
    let rows = candle_core::Tensor::new(&[[1e25f32, 1.0], [3.0, 4.0]], &device).unwrap();
    let weight = candle_core::Tensor::new(&[1f32, 1.0], &device).unwrap();
    let out: Vec<Vec<f32>> = super::rms_norm(&rows, &weight, 1e-5).unwrap().to_vec2().unwrap();
    assert!(
        out[0].iter().all(|value| value.is_nan()) && out[1].iter().all(|value| value.is_finite()),
        "{out:?}"
    );
}

#[test]
fn signals_that_a_device_does_not_keep_are_refused_by_name_and_the_divergence_is_that_of_the_slices() {
    let slices = Decoder::from_directory(&folder("llama")).unwrap();
    let device = on_tensors("llama", NumberType::F32);
    let ids = golden_ids("llama");
    let prefix = device.prefix(&ids[..9]).unwrap();
    for request in [
        CaptureRequest { self_attention: true, ..CaptureRequest::default() },
        CaptureRequest { information_contribution: true, ..CaptureRequest::default() },
    ] {
        let refused = device.extend(&prefix, &ids[9..], &request).unwrap_err();
        assert!(refused.to_string().contains("CPU decoder alone"), "{refused}");
    }
    let states: Vec<f32> = (0..4 * 32).map(|i| ((i * 37 % 19) as f32 - 9.0) / 4.0).collect();
    let others: Vec<f32> = states.iter().rev().copied().collect();
    let (one, other) =
        (slices.divergence(&states, &others).unwrap(), device.divergence(&states, &others).unwrap());
    assert_close(&one, &other, 1e-4, "divergence");
}
