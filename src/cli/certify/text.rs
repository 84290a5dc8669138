//! What `ragscope certify` prints: tables for people, and for pages.

use crate::certify::{Alpha, CalibrationMode, ModeDiagnostics};
use crate::inspect::mode_name;
use crate::metrics::Measure;

use super::Certified;

pub(super) fn text(certified: &Certified, mode: CalibrationMode) -> String {
    let Certified { diagnostics, verdict, .. } = certified;
    let k = diagnostics.settings.k;
    let mut text = format!(
        "{} questions, {}, {}, top {k}, mean of {} random halves, calibrated {}\n",
        diagnostics.questions,
        match certified.chunks {
            Some(chunks) => format!("{} documents, {chunks} chunks", certified.documents),
            None => "chunks that are not kept here".to_owned(),
        },
        crate::text::visible_line(&certified.retriever),
        diagnostics.settings.repeats,
        mode_name(mode),
    );
    if diagnostics.unreachable > 0 {
        text += &format!("{} questions name a document that is not in the corpus\n", diagnostics.unreachable);
    }
    text += &format!(
        "recall@{k} {:.3}   hit@1 {:.3}   MRR {:.3}   AUROC of the score {:.3}\n\n",
        diagnostics.recall, diagnostics.hit_at_1, diagnostics.mean_reciprocal_rank, diagnostics.auroc
    );
    text += &table(diagnostics.mode(mode), diagnostics.mode(CalibrationMode::Pooled), verdict.alpha);
    text += "\nm1, m2 and coverage are means over all halves; the interval and the test below are those of the first\n";
    if let Some(test) = &diagnostics.mode(mode).kolmogorov_smirnov {
        text += &format!(
            "calibration against test half (Kolmogorov-Smirnov): distance {:.3}, p {:.3}\n",
            test.statistic, test.p_value
        );
    }
    text += &format!("\nverdict: {verdict}\n");
    for group in &certified.groups {
        let name = crate::text::visible_line(&group.group);
        let said = match (&group.verdict, &group.reason) {
            (Some(verdict), _) => verdict.to_string(),
            (None, reason) => reason.clone().unwrap_or_default(),
        };
        text += &format!("  {name} ({} questions): {said}\n", group.questions);
    }
    text += "\nguarantee: ";
    text += &certified.guarantee.join("\n  - ");
    text += &format!("\n\ncalibration written: {}\n", crate::text::visible_line(&certified.calibration));
    text
}

fn table(figures: &ModeDiagnostics, pooled: &ModeDiagnostics, alpha: Alpha) -> String {
    let mut text = format!(
        "  {:>5}  {:>6}  {:>6}  {:>8}  {:>16}  {:>16}  {:>15}  {:>10}\n",
        "alpha", "m1", "m2", "coverage", "one half, 95 %", "expected band", "pooled coverage", "end to end"
    );
    let bounds = |bounds: Option<crate::certify::Bounds>| {
        bounds.map_or_else(|| "-".to_owned(), |bounds| format!("{:.3} to {:.3}", bounds.lower, bounds.upper))
    };
    for row in &figures.rows {
        let pooled =
            pooled.row(row.alpha).map_or_else(|| "-".to_owned(), |row| format!("{:.3}", row.coverage));
        text += &format!(
            "{} {:>5}  {:>6.3}  {:>6.3}  {:>8.3}  {:>16}  {:>16}  {:>15}  {:>10.3}\n",
            if row.alpha == alpha { ">" } else { " " },
            row.alpha.value(),
            row.m1,
            row.m2,
            row.coverage,
            bounds(row.coverage_interval),
            bounds(row.coverage_band),
            pooled,
            row.end_to_end_floor,
        );
    }
    text
}

/// One row for each level, as Markdown: what was promised, and what came of it.
pub(super) fn markdown(certified: &Certified, mode: CalibrationMode) -> String {
    let Certified { diagnostics, .. } = certified;
    let k = diagnostics.settings.k;
    let figures = diagnostics.mode(mode);
    let mut text =
        "| data | retriever | questions | K | recall@K | n | alpha | 1 - alpha | coverage | Monte Carlo \
                    error | m1 | m2 |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let of = |measure: &Measure, digits: usize| format!("{measure:.digits$}").replace('|', "\\|");
    for row in &figures.rows {
        text += &format!(
            "| {} | {} | {} | {k} | {} | {} | {} | {:.2} | {} | {} | {} | {} |\n",
            crate::text::visible_line(&certified.data).replace('|', "\\|"),
            certified.retriever,
            diagnostics.questions,
            of(&diagnostics.recall, 3),
            of(&figures.mean_calibration_values, 0),
            row.alpha.value(),
            1.0 - row.alpha.value(),
            of(&row.coverage, 4),
            of(&row.coverage_monte_carlo_error, 4),
            of(&row.m1, 3),
            of(&row.m2, 3),
        );
    }
    text
}
