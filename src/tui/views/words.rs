//! Numbers in words, for the sentences under the views.

use crate::certify::Bounds;
use crate::text::visible_line;

/// `1 span`, `3 spans`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `41 %`, never broken between the two.
pub fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", share * 100.0)
}

/// `.83`, `1.0`: three columns.
pub fn digits(share: f64) -> String {
    let text = format!("{share:.2}");
    text.strip_prefix('0').map_or_else(|| "1.0".to_owned(), str::to_owned)
}

/// `[0.12, 0.34]`
pub fn interval(bounds: Bounds) -> String {
    format!("[{:.2}, {:.2}]", bounds.lower, bounds.upper)
}

/// A piece of data in quotes, on one line, at most `most` characters long.
pub fn quoted(text: &str, most: usize) -> String {
    let text = visible_line(text.trim());
    let mut short: String = text.chars().take(most).collect();
    if text.chars().count() > most {
        short.push('…');
    }
    format!("“{short}”")
}

/// `3 min`, `40 s`: how long something still takes.
pub fn duration(seconds: f64) -> String {
    match seconds.max(0.0).round() as u64 {
        seconds @ 0..=90 => format!("{seconds} s"),
        seconds @ 91..=5400 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
