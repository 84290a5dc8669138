//! Values that are not finite, found on the device and fetched once.

use candle_core::{Device, Tensor};

use super::DecoderError;

/// One number for each place that was looked at: 0 where all was finite, NaN where not.
#[derive(Default)]
pub(super) struct FiniteChecks {
    flags: Vec<Tensor>,
    places: Vec<String>,
}

impl FiniteChecks {
    /// Looks at a tensor: 0 · x is NaN for NaN and infinities, and the sum keeps it.
    pub(super) fn look(&mut self, place: impl Into<String>, values: &Tensor) -> Result<(), DecoderError> {
        self.flags.push(values.to_dtype(candle_core::DType::F32)?.affine(0.0, 0.0)?.sum_all()?);
        self.places.push(place.into());
        Ok(())
    }

    /// Waits for the device and names the first place with a value that is not finite.
    pub(super) fn finish(self) -> Result<(), DecoderError> {
        if self.flags.is_empty() {
            return Ok(());
        }
        let flags = Tensor::stack(&self.flags, 0)?.to_device(&Device::Cpu)?.to_vec1::<f32>()?;
        match flags.iter().zip(self.places).find(|(flag, _)| !flag.is_finite()) {
            Some((_, place)) => Err(DecoderError::NotFinite { place }),
            None => Ok(()),
        }
    }
}
