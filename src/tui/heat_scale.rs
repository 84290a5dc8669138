//! Sequential colour scales, monotone in luminance, and how a number becomes a place on them.

use ratatui::style::Color;

/// Colours from nothing to full.
pub struct ColourScale {
    stops: [(u8, u8, u8); 11],
    /// The same walk through the 256 colours, picked by hand.
    indexed: [u8; 10],
}

/// Viridis (Matplotlib, CC0).
pub const VIRIDIS: ColourScale = ColourScale {
    stops: [
        (0x44, 0x01, 0x54),
        (0x48, 0x25, 0x76),
        (0x41, 0x44, 0x87),
        (0x35, 0x5f, 0x8d),
        (0x2a, 0x78, 0x8e),
        (0x21, 0x91, 0x8c),
        (0x22, 0xa8, 0x84),
        (0x44, 0xbf, 0x70),
        (0x7a, 0xd1, 0x51),
        (0xbd, 0xdf, 0x26),
        (0xfd, 0xe7, 0x25),
    ],
    indexed: [53, 54, 60, 61, 67, 73, 78, 114, 191, 227],
};

/// Cividis (Nunez, Anderton and Renslow 2018, doi 10.1371/journal.pone.0199239): blue over grey to yellow, seen alike with and
/// without red-green blindness.
pub const CIVIDIS: ColourScale = ColourScale {
    stops: [
        (0x00, 0x20, 0x51),
        (0x0a, 0x32, 0x6a),
        (0x2b, 0x44, 0x6e),
        (0x4d, 0x56, 0x6d),
        (0x69, 0x69, 0x70),
        (0x7f, 0x7c, 0x75),
        (0x94, 0x8f, 0x78),
        (0xad, 0xa4, 0x76),
        (0xca, 0xba, 0x6a),
        (0xea, 0xd1, 0x56),
        (0xfd, 0xea, 0x45),
    ],
    indexed: [17, 18, 24, 60, 242, 245, 144, 179, 221, 227],
};

/// From nothing to full.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// How a value is placed on the scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    #[default]
    Linear,
    /// Attention is heavy-tailed: logarithmic shows what the linear scale hides.
    Logarithmic,
    /// The share of values below: equal steps of colour hold equally many cells.
    Rank,
}

impl std::str::FromStr for Scale {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "linear" => Ok(Self::Linear),
            "log" => Ok(Self::Logarithmic),
            other => Err(format!("there is no scale {other:?}: choose linear or log")),
        }
    }
}

impl Scale {
    /// Name for the legend.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Logarithmic => "log",
            Self::Rank => "rank",
        }
    }

    /// The next choice, round the end.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Linear => Self::Logarithmic,
            Self::Logarithmic => Self::Rank,
            Self::Rank => Self::Linear,
        }
    }
}

/// Values that the rank scale sorts; of more every so-manieth is taken.
const MOST_RANKED: usize = 4096;

/// The range of values that a heat map shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Extent {
    pub low: f64,
    pub high: f64,
    /// The smallest value above zero: the foot of the logarithmic scale.
    pub least_positive: f64,
    pub scale: Scale,
    /// Values in rising order; only for the rank scale.
    ranked: Vec<f64>,
}

impl Extent {
    /// Extent of the finite values; `None` when there is none.
    pub fn of(values: impl IntoIterator<Item = f64>, scale: Scale) -> Option<Self> {
        let mut extent: Option<Self> = None;
        for value in values.into_iter().filter(|value| value.is_finite()) {
            let seen = extent.get_or_insert_with(|| Self {
                low: value,
                high: value,
                least_positive: f64::INFINITY,
                scale,
                ranked: Vec::new(),
            });
            seen.low = seen.low.min(value);
            seen.high = seen.high.max(value);
            if value > 0.0 {
                seen.least_positive = seen.least_positive.min(value);
            }
            if scale == Scale::Rank {
                seen.ranked.push(value);
            }
        }
        if let Some(extent) = &mut extent {
            let every = extent.ranked.len().div_ceil(MOST_RANKED).max(1);
            extent.ranked = extent.ranked.iter().copied().step_by(every).collect();
            extent.ranked.sort_by(f64::total_cmp);
        }
        extent
    }

    /// The least value that the scale tells apart from nothing: the foot of the legend.
    pub fn foot(&self) -> f64 {
        match self.scale {
            Scale::Logarithmic if self.least_positive.is_finite() => self.least_positive,
            Scale::Logarithmic => 0.0,
            Scale::Linear | Scale::Rank => self.low,
        }
    }

