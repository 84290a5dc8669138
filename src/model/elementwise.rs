//! Row-wise steps of a block: norm, gate and residual sum.

use rayon::prelude::*;

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
            let mean = lanes::sum_of_squares(row) / width as f32;
            let scale = 1.0 / (mean + epsilon).sqrt();
            for ((out, x), weight) in out.iter_mut().zip(row).zip(weight) {
                *out = x * scale * weight;
            }
        }
    });
    out
}

/// `SwiGLU`: silu(gate) · up, from rows of gate then up, [rows, 2 * width], to [rows, width].
pub(crate) fn swiglu(gate_up: &[f32], width: usize) -> Vec<f32> {
    let mut out = vec![0f32; gate_up.len() / 2];
    let rows = rows_per_task(width);
    out.par_chunks_mut(rows * width).zip(gate_up.par_chunks(rows * 2 * width)).for_each(|(out, rows)| {
        for (out, row) in out.chunks_exact_mut(width).zip(rows.chunks_exact(2 * width)) {
            let (gate, up) = row.split_at(width);
            for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                *out = gate / (1.0 + lanes::exp(-gate)) * up;
            }
        }
    });
    out
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
    fn swiglu_gates_with_the_sigmoid_linear_unit() {
        let out = swiglu(&[1.0, -200.0, 3.0, 5.0, 0.0, 200.0, 7.0, 0.5], 2);
        let silu = 1.0 / (1.0 + (-1f32).exp());
        for (got, want) in out.iter().zip([silu * 3.0, 0.0, 0.0, 100.0]) {
            assert!((got - want).abs() < 1e-5, "{got} {want}");
        }
    }
}
