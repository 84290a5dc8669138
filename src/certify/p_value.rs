//! The conformal p-value of a chunk, kept as the exact fraction it is.

use serde::{Deserialize, Serialize};

/// p = (1 + #{calibration nonconformity >= a}) / (n + 1).
///
/// Kept as two counts so that "p > alpha" is decided in whole numbers, never by rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PValue {
    /// 1 + the number of calibration values at least as nonconforming.
    pub count: u32,
    /// n + 1.
    pub out_of: u32,
}

impl PValue {
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.count) / f64::from(self.out_of)
    }

    /// Trusted iff p > alpha.
    #[must_use]
    pub fn exceeds(self, alpha: Alpha) -> bool {
        u64::from(self.count) * 1000 > u64::from(alpha.thousandths()) * u64::from(self.out_of)
    }
}

/// The miscoverage level in whole thousandths: 0.1 is 100.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Alpha(u16);

impl Alpha {
    /// Clamped to 0..=1000.
    #[must_use]
    pub const fn from_thousandths(thousandths: u16) -> Self {
        Self(if thousandths > 1000 { 1000 } else { thousandths })
    }

    #[must_use]
    pub const fn thousandths(self) -> u16 {
        self.0
    }

    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl Default for Alpha {
    fn default() -> Self {
        Self(100)
    }
}
