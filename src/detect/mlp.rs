//! The multilayer perceptron that turns token features into a probability (CORTEX eq. 7).

use candle_core::{Device, Tensor};
use rayon::prelude::*;

use super::logistic_regression::sigmoid;
use super::{DetectError, FeatureRows, Standardisation};

/// Tokens scored at a time.
const INFERENCE_ROWS: usize = 4096;

/// One fully connected layer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Linear {
    /// [outputs, inputs] row-major.
    pub(super) weight: Vec<f32>,
    /// [outputs]
    pub(super) bias: Vec<f32>,
}

impl Linear {
    pub(super) const fn outputs(&self) -> usize {
        self.bias.len()
    }

    pub(super) fn inputs(&self) -> usize {
        self.weight.len() / self.bias.len().max(1)
    }

    /// x W' + b for x of [rows, inputs]; [rows, outputs].
    pub(super) fn forward(&self, x: &Tensor) -> Result<Vec<f32>, DetectError> {
        let weight = Tensor::from_slice(&self.weight, (self.outputs(), self.inputs()), &Device::Cpu)?;
        let mut y = x.matmul(&weight.t()?)?.flatten_all()?.to_vec1::<f32>()?;
        y.par_chunks_mut(self.outputs().max(1)).with_min_len(64).for_each(|row| {
            for (value, bias) in row.iter_mut().zip(&self.bias) {
                *value += bias;
            }
        });
        Ok(y)
    }
}

/// A trained perceptron with `ReLU` between its layers and one output.
#[derive(Debug, Clone, PartialEq)]
pub struct Mlp {
    pub(super) layers: Vec<Linear>,
    pub(super) standardisation: Option<Standardisation>,
}

impl Mlp {
    /// Number of features it reads.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, Linear::inputs)
    }

    /// P(unsupported) for the chosen rows, in their order.
    pub fn probabilities(&self, features: &FeatureRows<'_>, rows: &[usize]) -> Result<Vec<f32>, DetectError> {
        if features.width() != self.inputs() {
            return Err(DetectError::Mismatch {
                what: "features per token",
                expected: self.inputs(),
                found: features.width(),
            });
        }
        features.check_rows(rows)?;
        let mut probabilities = Vec::with_capacity(rows.len());
        for rows in rows.chunks(INFERENCE_ROWS) {
            let mut values = gather(features, rows, self.standardisation.as_ref())?;
            let mut width = features.width();
            for (number, layer) in self.layers.iter().enumerate() {
                if number > 0 {
                    values.par_iter_mut().with_min_len(4096).for_each(|value| *value = value.max(0.0));
                }
                values = layer.forward(&Tensor::from_vec(values, (rows.len(), width), &Device::Cpu)?)?;
                width = layer.outputs();
            }
            probabilities.extend(values.into_iter().map(|logit| sigmoid(f64::from(logit)) as f32));
        }
        Ok(probabilities)
    }
}

/// The chosen rows as one dense matrix, standardised where asked for.
pub(super) fn gather(
    features: &FeatureRows<'_>,
    rows: &[usize],
    standardisation: Option<&Standardisation>,
) -> Result<Vec<f32>, DetectError> {
    let width = features.width();
    let mut values = vec![0.0; rows.len() * width];
    features.copy_rows(rows, &mut values)?;
    if let Some(standardisation) = standardisation {
        values.par_chunks_mut(width.max(1)).with_min_len(64).for_each(|row| standardisation.apply(row));
    }
    Ok(values)
}
