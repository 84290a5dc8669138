//! `ragscope highlighting`: what share of unsupported tokens the highlighting misses at most, and its price.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::certify::guarantee::{FALSE_ALARMS, TRAINED_ON};
use crate::certify::highlighting::{
    AnswerLoss, CurveRow, FalseAlarmRow, HeldOut, HighlightingArtefact, HighlightingSource, Population,
    clean_answers, false_alarm_threshold, held_out,
};
use crate::evidence::{Thresholds, labelled_answers, read_run};
use crate::inspect::HeadFiles;
use crate::metrics::Measure;

use super::open::head_source;
use super::session::failure_of;
use super::thresholds::within;
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope highlighting`.
#[derive(Debug, Args)]
pub struct HighlightingArguments {
    /// Evidence about labelled answers, written by `ragscope score`
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Shares of unsupported tokens that may be missed in expectation
    #[arg(long, value_delimiter = ',', default_value = "0.05,0.1,0.2,0.3", value_name = "SHARES")]
    beta: Vec<f64>,
    /// Which answers the share is averaged over
    #[arg(long, value_enum, default_value_t = Over::All)]
    over: Over,
    /// False-alarm mode: probabilities that a clean answer gets any flag
    #[arg(long, value_delimiter = ',', default_value = "0.05,0.1,0.2", value_name = "RATES")]
    gamma: Vec<f64>,
    /// False-alarm mode: probability that the calibration itself misleads
    #[arg(long, default_value_t = 0.1)]
    delta: f64,
    /// Detector whose scores are calibrated [default: the first of each line]
    #[arg(long, value_name = "NAME")]
    detector: Option<String>,
    /// Label persistence P(stay) of the smoothing [default: the head's own]
    #[arg(long, value_name = "P_STAY")]
    rho: Option<f64>,
    /// Random halves by source for the held-out check
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    halves: u16,
    /// Seed of the halves and of the clean answer drawn for each source
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Where the calibration goes [default: highlighting.json here; an existing one is kept]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the calibration if it exists
    #[arg(long)]
    force: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Over {
    /// Every answer; one without unsupported tokens counts as nothing missed
    All,
    /// Only answers with unsupported tokens
    Unsupported,
}

#[derive(Serialize)]
struct Highlighted {
    #[serde(flatten)]
    scores: HighlightingSource,
    answers: usize,
    clean_answers: usize,
    tokens: usize,
    population: Population,
    sources: usize,
    loss_of_flagging_nothing: f64,
    missed_tokens: Vec<MissedTokens>,
    false_alarms: Vec<FalseAlarms>,
    notes: Vec<String>,
    calibration: String,
}

#[derive(Serialize)]
struct MissedTokens {
    beta: f64,
    feasible: bool,
    guarantee: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<CurveRow>,
    held_out: HeldOut,
}

#[derive(Serialize)]
struct FalseAlarms {
    #[serde(flatten)]
    test: FalseAlarmRow,
    /// Price at that threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    flagged_tokens: Option<f64>,
    /// Mean over sources of the missed share there.
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<f64>,
}

/// Reads the run, calibrates, checks on halves, prints, writes the calibration.
pub fn run(shared: &Shared, arguments: &HighlightingArguments) -> Outcome {
    for beta in &arguments.beta {
        within("--beta", *beta, 0.0, 1.0)?;
    }
    for gamma in &arguments.gamma {
        within("--gamma", *gamma, 0.0, 1.0)?;
    }
    within("--delta", arguments.delta, 0.0, 1.0)?;
    let heads = HeadFiles::read(&head_source(shared)).map_err(failure_of)?;
    let defaults: Thresholds = heads.thresholds().map_err(failure_of)?;
    let thresholds = Thresholds {
        rho: arguments.rho.map_or(Ok(defaults.rho), |stay| within("--rho", stay, 0.5, 0.9999))?,
        detector: arguments.detector.clone(),
        ..defaults
    };
    let (evidence, notice) = read_run(&arguments.run).map_err(Failure::input)?;
    if let Some(notice) = notice {
        output::tell(&format!("note: {notice}"));
    }
    let mut labelled = labelled_answers(&evidence, &thresholds).map_err(Failure::input)?;
    labelled.source.trained_on_data = trained_on(&heads, &labelled.source)?;
    for (reason, lines) in &labelled.left_out {
        output::tell(&format!("note: {lines} lines left out: {reason}"));
    }
    let population = match arguments.over {
        Over::All => Population::All,
        Over::Unsupported => Population::Unsupported,
    };
    let artefact = HighlightingArtefact::new(labelled.source.clone(), &labelled.answers, population);
    let path = write(arguments, &artefact)?;
    let highlighted = Highlighted {
        scores: labelled.source,
        answers: artefact.answers,
        clean_answers: artefact.clean_answers,
        tokens: artefact.tokens,
        population,
        sources: artefact.curve.sources,
        loss_of_flagging_nothing: artefact.curve.loss_of_flagging_nothing,
        missed_tokens: arguments
            .beta
            .iter()
            .map(|&beta| missed_tokens(&artefact, &labelled.answers, beta, arguments))
            .collect(),
        false_alarms: false_alarms(&labelled.answers, &artefact, arguments),
        notes: notes(&artefact),
        calibration: crate::text::visible_path(&path),
    };
    if arguments.json {
        output::print_json(&highlighted)
    } else {
        output::print(&text(&highlighted, usize::from(arguments.halves)))
    }
}

/// Whether the heads at hand are those of the run, and their card names the data of the run. Only a known
/// yes: other heads may have been trained on these answers as well.
fn trained_on(heads: &HeadFiles, run: &HighlightingSource) -> Outcome<bool> {
    let card = heads.card().map_err(failure_of)?;
    let own = card.name == run.detector && run.head_hash.as_ref() == Some(&heads.hash());
    let data = card.making.training.get("data_hash");
    Ok(own && data.is_some() && data == run.data_hash.as_ref())
}

fn missed_tokens(
    artefact: &HighlightingArtefact,
    answers: &[AnswerLoss],
    beta: f64,
    arguments: &HighlightingArguments,
) -> MissedTokens {
    let halves = usize::from(arguments.halves);
    let guarantee = artefact.guarantee(beta);
    MissedTokens {
        beta,
        feasible: guarantee.feasible(),
        guarantee: guarantee.statement(),
        at: artefact.controlled(beta).ok().copied(),
        held_out: held_out(answers, artefact.curve.population, beta, halves, arguments.seed),
    }
}

fn false_alarms(
    answers: &[AnswerLoss],
    artefact: &HighlightingArtefact,
    arguments: &HighlightingArguments,
) -> Vec<FalseAlarms> {
    let clean = clean_answers(answers, arguments.seed);
    arguments
        .gamma
        .iter()
        .map(|&gamma| {
            let test = false_alarm_threshold(&clean, gamma, arguments.delta);
            let at = test.threshold.map(|threshold| artefact.curve.at(answers, threshold));
            FalseAlarms {
                flagged_tokens: at.map(|row| row.flagged_tokens),
                missed: at.map(|row| row.mean_loss),
                test,
            }
        })
        .collect()
}

fn notes(artefact: &HighlightingArtefact) -> Vec<String> {
    let mut notes = vec![TRAINED_ON.to_owned(), artefact.guarantee(1.0).limit()];
    if artefact.curve.population == Population::All {
        notes.push(format!(
            "flagging nothing at all has a mean loss of {:.3}, since {} of {} answers are clean: a beta above \
             that says little; `--over unsupported` averages over the other answers only",
            artefact.curve.loss_of_flagging_nothing, artefact.clean_answers, artefact.answers
        ));
    }
    notes
}

fn write(arguments: &HighlightingArguments, artefact: &HighlightingArtefact) -> Outcome<PathBuf> {
    let json = artefact.to_json().map_err(Failure::input)?;
    let json = crate::text::escaped_json(&json).into_owned() + "\n";
    let path =
        arguments.output.clone().unwrap_or_else(|| output::free_name(Path::new("."), "highlighting", "json"));
    output::write_new(&path, json.as_bytes(), arguments.force)?;
    Ok(path)
}

fn text(highlighted: &Highlighted, halves: usize) -> String {
    let shown = |name: &Option<String>| {
        name.as_deref().map_or_else(|| "none".to_owned(), |name| crate::text::visible_line(name).into_owned())
    };
    let scores = &highlighted.scores;
    let counted = match highlighted.population {
        Population::All => "every answer counts",
        Population::Unsupported => "only answers with unsupported tokens count",
    };
    let mut text = format!(
        "{} answers ({} clean), {} tokens; calibrated on {} sources, {counted}\n\
         detector {}, rho {}, head {}, model {}\n\n\
         missed tokens (conformal risk control): expected missed share at most beta\n",
        highlighted.answers,
        highlighted.clean_answers,
        highlighted.tokens,
        highlighted.sources,
        crate::text::visible_line(&scores.detector),
        scores.rho,
        shown(&scores.head_hash),
        shown(&scores.model),
    );
    text += &format!(
        "  {:>6}  {:>10}  {:>8}  {:>14}  {:>21}  {:>21}  {:>18}\n",
        "beta",
        "threshold",
        "feasible",
        "flagged tokens",
        "flagged clean answers",
        format!("missed, {halves} halves"),
        "of unsupported",
    );
    for row in &highlighted.missed_tokens {
        let at = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), share);
        text += &format!(
            "  {:>6}  {:>10}  {:>8}  {:>14}  {:>21}  {:>21}  {:>18}\n",
            row.beta,
            row.at.map_or_else(|| "-".to_owned(), |row| threshold(row.threshold)),
            if row.feasible { "yes" } else { "no" },
            at(row.at.map(|row| row.flagged_tokens)),
            at(row.at.and_then(|row| row.flagged_clean)),
            match (&row.held_out.missed, &row.held_out.standard_error) {
                (Measure::Value(missed), Measure::Value(error)) => format!("{missed:.4} +- {error:.4}"),
                (missed, _) => format!("{missed:.4}"),
            },
            format!("{:.4}", row.held_out.missed_of_unsupported),
        );
    }
    for row in highlighted.missed_tokens.iter().filter(|row| !row.feasible) {
        text += &format!("  beta {}: {}\n", row.beta, row.guarantee);
    }
    text += &format!(
        "  missed: mean over the sources of the other half; of unsupported: over its answers with unsupported \
         tokens;\n  +-: error of drawing {halves} halves, not of having only these sources\n\n\
         false alarms (Learn-then-Test): {FALSE_ALARMS}\n"
    );
    text += &format!(
        "  {:>6}  {:>10}  {:>10}  {:>13}  {:>14}  {:>13}\n",
        "gamma", "confidence", "threshold", "flagged clean", "flagged tokens", "missed tokens"
    );
    for row in &highlighted.false_alarms {
        let at = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), share);
        let test = &row.test;
        text += &format!(
            "  {:>6}  {:>10}  {:>10}  {:>13}  {:>14}  {:>13}\n",
            test.gamma,
            format!("{:.3}", 1.0 - test.delta),
            test.threshold.map_or_else(|| "-".to_owned(), threshold),
            test.flagged.map_or_else(|| "-".to_owned(), |flagged| format!("{flagged}/{}", test.answers)),
            at(row.flagged_tokens),
            at(row.missed),
        );
    }
    for row in &highlighted.false_alarms {
        if let Some(reason) = &row.test.reason {
            text += &format!("  gamma {}: {reason}\n", row.test.gamma);
        }
    }
    text +=
        "  tested on one clean answer a source, drawn at random: answers to one source are not independent\n";
    for row in highlighted.missed_tokens.iter().filter(|row| row.feasible).take(1) {
        text += &format!("\nguarantee: {}\n", row.guarantee);
    }
    for note in &highlighted.notes {
        text += &format!("  - {note}\n");
    }
    text += &format!("\ncalibration written: {}\n", highlighted.calibration);
    text
}

fn share(value: f64) -> String {
    format!("{:.1} %", value * 100.0)
}

/// Smoothed scores crowd at both ends: small ones are shown by their leading digits.
fn threshold(value: f64) -> String {
    if value == 0.0 || (0.0001..=0.9999).contains(&value) || value == 1.0 {
        format!("{value:.4}")
    } else if value < 0.5 {
        format!("{value:.2e}")
    } else {
        format!("1-{:.1e}", 1.0 - value)
    }
}
