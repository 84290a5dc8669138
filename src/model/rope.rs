//! Rotary position embedding: inverse frequencies and the rotation of queries and keys.

use std::f64::consts::PI;
use std::path::Path;

use super::DecoderError;

/// Base and scaling of the rotary frequencies.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeConfig {
    /// Base: frequency i of a head of width D is `theta^(-2i / D)`.
    pub theta: f64,
    pub scaling: RopeScaling,
}

/// How a model stretches its frequencies to a longer context.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RopeScaling {
    None,
    /// Every frequency divided by the factor.
    Linear {
        factor: f64,
    },
    /// Llama 3: low frequencies divided by `factor`, high ones kept, a linear blend between
    /// (Hugging Face `rope_type` "llama3").
    Llama3 {
        factor: f64,
        low_freq_factor: f64,
        high_freq_factor: f64,
        original_context_length: f64,
    },
    /// One divisor per frequency, as GGUF stores Llama 3 scaling (`rope_freqs.weight`).
    Divisors(Vec<f32>),
    /// `YaRN` (arXiv 2309.00071): frequencies that turn often within the original context are kept, those that
    /// turn seldom divided by `factor`, a linear ramp over the pairs between.
    Yarn {
        factor: f64,
        original_context_length: f64,
        /// Turns within the original context above which a frequency is kept.
        beta_fast: f64,
        /// Turns below which it is divided by the whole factor.
        beta_slow: f64,
        /// Whether the ends of the ramp are whole pairs.
        truncate: bool,
        /// What cosines and sines are multiplied with.
        magnitude: f64,
    },
    /// `LongRoPE` (arXiv 2402.13753) within the original context: one divisor per frequency. The divisors for
    /// longer texts are another set, so the decoder's context ends where the original one does.
    LongRope {
        divisors: Vec<f32>,
        original_context_length: usize,
        /// What cosines and sines are multiplied with.
        magnitude: f64,
    },
}

/// What `YaRN` multiplies cosines and sines with where nothing else is said: `0.1 weight ln(factor) + 1`.
pub(crate) fn yarn_magnitude(factor: f64, weight: f64) -> f64 {
    if factor <= 1.0 { 1.0 } else { 0.1 * weight * factor.ln() + 1.0 }
}

/// What `LongRoPE` multiplies cosines and sines with where nothing else is said:
/// `sqrt(1 + ln(factor) / ln(original context))`.
pub(crate) fn long_rope_magnitude(factor: f64, original_context_length: f64) -> f64 {
    if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / original_context_length.ln()).sqrt() }
}

