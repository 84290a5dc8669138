//! `ragscope report RUN --verify REPORT`: does a written report still say what the evidence says?

use std::path::Path;

use crate::disk::read_at_most;
use crate::evidence::HashedRun;
use crate::report::verify::{Difference, Face, Stated, differences};
use crate::report::{Context, RunFacts};
use crate::text::visible_path;

use super::super::report_context::{
    certificate_in, context, run_facts, threshold_options, token_option, with_highlighting,
};
use super::super::thresholds::{CertifiedHighlighting, HighlightingThreshold};
use super::super::{Failure, Outcome, output};

/// Most bytes of a report.
const LARGEST: u64 = 4 << 30;

/// Differences that are named one by one.
const NAMED: usize = 5;

/// Makes the report at `path` again from `run` and says whether they match (exit code 1: they do not).
pub fn verify(
    path: &Path,
    run_path: &Path,
    run: &HashedRun,
    highlighting: &HighlightingThreshold,
) -> Outcome {
    let shown = visible_path(path);
    let bytes = read_at_most(path, LARGEST)
        .map_err(|error| Failure::input_message(format!("cannot read the report {shown}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::input_message(format!("{shown}: expected a report as UTF-8 text, found other bytes"))
    })?;
    let stated = Stated::read(&text).map_err(Failure::input)?;
    let certified = highlighting_of(&stated, run, highlighting)?;
    let (expected, mut found) = expected(&stated, run_path, run, certified.as_ref());
    found.extend(differences(&text, &stated, &run.evidence, &expected));
    for difference in found.iter().take(NAMED) {
        output::print(&format!("differs: {difference}\n"))?;
    }
    if found.len() > NAMED {
        output::print(&format!("{} more differences\n", found.len() - NAMED))?;
    }
    let own = own_version();
    let other_version = (stated.context.generated_by != own).then(|| {
        format!(
            "; it was written by {}, this is {own}",
            crate::text::visible_line(&stated.context.generated_by)
        )
    });
    if found.is_empty() {
        let face = match stated.face {
            Face::Html => "page",
            Face::Markdown => "Markdown report",
            Face::Json => "JSON report",
        };
        return output::print(&format!(
            "match: every finding, number and sentence of the {face} {shown} follows from {} ({} records, SHA-256 \
             {}) under the thresholds that it states{}\n",
            visible_path(run_path),
            run.evidence.len(),
            run.sha256,
            other_version.unwrap_or_default(),
        ));
    }
    Err(Failure::Gate(format!(
        "{shown} does not match {}: {}{}",
        visible_path(run_path),
        match found.len() {
            1 => "1 difference".to_owned(),
            many => format!("{many} differences"),
        },
        other_version.unwrap_or_default(),
    )))
}

fn own_version() -> String {
    format!("ragscope {}", env!("CARGO_PKG_VERSION"))
}

/// The calibration of the highlighting, where the report says that one gave its token threshold.
fn highlighting_of(
    stated: &Stated,
    run: &HashedRun,
    named: &HighlightingThreshold,
) -> Outcome<Option<CertifiedHighlighting>> {
    match (&stated.context.highlighting, &named.highlighting) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::Usage(
            "--highlighting: the report states no calibration of the highlighting; leave it out".to_owned(),
        )),
        (Some(facts), None) => Err(Failure::Usage(format!(
            "the report's token threshold comes from a calibration of the highlighting (SHA-256 {}); name that \
             file with --highlighting FILE",
            crate::text::visible_line(&facts.sha256)
        ))),
        (Some(facts), Some(path)) => {
            let asked = HighlightingThreshold { beta: Some(facts.beta), highlighting: Some(path.clone()) };
            asked.apply(&mut stated.thresholds.clone(), &run.evidence)
        }
    }
}

/// What the report should say of itself, and where it says something else of its thresholds.
fn expected(
    stated: &Stated,
    run_path: &Path,
    run: &HashedRun,
    highlighting: Option<&CertifiedHighlighting>,
) -> (Context, Vec<Difference>) {
    let (said, thresholds) = (&stated.context, &stated.thresholds);
    let mut own = context(&said.title, "", certificate_in(&run.evidence).as_ref(), thresholds);
    let mut options = threshold_options(thresholds);
    let mut found = Vec::new();
    if let Some(highlighting) = highlighting {
        own = with_highlighting(own, highlighting, thresholds);
        // The file may lie elsewhere now: its hash is compared, not its name.
        let by_number = token_option(thresholds);
        let by_promise = format!("--beta {} --highlighting ", highlighting.guarantee.beta);
        options = options.replace(&by_number, "");
        if !said.command.contains(&by_promise) {
            found.push(Difference::new("context.command", Some(&said.command), Some(&by_promise)));
        }
        if highlighting.threshold != thresholds.token {
            found.push(Difference::new(
                "thresholds.token",
                Some(&thresholds.token.to_string()),
                Some(&highlighting.threshold.to_string()),
            ));
        }
    }
    let said_options = format!("{} ", said.command);
    let missing: Vec<String> = options
        .split("--")
        .map(str::trim)
        .filter(|option| !option.is_empty() && !said_options.contains(&format!("--{option} ")))
        .map(|option| format!("--{option}"))
        .collect();
    if !said.command.is_empty() && !missing.is_empty() {
        found.push(Difference::new("context.command", Some(&said.command), Some(&missing.join(" "))));
    }
    let file = said.run.as_ref().map(|said| RunFacts {
        // As it was named then: its bytes are what is compared.
        file: said.file.clone(),
        ..run_facts(run_path, &run.sha256)
    });
    let own = Context {
        command: said.command.clone(),
        generated_by: said.generated_by.clone(),
        date: said.date.clone(),
        run: file,
        ..own
    };
    (own, found)
}
