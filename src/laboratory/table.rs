//! An evaluation as text: tables for the terminal and for Markdown.

use std::fmt::Write as _;

use crate::certify::highlighting::Population;
use crate::metrics::{Interval, Measure, macro_mean};
use crate::text::visible_line;

use super::{EvaluationReport, Group, GroupCell, GroupMatrix, MethodRow, Stage};

/// How cells become a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Markdown,
}

/// A table before it is laid out; the first row is its head.
struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl EvaluationReport {
    /// Aligned text tables.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.lay_out(Form::Text)
    }

    /// Markdown tables.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        self.lay_out(Form::Markdown)
    }

    fn lay_out(&self, form: Form) -> String {
        let mut out = format!(
            "{} answers of {} sources, {} tokens ({} positive), {} answers inconsistent; {}.\n\
             Model {}, data {}. Intervals: 95 %, {} resamples of sources. Smoothing: persistence {} for tokens, {} and the maximum for answers, the same for every row.\n",
            self.answers,
            self.sources,
            self.tokens,
            self.positive_tokens,
            self.inconsistent_answers,
            self.protocol.sentence(),
            visible_line(&self.model),
            visible_line(&self.data_hash),
            self.settings.resamples,
            self.settings.rho,
            self.settings.rho_answer,
        );
        for more in &self.settings.more_training {
            let _ = writeln!(
                out,
                "Rows that end with \"{}\" were trained on {} further answers, in every training; they are not judged.",
                visible_line(&more.suffix()),
                more.answers
            );
        }
        let tables = [
            self.ranking_table("Tokens", &self.chance_tokens, |row| {
                [&row.tokens_raw, &row.tokens_smoothed]
                    .map(|estimate| [&estimate.average_precision, &estimate.auroc])
            }),
            self.ranking_table("Answers (positive = inconsistent)", &self.chance_answers, |row| {
                [&row.answers_raw, &row.answers_smoothed]
                    .map(|estimate| [&estimate.average_precision, &estimate.auroc])
            }),
            self.span_table(),
            self.generator_table(),
            self.lookback_table(),
            self.highlighting_table(),
            self.comparison_table(),
        ];
        let groups: Vec<Table> = self.groups.iter().map(group_table).collect();
        for table in tables.iter().chain(&groups).filter(|table| table.rows.len() > 1) {
            table.write(form, &mut out);
        }
        if !self.skipped.is_empty() {
            out.push_str("\nNot evaluated:\n");
            for row in &self.skipped {
                let _ = writeln!(out, "- {}: {}", visible_line(&row.name), visible_line(&row.reason));
            }
        }
        out
    }

    fn ranking_table<'a>(
        &'a self,
        title: &str,
        chance: &Measure,
        columns: impl Fn(&'a MethodRow) -> [[&'a Interval; 2]; 2],
    ) -> Table {
        let head = ["method", "AP raw", "AP smoothed", "AUROC raw", "AUROC smoothed"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let by_chance = format!("{chance:.3}");
        let half = "0.500".to_owned();
        rows.push(vec!["chance".to_owned(), by_chance.clone(), by_chance, half.clone(), half]);
        for row in &self.rows {
            let [raw, smoothed] = columns(row);
            let cells = [raw[0], smoothed[0], raw[1], smoothed[1]].map(interval);
            rows.push([vec![row.name.clone()], cells.to_vec()].concat());
        }
        Table { title: title.to_owned(), rows }
    }

    fn span_table(&self) -> Table {
        let head = ["method", "F1", "precision", "recall", "thresholds", "ECE raw", "ECE smoothed"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for row in &self.rows {
            let lowest = row.spans.thresholds.iter().copied().fold(1.0, f64::min);
            let highest = row.spans.thresholds.iter().copied().fold(0.0, f64::max);
            rows.push(vec![
                row.name.clone(),
                format!("{:.3}", row.spans.f1),
                format!("{:.3}", row.spans.precision),
                format!("{:.3}", row.spans.recall),
                format!("{lowest:.3} to {highest:.3}"),
                format!("{:.3}", row.calibration_error_raw),
                format!("{:.3}", row.calibration_error_smoothed),
            ]);
        }
        let chosen_on = self.protocol.chosen_on();
        let title = format!(
            "Spans (character overlap, thresholds chosen on {chosen_on}) and calibration of token scores"
        );
        Table { title, rows }
    }

    fn generator_table(&self) -> Table {
        let head = ["method", "generator", "answers", "token chance", "token AP", "token AUROC"];
        let head = [&head[..], &["answer chance", "answer AP", "answer AUROC"]].concat();
        let mut rows: Vec<Vec<String>> = vec![head.iter().map(|&cell| cell.to_owned()).collect()];
        for row in &self.rows {
            for (generator, figures) in &row.by_generator {
                let (tokens, answers) = (&figures.tokens, &figures.answer_level);
                let mut cells = vec![row.name.clone(), generator.clone(), figures.answers.to_string()];
                for measure in [
                    &tokens.prevalence,
                    &tokens.average_precision,
                    &tokens.auroc,
                    &answers.prevalence,
                    &answers.average_precision,
                    &answers.auroc,
                ] {
                    cells.push(format!("{measure:.3}"));
                }
                rows.push(cells);
            }
            let figures = || row.by_generator.values();
            let means = [
                macro_mean(figures().map(|figures| &figures.tokens.average_precision)),
                macro_mean(figures().map(|figures| &figures.tokens.auroc)),
                macro_mean(figures().map(|figures| &figures.answer_level.average_precision)),
                macro_mean(figures().map(|figures| &figures.answer_level.auroc)),
            ];
            if !row.by_generator.is_empty() {
                let [token_precision, token_auroc, precision, auroc] =
                    means.map(|mean| match mean.left_out {
                        0 => format!("{:.3}", mean.mean),
                        left_out => format!("{:.3} ({left_out} left out)", mean.mean),
                    });
                let empty = String::new;
                rows.push(vec![
                    row.name.clone(),
                    "mean of generators".to_owned(),
                    self.answers.to_string(),
                    empty(),
                    token_precision,
                    token_auroc,
                    empty(),
                    precision,
                    auroc,
                ]);
            }
        }
        Table { title: "By generator (smoothed)".to_owned(), rows }
    }

    fn highlighting_table(&self) -> Table {
        let head = [
            "method",
            "answers counted",
            "beta: missed share at most",
            "threshold",
            "tokens flagged",
            "clean answers with a flag",
            "missed share on held-out halves",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let number = |value: Option<f64>| value.map_or("n/a".to_owned(), |value| format!("{value:.3}"));
        for row in &self.highlighting {
            for level in &row.levels {
                let population = match row.population {
                    Population::All => "all",
                    Population::Unsupported => "with unsupported tokens",
                };
                rows.push(vec![
                    row.name.clone(),
                    format!("{population} ({} sources)", row.sources),
                    format!("{}", level.beta),
                    level.controlled.map_or_else(
                        || "none: too few sources".to_owned(),
                        |row| format!("{:.4}", row.threshold),
                    ),
                    number(level.controlled.map(|row| row.flagged_tokens)),
                    number(level.controlled.and_then(|row| row.flagged_clean)),
                    format!(
                        "{:.3} +- {:.3} ({} halves)",
                        level.held_out.missed, level.held_out.standard_error, level.held_out.halves
                    ),
                ]);
            }
        }
        let scores = self.protocol.scores();
        Table {
            title: format!("Certified highlighting (conformal risk control by source, on {scores})"),
            rows,
        }
    }

    fn comparison_table(&self) -> Table {
        let head = ["first", "against", "token AP", "answer AP", "resamples where the first is not better"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let name = |(name, stage): &(String, Stage)| match stage {
            Stage::Raw => format!("{name}, raw"),
            Stage::Smoothed => format!("{name}, smoothed"),
        };
        for row in &self.comparisons {
            rows.push(vec![
                name(&row.comparison.first),
                name(&row.comparison.second),
                interval(&row.tokens.difference),
                interval(&row.answers.difference),
                format!("{:.3} / {:.3}", row.tokens.share_not_above, row.answers.share_not_above),
            ]);
        }
        Table { title: "Differences, paired over resamples of sources".to_owned(), rows }
    }

    fn lookback_table(&self) -> Table {
        let head = ["method", "AUROC", "AP", "AP by chance", "C", "ECE"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for row in &self.lookback {
            let c: Vec<String> = row.c.iter().map(ToString::to_string).collect();
            rows.push(vec![
                row.name.clone(),
                interval(&row.answers.auroc),
                interval(&row.answers.average_precision),
                format!("{:.3}", row.chance),
                c.join(" "),
                format!("{:.3}", row.calibration_error),
            ]);
        }
        Table { title: "Answer factuality from look-back ratios (positive = consistent)".to_owned(), rows }
    }
}

/// Rows: trained on; columns: tested on.
fn group_table(matrix: &GroupMatrix) -> Table {
    let size = |group: &Group| format!("{} ({}, {})", group.name, group.answers, group.inconsistent);
    let mut rows = vec![[vec!["trained on".to_owned()], matrix.groups.iter().map(size).collect()].concat()];
    for (group, cells) in matrix.groups.iter().zip(&matrix.cells) {
        let cell = |cell: &GroupCell| match cell.deviation {
            Some(deviation) => format!("{:.3} +- {deviation:.3}", cell.auroc),
            None => cell.auroc.to_string(),
        };
        rows.push([vec![group.name.clone()], cells.iter().map(cell).collect()].concat());
    }
    let title = format!(
        "{} from {by} to {by}: AUROC, mean and deviation of {} splits 3:2 by source (answers, inconsistent ones)",
        matrix.features,
        matrix.splits,
        by = matrix.by
    );
    Table { title, rows }
}

/// `0.436 [0.401, 0.470]`, or why there is none.
fn interval(interval: &Interval) -> String {
    match (interval.lower.value(), interval.upper.value()) {
        (Some(lower), Some(upper)) => format!("{:.3} [{lower:.3}, {upper:.3}]", interval.estimate),
        _ => format!("{:.3}", interval.estimate),
    }
}

impl Table {
    fn write(&self, form: Form, out: &mut String) {
        let rows: Vec<Vec<String>> =
            self.rows
                .iter()
                .map(|row| {
                    let shown = row.iter().map(|cell| visible_line(cell));
                    shown
                        .map(|cell| {
                            if form == Form::Markdown { cell.replace('|', "\\|") } else { cell.into_owned() }
                        })
                        .collect()
                })
                .collect();
        let columns = rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| unicode_width::UnicodeWidthStr::width(cell.as_str())).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let _ = match form {
            Form::Text => writeln!(out, "\n{}", self.title),
            Form::Markdown => writeln!(out, "\n### {}\n", self.title),
        };
        for (number, row) in rows.iter().enumerate() {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| {
                    let missing = width.saturating_sub(unicode_width::UnicodeWidthStr::width(cell.as_str()));
                    format!("{cell}{}", " ".repeat(missing))
                })
                .collect();
            let _ = match form {
                Form::Text => writeln!(out, "{}", cells.join("  ").trim_end()),
                Form::Markdown => writeln!(out, "| {} |", cells.join(" | ")),
            };
            if number == 0 && form == Form::Markdown {
                let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width.max(3))).collect();
                let _ = writeln!(out, "| {} |", rules.join(" | "));
            }
        }
    }
}
