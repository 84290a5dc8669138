//! Numbers as people read them.

use crate::certify::PValue;

/// What is shown where there is no value.
pub const ABSENT: &str = "n/a";

/// Three decimals; `n/a` for what is not a number. Only a value of exactly 0 or 1 is shown as such: 0.9996
/// is "0.999", so that rounding never claims certainty.
pub fn three(value: f64) -> String {
    decimals(value, 3)
}

/// Two decimals, by the same rule.
pub fn two(value: f64) -> String {
    decimals(value, 2)
}

fn decimals(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_string();
    }
    let shown = format!("{value:.digits$}");
    let step = 10f64.powi(-(digits as i32));
    if value < 1.0 && value > 0.0 {
        if shown.starts_with('1') {
            return format!("{:.digits$}", 1.0 - step);
        }
        if shown.parse() == Ok(0.0) {
            return format!("<{step:.digits$}");
        }
    }
    shown
}

/// Three decimals or `n/a`.
pub fn three_or_absent(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_string(), three)
}

/// `0.412 (42/102)`: the p-value with the exact fraction that decides.
pub fn p_value(p: PValue) -> String {
    format!("{} ({}/{})", three(p.value()), p.count, p.out_of)
}

/// A threshold as exactly as it was given: 0.5 is "0.5", 0.9935 is "0.9935".
pub fn threshold(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { ABSENT.to_string() }
}

/// `part of whole (percentage)`; without the percentage when the whole is zero.
pub fn share(part: usize, whole: usize) -> String {
    if whole == 0 {
        return format!("{part} of 0");
    }
    format!("{part} of {whole} ({:.1} %)", 100.0 * part as f64 / whole as f64)
}

/// `1 span`, `2 spans`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_never_claims_certainty() {
        assert_eq!(three(0.9996), "0.999");
        assert_eq!(three(1.0), "1.000");
        assert_eq!(three(0.0001), "<0.001");
        assert_eq!(three(0.0), "0.000");
        assert_eq!(two(0.996), "0.99");
        assert_eq!(three(12.3456), "12.346");
        assert_eq!(three(-4.2), "-4.200");
    }

    #[test]
    fn what_is_not_a_number_is_shown_as_absent() {
        assert_eq!(three(f64::NAN), "n/a");
        assert_eq!(three(f64::INFINITY), "n/a");
        assert_eq!(three_or_absent(None), "n/a");
    }

    #[test]
    fn a_threshold_is_shown_as_it_was_given() {
        assert_eq!(threshold(0.9935), "0.9935");
        assert_eq!(threshold(0.5), "0.5");
    }
}
