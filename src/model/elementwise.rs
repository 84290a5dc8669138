//! Row-wise steps of a block: norm, gate and residual sum.

use rayon::prelude::*;

use super::config::Activation;
use super::lanes;

/// Work of one task, in numbers: small slices are not worth a thread.
const TASK: usize = 1 << 14;

fn rows_per_task(width: usize) -> usize {
    (TASK / width.max(1)).max(1)
}

/// `RMSNorm`: x / √(mean(x²) + ε) · weight for every row.
pub(crate) fn rms_norm(rows: &[f32], weight: &[f32], epsilon: f32) -> Vec<f32> {
    let width = weight.len();
    let mut out = vec![0f32; rows.len()];
    let task = rows_per_task(width) * width;
    out.par_chunks_mut(task).zip(rows.par_chunks(task)).for_each(|(out, rows)| {
        for (out, row) in out.chunks_exact_mut(width).zip(rows.chunks_exact(width)) {
            rms_norm_row(row, weight, epsilon, out);
        }
    });
    out
}

/// [`rms_norm`] of one row.
#[inline]
pub(crate) fn rms_norm_row(row: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    let mean = lanes::sum_of_squares(row) / weight.len() as f32;
    // Squares that overflow would make a row of zeros: finite, and wrong.
    let scale = if mean.is_finite() { 1.0 / (mean + epsilon).sqrt() } else { f32::NAN };
    for ((out, x), weight) in out.iter_mut().zip(row).zip(weight) {
        *out = x * scale * weight;
    }
}

/// activation(gate) · up, from rows of gate then up, [rows, 2 * width], to [rows, width].
pub(crate) fn gated(gate_up: &[f32], width: usize, activation: Activation) -> Vec<f32> {
    match activation {
        Activation::Silu => gated_with(gate_up, width, |x| x / (1.0 + lanes::exp(-x))),
        Activation::GeluTanh => gated_with(gate_up, width, gelu_tanh),
    }
}

/// x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))), by (1 + tanh u) / 2 = 1 / (1 + e^(-2u)).
#[inline]
fn gelu_tanh(x: f32) -> f32 {
    // 2 √(2/π)
    const STEEPNESS: f32 = 1.595_769;
    x / (1.0 + lanes::exp(-STEEPNESS * (x + 0.044_715 * x * x * x)))
}

#[inline]
fn gated_with(gate_up: &[f32], width: usize, activation: impl Fn(f32) -> f32 + Sync) -> Vec<f32> {
    let mut out = vec![0f32; gate_up.len() / 2];
    let rows = rows_per_task(width);
    out.par_chunks_mut(rows * width).zip(gate_up.par_chunks(rows * 2 * width)).for_each(|(out, rows)| {
        for (out, row) in out.chunks_exact_mut(width).zip(rows.chunks_exact(2 * width)) {
            let (gate, up) = row.split_at(width);
            for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                *out = activation(*gate) * up;
            }
        }
    });
    out
}

/// Adds `bias` to every row.
pub(crate) fn add_bias(rows: &mut [f32], bias: &[f32]) {
    let task = rows_per_task(bias.len()) * bias.len();
    rows.par_chunks_mut(task).for_each(|rows| {
        for row in rows.chunks_exact_mut(bias.len()) {
            row.iter_mut().zip(bias).for_each(|(x, b)| *x += b);
        }
    });
}

/// Adds `step` to `residual`.
pub(crate) fn add(residual: &mut [f32], step: &[f32]) {
    residual.par_chunks_mut(TASK).zip(step.par_chunks(TASK)).for_each(|(residual, step)| {
        residual.iter_mut().zip(step).for_each(|(r, s)| *r += s);
    });
}

/// Whether no value is NaN or infinite.
pub(crate) fn all_finite(values: &[f32]) -> bool {
    values.par_chunks(TASK).all(lanes::all_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rms_norm_divides_every_row_by_its_own_root_mean_square() {
        let out = rms_norm(&[3.0, 4.0, 0.0, 0.0], &[1.0, 2.0], 0.0625);
        let root = 12.5625f32.sqrt();
        for (got, want) in out.iter().zip([3.0 / root, 8.0 / root, 0.0, 0.0]) {
            assert!((got - want).abs() < 1e-6);
        }
    }

    #[test]
    fn squares_that_overflow_make_no_row_of_zeros() {
        let out = rms_norm(&[1e25, 1.0, 3.0, 4.0], &[1.0, 1.0], 0.0625);
        assert!(out[..2].iter().all(|value| value.is_nan()) && all_finite(&out[2..]), "{out:?}");
    }

    #[test]
    fn silu_gates_with_the_sigmoid_linear_unit() {
        let rows = [1.0, -200.0, 3.0, 5.0, 0.0, 200.0, 7.0, 0.5];
        let out = gated(&rows, 2, Activation::Silu);
        let silu = 1.0 / (1.0 + (-1f32).exp());
        for (got, want) in out.iter().zip([silu * 3.0, 0.0, 0.0, 100.0]) {
            assert!((got - want).abs() < 1e-5, "{got} {want}");
        }
    }

    #[test]
    fn gelu_is_its_tanh_approximation() {
        for x in [-1e4f32, -9.0, -3.0, -0.5, 0.0, 1e-3, 0.7, 2.5, 12.0, 1e4] {
            let wide = f64::from(x);
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (wide + 0.044_715 * wide.powi(3));
            let want = 0.5 * wide * (1.0 + inner.tanh());
            let got = gated(&[x, 2.0], 1, Activation::GeluTanh)[0];
            assert!((f64::from(got) - 2.0 * want).abs() < 1e-6 * (1.0 + wide.abs()), "{x}: {got} {want}");
        }
    }

    #[test]
    fn a_bias_is_added_to_every_row() {
        let mut rows = [1.0, 2.0, 3.0, 4.0];
        add_bias(&mut rows, &[0.5, -1.0]);
        assert_eq!(rows, [1.5, 1.0, 3.5, 3.0]);
    }
}
