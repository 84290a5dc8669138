//! Information contribution to the residual stream: how far a layer's update of a token follows its attention
//! (ICR Probe, arXiv 2507.16488).
//!
//! For row i of layer l: the weights of its attention (mean over heads) on the positions it attends to most, and the
//! projections of its update x(l+1) - x(l) onto the states x(l) of these positions. Both are z-scored and soft-maxed;
//! the score is their Jensen-Shannon divergence in nats, between 0 (the update is made of what was attended to) and
//! ln 2.

use rayon::prelude::*;

use super::lanes;

/// Of the positions that a row sees, the share it is measured on: the top tenth, at least two.
const SHARE: usize = 10;
const FEWEST: usize = 2;

/// One layer's work on the rows of one sequence. P prefix tokens, R rows, d hidden size.
pub(crate) struct LayerUpdate<'a> {
    /// Mean over heads, [R, P + R].
    pub attention: &'a [f32],
    /// States that entered the layer, of the prefix, [P, d].
    pub before: &'a [f32],
    /// States that entered it, of the rows, [R, d].
    pub input: &'a [f32],
    /// States that left it, of the rows, [R, d].
    pub output: &'a [f32],
    pub hidden_size: usize,
    /// A row sees itself and this many positions less one before it; `None`: all before it.
    pub window: Option<usize>,
}

/// The score of each row, `[R]`.
pub(crate) fn contribution(update: &LayerUpdate) -> Vec<f32> {
    let width = update.hidden_size;
    let prefix = update.before.len() / width;
    let rows = update.input.len() / width;
    let state = |position: usize| match position.checked_sub(prefix) {
        None => &update.before[position * width..][..width],
        Some(row) => &update.input[row * width..][..width],
    };
    (0..rows)
        .into_par_iter()
        .map(|row| {
            let visible = prefix + row + 1;
            let weights = &update.attention[row * (prefix + rows)..][..visible];
            let first = update.window.map_or(0, |window| visible.saturating_sub(window));
            let places = top_positions(weights, first);
            if places.len() < FEWEST {
                // A first token attends to itself alone: there is nothing to disagree about.
                return 0.0;
            }
            let delta: Vec<f32> =
                (0..width).map(|i| update.output[row * width + i] - update.input[row * width + i]).collect();
            let projections: Vec<f64> = places
                .iter()
                .map(|place| {
                    let state = state(*place);
                    let norm = f64::from(lanes::sum_of_squares(state)).sqrt();
                    if norm > 0.0 { f64::from(lanes::dot(&delta, state)) / norm } else { 0.0 }
                })
                .collect();
            let attended: Vec<f64> = places.iter().map(|place| f64::from(weights[*place])).collect();
            jensen_shannon(&softmax_of_z_scores(&attended), &softmax_of_z_scores(&projections)) as f32
        })
        .collect()
}

/// Of the positions from `first` on, those with the largest weights; of equal weights the earlier position.
fn top_positions(weights: &[f32], first: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (first..weights.len()).collect();
    let wanted = places.len().div_ceil(SHARE).max(FEWEST).min(places.len());
    let order = |a: &usize, b: &usize| weights[*b].total_cmp(&weights[*a]).then(a.cmp(b));
    if wanted < places.len() {
        places.select_nth_unstable_by(wanted, order);
        places.truncate(wanted);
    }
    places.sort_unstable();
    places
}

/// Soft-max of the values after they were brought to mean 0 and variance 1; equal values give equal shares.
fn softmax_of_z_scores(values: &[f64]) -> Vec<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let scores: Vec<f64> =
        values.iter().map(|value| if deviation > 0.0 { (value - mean) / deviation } else { 0.0 }).collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raised: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
    let total: f64 = raised.iter().sum();
    raised.into_iter().map(|value| value / total).collect()
}

/// In nats, [0, ln 2].
fn jensen_shannon(one: &[f64], other: &[f64]) -> f64 {
    let half = |p: f64, q: f64| if p > 0.0 { p * (2.0 * p / (p + q)).ln() } else { 0.0 };
    let pairs = one.iter().zip(other);
    (pairs.map(|(p, q)| half(*p, *q) + half(*q, *p)).sum::<f64>() / 2.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_along_what_was_attended_to_scores_lower_than_one_against_it() {
        // Three prefix tokens with orthogonal states; the row attends mostly to the first.
        let before = [4.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 4.0];
        let input = [1.0, 1.0, 1.0];
        let attention = [0.7, 0.1, 0.1, 0.1];
        let score = |output: [f32; 3]| {
            let update = LayerUpdate {
                attention: &attention,
                before: &before,
                input: &input,
                output: &output,
                hidden_size: 3,
                window: None,
            };
            contribution(&update)[0]
        };
        let (along, against) = (score([3.0, 1.0, 1.0]), score([1.0, 3.0, 1.0]));
        assert!(along < 1e-9 && against > 0.1, "{along} {against}");
        assert!(f64::from(against) < std::f64::consts::LN_2);
    }

    #[test]
    fn the_divergence_by_hand_and_its_bounds() {
        let by_hand = 0.5 * (0.5 * (0.5_f64 / 0.7).ln() + 0.5 * (0.5_f64 / 0.3).ln())
            + 0.5 * (0.9 * (0.9_f64 / 0.7).ln() + 0.1 * (0.1_f64 / 0.3).ln());
        assert!((jensen_shannon(&[0.5, 0.5], &[0.9, 0.1]) - by_hand).abs() < 1e-12);
        assert!((jensen_shannon(&[1.0, 0.0], &[0.0, 1.0]) - std::f64::consts::LN_2).abs() < 1e-12);
        assert_eq!(jensen_shannon(&[0.3, 0.7], &[0.3, 0.7]), 0.0);
        assert_eq!(softmax_of_z_scores(&[2.0, 2.0]), [0.5, 0.5]);
    }

    #[test]
    fn the_top_tenth_is_taken_and_the_earlier_of_equals() {
        let mut weights = vec![0.01; 40];
        weights[30] = 0.5;
        assert_eq!(top_positions(&weights, 0), [0, 1, 2, 30]);
        assert_eq!(top_positions(&weights, 20), [20, 30], "a tenth of the twenty that the window shows");
        assert_eq!(top_positions(&[0.0, 0.2, 0.8], 0), [1, 2]);
        assert_eq!(top_positions(&[1.0], 0), [0]);
    }
}