impl RopeConfig {
    pub(crate) fn validated(&self, path: &Path) -> Result<(), DecoderError> {
        let check = |field: &str, value: f64, ok: bool, expected: &str| {
            if ok && value.is_finite() {
                return Ok(());
            }
            Err(DecoderError::Field {
                path: path.to_owned(),
                field: field.to_owned(),
                expected: expected.to_owned(),
                found: value.to_string(),
            })
        };
        check("rope theta", self.theta, self.theta > 0.0, "a positive number")?;
        match &self.scaling {
            RopeScaling::None => Ok(()),
            RopeScaling::Linear { factor } => {
                check("rope factor", *factor, *factor > 0.0, "a positive number")
            }
            RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_context_length } => {
                check("rope factor", *factor, *factor > 0.0, "a positive number")?;
                check("rope low_freq_factor", *low_freq_factor, *low_freq_factor > 0.0, "a positive number")?;
                check(
                    "rope high_freq_factor",
                    *high_freq_factor,
                    high_freq_factor > low_freq_factor,
                    "a number above low_freq_factor",
                )?;
                check(
                    "rope original_max_position_embeddings",
                    *original_context_length,
                    *original_context_length > 0.0,
                    "a positive number",
                )
            }
            RopeScaling::Divisors(divisors) => divisors
                .iter()
                .try_for_each(|&d| check("rope_freqs.weight", f64::from(d), d > 0.0, "positive divisors")),
            RopeScaling::Yarn {
                factor, original_context_length, beta_fast, beta_slow, magnitude, ..
            } => {
                check("rope factor", *factor, *factor > 0.0, "a positive number")?;
                check(
                    "rope original_max_position_embeddings",
                    *original_context_length,
                    *original_context_length > 0.0,
                    "a positive number",
                )?;
                check("rope theta", self.theta, self.theta > 1.0, "a number above 1")?;
                check("rope beta_slow", *beta_slow, *beta_slow > 0.0, "a positive number")?;
                check("rope beta_fast", *beta_fast, beta_fast >= beta_slow, "at least beta_slow")?;
                check("rope attention_factor", *magnitude, *magnitude > 0.0, "a positive number")
            }
            RopeScaling::LongRope { divisors, magnitude, .. } => {
                check("rope attention_factor", *magnitude, *magnitude > 0.0, "a positive number")?;
                divisors
                    .iter()
                    .try_for_each(|&d| check("rope short_factor", f64::from(d), d > 0.0, "positive divisors"))
            }
        }
    }

    /// What cosines and sines are multiplied with.
    pub(crate) fn magnitude(&self) -> f32 {
        match &self.scaling {
            RopeScaling::Yarn { magnitude, .. } | RopeScaling::LongRope { magnitude, .. } => {
                *magnitude as f32
            }
            _ => 1.0,
        }
    }

    /// Radians per position for each pair of a head: [`head_dim` / 2].
    pub(crate) fn inverse_frequencies(&self, head_dim: usize) -> Vec<f32> {
        (0..head_dim / 2)
            .map(|i| {
                // f32 as the reference implementations compute it: at position 8,000 the rounding shows.
                let plain = 1.0 / (self.theta as f32).powf((2 * i) as f32 / head_dim as f32);
                match &self.scaling {
                    RopeScaling::None => plain,
                    RopeScaling::Linear { factor } => plain / *factor as f32,
                    RopeScaling::Divisors(divisors) | RopeScaling::LongRope { divisors, .. } => {
                        plain / divisors.get(i).copied().unwrap_or(1.0)
                    }
                    RopeScaling::Yarn {
                        factor,
                        original_context_length,
                        beta_fast,
                        beta_slow,
                        truncate,
                        ..
                    } => {
                        // The pair, as a fraction, that makes so many turns within the original context.
                        let pair_of = |turns: f64| {
                            head_dim as f64 * (original_context_length / (turns * 2.0 * PI)).ln()
                                / (2.0 * self.theta.ln())
                        };
                        let (mut low, mut high) = (pair_of(*beta_fast), pair_of(*beta_slow));
                        if *truncate {
                            (low, high) = (low.floor(), high.ceil());
                        }
                        let (low, high) = (low.max(0.0), high.min(head_dim as f64 - 1.0));
                        let width = if low == high { 0.001 } else { high - low };
                        let divided = ((i as f64 - low) / width).clamp(0.0, 1.0) as f32;
                        plain / *factor as f32 * divided + plain * (1.0 - divided)
                    }
                    RopeScaling::Llama3 {
                        factor,
                        low_freq_factor,
                        high_freq_factor,
                        original_context_length,
                    } => {
                        let wavelength = 2.0 * PI / f64::from(plain);
                        let turns = original_context_length / wavelength;
                        let blend = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor);
                        let kept = blend.clamp(0.0, 1.0) as f32;
                        plain / *factor as f32 * (1.0 - kept) + plain * kept
                    }
                }
            })
            .collect()
    }
}

/// Cosines and sines of a run of positions, [positions, `head_dim` / 2] each.
pub(crate) struct RopeTable {
    cos: Vec<f32>,
    sin: Vec<f32>,
    pairs: usize,
}

impl RopeTable {
    /// `magnitude` is that of the [`RopeConfig`].
    pub(crate) fn new(inverse_frequencies: &[f32], magnitude: f32, first: usize, positions: usize) -> Self {
        let angles = (first..first + positions)
            .flat_map(|position| inverse_frequencies.iter().map(move |f| f64::from(position as f32 * f)));
        let (cos, sin) = angles.map(|a| (a.cos() as f32 * magnitude, a.sin() as f32 * magnitude)).unzip();
        Self { cos, sin, pairs: inverse_frequencies.len() }
    }

    /// Cosines, sines and pairs of a position.
    pub(crate) fn values(&self) -> (&[f32], &[f32], usize) {
        (&self.cos, &self.sin, self.pairs)
    }

