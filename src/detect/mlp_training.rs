//! Training of the perceptron: `AdamW` on binary cross-entropy, the same result for the same seed.
//!
//! Matrix products are candle's; the backward pass is written out, because the generic one would also
//! compute the gradient of the input, a third of the work, and would take dropout from a global generator.

use candle_core::{Device, Tensor};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::metrics::Random;

use super::logistic_regression::sigmoid;
use super::mlp::{Linear, Mlp, gather};
use super::{DetectError, FeatureRows, Standardisation};

/// How the perceptron is built and trained. The default is CORTEX's (arXiv 2606.31033, section 3.3),
/// except that features are standardised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MlpSettings {
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Dropout after each hidden layer.
    pub dropout: f64,
    /// `AdamW`'s learning rate.
    pub learning_rate: f64,
    /// `AdamW`'s decoupled weight decay.
    pub weight_decay: f64,
    /// Tokens per step.
    pub batch: usize,
    /// Passes over the training tokens.
    pub epochs: usize,
    /// Of the initial weights, the order of tokens and the dropout masks.
    pub seed: u64,
    /// Whether features are scaled to mean 0 and deviation 1 of the training tokens. The paper is
    /// silent; small models need it.
    pub standardise: bool,
}

impl Default for MlpSettings {
    fn default() -> Self {
        Self {
            hidden: vec![256, 128],
            dropout: 0.1,
            learning_rate: 1e-3,
            weight_decay: 1e-4,
            batch: 4096,
            epochs: 10,
            seed: 42,
            standardise: true,
        }
    }
}

impl MlpSettings {
    /// For hundreds of answers where the paper has thousands: 64 and 32 units, dropout 0.5, weight decay
    /// 0.1, the rest as in the paper.
    #[must_use]
    pub fn regularised() -> Self {
        Self { hidden: vec![64, 32], dropout: 0.5, weight_decay: 0.1, ..Self::default() }
    }
}

impl Mlp {
    /// Trains on the chosen rows. `labels`: one per row of `features`, true = unsupported.
    ///
    /// The positive class weighs negatives / positives of the chosen rows. Features are read from where
    /// they lie, memory or disk; one batch at a time is turned into f32.
    pub fn train(
        features: &FeatureRows<'_>,
        labels: &[bool],
        rows: &[usize],
        settings: &MlpSettings,
    ) -> Result<Self, DetectError> {
        if labels.len() != features.rows() {
            let (expected, found) = (features.rows(), labels.len());
            return Err(DetectError::Mismatch { what: "token labels", expected, found });
        }
        features.check_rows(rows)?;
        let positives = rows.iter().filter(|&&row| labels[row]).count();
        if positives == 0 || positives == rows.len() {
            return Err(DetectError::OneClass { rows: rows.len(), positives });
        }
        let positive_weight = (rows.len() - positives) as f32 / positives as f32;
        let standardisation =
            if settings.standardise { Some(Standardisation::fit(features, rows)?) } else { None };
        let mut random = Random::new(settings.seed);
        let mut network = Network::new(features.width(), &settings.hidden, &mut random);
        let mut optimiser = AdamW::new(&network, settings);
        let mut order = rows.to_vec();
        for _ in 0..settings.epochs {
            random.shuffle(&mut order);
            for batch in order.chunks(settings.batch.max(1)) {
                let x = gather(features, batch, standardisation.as_ref())?;
                let x = Tensor::from_vec(x, (batch.len(), features.width()), &Device::Cpu)?;
                let batch_labels: Vec<bool> = batch.iter().map(|&row| labels[row]).collect();
                let masks: Vec<Vec<f32>> = settings
                    .hidden
                    .iter()
                    .map(|width| dropout_mask(batch.len() * width, settings.dropout, &mut random))
                    .collect();
                let (_, gradients) = network.gradients(&x, &batch_labels, positive_weight, &masks)?;
                optimiser.step(&mut network, &gradients);
            }
        }
        Ok(Self { layers: network.layers, standardisation })
    }
}

/// The weights while they are trained; gradients have the same form.
struct Network {
    layers: Vec<Linear>,
}

