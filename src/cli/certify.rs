//! `ragscope certify`: does retrieval on this data suit certification, and the calibration itself.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::certify::{
    Alpha, CalibrationArtefact, CalibrationMode, Diagnostics, DiagnosticsSettings, LabelSettings,
    QuestionScores, RougeMode, RougeSettings, Similarity, Verdict, diagnose, judge,
};
use crate::data::{Dataset, Example};
use crate::inspect::{
    CertificateSummary, Corpus, RetrieverKind, ScoreKind, ScoredQuestions, given_kind, most_passages,
    score_given, score_questions, source_of,
};
use crate::metrics::Measure;

use super::data_set::DataArguments;
use super::models::cache_directory;
use super::retriever::{GivenScoresArguments, RetrieverArguments};
use super::session::{failure_of, tell_on_standard_error};
use super::thresholds::alpha_of;
use super::{Failure, Outcome, Shared, output};

mod text;

/// Options of `ragscope certify`.
#[derive(Debug, Args)]
pub struct CertifyArguments {
    #[command(flatten)]
    data: DataArguments,
    /// Chunks retrieved per question [default: 10; of passages that came with the data all]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    top_k: Option<u16>,
    /// Level of the verdict, in thousandths
    #[arg(long, default_value_t = 0.1)]
    alpha: f64,
    /// One calibration value per question (exact), or all correct chunks pooled (the paper)
    #[arg(long, value_enum, default_value_t = Mode::PerQuestion)]
    mode: Mode,
    /// Also a verdict for each value of this group key, for example domain
    #[arg(long, value_name = "KEY")]
    by: Option<String>,
    #[command(flatten)]
    retriever: RetrieverArguments,
    #[command(flatten)]
    given: GivenScoresArguments,
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
    /// Only these levels, for example 0.05,0.1,0.2 [default: a grid from 0.01 to 0.95]
    #[arg(long, value_name = "LEVEL,...", value_delimiter = ',')]
    levels: Vec<f64>,
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
    #[command(flatten)]
    printing: Printing,
}

#[derive(Debug, Args)]
struct Printing {
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Print one Markdown row for each level: coverage realised over the halves beside what was promised
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
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
    /// `null`: a search server, or passages that came with the data.
    chunks: Option<usize>,
    retriever: String,
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
    let labels = label_settings(arguments)?;
    let Searched { scored, kind, k, chunks } = search(&dataset, arguments, labels)?;
    if let Some(warning) = scored.labels.warning(&labels) {
        output::tell(&format!("note: {warning}"));
    }
    let levels = match &arguments.levels[..] {
        [] => DiagnosticsSettings::default().alphas,
        levels => levels.iter().map(|&level| alpha_of(level)).collect::<Outcome<Vec<Alpha>>>()?,
    };
    // The verdict needs its own level; among chosen ones it is not printed unasked.
    let printed = (!arguments.levels.is_empty()).then(|| levels.clone());
    let settings = DiagnosticsSettings {
        k,
        repeats: arguments.repeats,
        seed: arguments.seed,
        alphas: levels.into_iter().chain([alpha]).collect(),
    };
    let mode = match arguments.mode {
        Mode::PerQuestion => CalibrationMode::PerQuestion,
        Mode::Pooled => CalibrationMode::Pooled,
    };
    let mut diagnostics = diagnose(&scored.scores, &settings).map_err(Failure::input)?;
    let verdict = judge(&diagnostics, alpha, mode);
    if let Some(printed) = printed {
        for figures in [&mut diagnostics.per_question, &mut diagnostics.pooled] {
            figures.rows.retain(|row| printed.contains(&row.alpha));
        }
    }
    let source = source_of(&dataset, &kind, k, labels, arguments.seed);
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
        chunks,
        retriever: kind.retriever.clone(),
        verdict,
        diagnostics,
        guarantee: summary.sentences(alpha),
        groups,
        calibration: path.display().to_string(),
    };
    if arguments.printing.json {
        output::print_json(&certified)
    } else if arguments.printing.markdown {
        output::print(&text::markdown(&certified, mode))
    } else {
        output::print(&text::text(&certified, mode))
    }
}

/// The scores of all questions, and whose they are.
struct Searched {
    scored: ScoredQuestions,
    kind: ScoreKind,
    k: usize,
    chunks: Option<usize>,
}

/// Retrieves, or takes the passages and scores that came with the data where the user says so or nothing can be searched.
fn search(dataset: &Dataset, arguments: &CertifyArguments, labels: LabelSettings) -> Outcome<Searched> {
    let settings = arguments.retriever.settings(None)?;
    let named = arguments.given.given_scores.as_deref();
    let searches = !dataset.documents.is_empty() || matches!(settings.kind, RetrieverKind::Server(_));
    if named.is_some() || !searches {
        let k = arguments.top_k.map_or_else(|| most_passages(dataset), usize::from);
        let scored = score_given(dataset, k, &labels).map_err(|reason| {
            Failure::input_message(format!(
                "{} has no documents to search, so there is no retrieval to certify; ragscope's own layout names them in \
                 documents.jsonl. Nor can the passages that came with it be certified: {reason}",
                dataset.name
            ))
        })?;
        let kind = given_kind(named.unwrap_or(&dataset.name));
        output::tell(&format!(
            "note: certifying the scores that came with the passages of {} questions; they count as scores of {}",
            scored.scores.len(),
            named.unwrap_or(&dataset.name)
        ));
        return Ok(Searched { scored, kind, k, chunks: None });
    }
    let k = arguments.top_k.map_or(10, usize::from);
    let corpus =
        Corpus::open(&dataset.documents, &settings, &cache_directory()?, &mut tell_on_standard_error)
            .map_err(failure_of)?;
    let scored = score_questions(dataset, &corpus, k, &labels).map_err(failure_of)?;
    Ok(Searched { scored, kind: corpus.score_kind(), k, chunks: corpus.chunk_count() })
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
    let json = artefact.to_json().map_err(Failure::input)?;
    let json = crate::text::escaped_json(&json).into_owned() + "\n";
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
