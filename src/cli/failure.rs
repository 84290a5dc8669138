//! How a command ends badly, and which exit code says so.

use std::process::ExitCode;

use color_eyre::eyre::Report;

use super::log::Level;

/// A failed command. The exit code tells scripts what kind of failure it was.
#[derive(Debug)]
pub enum Failure {
    /// A gate was not met (exit code 1).
    Gate(String),
    /// The command line makes no sense (exit code 2).
    Usage(String),
    /// A file is missing, broken or cannot be written (exit code 3).
    Input(Report),
    /// The model is missing, broken or failed (exit code 4).
    Model(Report),
    /// The user interrupted the work (exit code 130).
    Interrupted,
}

/// What a command returns.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// For every error that concerns a file or a record.
    pub fn input(error: impl Into<Report>) -> Self {
        Self::Input(error.into())
    }

    /// For every error that concerns a model or a head.
    pub fn model(error: impl Into<Report>) -> Self {
        Self::Model(error.into())
    }

    /// For failures told in a sentence of our own.
    pub fn input_message(message: impl Into<String>) -> Self {
        Self::Input(Report::msg(message.into()))
    }

    /// For failures of a model told in a sentence of our own.
    pub fn model_message(message: impl Into<String>) -> Self {
        Self::Model(Report::msg(message.into()))
    }

    /// The exit code.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Gate(_) => 1,
            Self::Usage(_) => 2,
            Self::Input(_) => 3,
            Self::Model(_) => 4,
            Self::Interrupted => 130,
        })
    }

    /// What kind of failure it was, without a word of any data.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Gate(_) => "a gate was not met (exit code 1)",
            Self::Usage(_) => "the command line was refused (exit code 2)",
            Self::Input(_) => "a file could not be read, used or written (exit code 3)",
            Self::Model(_) => "the model could not be used (exit code 4)",
            Self::Interrupted => "interrupted (exit code 130)",
        }
    }

    /// How loud the log is about it: what broke is an error, what was asked for is none.
    #[must_use]
    pub const fn level(&self) -> Level {
        match self {
            Self::Input(_) | Self::Model(_) => Level::Error,
            Self::Gate(_) | Self::Interrupted => Level::Warn,
            Self::Usage(_) => Level::Info,
        }
    }

    /// What is printed on standard error, with control characters made visible.
    #[must_use]
    pub fn message(&self) -> String {
        let text = match self {
            Self::Gate(message) | Self::Usage(message) => message.clone(),
            Self::Input(report) | Self::Model(report) => chain(report),
            Self::Interrupted => "interrupted; what was finished is kept".to_owned(),
        };
        crate::text::visible(&text).into_owned()
    }
}

/// The error and its causes, each said once: most messages quote their cause already.
fn chain(report: &Report) -> String {
    let mut text = String::new();
    for cause in report.chain() {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read a.jsonl{said}")]
    struct Outer {
        said: &'static str,
        source: std::io::Error,
    }

    #[test]
    fn a_cause_is_said_once_whether_its_error_quotes_it_or_not() {
        for said in ["", ": disk on fire"] {
            let failure = Failure::input(Outer { said, source: std::io::Error::other("disk on fire") });
            assert_eq!(failure.message(), "cannot read a.jsonl: disk on fire");
        }
    }
}
