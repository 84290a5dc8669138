//! One token after another on a device.

use candle_core::Tensor;

use super::attention::{DeviceAttention, Kept};
use super::finite::FiniteChecks;
use super::head;
use super::reading::{host, with_prefix};
use super::{DecoderError, DeviceEngine, KeysAndValues, ModelConfig, rms_norm};
use crate::model::rope::RopeTable;

/// Keys and values of a sequence after its prefix, one entry per block.
pub(crate) struct GrowingKeys(Vec<KeysAndValues>);

impl GrowingKeys {
    pub(crate) fn new(layers: usize) -> Self {
        Self(vec![None; layers])
    }
}

impl DeviceEngine {
    /// Reads one token and gives the logits of the next one, `[V]`.
    pub(crate) fn step<'r>(
        &self,
        config: &ModelConfig,
        prefix: &[KeysAndValues],
        own: &mut GrowingKeys,
        (id, before): (u32, usize),
        ropes: impl Fn(usize) -> &'r RopeTable,
    ) -> Result<Vec<f32>, DecoderError> {
        self.memory.run(before + 1, || {
            let mut checks = FiniteChecks::default();
            // Put in place at the end: a step that runs out of memory half way can begin again.
            let mut grown = Vec::with_capacity(config.layers);
            let mut hidden = self.embed(config, &[id])?;
            for (index, (old, own)) in prefix.iter().zip(&own.0).enumerate() {
                let block = self.block(config, index);
                let rotation = self.rotation(ropes(index))?;
                let [queries, keys, values] = block.rotated_heads(&block.projected(&hidden)?, &rotation)?;
                let own = with_prefix(own, &keys, &values)?;
                let (keys, values) = with_prefix(old, &own.0, &own.1)?;
                let attention = DeviceAttention {
                    queries: &queries,
                    keys: &keys,
                    values: &values,
                    before,
                    window: config.windows.get(index).copied().flatten(),
                    memory: &self.memory,
                };
                let kept = Kept { indicator: None, among_new: false, full: false, precise: true };
                hidden = block.finish(&hidden, &attention.run(kept)?.context)?;
                checks.look(format!("the state after block {}", index + 1), &hidden)?;
                grown.push(Some(own));
            }
            let normed = rms_norm(&hidden, &self.weights.final_norm, config.norm_eps)?;
            checks.look("the state after the final norm", &normed)?;
            let logits: Tensor = head::logits(&normed, &self.weights.output)?;
            checks.look("the logits", &logits)?;
            checks.finish()?;
            own.0 = grown;
            Ok(host(&[logits], 0)?)
        })
    }
}
