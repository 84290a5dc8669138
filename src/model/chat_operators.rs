//! Operators inside the tags of a chat template, made to pay for what they build.
//!
//! A sum, a concatenation or a repetition can build a value of any size within one expression. Each operand goes
//! through a filter that counts its size, so `a ~ b * 3` becomes `a|C ~ b|C|C * 3|R`.

use super::chat_source::{CHARGE, behind_string};

/// Filter that the right side of `*` goes through: a number of reasonable size.
pub(super) const TIMES: &str = "__ragscope_times";

/// Words after which no operand has ended.
const KEYWORDS: [&str; 17] = [
    "if",
    "else",
    "elif",
    "for",
    "in",
    "not",
    "and",
    "or",
    "is",
    "set",
    "do",
    "with",
    "call",
    "filter",
    "macro",
    "block",
    "recursive",
];

/// The inside of a tag with its operands charged. What cannot be read is left for the engine to report.
pub(super) fn charged(inner: &str) -> String {
    let bytes = inner.as_bytes();
    let mut out = String::with_capacity(inner.len());
    let mut at = 0;
    // Whether an operand has just ended, so that `+` and `*` are operators between two.
    let mut ended = false;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'\'' | b'"' => {
                let Some(end) = behind_string(bytes, at).filter(|end| *end <= bytes.len()) else {
                    out.push_str(&inner[at..]);
                    return out;
                };
                at = end;
                ended = true;
            }
            byte if is_word(byte) => {
                at = behind_word(bytes, at);
                ended = !KEYWORDS.contains(&&inner[start..at]);
            }
            b')' | b']' | b'}' => {
                at += 1;
                ended = true;
            }
            b'*' if bytes.get(at + 1) == Some(&b'*') => {
                at += 2;
                ended = false;
            }
            operator @ (b'+' | b'~' | b'*') if ended => {
                let right = operand(bytes, at + 1);
                out.push('|');
                out.push_str(CHARGE);
                out.push(char::from(operator));
                at += 1;
                if let Some(end) = right {
                    out.push_str(&charged(&inner[at..end]));
                    out.push('|');
                    out.push_str(if operator == b'*' { TIMES } else { CHARGE });
                    at = end;
                } else {
                    ended = false;
                }
                continue;
            }
            byte => {
                at += 1;
                ended &= byte.is_ascii_whitespace();
            }
        }
        out.push_str(&inner[start..at]);
    }
    out
}

/// Where the operand that begins behind `at` ends: a value with its attributes, calls, indices and filters.
fn operand(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = behind_blanks(bytes, at);
    while matches!(bytes.get(at), Some(b'+' | b'-')) {
        at = behind_blanks(bytes, at + 1);
    }
    let first = *bytes.get(at)?;
    let mut end = match first {
        b'\'' | b'"' => behind_string(bytes, at)?,
        b'(' | b'[' | b'{' => behind_brackets(bytes, at)?,
        byte if is_word(byte) => {
            let end = behind_word(bytes, at);
            let word = std::str::from_utf8(&bytes[at..end]).ok()?;
            if KEYWORDS.contains(&word) {
                return None;
            }
            end
        }
        _ => return None,
    };
    loop {
        let next = behind_blanks(bytes, end);
        end = match bytes.get(next) {
            Some(b'(' | b'[') => behind_brackets(bytes, next)?,
            Some(b'.' | b'|') => {
                let name = behind_blanks(bytes, next + 1);
                if !bytes.get(name).is_some_and(|byte| is_word(*byte)) {
                    return None;
                }
                behind_word(bytes, name)
            }
            _ => return (end <= bytes.len()).then_some(end),
        };
    }
}

fn behind_brackets(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'\'' | b'"' => at = behind_string(bytes, at)?,
            byte => {
                at += 1;
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    return Some(at);
                }
            }
        }
    }
    None
}

fn behind_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Bytes of names and numbers; letters beyond ASCII stay whole with them.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn behind_word(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|byte| is_word(*byte)) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(inner: &str) -> String {
        charged(inner).replace(CHARGE, "C").replace(TIMES, "T")
    }

    #[test]
    fn both_sides_of_an_operator_pay() {
        assert_eq!(short("a + b"), "a |C+ b|C");
        assert_eq!(short("a['x'] ~ m.content.strip() ~ '+'"), "a['x'] |C~ m.content.strip()|C |C~ '+'|C");
        assert_eq!(short("'x' * (n + 1)"), "'x' |C* (n |C+ 1|C)|T");
        assert_eq!(short("a + b|upper if c else d"), "a |C+ b|upper|C if c else d");
        assert_eq!(short("é + ü"), "é |C+ ü|C");
    }

    #[test]
    fn signs_powers_strings_and_what_is_cut_are_left_alone() {
        for same in [
            "x if +1",
            "a ** b",
            "f(*rest, **more)",
            "'a + b'",
            "x == -1",
            "[+1, 2]",
            "a - b",
            "'open + ",
            "\"\\",
        ] {
            assert_eq!(short(same), same);
        }
        assert_eq!(short("a +"), "a |C+");
        assert_eq!(short("a + (b"), "a |C+ (b");
        assert_eq!(short("a + -b"), "a |C+ -b|C");
    }
}
