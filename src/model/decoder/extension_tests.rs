//! Several continuations read together, held against each read alone.

use crate::model::decoder_tests::{GOLDEN, assert_close, everything, folder, golden_ids};
use crate::model::product::Matrix;
use crate::model::{AttentionKernel, Capture, CaptureRequest, Decoder, DecoderError, StateLayer};

fn decoder(name: &str) -> Decoder {
    Decoder::from_directory(&folder(name)).unwrap()
}

/// Within the rounding of products that have other numbers of rows.
#[track_caller]
fn assert_same(got: &Capture, want: &Capture, what: &str) {
    let shape = |c: &Capture| (c.rows, c.layers, c.heads, c.hidden_size, c.segments);
    assert_eq!(shape(got), shape(want), "{what}");
    for (got, want) in got.states.iter().zip(&want.states) {
        assert_close(got, want, 1e-5, &format!("{what}: states"));
    }
    for (got, want) in got.attention_among_new.iter().zip(&want.attention_among_new) {
        assert_close(got, want, 1e-5, &format!("{what}: attention among new"));
    }
    assert_eq!(got.states.len(), want.states.len());
    assert_eq!(got.attention_among_new.len(), want.attention_among_new.len());
    assert_close(&got.segment_mass, &want.segment_mass, 1e-5, &format!("{what}: masses"));
    assert_close(&got.log_prob, &want.log_prob, 1e-5, &format!("{what}: log-probabilities"));
    assert_close(&got.entropy, &want.entropy, 1e-5, &format!("{what}: entropies"));
    for (got, want) in [(&got.logits, &want.logits), (&got.full_attention, &want.full_attention)] {
        let (got, want) = (got.as_deref(), want.as_deref());
        assert_eq!(got.is_some(), want.is_some(), "{what}");
        assert_close(got.unwrap_or_default(), want.unwrap_or_default(), 1e-5, what);
    }
}

