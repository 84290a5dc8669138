//! What to do where a device runs out of memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::DecoderError;

/// Attention weights (f32) of one block of rows to begin with, 256 MiB.
const WEIGHTS_AT_ONCE: usize = 1 << 26;
/// Below this a block is a row or two: nothing is left to save.
const LEAST: usize = 1 << 16;

/// Bounds the numbers held at once by attention, the feed-forward layer and the output head; shrinks for good
/// where memory ran out.
pub(super) struct MemoryBudget(AtomicUsize);

impl MemoryBudget {
    pub(super) fn new(numbers: usize) -> Self {
        Self(AtomicUsize::new(numbers))
    }

    /// Rows that go together when each holds `row` numbers.
    pub(super) fn rows(&self, row: usize) -> usize {
        (self.0.load(Ordering::Relaxed) / row.max(1)).clamp(1, 4096)
    }

    /// Runs `work`, again with a quarter of the budget as long as memory runs out.
    pub(super) fn run<T>(
        &self,
        tokens: usize,
        mut work: impl FnMut() -> Result<T, DecoderError>,
    ) -> Result<T, DecoderError> {
        loop {
            match work() {
                Err(DecoderError::Arithmetic(error)) if is_out_of_memory(&error) => {
                    let numbers = self.0.load(Ordering::Relaxed);
                    if numbers <= LEAST {
                        return Err(DecoderError::DeviceMemory {
                            work: format!("reading {tokens} tokens"),
                            reason: super::reason(&error),
                        });
                    }
                    self.0.store((numbers / 4).max(LEAST), Ordering::Relaxed);
                }
                other => return other,
            }
        }
    }
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self::new(WEIGHTS_AT_ONCE)
    }
}

/// Drivers say it in words only.
pub(super) fn is_out_of_memory(error: &candle_core::Error) -> bool {
    let text = error.to_string().to_ascii_lowercase();
    ["out of memory", "out_of_memory", "alloc_failed", "failed to allocate", "failedtocreateresource"]
        .iter()
        .any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exhausted() -> DecoderError {
        candle_core::Error::Msg("DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")".to_owned()).into()
    }

    #[test]
    fn smaller_blocks_are_tried_until_they_fit_and_stay_small() {
        let budget = MemoryBudget::default();
        let mut rows = Vec::new();
        let fits = budget.run(10, || {
            rows.push(budget.rows(100_000));
            if budget.rows(100_000) > 50 { Err(exhausted()) } else { Ok(7) }
        });
        assert_eq!((fits.unwrap(), rows), (7, vec![671, 167, 41]));
        assert_eq!(budget.rows(100_000), 41);
    }

    #[test]
    fn memory_that_never_suffices_is_an_error_that_says_what_to_do() {
        let budget = MemoryBudget::default();
        let mut tries = 0;
        let error = budget.run::<()>(1234, || {
            tries += 1;
            Err(exhausted())
        });
        let error = error.unwrap_err().to_string();
        assert!(error.contains("1234 tokens") && error.contains("--dtype bf16"), "{error}");
        assert!((2..20).contains(&tries));
    }

    #[test]
    fn other_failures_are_not_tried_again() {
        let mut tries = 0;
        let failed = MemoryBudget::default().run::<()>(1, || {
            tries += 1;
            Err(candle_core::Error::Msg("no kernel image".to_owned()).into())
        });
        assert!(matches!(failed, Err(DecoderError::Arithmetic(_))) && tries == 1);
    }
}
