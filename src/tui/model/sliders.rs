//! The sliders: range, step, how a number becomes a place, and what moving one changes.

use super::tally::Tally;
use crate::certify::Alpha;
use crate::evidence::Thresholds;

/// A threshold that can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SliderName {
    Alpha,
    Token,
    Rho,
    Factuality,
    /// The certified level: only where a calibration of the highlighting is at hand.
    Beta,
}

/// What a moved slider did to all evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliderEffect {
    /// Chunks trusted, spans flagged, or answers called consistent, at the default.
    pub before: usize,
    /// The same now.
    pub after: usize,
    /// Examples where it differs.
    pub changed: usize,
}

/// Range of the label persistence.
const RHO: (f64, f64) = (0.5, 0.9999);

impl SliderName {
    /// From top to bottom; the last one only where it can do something, see
    /// [`Model::sliders`](super::Model::sliders).
    pub const ALL: [Self; 5] = [Self::Alpha, Self::Token, Self::Rho, Self::Factuality, Self::Beta];

    /// Label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Token => "token",
            Self::Rho => "rho",
            Self::Factuality => "factual",
            Self::Beta => "beta",
        }
    }

    /// What it decides, in plain words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Alpha => "A chunk is trusted if its p-value exceeds alpha.",
            Self::Token => "A token is flagged if its smoothed score reaches this.",
            Self::Rho => "How strongly a token's score is pulled towards its neighbours'.",
            Self::Factuality => "An answer is called consistent if its factuality reaches this.",
            Self::Beta => {
                "The share of an answer's unsupported tokens that may be missed; sets the token threshold."
            }
        }
    }

    /// What it decides, counted: `1 span flagged`.
    pub fn counted(self, count: usize) -> String {
        let (one, many, decided) = match self {
            Self::Alpha => ("chunk", "chunks", "trusted"),
            Self::Token | Self::Rho | Self::Beta => ("span", "spans", "flagged"),
            Self::Factuality => ("answer", "answers", "called consistent"),
        };
        format!("{count} {} {decided}", if count == 1 { one } else { many })
    }

    /// What is counted, in one word.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Alpha => "chunks",
            Self::Token | Self::Rho | Self::Beta => "spans",
            Self::Factuality => "answers",
        }
    }

    /// What changes with it: an example's answer or its chunks.
    pub fn changes(self, examples: usize) -> &'static str {
        match (self, examples) {
            (Self::Alpha, 1) => "question changes",
            (Self::Alpha, _) => "questions change",
            (_, 1) => "answer changes",
            _ => "answers change",
        }
    }

    /// The count that it decides.
    pub fn measure(self, tally: &Tally) -> usize {
        match self {
            Self::Alpha => tally.trusted,
            Self::Token | Self::Rho | Self::Beta => tally.spans,
            Self::Factuality => tally.consistent,
        }
    }

    /// Present value.
    pub fn value(self, thresholds: &Thresholds) -> f64 {
        match self {
            Self::Alpha => thresholds.alpha.value(),
            Self::Token => thresholds.token,
            Self::Rho => thresholds.rho,
            Self::Factuality => thresholds.factuality,
            Self::Beta => thresholds.beta.unwrap_or(0.0),
        }
    }

    /// Sets a value, clamped to the range and rounded to what the slider can show.
    pub fn set(self, thresholds: &mut Thresholds, value: f64) {
        if !value.is_finite() {
            return;
        }
        match self {
            Self::Alpha => {
                thresholds.alpha = Alpha::from_thousandths((value.clamp(0.0, 1.0) * 1000.0).round() as u16);
            }
            Self::Token => {
                thresholds.token = rounded(value.clamp(0.0, 1.0));
                thresholds.beta = None;
            }
            Self::Rho => thresholds.rho = rounded(value.clamp(RHO.0, RHO.1)),
            Self::Factuality => thresholds.factuality = rounded(value.clamp(0.0, 1.0)),
            // Nothing can promise that nothing is missed: the lowest place is off.
            Self::Beta => thresholds.beta = Some(rounded(value.clamp(0.0, 1.0))).filter(|beta| *beta > 0.0),
        }
    }

    /// One step of a key press.
    pub fn step(self) -> f64 {
        match self {
            Self::Alpha => 0.005,
            Self::Rho => 0.001,
            Self::Token | Self::Factuality | Self::Beta => 0.01,
        }
    }

    /// Least and greatest value.
    pub fn range(self) -> (f64, f64) {
        if self == Self::Rho { RHO } else { (0.0, 1.0) }
    }

    /// Place of a value on the track in [0, 1]. What matters of rho happens close to 1, so its track
    /// is logarithmic in 1 - rho.
    pub fn place(self, value: f64) -> f64 {
        match self {
            Self::Rho => {
                let (low, high) = (1.0 - RHO.0, 1.0 - RHO.1);
                ((1.0 - value).clamp(high, low) / low).ln() / (high / low).ln()
            }
            _ => value.clamp(0.0, 1.0),
        }
    }

    /// Value at a place of the track.
    pub fn value_at(self, place: f64) -> f64 {
        let place = place.clamp(0.0, 1.0);
        match self {
            Self::Rho => {
                let (low, high) = (1.0 - RHO.0, 1.0 - RHO.1);
                1.0 - low * (high / low).powf(place)
            }
            _ => (place * 100.0).round() / 100.0,
        }
    }

    /// Text of a value: as many digits as the slider has.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Alpha => format!("{value:.3}"),
            Self::Rho => format!("{value:.4}"),
            Self::Beta if value == 0.0 => "off".into(),
            Self::Token | Self::Factuality | Self::Beta => format!("{value:.2}"),
        }
    }

    /// Whether it stands elsewhere than at its default.
    pub fn is_moved(self, thresholds: &Thresholds, defaults: &Thresholds) -> bool {
        self.value(thresholds) != self.value(defaults)
    }

    /// The thresholds with this one at its default.
    pub fn with_default(self, thresholds: &Thresholds, defaults: &Thresholds) -> Thresholds {
        let mut base = thresholds.clone();
        self.reset(&mut base, defaults);
        base
    }

    /// Puts it back to its default, exactly.
    pub fn reset(self, thresholds: &mut Thresholds, defaults: &Thresholds) {
        match self {
            Self::Alpha => thresholds.alpha = defaults.alpha,
            Self::Token => {
                thresholds.token = defaults.token;
                thresholds.beta = None;
            }
            Self::Rho => thresholds.rho = defaults.rho,
            Self::Factuality => thresholds.factuality = defaults.factuality,
            Self::Beta if thresholds.beta.is_some() => {
                thresholds.beta = defaults.beta;
                thresholds.token = defaults.token;
            }
            Self::Beta => thresholds.beta = defaults.beta,
        }
    }
}

/// Ten thousandths: no trail of binary fractions after many steps.
fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_track_of_every_slider_runs_from_its_least_to_its_greatest_value_and_back() {
        for slider in SliderName::ALL {
            let (low, high) = slider.range();
            assert!((slider.place(low)).abs() < 1e-9 && (slider.place(high) - 1.0).abs() < 1e-9);
            for step in 0..=20 {
                let place = f64::from(step) / 20.0;
                assert!((slider.place(slider.value_at(place)) - place).abs() < 0.006, "{slider:?} {place}");
            }
        }
    }

    #[test]
    fn a_value_outside_the_range_stops_at_its_end_and_a_missing_one_changes_nothing() {
        let mut thresholds = Thresholds::default();
        SliderName::Rho.set(&mut thresholds, 7.0);
        assert_eq!(thresholds.rho, 0.9999);
        SliderName::Alpha.set(&mut thresholds, -1.0);
        assert_eq!(thresholds.alpha.thousandths(), 0);
        SliderName::Token.set(&mut thresholds, f64::NAN);
        assert_eq!(thresholds.token, 0.5);
    }
}