impl Network {
    /// Weights and biases uniform in +-1/sqrt(inputs), as torch's `nn.Linear`.
    fn new(inputs: usize, hidden: &[usize], random: &mut Random) -> Self {
        let mut layers = Vec::with_capacity(hidden.len() + 1);
        let mut width = inputs;
        for &outputs in hidden.iter().chain(&[1]) {
            let bound = 1.0 / (width.max(1) as f64).sqrt();
            let mut draw = |count: usize| -> Vec<f32> {
                (0..count).map(|_| ((2.0 * random.uniform() - 1.0) * bound) as f32).collect()
            };
            layers.push(Linear { weight: draw(outputs * width), bias: draw(outputs) });
            width = outputs;
        }
        Self { layers }
    }

    /// Mean loss of a batch and its gradients. `masks`: for each hidden layer 0 or 1 / (1 - dropout),
    /// [rows, width].
    fn gradients(
        &self,
        x: &Tensor,
        labels: &[bool],
        positive_weight: f32,
        masks: &[Vec<f32>],
    ) -> Result<(f64, Vec<Linear>), DetectError> {
        let rows = labels.len();
        // Input of every layer, the batch first.
        let mut inputs = vec![x.clone()];
        let mut logits = Vec::new();
        for (number, layer) in self.layers.iter().enumerate() {
            let mut y = layer.forward(&inputs[number])?;
            let Some(mask) = masks.get(number) else {
                logits = y;
                break;
            };
            y.par_iter_mut().zip(mask).with_min_len(4096).for_each(|(value, mask)| {
                *value = value.max(0.0) * mask;
            });
            inputs.push(Tensor::from_vec(y, (rows, layer.outputs()), &Device::Cpu)?);
        }
        let mut loss = 0.0;
        let mut upstream = Vec::with_capacity(rows);
        for (&logit, &positive) in logits.iter().zip(labels) {
            let z = f64::from(logit);
            let p = sigmoid(z);
            let weight = if positive { f64::from(positive_weight) } else { 1.0 };
            let signed = if positive { z } else { -z };
            loss += weight * ((-signed).max(0.0) + (-z.abs()).exp().ln_1p());
            let target = f64::from(u8::from(positive));
            upstream.push((weight * (p - target) / rows as f64) as f32);
        }
        let mut gradients = Vec::with_capacity(self.layers.len());
        for (number, layer) in self.layers.iter().enumerate().rev() {
            let mut bias = vec![0.0; layer.outputs()];
            for row in upstream.chunks_exact(layer.outputs().max(1)) {
                for (sum, value) in bias.iter_mut().zip(row) {
                    *sum += value;
                }
            }
            let above = Tensor::from_vec(upstream, (rows, layer.outputs()), &Device::Cpu)?;
            let weight = above.t()?.matmul(&inputs[number])?.flatten_all()?.to_vec1::<f32>()?;
            upstream = Vec::new();
            if number > 0 {
                let own = Tensor::from_slice(&layer.weight, (layer.outputs(), layer.inputs()), &Device::Cpu)?;
                upstream = above.matmul(&own)?.flatten_all()?.to_vec1::<f32>()?;
                // What the layer below put out is positive exactly where ReLU and the mask let it through.
                let passed = inputs[number].flatten_all()?.to_vec1::<f32>()?;
                let below = upstream.par_iter_mut().zip(&passed).zip(&masks[number - 1]);
                below.with_min_len(4096).for_each(|((value, &passed), mask)| {
                    *value = if passed > 0.0 { *value * mask } else { 0.0 };
                });
            }
            gradients.push(Linear { weight, bias });
        }
        gradients.reverse();
        Ok((loss / rows as f64, gradients))
    }
}

/// 0 with probability `dropout`, else 1 / (1 - dropout); four values from each random number.
fn dropout_mask(count: usize, dropout: f64, random: &mut Random) -> Vec<f32> {
    let dropped = (dropout.clamp(0.0, 1.0) * 65_536.0).round() as u64;
    let keep = 65_536_u64.saturating_sub(dropped);
    let kept = if keep == 0 { 0.0 } else { 65_536.0 / keep as f32 };
    let mut mask = Vec::with_capacity(count.next_multiple_of(4));
    while mask.len() < count {
        let bits = random.next_u64();
        for quarter in 0..4 {
            let value = (bits >> (16 * quarter)) & 0xffff;
            mask.push(if value < dropped { 0.0 } else { kept });
        }
    }
    mask.truncate(count);
    mask
}

