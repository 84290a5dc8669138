//! Units of text offsets. Inside ragscope an offset is a UTF-8 byte; everything else is converted
//! here, at the border, in both directions.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::error::{DataError, shown};

/// What an offset of a data set counts. Ranges are half open in every unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OffsetUnit {
    /// UTF-8 bytes: Rust, Go, `tokenizers`' `encode`.
    Byte,
    /// Unicode code points: Python's `str`.
    CodePoint,
    /// UTF-16 code units: JavaScript, Java, C#.
    Utf16,
}

/// Why a range is none of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OffsetError {
    /// Start behind end.
    #[error("starts at {start}, behind its end {end}")]
    Reversed { start: usize, end: usize },
    /// Past the end of the text.
    #[error("reaches {offset}, but the text has {length} {unit}s")]
    PastEnd { offset: usize, length: usize, unit: OffsetUnit },
    /// Between the units of one character.
    #[error("{unit} {offset} lies inside a character")]
    InsideCharacter { offset: usize, unit: OffsetUnit },
}

impl OffsetUnit {
    /// Every unit, the likeliest first: the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::CodePoint, Self::Utf16, Self::Byte];

    /// The name in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::CodePoint => "codepoint",
            Self::Utf16 => "utf16",
        }
    }

    /// Units that one character takes.
    fn width(self, c: char) -> usize {
        match self {
            Self::Byte => c.len_utf8(),
            Self::CodePoint => 1,
            Self::Utf16 => c.len_utf16(),
        }
    }

    /// Units in `text`.
    pub fn length(self, text: &str) -> usize {
        match self {
            Self::Byte => text.len(),
            Self::CodePoint => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
        }
    }

    /// The bytes of `text` that `start..end` in this unit means.
    ///
    /// # Errors
    /// When the range is reversed, ends behind the text, or cuts a character.
    pub fn to_bytes(self, text: &str, start: usize, end: usize) -> Result<Range<usize>, OffsetError> {
        if start > end {
            return Err(OffsetError::Reversed { start, end });
        }
        // Of a range that begins behind the text, its end is what reaches furthest.
        let start_byte = self.byte_of(text, start).map_err(|error| match error {
            OffsetError::PastEnd { length, unit, .. } => OffsetError::PastEnd { offset: end, length, unit },
            other => other,
        })?;
        let length = self.byte_of(&text[start_byte..], end - start).map_err(|error| match error {
            OffsetError::PastEnd { length, unit, .. } => {
                OffsetError::PastEnd { offset: end, length: start + length, unit }
            }
            OffsetError::InsideCharacter { unit, .. } => OffsetError::InsideCharacter { offset: end, unit },
            reversed @ OffsetError::Reversed { .. } => reversed,
        })?;
        Ok(start_byte..start_byte + length)
    }

    /// `bytes` of `text` in this unit: what an export writes.
    ///
    /// # Errors
    /// When the bytes are reversed, end behind the text, or cut a character.
    pub fn from_bytes(self, text: &str, bytes: &Range<usize>) -> Result<Range<usize>, OffsetError> {
        // Checks the bytes; the slices below are safe because of it.
        let bytes = Self::Byte.to_bytes(text, bytes.start, bytes.end)?;
        let start = self.length(&text[..bytes.start]);
        Ok(start..start + self.length(&text[bytes]))
    }

    /// The byte at which unit number `offset` of `text` begins; the end of `text` counts.
    fn byte_of(self, text: &str, offset: usize) -> Result<usize, OffsetError> {
        let mut units = 0;
        for (at, c) in text.char_indices() {
            if units == offset {
                return Ok(at);
            }
            units += self.width(c);
            if units > offset {
                return Err(OffsetError::InsideCharacter { offset, unit: self });
            }
        }
        if units == offset {
            return Ok(text.len());
        }
        Err(OffsetError::PastEnd { offset, length: units, unit: self })
    }
}

impl fmt::Display for OffsetUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Byte => "UTF-8 byte",
            Self::CodePoint => "code point",
            Self::Utf16 => "UTF-16 unit",
        })
    }
}

