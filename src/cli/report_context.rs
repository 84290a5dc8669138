//! What a report says of itself.

use std::path::Path;

use crate::certify::guarantee::{FLAGS_WITHOUT_GUARANTEE, NOT_CALIBRATED, SAME_DATA};
use crate::evidence::{Evidence, Thresholds};
use crate::inspect::{CertificateSummary, mode_name};
use crate::report::{CertificateFacts, Context, HighlightingFacts, RunFacts};
use crate::text::visible_path;

use super::thresholds::CertifiedHighlighting;

/// The context of a report about evidence certified as `summary` says.
pub fn context(
    title: &str,
    command: &str,
    summary: Option<&CertificateSummary>,
    thresholds: &Thresholds,
) -> Context {
    Context {
        title: title.to_owned(),
        command: format!("{command} {}", threshold_options(thresholds)),
        generated_by: format!("ragscope {}", env!("CARGO_PKG_VERSION")),
        date: None,
        run: None,
        certificate: summary.map(|summary| CertificateFacts {
            n: summary.values,
            k: summary.k,
            mode: mode_name(summary.mode).to_owned(),
            recall_at_k: summary.recall.value(),
            data: summary.data.clone(),
            verdict: summary.verdict.iter().cloned().collect(),
        }),
        highlighting: None,
        guarantees: match summary {
            Some(summary) => summary.sentences(thresholds.alpha),
            None => vec![NOT_CALIBRATED.to_owned()],
        },
        notes: vec![FLAGS_WITHOUT_GUARANTEE.to_owned()],
    }
}

/// The same context where a calibration of the highlighting gave the token threshold.
pub fn with_highlighting(
    mut context: Context,
    highlighting: &CertifiedHighlighting,
    thresholds: &Thresholds,
) -> Context {
    context.command = context.command.replace(&token_option(thresholds), &highlighting.options);
    context.highlighting =
        Some(HighlightingFacts { beta: highlighting.guarantee.beta, sha256: highlighting.sha256.clone() });
    context.guarantees.extend([highlighting.guarantee.statement(), highlighting.guarantee.limit()]);
    context.notes.retain(|note| note != FLAGS_WITHOUT_GUARANTEE);
    context.notes.push("Flagged words are those a trained detector finds unsupported.".to_owned());
    if highlighting.same_data {
        context.notes.push(SAME_DATA.to_owned());
    }
    context
}

/// The run that a report is about.
pub fn run_facts(path: &Path, sha256: &str) -> RunFacts {
    RunFacts { file: visible_path(path), sha256: sha256.to_owned() }
}

/// The certificate that the lines of a run name, where they name one.
pub fn certificate_in(evidence: &[Evidence]) -> Option<CertificateSummary> {
    evidence.iter().find_map(|one| CertificateSummary::from_settings(&one.provenance.settings))
}

/// The options that give these thresholds.
pub fn threshold_options(thresholds: &Thresholds) -> String {
    format!(
        "--alpha {} {} --rho {} --factuality {}",
        thresholds.alpha.value(),
        token_option(thresholds),
        thresholds.rho,
        thresholds.factuality
    )
}

/// The option that gives the token threshold as a number.
pub fn token_option(thresholds: &Thresholds) -> String {
    format!("--token-threshold {}", thresholds.token)
}
