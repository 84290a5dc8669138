//! Copying through the terminal (OSC 52): works over SSH, needs no window system.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Terminals cut or refuse more than this many bytes of text.
pub const LARGEST: usize = 74_000;

/// The sequence that asks the terminal to put `text` on its clipboard; `None` when it is too long.
///
/// The text travels in base64, so nothing of it can act on the terminal.
pub fn sequence(text: &str) -> Option<String> {
    (text.len() <= LARGEST).then(|| format!("\u{1b}]52;c;{}\u{1b}\\", base64(text.as_bytes())))
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            if place <= chunk.len() {
                text.push(char::from(ALPHABET[(bits >> (18 - 6 * place)) as usize & 63]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in cases {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn what_a_terminal_would_cut_is_not_sent() {
        assert!(sequence(&"a".repeat(LARGEST)).is_some());
        assert!(sequence(&"a".repeat(LARGEST + 1)).is_none());
    }
}