impl FromStr for OffsetUnit {
    type Err = DataError;

    fn from_str(name: &str) -> Result<Self, DataError> {
        match name.to_ascii_lowercase().replace(['-', '_', ' '], "").as_str() {
            "byte" | "bytes" | "utf8" => Ok(Self::Byte),
            "codepoint" | "codepoints" | "char" | "character" | "characters" => Ok(Self::CodePoint),
            "utf16" => Ok(Self::Utf16),
            _ => Err(DataError::UnknownName {
                what: "offset unit",
                found: shown(name),
                expected: "codepoint, byte, utf16".to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P1: the sentence and the numbers of the case.
    #[test]
    fn the_cafe_span_has_one_place_in_three_units() {
        let answer = "Café Ω costs 12 € — naïve 🙂 guests pay 15 €.";
        for (unit, start, end) in
            [(OffsetUnit::CodePoint, 39, 43), (OffsetUnit::Byte, 49, 55), (OffsetUnit::Utf16, 40, 44)]
        {
            let bytes = unit.to_bytes(answer, start, end).unwrap();
            assert_eq!(bytes, 49..55, "{unit}");
            assert_eq!(&answer[bytes.clone()], "15 €");
            assert_eq!(unit.from_bytes(answer, &bytes).unwrap(), start..end, "{unit}");
        }
    }

    #[test]
    fn a_range_that_cuts_a_character_is_refused_and_says_where() {
        assert_eq!(
            OffsetUnit::Byte.to_bytes("é🙂 a", 1, 2),
            Err(OffsetError::InsideCharacter { offset: 1, unit: OffsetUnit::Byte })
        );
        assert_eq!(
            OffsetUnit::Utf16.to_bytes("é🙂 a", 0, 2),
            Err(OffsetError::InsideCharacter { offset: 2, unit: OffsetUnit::Utf16 })
        );
        let error = OffsetUnit::CodePoint.to_bytes("é🙂 a", 1, 9).unwrap_err();
        assert_eq!(error.to_string(), "reaches 9, but the text has 4 code points");
        assert_eq!(
            OffsetUnit::CodePoint.to_bytes("é🙂 a", 3, 1),
            Err(OffsetError::Reversed { start: 3, end: 1 })
        );
        assert!(OffsetUnit::Utf16.from_bytes("é", &(0..1)).is_err());
    }

    #[test]
    fn the_end_of_the_text_and_the_empty_range_are_in_it() {
        for unit in OffsetUnit::ALL {
            let length = unit.length("é🙂");
            assert_eq!(unit.to_bytes("é🙂", 0, length).unwrap(), 0..6);
            assert_eq!(unit.to_bytes("é🙂", length, length).unwrap(), 6..6);
            assert_eq!(unit.to_bytes("", 0, 0).unwrap(), 0..0);
        }
    }

    #[test]
    fn units_are_read_by_their_names_and_unknown_ones_list_what_exists() {
        for unit in OffsetUnit::ALL {
            assert_eq!(unit.name().parse::<OffsetUnit>().unwrap(), unit);
        }
        assert_eq!("code-point".parse::<OffsetUnit>().unwrap(), OffsetUnit::CodePoint);
        let error = "tok\u{1b}ens".parse::<OffsetUnit>().unwrap_err().to_string();
        assert_eq!(error, "unknown offset unit `tok␛ens`; expected one of codepoint, byte, utf16");
    }

    proptest! {
        #[test]
        fn every_unit_comes_back_to_the_same_bytes(text in "\\PC{0,30}", a in 0usize..31, b in 0usize..31) {
            let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let (a, b) = (cuts[a % cuts.len()], cuts[b % cuts.len()]);
            let bytes = a.min(b)..a.max(b);
            for unit in OffsetUnit::ALL {
                let range = unit.from_bytes(&text, &bytes).unwrap();
                prop_assert_eq!(unit.to_bytes(&text, range.start, range.end).unwrap(), bytes.clone());
            }
        }
    }
}