    /// Place of `value` in [0, 1]; 0 when all values are equal.
    pub fn place(&self, value: f64) -> f64 {
        let (value, low, high) = match self.scale {
            Scale::Linear => (value, self.low, self.high),
            Scale::Logarithmic if self.least_positive.is_finite() => {
                (value.max(self.least_positive).ln(), self.least_positive.ln(), self.high.ln())
            }
            Scale::Logarithmic => return 0.0,
            Scale::Rank => {
                let below = self.ranked.partition_point(|other| *other < value) as f64;
                (below, 0.0, self.ranked.len().saturating_sub(1) as f64)
            }
        };
        if high > low && value.is_finite() { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
    }
}

impl ColourScale {
    /// 24-bit colour of a share in [0, 1]; reversed on a light page, so that high stands out.
    pub fn true_colour(&self, share: f64, light: bool) -> Color {
        let share = turned(share, light);
        let position = share * (self.stops.len() - 1) as f64;
        let below = (position.floor() as usize).min(self.stops.len() - 2);
        let rest = position - below as f64;
        let mix =
            |from: u8, to: u8| (f64::from(from) + (f64::from(to) - f64::from(from)) * rest).round() as u8;
        let (from, to) = (self.stops[below], self.stops[below + 1]);
        Color::Rgb(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
    }

    /// Colour of the 256 of a share in [0, 1].
    pub fn indexed(&self, share: f64, light: bool) -> Color {
        let last = self.indexed.len() - 1;
        Color::Indexed(self.indexed[((turned(share, light) * last as f64).round() as usize).min(last)])
    }
}

/// Shade glyph of a share in [0, 1].
pub fn shade(share: f64) -> char {
    let last = SHADES.len() - 1;
    SHADES[((share.clamp(0.0, 1.0) * last as f64).round() as usize).min(last)]
}

fn turned(share: f64, light: bool) -> f64 {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    if light { 1.0 - share } else { share }
}

/// Relative luminance (WCAG 2).
pub fn luminance((red, green, blue): (u8, u8, u8)) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/// Contrast ratio of two colours, 1 to 21 (WCAG 2).
#[cfg(test)]
pub fn contrast(one: (u8, u8, u8), other: (u8, u8, u8)) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The colour of an index of the 256 as xterm draws it.
pub fn indexed_rgb(index: u8) -> (u8, u8, u8) {
    const BASIC: [(u8, u8, u8); 16] = [
        (0x1c, 0x1f, 0x26),
        (0xcd, 0x3a, 0x3a),
        (0x2f, 0x9e, 0x44),
        (0xc9, 0x9a, 0x2e),
        (0x3b, 0x6f, 0xc9),
        (0xa0, 0x4f, 0xb8),
        (0x2a, 0x9d, 0xa8),
        (0xbf, 0xc5, 0xce),
        (0x6b, 0x74, 0x82),
        (0xf0, 0x71, 0x6f),
        (0x7e, 0xcf, 0x8e),
        (0xe8, 0xc4, 0x6a),
        (0x7a, 0xb0, 0xf5),
        (0xcf, 0x9f, 0xf5),
        (0x74, 0xd4, 0xdd),
        (0xff, 0xff, 0xff),
    ];
    match index {
        0..=15 => BASIC[usize::from(index)],
        16..=231 => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = index - 16;
            (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        232..=255 => {
            let grey = 8 + 10 * (index - 232);
            (grey, grey, grey)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scale_grows_in_luminance_and_turns_round_on_a_light_page() {
        for scale in [VIRIDIS, CIVIDIS] {
            for light in [false, true] {
                let of = |step: u32| match scale.true_colour(f64::from(step) / 100.0, light) {
                    Color::Rgb(red, green, blue) => luminance((red, green, blue)),
                    other => panic!("{other:?} is not 24-bit"),
                };
                assert!((0..100).all(|step| (of(step) < of(step + 1)) != light));
                assert_ne!(scale.indexed(0.0, light), scale.indexed(1.0, light));
            }
            let indexed = scale.indexed.map(|index| luminance(indexed_rgb(index)));
            assert!(indexed.windows(2).all(|pair| pair[0] < pair[1]), "{indexed:?}");
        }
    }

    #[test]
    fn the_logarithmic_scale_separates_what_the_linear_one_hides() {
        let values = [0.0, 0.001, 0.01, 1.0];
        let linear = Extent::of(values, Scale::Linear).unwrap();
        let logarithmic = Extent::of(values, Scale::Logarithmic).unwrap();
        assert!(linear.place(0.01) < 0.02);
        assert!((logarithmic.place(0.01) - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(logarithmic.place(0.0), 0.0);
    }

    #[test]
    fn the_rank_scale_gives_every_value_the_same_room_however_far_apart_they_lie() {
        let extent = Extent::of([0.0, 0.001, 0.01, 1.0, f64::NAN], Scale::Rank).unwrap();
        let places = [0.0, 0.001, 0.01, 1.0].map(|value| (extent.place(value) * 3.0).round());
        assert_eq!(places, [0.0, 1.0, 2.0, 3.0]);
        let many = Extent::of((0..100_000).map(f64::from), Scale::Rank).unwrap();
        assert!((many.place(50_000.0) - 0.5).abs() < 0.01 && many.ranked.len() <= MOST_RANKED);
    }

    #[test]
    fn an_extent_without_values_or_without_spread_places_everything_at_the_foot() {
        assert_eq!(Extent::of([f64::NAN], Scale::Linear), None);
        for scale in [Scale::Linear, Scale::Logarithmic, Scale::Rank] {
            assert_eq!(Extent::of([0.0, 0.0], scale).unwrap().place(0.0), 0.0);
            assert_eq!(Extent::of([0.4], scale).unwrap().place(0.4), 0.0);
        }
    }

    #[test]
    fn shades_run_from_a_dot_to_the_full_block() {
        assert_eq!([0.0, 0.3, 0.5, 0.8, 1.0].map(shade), ['·', '░', '▒', '▓', '█']);
    }
}