    /// Writes `head` rotated to the `row`-th position and times `scale` into `out`. Pairs are
    /// (i, i + D/2), as in Hugging Face's layout.
    pub(crate) fn rotate(&self, row: usize, head: &[f32], scale: f32, out: &mut [f32]) {
        let cos = &self.cos[row * self.pairs..][..self.pairs];
        let sin = &self.sin[row * self.pairs..][..self.pairs];
        let (x, y) = head.split_at(self.pairs);
        let (out_x, out_y) = out.split_at_mut(self.pairs);
        for i in 0..self.pairs {
            out_x[i] = (x[i] * cos[i] - y[i] * sin[i]) * scale;
            out_y[i] = (y[i] * cos[i] + x[i] * sin[i]) * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_frequencies_fall_as_powers_of_theta() {
        let rope = RopeConfig { theta: 10_000.0, scaling: RopeScaling::None };
        let f = rope.inverse_frequencies(8);
        for (got, want) in f.iter().zip([1.0, 0.1, 0.01, 0.001]) {
            assert!((got / want - 1.0).abs() < 1e-6);
        }
        let linear = RopeConfig { theta: 10_000.0, scaling: RopeScaling::Linear { factor: 4.0 } };
        assert!((linear.inverse_frequencies(8)[1] - 0.025).abs() < 1e-8);
    }

    #[test]
    fn llama3_keeps_high_frequencies_and_divides_low_ones() {
        let scaling = RopeScaling::Llama3 {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_context_length: 8192.0,
        };
        let plain = RopeConfig { theta: 500_000.0, scaling: RopeScaling::None }.inverse_frequencies(128);
        let scaled = RopeConfig { theta: 500_000.0, scaling }.inverse_frequencies(128);
        assert_eq!(scaled[0], plain[0]);
        assert!((scaled[63] / plain[63] - 0.125).abs() < 1e-6);
        assert!((0..63).all(|i| scaled[i + 1] / plain[i + 1] <= scaled[i] / plain[i] + 1e-6));
        assert!(scaled.iter().zip(&plain).any(|(s, p)| s / p > 0.2 && s / p < 0.9), "some blend");
    }

    /// Reference values: transformers 5.24, `ROPE_INIT_FUNCTIONS`.
    #[test]
    fn yarn_gives_the_reference_frequencies_and_magnitude() {
        let yarn = |truncate, factor| RopeConfig {
            theta: 1e6,
            scaling: RopeScaling::Yarn {
                factor,
                original_context_length: 32_768.0,
                beta_fast: 32.0,
                beta_slow: 1.0,
                truncate,
                magnitude: yarn_magnitude(factor, 1.0),
            },
        };
        let want = [
            1.0,
            0.177_827_94,
            0.031_622_78,
            0.004_217_56,
            0.000_5,
            4.445_698_5e-5,
            7.905_694e-6,
            1.405_853_4e-6,
        ];
        let got = yarn(true, 4.0).inverse_frequencies(16);
        assert!(got.iter().zip(want).all(|(got, want): (_, f32)| (got / want - 1.0).abs() < 1e-5), "{got:?}");
        assert!((yarn(true, 4.0).magnitude() - 1.138_629_4).abs() < 1e-6);
        // The ramp without whole pairs: from 2.95 to 4.95, so pair 3 is all but kept.
        let ramp = |turns: f64| 16.0 * (32_768.0 / (turns * 2.0 * PI)).ln() / (2.0 * 1e6_f64.ln());
        let divided = (3.0 - ramp(32.0)) / (ramp(1.0) - ramp(32.0));
        let third = 1e6_f64.powf(-6.0 / 16.0) * (1.0 - 0.75 * divided);
        assert!((f64::from(yarn(false, 4.0).inverse_frequencies(16)[3]) / third - 1.0).abs() < 1e-5);
        assert_eq!(yarn(true, 1.0).magnitude(), 1.0);
        let plain = RopeConfig { theta: 1e6, scaling: RopeScaling::None }.inverse_frequencies(16);
        assert_eq!(yarn(true, 1.0).inverse_frequencies(16)[..3], plain[..3]);
    }

    /// Reference values: transformers 5.24, within the original context.
    #[test]
    fn long_rope_gives_the_reference_frequencies_and_magnitude() {
        let scaling = RopeScaling::LongRope {
            divisors: vec![1.0, 1.1, 1.5, 2.0],
            original_context_length: 4096,
            magnitude: long_rope_magnitude(32.0, 4096.0),
        };
        let rope = RopeConfig { theta: 10_000.0, scaling };
        let want = [1.0, 0.090_909, 0.006_666_7, 0.000_5];
        let got = rope.inverse_frequencies(8);
        assert!(got.iter().zip(want).all(|(got, want): (_, f32)| (got / want - 1.0).abs() < 1e-5), "{got:?}");
        assert!((rope.magnitude() - 1.190_238).abs() < 1e-6);
        let mut out = [0f32; 2];
        RopeTable::new(&[0.5], rope.magnitude(), 0, 3).rotate(2, &[1.0, 0.0], 1.0, &mut out);
        assert!(
            (out[0] - 1.190_238 * 1f32.cos()).abs() < 1e-6 && (out[1] - 1.190_238 * 1f32.sin()).abs() < 1e-6
        );
    }

    #[test]
    fn rotation_keeps_length_and_turns_by_the_angle() {
        let table = RopeTable::new(&[1.0, 0.5], 1.0, 3, 2);
        let mut out = [0f32; 4];
        table.rotate(1, &[1.0, 0.0, 0.0, 2.0], 1.0, &mut out);
        let expected = [4f32.cos(), -2.0 * 2f32.sin(), 4f32.sin(), 2.0 * 2f32.cos()];
        for (o, e) in out.iter().zip(expected) {
            assert!((o - e).abs() < 1e-6);
        }
    }
}
