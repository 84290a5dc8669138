//! The content security policy of the page.

use sha2::{Digest, Sha256};

/// Allows exactly this style sheet and this script, and nothing over the network.
pub fn content_security_policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        source_hash(style),
        source_hash(script)
    )
}

/// `sha256-` and the digest in base 64, as CSP Level 3 section 2.3.1 wants it.
fn source_hash(source: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(source.as_bytes())))
}

/// Base 64 of RFC 4648 section 4, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let joined =
            (0..3).fold(0u32, |joined, at| joined << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let six = (joined >> (18 - 6 * at)) & 63;
            out.push(if at <= group.len() { char::from(ALPHABET[six as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_agrees_with_the_test_vectors_of_rfc_4648() {
        let vectors = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, encoded) in vectors {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }

    #[test]
    fn the_hash_of_a_known_script_is_the_one_of_the_csp_specification() {
        let policy = content_security_policy("", "alert('Hello, world.');");
        assert!(policy.contains("script-src 'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"));
    }
}
