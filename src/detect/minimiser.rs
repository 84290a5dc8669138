//! L-BFGS with a diagonal preconditioner, for smooth convex objectives in f64.

use std::collections::VecDeque;

/// Correction pairs kept.
const MEMORY: usize = 20;
/// Armijo and curvature constants of the weak Wolfe conditions.
const DECREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;

/// Where the minimiser stopped.
pub(super) struct Minimum {
    pub(super) point: Vec<f64>,
    /// Largest absolute component of the gradient there.
    pub(super) gradient_norm: f64,
    pub(super) iterations: usize,
}

/// One point with its value and gradient.
struct Evaluation {
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// Minimises from zero until the largest gradient component is at most `tolerance`, no step helps any
/// more, or `max_iterations` are spent.
///
/// `objective` writes the gradient and returns the value; `curvature` is a positive estimate of the
/// Hessian's diagonal and fixes the dimension.
pub(super) fn minimise(
    mut objective: impl FnMut(&[f64], &mut [f64]) -> f64,
    curvature: &[f64],
    tolerance: f64,
    max_iterations: usize,
) -> Minimum {
    let mut evaluate = |point: Vec<f64>| {
        let mut gradient = vec![0.0; point.len()];
        let value = objective(&point, &mut gradient);
        Evaluation { point, value, gradient }
    };
    let mut current = evaluate(vec![0.0; curvature.len()]);
    let mut pairs: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::new();
    let mut iterations = 0;
    while largest(&current.gradient) > tolerance && iterations < max_iterations {
        iterations += 1;
        let mut direction = descent_direction(&current.gradient, &pairs, curvature);
        let mut slope = dot(&direction, &current.gradient);
        if slope >= 0.0 {
            // Rounding spoiled the pairs: start again from the preconditioned gradient.
            pairs.clear();
            direction = descent_direction(&current.gradient, &pairs, curvature);
            slope = dot(&direction, &current.gradient);
        }
        let Some(next) = line_search(&mut evaluate, &current, &direction, slope) else { break };
        let step: Vec<f64> = next.point.iter().zip(&current.point).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = next.gradient.iter().zip(&current.gradient).map(|(a, b)| a - b).collect();
        let product = dot(&step, &change);
        if product > f64::EPSILON * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
            if pairs.len() == MEMORY {
                pairs.pop_front();
            }
            pairs.push_back((step, change, 1.0 / product));
        }
        current = next;
    }
    Minimum { gradient_norm: largest(&current.gradient), point: current.point, iterations }
}

/// The two-loop recursion.
fn descent_direction(
    gradient: &[f64],
    pairs: &VecDeque<(Vec<f64>, Vec<f64>, f64)>,
    curvature: &[f64],
) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut factors = Vec::with_capacity(pairs.len());
    for (step, change, inverse) in pairs.iter().rev() {
        let factor = inverse * dot(step, &direction);
        add_scaled(&mut direction, -factor, change);
        factors.push(factor);
    }
    let scale = pairs.back().map_or(1.0, |(_, change, inverse)| {
        let preconditioned: f64 = change.iter().zip(curvature).map(|(y, h)| y * y / h).sum();
        1.0 / (inverse * preconditioned)
    });
    for (value, h) in direction.iter_mut().zip(curvature) {
        *value *= scale / h;
    }
    for ((step, change, inverse), factor) in pairs.iter().zip(factors.into_iter().rev()) {
        let correction = factor - inverse * dot(change, &direction);
        add_scaled(&mut direction, correction, step);
    }
    direction
}

/// Weak Wolfe line search by bisection; `None` when no step lowers the objective any more.
fn line_search(
    evaluate: &mut impl FnMut(Vec<f64>) -> Evaluation,
    current: &Evaluation,
    direction: &[f64],
    slope: f64,
) -> Option<Evaluation> {
    let (mut low, mut high, mut length) = (0.0, f64::INFINITY, 1.0);
    let mut best: Option<Evaluation> = None;
    // Near the optimum the decrease drowns in rounding; there the gradient decides.
    let rounding = 4.0 * f64::EPSILON * current.value.abs();
    for _ in 0..40 {
        let mut point = current.point.clone();
        add_scaled(&mut point, length, direction);
        let trial = evaluate(point);
        let decreases = trial.value <= current.value + DECREASE * length * slope + rounding;
        if decreases {
            let flat_enough = dot(&trial.gradient, direction) >= CURVATURE * slope;
            best = Some(trial);
            if flat_enough {
                break;
            }
            low = length;
        } else {
            high = length;
        }
        length = if high.is_finite() { f64::midpoint(low, high) } else { 2.0 * length };
    }
    best.filter(|best| best.value < current.value || largest(&best.gradient) < largest(&current.gradient))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add_scaled(target: &mut [f64], factor: f64, other: &[f64]) {
    for (value, other) in target.iter_mut().zip(other) {
        *value += factor * other;
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_minimum_of_an_ill_conditioned_quadratic() {
        let scales = [1e-3, 1.0, 1e3];
        let target = [5.0, -2.0, 0.5];
        let minimum = minimise(
            |x, gradient| {
                let mut value = 0.0;
                for i in 0..3 {
                    let distance = x[i] - target[i];
                    value += 0.5 * scales[i] * distance * distance;
                    gradient[i] = scales[i] * distance;
                }
                value
            },
            &[1.0; 3],
            1e-12,
            200,
        );
        assert!(minimum.gradient_norm <= 1e-12, "after {} iterations", minimum.iterations);
        for (found, wanted) in minimum.point.iter().zip(target) {
            assert!((found - wanted).abs() < 1e-6);
        }
    }
}