/// `AdamW` (arXiv 1711.05101) with beta 0.9 and 0.999, epsilon 1e-8, decay on every parameter, as torch's.
struct AdamW {
    first: Vec<Vec<f32>>,
    second: Vec<Vec<f32>>,
    steps: i32,
    learning_rate: f64,
    weight_decay: f64,
}

impl AdamW {
    fn new(network: &Network, settings: &MlpSettings) -> Self {
        let zeros: Vec<Vec<f32>> = network
            .layers
            .iter()
            .flat_map(|layer| [vec![0.0; layer.weight.len()], vec![0.0; layer.bias.len()]])
            .collect();
        Self {
            first: zeros.clone(),
            second: zeros,
            steps: 0,
            learning_rate: settings.learning_rate,
            weight_decay: settings.weight_decay,
        }
    }

    fn step(&mut self, network: &mut Network, gradients: &[Linear]) {
        self.steps += 1;
        let (beta1, beta2, epsilon) = (0.9_f32, 0.999_f32, 1e-8_f32);
        let correction1 = 1.0 - 0.9_f64.powi(self.steps);
        let correction2 = (1.0 - 0.999_f64.powi(self.steps)).sqrt() as f32;
        let rate = (self.learning_rate / correction1) as f32;
        let decay = (1.0 - self.learning_rate * self.weight_decay) as f32;
        let parameters = network.layers.iter_mut().flat_map(|layer| [&mut layer.weight, &mut layer.bias]);
        let gradients = gradients.iter().flat_map(|layer| [&layer.weight, &layer.bias]);
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((parameter, gradient), (first, second)) in parameters.zip(gradients).zip(moments) {
            let values = parameter.iter_mut().zip(gradient).zip(first.iter_mut().zip(second));
            for ((value, &gradient), (first, second)) in values {
                *first = beta1 * *first + (1.0 - beta1) * gradient;
                *second = beta2 * *second + (1.0 - beta2) * gradient * gradient;
                *value = *value * decay - rate * *first / (second.sqrt() / correction2 + epsilon);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Var;
    use half::f16;

    use super::*;
    use crate::detect::BlockValues;
    use crate::metrics::auroc;

    /// Two features; the label is an exclusive or of their signs, which no linear model can tell.
    fn exclusive_or(rows: usize) -> (Vec<f32>, Vec<bool>) {
        let mut random = Random::new(3);
        let values: Vec<f32> = (0..rows * 2).map(|_| (random.uniform() * 2.0 - 1.0) as f32).collect();
        let labels = values.chunks_exact(2).map(|x| (x[0] > 0.0) != (x[1] > 0.0)).collect();
        (values, labels)
    }

    fn settings() -> MlpSettings {
        MlpSettings {
            hidden: vec![32, 16],
            batch: 64,
            epochs: 30,
            learning_rate: 5e-3,
            ..MlpSettings::default()
        }
    }

    #[test]
    fn gradients_are_those_of_automatic_differentiation() {
        let mut random = Random::new(5);
        let network = Network::new(3, &[5, 4], &mut random);
        let x: Vec<f32> = (0..18).map(|_| random.uniform() as f32 - 0.5).collect();
        let x = Tensor::from_vec(x, (6, 3), &Device::Cpu).unwrap();
        let labels = [true, false, false, true, false, false];
        let masks = [dropout_mask(30, 0.3, &mut random), dropout_mask(24, 0.3, &mut random)];
        let (loss, gradients) = network.gradients(&x, &labels, 2.0, &masks).unwrap();

        let variable = |values: &[f32], shape: (usize, usize)| {
            Var::from_tensor(&Tensor::from_slice(values, shape, &Device::Cpu).unwrap()).unwrap()
        };
        let variables: Vec<(Var, Var)> = network
            .layers
            .iter()
            .map(|layer| {
                let weight = variable(&layer.weight, (layer.outputs(), layer.inputs()));
                (weight, variable(&layer.bias, (1, layer.outputs())))
            })
            .collect();
        let mut h = x;
        for (number, (weight, bias)) in variables.iter().enumerate() {
            h = h.matmul(&weight.t().unwrap()).unwrap().broadcast_add(bias).unwrap();
            if let Some(mask) = masks.get(number) {
                let mask = Tensor::from_slice(mask, h.shape(), &Device::Cpu).unwrap();
                h = (h.relu().unwrap() * mask).unwrap();
            }
        }
        // weight y softplus(-z) + (1 - y) softplus(z), with softplus(z) = ln(1 + e^z) for small z.
        let softplus = |z: &Tensor| (z.exp().unwrap() + 1.0).unwrap().log().unwrap();
        let y =
            Tensor::from_vec(labels.map(|y| f32::from(u8::from(y))).to_vec(), (6, 1), &Device::Cpu).unwrap();
        let positive = (softplus(&h.neg().unwrap()) * &y).unwrap().affine(2.0, 0.0).unwrap();
        let negative = (softplus(&h) * y.affine(-1.0, 1.0).unwrap()).unwrap();
        let reference = (positive + negative).unwrap().mean_all().unwrap();
        assert!((f64::from(reference.to_scalar::<f32>().unwrap()) - loss).abs() < 1e-5);
        let store = reference.backward().unwrap();
        for ((weight, bias), own) in variables.iter().zip(&gradients) {
            for (variable, own) in [(weight, &own.weight), (bias, &own.bias)] {
                let wanted = store.get(variable).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
                for (found, wanted) in own.iter().zip(wanted) {
                    assert!((found - wanted).abs() < 1e-5, "{found} for {wanted}");
                }
            }
        }
    }

    #[test]
    fn learns_what_no_linear_model_can() {
        let (values, labels) = exclusive_or(1200);
        let features = FeatureRows::new(vec![(BlockValues::F32(&values), 2)]).unwrap();
        let train: Vec<usize> = (0..800).collect();
        let test: Vec<usize> = (800..1200).collect();
        let mlp = Mlp::train(&features, &labels, &train, &settings()).unwrap();
        let scores: Vec<f64> =
            mlp.probabilities(&features, &test).unwrap().into_iter().map(f64::from).collect();
        let found = auroc(&labels[800..], &scores).value().unwrap();
        assert!(found > 0.97, "{found}");
    }

    #[test]
    fn the_same_seed_gives_the_same_weights_and_another_seed_others() {
        let (values, labels) = exclusive_or(300);
        let features = FeatureRows::new(vec![(BlockValues::F32(&values), 2)]).unwrap();
        let rows: Vec<usize> = (0..300).collect();
        let train = |seed| {
            let settings = MlpSettings { seed, epochs: 2, ..settings() };
            Mlp::train(&features, &labels, &rows, &settings).unwrap()
        };
        assert_eq!(train(42), train(42));
        assert_ne!(train(42), train(43));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| train(42)), train(42));
    }

    #[test]
    fn standardisation_rescues_features_far_from_zero() {
        let (values, labels) = exclusive_or(1000);
        let values: Vec<f16> = values.iter().map(|x| f16::from_f32(x * 20.0 + 100.0)).collect();
        let features = FeatureRows::new(vec![(BlockValues::F16(&values), 2)]).unwrap();
        let rows: Vec<usize> = (0..1000).collect();
        let score = |standardise| {
            let settings = MlpSettings { standardise, ..settings() };
            let mlp = Mlp::train(&features, &labels, &rows, &settings).unwrap();
            let scores: Vec<f64> =
                mlp.probabilities(&features, &rows).unwrap().into_iter().map(f64::from).collect();
            auroc(&labels, &scores).value().unwrap()
        };
        let (with, without) = (score(true), score(false));
        assert!(with > 0.95 && with > without, "{with} with, {without} without");
    }

    #[test]
    fn the_dropped_share_is_the_one_asked_for_and_the_mean_is_kept() {
        let mask = dropout_mask(100_001, 0.1, &mut Random::new(1));
        let mean = mask.iter().sum::<f32>() / mask.len() as f32;
        let dropped = mask.iter().filter(|&&value| value == 0.0).count();
        assert!((mean - 1.0).abs() < 0.01 && dropped.abs_diff(10_000) < 400, "{mean} {dropped}");
        assert!(dropout_mask(9, 0.0, &mut Random::new(1)).iter().all(|&value| value == 1.0));
    }

    #[test]
    fn training_on_one_class_is_refused() {
        let features = FeatureRows::new(vec![(BlockValues::F32(&[1.0, 2.0]), 1)]).unwrap();
        let outcome = Mlp::train(&features, &[false, true], &[0], &settings());
        assert!(matches!(outcome, Err(DetectError::OneClass { rows: 1, positives: 0 })));
    }
}
