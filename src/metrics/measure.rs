//! A figure that may not exist, and then says why.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A measured value, or the reason why there is none: never 0.5, NaN or an empty cell instead.
///
/// In JSON `{"value": 0.93}` or `{"value": null, "reason": "one class"}`; in text `0.9300` or
/// `n/a (one class)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum Measure {
    /// A finite number.
    Value(f64),
    /// Why there is no number.
    Undefined(String),
}

impl Measure {
    /// A value that is not finite becomes undefined.
    #[must_use]
    pub fn of(value: f64) -> Self {
        if value.is_finite() {
            Self::Value(value)
        } else {
            Self::undefined(format!("the computation gave {value}"))
        }
    }

    #[must_use]
    pub fn undefined(reason: impl Into<String>) -> Self {
        Self::Undefined(reason.into())
    }

    /// numerator / denominator, or `reason` when the denominator is 0.
    #[must_use]
    pub fn ratio(numerator: f64, denominator: f64, reason: &str) -> Self {
        if denominator == 0.0 { Self::undefined(reason) } else { Self::of(numerator / denominator) }
    }

    #[must_use]
    pub const fn value(&self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Undefined(_) => None,
        }
    }

    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::Undefined(reason) => Some(reason),
        }
    }
}

impl fmt::Display for Measure {
    /// Four decimals unless the format string gives a precision.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Value(value) => format!("{value:.*}", formatter.precision().unwrap_or(4)),
            Self::Undefined(reason) => format!("n/a ({reason})"),
        };
        // `pad` would cut the reason at the precision.
        match formatter.width() {
            Some(width) if formatter.align() == Some(fmt::Alignment::Left) => {
                write!(formatter, "{text:<width$}")
            }
            Some(width) => write!(formatter, "{text:>width$}"),
            None => formatter.write_str(&text),
        }
    }
}

/// How a measure stands in JSON.
#[derive(Serialize, Deserialize)]
struct Written {
    value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<Measure> for Written {
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::Value(value) => Self { value: Some(value), reason: None },
            Measure::Undefined(reason) => Self { value: None, reason: Some(reason) },
        }
    }
}

impl From<Written> for Measure {
    fn from(written: Written) -> Self {
        match written.value {
            Some(value) => Self::of(value),
            None => Self::Undefined(written.reason.unwrap_or_else(|| "no reason given".to_owned())),
        }
    }
}

/// The plain mean over the slices where a measure exists.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MacroMean {
    pub mean: Measure,
    /// Slices that entered the mean.
    pub counted: usize,
    /// Slices whose measure is undefined.
    pub left_out: usize,
}

/// Mean of the defined measures; the undefined ones are counted, not guessed.
pub fn macro_mean<'a>(measures: impl IntoIterator<Item = &'a Measure>) -> MacroMean {
    let (mut sum, mut counted, mut left_out) = (0.0, 0_usize, 0_usize);
    for measure in measures {
        match measure.value() {
            Some(value) => {
                sum += value;
                counted += 1;
            }
            None => left_out += 1,
        }
    }
    MacroMean { mean: Measure::ratio(sum, counted as f64, "no slice has a value"), counted, left_out }
}

impl fmt::Display for MacroMean {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.mean)?;
        match self.left_out {
            0 => Ok(()),
            left_out => write!(formatter, " ({left_out} left out)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undefined_measure_is_null_with_its_reason_in_json_and_comes_back() {
        let undefined = Measure::undefined("one class");
        let written = serde_json::to_string(&undefined).unwrap();
        assert_eq!(written, r#"{"value":null,"reason":"one class"}"#);
        assert_eq!(serde_json::from_str::<Measure>(&written).unwrap(), undefined);
        assert_eq!(serde_json::to_string(&Measure::Value(0.5)).unwrap(), r#"{"value":0.5}"#);
        assert_eq!(serde_json::from_str::<Measure>(r#"{"value":0.5}"#).unwrap(), Measure::Value(0.5));
    }

    #[test]
    fn a_number_that_is_not_finite_never_becomes_a_value() {
        assert_eq!(Measure::of(f64::NAN).value(), None);
        assert_eq!(Measure::ratio(1.0, 0.0, "nothing to divide by").reason(), Some("nothing to divide by"));
    }

    #[test]
    fn text_keeps_the_whole_reason_at_any_precision_and_width() {
        assert_eq!(format!("{:.2}", Measure::undefined("one class")), "n/a (one class)");
        assert_eq!(format!("{:>7.2}|{:<7.2}|", Measure::Value(0.5), Measure::Value(0.5)), "   0.50|0.50   |");
        assert_eq!(Measure::Value(0.5).to_string(), "0.5000");
    }

    #[test]
    fn a_macro_mean_leaves_undefined_slices_out_and_says_how_many() {
        let measures = [Measure::Value(0.4), Measure::undefined("one class"), Measure::Value(0.8)];
        let mean = macro_mean(&measures);
        assert_eq!((mean.counted, mean.left_out), (2, 1));
        assert!((mean.mean.value().unwrap() - 0.6).abs() < 1e-12);
        assert_eq!(mean.to_string(), "0.6000 (1 left out)");
        assert_eq!(macro_mean(&measures[1..2]).mean.to_string(), "n/a (no slice has a value)");
    }
}
