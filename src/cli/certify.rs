//! `ragscope certify`: does retrieval on this data suit certification, and the calibration itself.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::certify::{
    Alpha, CalibrationArtefact, CalibrationMode, Diagnostics, DiagnosticsSettings, LabelSettings,
    ModeDiagnostics, QuestionScores, RougeMode, RougeSettings, Similarity, Verdict, diagnose, judge,
};
use crate::data::{Dataset, Example};
use crate::inspect::{CertificateSummary, Corpus, mode_name, score_questions, source_of};
use crate::metrics::Measure;
use crate::retrieval::{Bm25Settings, ChunkingSettings};

use super::data_set::DataArguments;
use super::thresholds::alpha_of;
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope certify`.
#[derive(Debug, Args)]
pub struct CertifyArguments {
    #[command(flatten)]
    data: DataArguments,
    /// Chunks retrieved per question
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    top_k: u16,
    /// Level of the verdict, in thousandths
    #[arg(long, default_value_t = 0.1)]
    alpha: f64,
    /// One calibration value per question (exact), or all correct chunks pooled (the paper)
    #[arg(long, value_enum, default_value_t = Mode::PerQuestion)]
    mode: Mode,
    /// Also a verdict for each value of this group key, for example domain
    #[arg(long, value_name = "KEY")]
    by: Option<String>,
    /// Words and punctuation marks of a chunk, at most
    #[arg(long, default_value_t = 512)]
    chunk_tokens: usize,
    /// Words and marks repeated from the chunk before
    #[arg(long, default_value_t = 20)]
    overlap: usize,
    /// Reduce words to English stems before searching
    #[arg(long)]
    stem: bool,
    /// Quantile of wrong-document similarities a correct chunk must reach (0: the document decides; the
    /// paper takes 0.99 for long documents)
    #[arg(long, default_value_t = 0.0)]
    beta: f64,
    /// ROUGE-L over Unicode words, or exactly as the rouge-score package
    #[arg(long, value_enum, default_value_t = Rouge::Unicode)]
    rouge: Rouge,
    /// Which side of ROUGE-L is the similarity
    #[arg(long, value_enum, default_value_t = Side::FMeasure)]
    similarity: Side,
    /// Random halves the figures are averaged over
    #[arg(long, default_value_t = 20)]
    repeats: usize,
    /// Seed of the halves
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Where the calibration goes [default: NAME.calibration.json here; an existing one is kept]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the calibration if it exists
    #[arg(long)]
    force: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    PerQuestion,
    Pooled,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Rouge {
    Unicode,
    RougeScore,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Side {
    FMeasure,
    Recall,
    Precision,
}

#[derive(Serialize)]
struct Certified {
    data: String,
    data_hash: String,
    documents: usize,
    chunks: usize,
    diagnostics: Diagnostics,
    verdict: Verdict,
    guarantee: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<GroupVerdict>,
    calibration: String,
}

#[derive(Serialize)]
struct GroupVerdict {
    group: String,
    questions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    recall: Option<Measure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Indexes, retrieves, diagnoses, prints, writes the calibration.
pub fn run(_: &Shared, arguments: &CertifyArguments) -> Outcome {
    let alpha = alpha_of(arguments.alpha)?;
    let dataset = arguments.data.open()?;
    if dataset.documents.is_empty() {
        return Err(Failure::input_message(format!(
            "{} has no documents to search, so there is no retrieval to certify; ragscope's own layout names \
             them in documents.jsonl",
            dataset.name
        )));
    }
    let k = usize::from(arguments.top_k);
    let chunking = ChunkingSettings {
        tokens: arguments.chunk_tokens,
        overlap: arguments.overlap,
        ..ChunkingSettings::default()
    };
    let bm25 = Bm25Settings { english_stemmer: arguments.stem };
    let corpus = Corpus::index(&dataset.documents, chunking, bm25).map_err(Failure::input)?;
    let labels = label_settings(arguments)?;
    let scored = score_questions(&dataset, &corpus, k, &labels).map_err(Failure::input)?;
    if let Some(warning) = scored.labels.warning(&labels) {
        output::tell(&format!("note: {warning}"));
    }
    let settings = DiagnosticsSettings {
        k,
        repeats: arguments.repeats,
        seed: arguments.seed,
        alphas: DiagnosticsSettings::default().alphas.into_iter().chain([alpha]).collect(),
    };
    let mode = match arguments.mode {
        Mode::PerQuestion => CalibrationMode::PerQuestion,
        Mode::Pooled => CalibrationMode::Pooled,
    };
    let diagnostics = diagnose(&scored.scores, &settings).map_err(Failure::input)?;
    let source = source_of(&dataset, &corpus, k, labels, arguments.seed);
    let artefact =
        CalibrationArtefact::new(source, &scored.scores, &scored.labels).map_err(Failure::input)?;
    let path = write_calibration(arguments, &dataset, &artefact)?;
    let summary = CertificateSummary {
        values: artefact.calibration(mode).len(),
        k,
        mode,
        recall: diagnostics.recall.clone(),
        data: dataset.name.clone(),
        verdict: None,
        diagnostics: None,
    };
    let examples: Vec<&Example> = dataset.examples().collect();
    let groups = match &arguments.by {
        Some(key) => groups(key, &examples, &scored.rows, &scored.scores, &settings, alpha, mode),
        None => Vec::new(),
    };
    let certified = Certified {
        data: dataset.name.clone(),
        data_hash: dataset.hash.clone(),
        documents: dataset.documents.len(),
        chunks: corpus.chunk_count(),
        verdict: judge(&diagnostics, alpha, mode),
        diagnostics,
        guarantee: summary.sentences(alpha),
        groups,
        calibration: path.display().to_string(),
    };
    if arguments.json { output::print_json(&certified) } else { output::print(&text(&certified, mode)) }
}

fn label_settings(arguments: &CertifyArguments) -> Outcome<LabelSettings> {
    let beta = arguments.beta;
    if !(0.0..=1.0).contains(&beta) {
        return Err(Failure::Usage(format!("--beta takes a number from 0 to 1, but {beta} came")));
    }
    Ok(LabelSettings {
        rouge: RougeSettings {
            mode: match arguments.rouge {
                Rouge::Unicode => RougeMode::Unicode,
                Rouge::RougeScore => RougeMode::RougeScore,
            },
            ..RougeSettings::default()
        },
        similarity: match arguments.similarity {
            Side::FMeasure => Similarity::FMeasure,
            Side::Recall => Similarity::Recall,
            Side::Precision => Similarity::Precision,
        },
        beta_thousandths: (beta * 1000.0).round() as u16,
    })
}

/// Writes the calibration. Without a name of the user's own, an existing file is left alone and another
/// name is taken.
fn write_calibration(
    arguments: &CertifyArguments,
    dataset: &Dataset,
    artefact: &CalibrationArtefact,
) -> Outcome<PathBuf> {
    let json = artefact.to_json().map_err(Failure::input)? + "\n";
    let path = arguments.output.clone().unwrap_or_else(|| {
        let name: String = dataset
            .name
            .chars()
            .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' })
            .collect();
        output::free_name(std::path::Path::new("."), &name, "calibration.json")
    });
    output::write_new(&path, json.as_bytes(), arguments.force)?;
    Ok(path)
}

fn groups(
    key: &str,
    examples: &[&Example],
    rows: &[usize],
    scores: &[QuestionScores],
    settings: &DiagnosticsSettings,
    alpha: Alpha,
    mode: CalibrationMode,
) -> Vec<GroupVerdict> {
    let group_of = |row: usize| {
        examples.iter().find(|example| example.row == row).and_then(|example| example.groups.get(key))
    };
    let mut by_group: std::collections::BTreeMap<String, Vec<QuestionScores>> =
        std::collections::BTreeMap::default();
    for (row, question) in rows.iter().zip(scores) {
        let group = group_of(*row).cloned().unwrap_or_else(|| "(none)".to_owned());
        by_group.entry(group).or_default().push(question.clone());
    }
    by_group
        .into_iter()
        .map(|(group, scores)| match diagnose(&scores, settings) {
            Ok(diagnostics) => GroupVerdict {
                group,
                questions: scores.len(),
                recall: Some(diagnostics.recall.clone()),
                verdict: Some(judge(&diagnostics, alpha, mode)),
                reason: None,
            },
            Err(error) => GroupVerdict {
                group,
                questions: scores.len(),
                recall: None,
                verdict: None,
                reason: Some(error.to_string()),
            },
        })
        .collect()
}

fn text(certified: &Certified, mode: CalibrationMode) -> String {
    let Certified { diagnostics, verdict, .. } = certified;
    let k = diagnostics.settings.k;
    let mut text = format!(
        "{} questions, {} documents, {} chunks, top {k}, mean of {} random halves, calibrated {}\n",
        diagnostics.questions,
        certified.documents,
        certified.chunks,
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
