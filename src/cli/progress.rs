//! Progress where there is no screen.

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar on standard error with counts and time left; silent where there is no terminal.
pub fn progress_bar(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}, {elapsed} gone, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style).with_message(what)
}
