//! Loops over f32 slices that the compiler turns into vector instructions, on any processor.
//!
//! Sums and maxima keep sixteen independent lanes; `exp` is a polynomial without branches or calls. Both
//! exist because the library's `exp` and a sequential sum cannot be vectorised.

const LANES: usize = 16;

/// e^x for any x, relative error below 2e-7; arguments are limited to ±87, so the result is a finite normal
/// number. NaN stays NaN.
///
/// Range reduction x = n ln 2 + r with |r| <= ln 2 / 2, then a Taylor polynomial of degree 7 in r, times 2^n.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // 1.5 * 2^23: adding it rounds to an integer that sits in the low bits of the mantissa.
    const ROUNDING: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    // Written as comparisons so that NaN passes through: f32::max would swallow it.
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 87.0 { 87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUNDING;
    let n = shifted - ROUNDING;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r + 1.0;
    let p = p * r + 1.0;
    let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    p * scale
}

/// Largest value, -inf for an empty slice; NaN is skipped.
pub(crate) fn maximum(values: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = if value > *lane { value } else { *lane };
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a })
}

/// Sum in sixteen lanes.
pub(crate) fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    fold(lanes) + rest.iter().sum::<f32>()
}

/// Product sum of two slices of one length, in sixteen lanes.
pub(crate) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let (left, left_rest) = left.as_chunks::<LANES>();
    let (right, right_rest) = right.as_chunks::<LANES>();
    for (left, right) in left.iter().zip(right) {
        for ((lane, a), b) in lanes.iter_mut().zip(left).zip(right) {
            *lane += a * b;
        }
    }
    fold(lanes) + left_rest.iter().zip(right_rest).map(|(a, b)| a * b).sum::<f32>()
}

/// Sum of squares in sixteen lanes.
pub(crate) fn sum_of_squares(values: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += value * value;
        }
    }
    fold(lanes) + rest.iter().map(|v| v * v).sum::<f32>()
}

/// Replaces every x by e^(x - shift) and returns their sum.
pub(crate) fn exp_in_place(values: &mut [f32], shift: f32) -> f32 {
    let mut lanes = [0f32; LANES];
    let (chunks, rest) = values.as_chunks_mut::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *value = exp(*value - shift);
            *lane += *value;
        }
    }
    let mut total = fold(lanes);
    for value in rest {
        *value = exp(*value - shift);
        total += *value;
    }
    total
}

/// (Σ e^(x - shift), Σ e^(x - shift) (x - shift)): what log-sum-exp and entropy need of a row.
pub(crate) fn exp_moments(values: &[f32], shift: f32) -> (f64, f64) {
    // Blocks of 1,024 are summed in f32 and added in f64, so a large vocabulary loses no digits.
    let (mut total, mut weighted) = (0f64, 0f64);
    for block in values.chunks(1024) {
        let (mut a, mut b) = ([0f32; LANES], [0f32; LANES]);
        let (chunks, rest) = block.as_chunks::<LANES>();
        for chunk in chunks {
            for ((a, b), &value) in a.iter_mut().zip(&mut b).zip(chunk) {
                let e = exp(value - shift);
                *a += e;
                *b += e * (value - shift);
            }
        }
        for &value in rest {
            let e = exp(value - shift);
            a[0] += e;
            b[0] += e * (value - shift);
        }
        total += f64::from(fold(a));
        weighted += f64::from(fold(b));
    }
    (total, weighted)
}

/// Whether no value is NaN or infinite.
pub(crate) fn all_finite(values: &[f32]) -> bool {
    const EXPONENT: u32 = 0x7f80_0000;
    values
        .chunks(4096)
        .all(|block| block.iter().fold(true, |ok, v| ok & (v.to_bits() & EXPONENT != EXPONENT)))
}

fn fold(lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    let mut lanes = lanes;
    while width > 0 {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_the_library_over_its_range() {
        for i in -8700..=8700 {
            let x = i as f32 / 100.0;
            let expected = f64::from(x).exp();
            assert!((f64::from(exp(x)) / expected - 1.0).abs() < 2.5e-7, "x = {x}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e30) < 2e-38 && exp(-1e30) > 0.0);
        assert!(exp(1e30).is_finite());
    }

    #[test]
    fn nan_is_not_swallowed_by_exp() {
        assert!(exp(f32::NAN).is_nan());
        let mut row = vec![0.0, f32::NAN, 1.0];
        assert!(exp_in_place(&mut row, 1.0).is_nan());
    }

    #[test]
    fn reductions_agree_with_plain_loops_at_every_length() {
        for n in 0..70 {
            let v: Vec<f32> = (0..n).map(|i| ((i * 37 % 11) as f32 - 5.0) / 3.0).collect();
            let plain: f32 = v.iter().sum();
            assert!((sum(&v) - plain).abs() < 1e-5);
            let plain: f32 = v.iter().map(|x| x * x).sum();
            assert!((sum_of_squares(&v) - plain).abs() < 1e-4);
            assert_eq!(maximum(&v), v.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let (a, b) = exp_moments(&v, 0.5);
            let (pa, pb) = v.iter().fold((0f64, 0f64), |(a, b), &x| {
                let d = f64::from(x) - 0.5;
                (a + d.exp(), b + d.exp() * d)
            });
            assert!((a - pa).abs() < 1e-5 * (1.0 + pa) && (b - pb).abs() < 1e-5 * (1.0 + pa));
        }
    }

    #[test]
    fn infinity_and_nan_are_seen_at_every_place() {
        for place in [0, 1, 4095, 4096, 5000] {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut v = vec![f32::MAX; 5001];
                assert!(all_finite(&v));
                v[place] = bad;
                assert!(!all_finite(&v));
            }
        }
    }
}