#[test]
fn sequences_read_together_are_what_each_is_alone_in_every_architecture() {
    for name in GOLDEN {
        let ids = golden_ids(name);
        let sequences: [&[u32]; 3] = [&ids[25..26], &ids[3..17], &ids[12..40]];
        for kernel in [AttentionKernel::Fused, AttentionKernel::Plain] {
            let decoder = decoder(name).with_attention(kernel);
            let layers = decoder.config().layers;
            // Beyond the windows of 8 tokens, inside of them, and with nothing before.
            for cut in [0, 5, 25] {
                let prefix = decoder.prefix(&ids[..cut]).unwrap();
                let all = everything(layers, &[0..cut, cut / 2..cut + 1, 0..0]);
                let without_logits = CaptureRequest { logits: false, full_attention: false, ..all.clone() };
                for request in [all, without_logits] {
                    for together in
                        [&sequences[..], &sequences[..1], &sequences[1..], &sequences[2..], &sequences[..0]]
                    {
                        let read = decoder.extend_many(&prefix, together, &request).unwrap();
                        assert_eq!(read.len(), together.len());
                        for (index, (read, ids)) in read.iter().zip(together).enumerate() {
                            let alone = decoder.extend(&prefix, ids, &request).unwrap();
                            let what =
                                format!("{name}, {kernel:?}, cut {cut}, {index} of {}", together.len());
                            assert_same(read, &alone, &what);
                            assert_eq!(read.log_prob.len(), ids.len() - 1);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_sequence_never_sees_another() {
    for name in GOLDEN {
        let ids = golden_ids(name);
        let decoder = decoder(name);
        let prefix = decoder.prefix(&ids[..9]).unwrap();
        let request = everything(decoder.config().layers, &[0..9, 9..12]);
        let read = |other: &[u32]| {
            let mut read =
                decoder.extend_many(&prefix, &[&ids[9..20], other, &ids[20..31]], &request).unwrap();
            read.remove(1);
            read
        };
        // The same number of rows, so the same products: equal to the last bit.
        assert_eq!(read(&[1; 12]), read(&[7, 3, 9, 2, 11, 5, 8, 4, 6, 10, 1, 2]), "{name}");
    }
}

#[test]
fn more_rows_than_a_batch_holds_are_read_in_several_and_come_back_in_order() {
    let decoder = decoder("llama");
    let prefix = decoder.prefix(&[5, 6, 7]).unwrap();
    let sequences: Vec<Vec<u32>> =
        (0..25).map(|n| (0..90 + n).map(|i| ((i * 31 + n * 7) % 96) as u32).collect()).collect();
    let sequences: Vec<&[u32]> = sequences.iter().map(Vec::as_slice).collect();
    assert!(sequences.iter().map(|ids| ids.len()).sum::<usize>() > 2048);
    let request = CaptureRequest {
        segments: vec![0..3, 1..2],
        states: vec![StateLayer::FinalNorm],
        ..CaptureRequest::default()
    };
    let read = decoder.extend_many(&prefix, &sequences, &request).unwrap();
    assert_eq!(read.len(), 25);
    for (index, (read, ids)) in read.iter().zip(&sequences).enumerate() {
        assert_same(read, &decoder.extend(&prefix, ids, &request).unwrap(), &format!("sequence {index}"));
    }
}

#[test]
fn an_error_names_the_sequence() {
    let one = decoder("llama");
    let prefix = one.prefix(&[1; 100]).unwrap();
    let plain = CaptureRequest::default();
    let long = [1; 29];
    for (wrong, expected) in
        [(&[][..], "at least one token"), (&[3, 96], "token 96"), (&long, "context of 128")]
    {
        let error = one.extend_many(&prefix, &[&[1, 2], wrong, &[3]], &plain).unwrap_err();
        assert!(matches!(error, DecoderError::Sequence { index: 1, count: 3, .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.starts_with("sequence 2 of 3: ") && message.contains(expected), "{message}");
    }
    let error = decoder("llama").extend_many(&prefix, &[&[1]], &plain).unwrap_err();
    assert!(matches!(error, DecoderError::ForeignPrefix));
}

#[test]
fn a_state_that_is_not_finite_names_the_sequence_it_is_of() {
    let mut decoder = decoder("llama");
    let table = &decoder.weights.embedding;
    let (rows, cols) = (table.rows(), table.cols());
    let mut values = table.values().to_vec();
    values[90 * cols] = f32::NAN;
    // The head stays as it was.
    let table = std::mem::replace(&mut decoder.weights.embedding, Matrix::new(values, rows, cols));
    decoder.weights.output = Some(table);
    let prefix = decoder.prefix(&[4, 5, 6]).unwrap();
    let request = CaptureRequest::default();
    let error = decoder.extend_many(&prefix, &[&[1, 2], &[3], &[8, 90, 9]], &request).unwrap_err();
    let DecoderError::Sequence { index: 2, count: 3, source } = error else { panic!("{error}") };
    assert!(matches!(*source, DecoderError::NotFinite { .. }), "{source}");
    assert_eq!(decoder.extend_many(&prefix, &[&[1, 2], &[3], &[8, 9]], &request).unwrap().len(), 3);
}

#[test]
fn the_information_contribution_is_the_same_whole_cut_and_together_and_needs_the_inputs_of_its_prefix() {
    for name in GOLDEN {
        let decoder = Decoder::from_directory(&folder(name)).unwrap();
        let ids = golden_ids(name);
        let layers = decoder.config().layers;
        let request = CaptureRequest { information_contribution: true, ..CaptureRequest::default() };
        let read = |cut: usize| {
            let prefix = decoder.prefix_with_inputs(&ids[..cut]).unwrap();
            decoder.extend(&prefix, &ids[cut..], &request).unwrap().information_contribution
        };
        let whole = read(0);
        assert_eq!(whole.len(), 40 * layers);
        assert!(whole.iter().all(|score| (0.0..=std::f32::consts::LN_2).contains(score)));
        assert!(whole[20 * layers..].iter().any(|score| *score > 1e-3));
        for cut in [1, 13, 30] {
            assert_close(&read(cut), &whole[cut * layers..], 1e-3, &format!("{name}, cut at {cut}"));
        }
        let prefix = decoder.prefix_with_inputs(&ids[..13]).unwrap();
        let together = decoder.extend_many(&prefix, &[&ids[13..], &ids[13..20]], &request).unwrap();
        assert_close(&together[0].information_contribution, &whole[13 * layers..], 1e-3, "together");
        assert_close(
            &together[1].information_contribution,
            &whole[13 * layers..20 * layers],
            1e-3,
            "shorter",
        );
        let bare = decoder.prefix(&ids[..13]).unwrap();
        let refused = decoder.extend(&bare, &ids[13..], &request).unwrap_err();
        assert!(matches!(refused, DecoderError::PrefixWithoutInputs));
    }
}

/// The definition, straight from the states and weights of a whole reading: row `row` of a layer that takes `input` to
/// `output`, both [T, d], with the mean attention `weights` of that row, [T].
fn contribution_by_definition(
    weights: &[f64],
    input: &[f32],
    output: &[f32],
    row: usize,
    width: usize,
) -> f64 {
    let mut visible: Vec<usize> = (0..=row).filter(|&place| weights[place] > 0.0).collect();
    let wanted = visible.len().div_ceil(10).max(2);
    if visible.len() < 2 {
        return 0.0;
    }
    visible.sort_by(|a, b| weights[*b].partial_cmp(&weights[*a]).unwrap().then(a.cmp(b)));
    visible.truncate(wanted);
    let state = |values: &[f32], place: usize| -> Vec<f64> {
        values[place * width..(place + 1) * width].iter().map(|value| f64::from(*value)).collect()
    };
    let (before, after) = (state(input, row), state(output, row));
    let shares = |values: Vec<f64>| -> Vec<f64> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let spread = (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>()
            / values.len() as f64)
            .sqrt();
        let raised: Vec<f64> = values.iter().map(|value| ((value - mean) / spread).exp()).collect();
        let total: f64 = raised.iter().sum();
        raised.iter().map(|value| value / total).collect()
    };
    let attended = shares(visible.iter().map(|&place| weights[place]).collect());
    let projected = shares(
        visible
            .iter()
            .map(|&place| {
                let of = state(input, place);
                let along: f64 = (0..width).map(|i| (after[i] - before[i]) * of[i]).sum();
                along / of.iter().map(|value| value * value).sum::<f64>().sqrt()
            })
            .collect(),
    );
    let divergence = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(p, q)| p * (p / (0.5 * (p + q))).ln()).sum()
    };
    0.5 * (divergence(&attended, &projected) + divergence(&projected, &attended))
}

#[test]
fn the_information_contribution_is_its_definition_on_all_states_and_weights() {
    for name in GOLDEN {
        let decoder = decoder(name);
        let ids = golden_ids(name);
        let (layers, width) = (decoder.config().layers, decoder.config().hidden_size);
        let request = CaptureRequest { information_contribution: true, ..everything(layers, &[]) };
        let prefix = decoder.prefix_with_inputs(&[]).unwrap();
        let read = decoder.extend(&prefix, &ids, &request).unwrap();
        let tokens = ids.len();
        let attention = read.full_attention.as_ref().unwrap();
        // The input of the first block, the embedding, is not among the states that can be asked for.
        for layer in 1..layers {
            for row in 0..tokens {
                let weight = |place: usize| {
                    let of_head = |head: usize| {
                        attention[((layer * read.heads + head) * tokens + row) * tokens + place]
                    };
                    (0..read.heads).map(|head| f64::from(of_head(head))).sum::<f64>() / read.heads as f64
                };
                let weights: Vec<f64> = (0..tokens).map(weight).collect();
                let (input, output) = (&read.states[layer - 1], &read.states[layer]);
                let expected = contribution_by_definition(&weights, input, output, row, width);
                let found = f64::from(read.information_contribution[row * layers + layer]);
                assert!(
                    (found - expected).abs() < 2e-3,
                    "{name}, layer {layer}, row {row}: {found}, {expected}"
                );
            }
        }
    }
}
