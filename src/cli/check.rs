//! `ragscope check`: a run held against limits, for continuous integration.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use serde::Serialize;

use crate::evidence::{Evidence, Status, Thresholds, decide, read_run};
use crate::inspect::{HeadFiles, HeadSource};
use crate::text::visible_path;

use super::report_context::certificate_in;
use super::session::failure_of;
use super::thresholds::ThresholdArguments;
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope check`. Limits are shares (5%, 0.05) or counts (whole numbers).
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Evidence written by `ragscope score`
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Scored answers with a flagged span, at most: a share (5%) or a count (3)
    #[arg(long, value_name = "LIMIT")]
    max_flagged_answers: Option<Limit>,
    /// Flagged tokens among those scored, at most
    #[arg(long, value_name = "LIMIT")]
    max_flagged_tokens: Option<Limit>,
    /// Records in error, at most
    #[arg(long, value_name = "LIMIT")]
    max_unusable: Option<Limit>,
    /// Answers that were not scored (no answer, not read, in error), at most
    #[arg(long, value_name = "LIMIT")]
    max_unscored: Option<Limit>,
    /// Certified questions with a trusted chunk (m1), at least
    #[arg(long, value_name = "LIMIT")]
    min_m1: Option<Limit>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    thresholds: ThresholdArguments,
}

/// A share of what there is, or a count.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    Share(f64),
    Count(usize),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = |number: &str, whole: f64| {
            number.trim().parse().ok().map(|number: f64| number / whole).filter(|s| (0.0..=1.0).contains(s))
        };
        let parsed = match text.strip_suffix('%') {
            Some(percent) => share(percent, 100.0).map(Self::Share),
            None if text.contains('.') => share(text, 1.0).map(Self::Share),
            None => text.parse().ok().map(Self::Count),
        };
        parsed.ok_or_else(|| {
            "expected a share (5% or 0.05, from 0 to 1) or a count (a whole number)".to_owned()
        })
    }
}

impl Limit {
    fn text(self) -> String {
        match self {
            // A share is shown as it was meant: 0.07 times 100 is not quite 7.
            Self::Share(share) => format!("{}%", (share * 1e8).round() / 1e6),
            Self::Count(count) => count.to_string(),
        }
    }
}

/// One limit and what was measured.
#[derive(Debug, Serialize)]
struct Checked {
    limit: &'static str,
    /// `at most` or `at least`.
    bound: &'static str,
    value: String,
    part: usize,
    whole: usize,
    /// `part / whole`; absent when `whole` is 0.
    share: Option<f64>,
    met: bool,
    /// Why the measure is undefined, which fails the gate.
    undefined: Option<String>,
}

#[derive(Debug, Serialize)]
struct Gate {
    run: String,
    met: bool,
    thresholds: Thresholds,
    limits: Vec<Checked>,
}

/// Counts over a run.
#[derive(Debug, Default)]
struct Counts {
    records: usize,
    unusable: usize,
    scored: usize,
    flagged: usize,
    tokens: usize,
    flagged_tokens: usize,
    certified: usize,
    with_trusted: usize,
}

impl Counts {
    fn of(evidence: &[Evidence], thresholds: &Thresholds) -> Self {
        let mut counts = Self { records: evidence.len(), ..Self::default() };
        for one in evidence {
            counts.unusable += usize::from(one.status == Status::Error);
            let findings = decide(one, thresholds);
            if !findings.smoothed.is_empty() {
                counts.scored += 1;
                counts.flagged += usize::from(findings.flagged);
                counts.tokens += findings.smoothed.len();
                counts.flagged_tokens += findings.flagged_tokens;
            }
            counts.certified += usize::from(findings.trusted.iter().any(Option::is_some));
            counts.with_trusted += usize::from(findings.trusted.contains(&Some(true)));
        }
        counts
    }
}

/// Reads the run, decides, says of every limit whether it is met.
pub fn run(shared: &Shared, arguments: &CheckArguments) -> Outcome {
    let (evidence, torn) = read_run(&arguments.run).map_err(Failure::input)?;
    let run = visible_path(&arguments.run);
    if let Some(torn) = torn {
        return Err(Failure::input_message(format!(
            "{run}: {torn}; a gate needs the whole run, finish it with `ragscope score --resume`"
        )));
    }
    let defaults =
        HeadFiles::read(&HeadSource::Shipped).and_then(|files| files.thresholds()).map_err(failure_of)?;
    let thresholds = arguments.thresholds.over(&shared.thresholds(&defaults))?;
    let limits = checked(arguments, &evidence, &Counts::of(&evidence, &thresholds));
    if limits.is_empty() {
        return Err(Failure::Usage(
            "there is nothing to check; name a limit, for example --max-flagged-answers 5%".to_owned(),
        ));
    }
    let missed: Vec<&str> = limits.iter().filter(|one| !one.met).map(|one| one.limit).collect();
    let verdict = match missed.len() {
        0 => Ok(()),
        some => {
            Err(Failure::Gate(format!("{some} of {} limits not met: {}", limits.len(), missed.join(", "))))
        }
    };
    if arguments.json {
        output::print_json(&Gate { run, met: verdict.is_ok(), thresholds, limits })?;
    } else {
        output::print(&limits.iter().map(Checked::line).collect::<String>())?;
    }
    verdict
}

fn checked(arguments: &CheckArguments, evidence: &[Evidence], counts: &Counts) -> Vec<Checked> {
    let unscored = counts.records - counts.scored;
    let not_certified = match certificate_in(evidence) {
        Some(_) => "no chunk of the run has a p-value",
        None => "the run has no certificate; score it with --calibration",
    };
    let most = [
        (
            "flagged answers",
            arguments.max_flagged_answers,
            counts.flagged,
            counts.scored,
            "no answer was scored",
        ),
        (
            "flagged tokens",
            arguments.max_flagged_tokens,
            counts.flagged_tokens,
            counts.tokens,
            "no token was scored",
        ),
        ("unusable records", arguments.max_unusable, counts.unusable, counts.records, "the run is empty"),
        ("unscored answers", arguments.max_unscored, unscored, counts.records, "the run is empty"),
    ];
    let least = [(
        "m1 (questions with a trusted chunk)",
        arguments.min_m1,
        counts.with_trusted,
        counts.certified,
        not_certified,
    )];
    let check = |bound| {
        move |(limit, value, part, whole, empty): (&'static str, Option<Limit>, usize, usize, &str)| {
            Some(Checked::new(limit, bound, value?, (part, whole), empty))
        }
    };
    most.into_iter().filter_map(check(AT_MOST)).chain(least.into_iter().filter_map(check(AT_LEAST))).collect()
}

const AT_MOST: &str = "at most";
const AT_LEAST: &str = "at least";

impl Checked {
    /// Without a whole there is no measure, and the gate is not met: `empty` says why.
    fn new(
        limit: &'static str,
        bound: &'static str,
        value: Limit,
        (part, whole): (usize, usize),
        empty: &str,
    ) -> Self {
        let share = (whole > 0).then(|| part as f64 / whole as f64);
        let (measured, bounding) = match value {
            Limit::Share(limit) => (share, limit),
            Limit::Count(limit) => (share.map(|_| part as f64), limit as f64),
        };
        // 7% of 100 is 7, whatever the last bit of 0.07 says.
        let slack = 1e-12 * bounding.max(1.0);
        let met = measured.is_some_and(|measured| {
            if bound == AT_MOST { measured <= bounding + slack } else { measured >= bounding - slack }
        });
        let undefined = share.is_none().then(|| empty.to_owned());
        Self { limit, bound, value: value.text(), part, whole, share, met, undefined }
    }

    fn line(&self) -> String {
        let verdict = if self.met { "met" } else { "NOT MET" };
        let measured = match (self.share, &self.undefined) {
            (Some(share), _) => format!("{} of {} ({:.2} %)", self.part, self.whole, share * 100.0),
            (None, reason) => format!("undefined ({})", reason.as_deref().unwrap_or_default()),
        };
        format!("{verdict}: {} {measured}, {} {}\n", self.limit, self.bound, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_share_or_a_count_and_never_a_guess() {
        assert_eq!("5%".parse(), Ok(Limit::Share(0.05)));
        assert_eq!("0.05".parse(), Ok(Limit::Share(0.05)));
        assert_eq!("0".parse(), Ok(Limit::Count(0)));
        for text in ["", "%", "101%", "-1", "1.5", "NaN%", "inf%", "five"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_that_is_just_the_limit_is_met_and_one_more_is_not() {
        for percent in 1..100 {
            let limit: Limit = format!("{percent}%").parse().unwrap();
            assert_eq!(limit.text(), format!("{percent}%"));
            let met = |part| Checked::new("x", AT_MOST, limit, (part, 100), "").met;
            assert!(met(percent) && !met(percent + 1), "{percent}%");
        }
    }

    #[test]
    fn what_cannot_be_measured_fails_with_its_reason() {
        let checked =
            Checked::new("flagged answers", AT_MOST, Limit::Count(0), (0, 0), "no answer was scored");
        assert!(!checked.met);
        assert!(checked.line().contains("NOT MET") && checked.line().contains("no answer was scored"));
    }
}
