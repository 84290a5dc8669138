//! `ragscope merge`: the shards of a run, joined by row number.
//!
//! Nothing is computed again: lines are copied byte for byte. What is pooled is raw evidence, so that
//! figures over all lines are those of a run that was never cut.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::detect::token_labels;
use crate::evidence::{
    Evidence, Findings, Provenance, Thresholds, decide, difference, parse_line, read_line,
};
use crate::inspect::{HeadFiles, HeadSource};
use crate::metrics::{Measure, Ranking, ranking};
use crate::text::visible_path;

use super::session::failure_of;
use super::thresholds::ThresholdArguments;
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope merge`.
#[derive(Debug, Args)]
pub struct MergeArguments {
    /// Shards written by `ragscope score --shard`, in any order
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The whole run; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,
    /// Merge although rows are missing
    #[arg(long)]
    allow_gaps: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    thresholds: ThresholdArguments,
}

/// Where a line lies.
struct Place {
    row: usize,
    run: usize,
    line: usize,
    start: u64,
    length: u64,
}

/// How the pooled scores rank what is labelled.
#[derive(Debug, Serialize)]
struct Figures {
    rows: usize,
    labelled_answers: usize,
    tokens: Ranking,
    answers: Ranking,
}

/// Reads every shard, refuses what does not belong together, writes the lines in order of row.
pub fn run(shared: &Shared, arguments: &MergeArguments) -> Outcome {
    let to_stdout = arguments.output.as_os_str() == "-";
    if to_stdout && arguments.json {
        return Err(Failure::Usage(
            "--json prints figures where --output - prints the lines; name a file with --output".to_owned(),
        ));
    }
    let defaults =
        HeadFiles::read(&HeadSource::Shipped).and_then(|files| files.thresholds()).map_err(failure_of)?;
    let thresholds = arguments.thresholds.over(&shared.thresholds(&defaults))?;
    let mut pool = Pool::default();
    for at in 0..arguments.runs.len() {
        pool.read(&arguments.runs, at, &thresholds)?;
    }
    pool.places.sort_by_key(|place| (place.row, place.run, place.line));
    no_duplicates(&pool.places, &arguments.runs)?;
    gaps(&pool.places, arguments.allow_gaps)?;
    let figures = pool.figures();
    let copy = |out: &mut dyn Write| copy_lines(&pool.places, &arguments.runs, out);
    if to_stdout {
        match copy(&mut io::stdout().lock()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            other => other.map_err(Failure::input)?,
        }
    } else {
        output::write_new_with(&arguments.output, arguments.force, &copy)?;
        output::tell_written(&arguments.output);
    }
    match (arguments.json, to_stdout) {
        (true, _) => output::print_json(&figures),
        (false, true) => {
            output::tell_lines(&figures.text());
            Ok(())
        }
        (false, false) => output::print(&figures.text()),
    }
}

/// The lines read so far, and what is pooled of them.
#[derive(Default)]
struct Pool {
    places: Vec<Place>,
    /// The first line's, and which run it is of; every other line must fit it.
    first: Option<(Provenance, usize)>,
    labelled: Vec<LabelledScores>,
}

struct LabelledScores {
    row: usize,
    labels: Vec<bool>,
    scores: Vec<f64>,
    answer: (bool, f64),
}

impl Pool {
    fn read(&mut self, runs: &[PathBuf], at: usize, thresholds: &Thresholds) -> Outcome {
        let path = &runs[at];
        let shown = visible_path(path);
        let refused = |problem: &dyn std::fmt::Display| Failure::input_message(format!("{shown}: {problem}"));
        let mut reader = BufReader::new(File::open(path).map_err(|error| refused(&error))?);
        let (mut start, mut line, mut bytes) = (0, 0, Vec::new());
        loop {
            bytes.clear();
            let length = read_line(&mut reader, &mut bytes).map_err(|error| refused(&error))? as u64;
            if length == 0 {
                return Ok(());
            }
            line += 1;
            if !bytes.ends_with(b"\n") {
                return Err(refused(&format!(
                    "line {line} is cut off, the run did not end; finish it with `ragscope score --resume`"
                )));
            }
            let evidence = parse_line(String::from_utf8_lossy(&bytes).trim_end(), line)
                .map_err(|error| refused(&error))?;
            let (first, of) = self.first.get_or_insert_with(|| (evidence.provenance.clone(), at));
            if let Some(difference) = difference(first, &evidence.provenance) {
                return Err(Failure::input_message(format!(
                    "{} and {shown} (line {line}) are not of one run: the {difference}; score the shards with \
                     the same ragscope, data, model, heads, calibration and settings",
                    visible_path(&runs[*of])
                )));
            }
            self.places.push(Place { row: evidence.row, run: at, line, start, length });
            self.labelled.extend(labelled_scores(&evidence, &decide(&evidence, thresholds)));
            start += length;
        }
    }

    fn figures(&mut self) -> Figures {
        self.labelled.sort_by_key(|one| one.row);
        let labels: Vec<bool> = self.labelled.iter().flat_map(|one| one.labels.iter().copied()).collect();
        let scores: Vec<f64> = self.labelled.iter().flat_map(|one| one.scores.iter().copied()).collect();
        let (answer_labels, answer_scores): (Vec<bool>, Vec<f64>) =
            self.labelled.iter().map(|one| one.answer).unzip();
        Figures {
            rows: self.places.len(),
            labelled_answers: self.labelled.len(),
            tokens: ranking(&labels, &scores),
            answers: ranking(&answer_labels, &answer_scores),
        }
    }
}

/// Smoothed token scores with labels, and the answer's; `None` where nobody labelled or nothing was scored.
fn labelled_scores(evidence: &Evidence, findings: &Findings) -> Option<LabelledScores> {
    let (spans, reading) = (evidence.gold_spans.as_ref()?, evidence.reading.as_ref()?);
    let ranges: Vec<_> = reading.tokens.iter().map(|[start, end]| *start..*end).collect();
    let spans: Vec<_> = spans.iter().map(|span| span.start..span.end).collect();
    let answer_score = findings.answer_score?;
    Some(LabelledScores {
        row: evidence.row,
        labels: token_labels(evidence.answer.as_deref()?, &ranges, &spans),
        scores: findings.smoothed.clone(),
        answer: (!spans.is_empty(), answer_score),
    })
}

fn no_duplicates(places: &[Place], runs: &[PathBuf]) -> Outcome {
    let Some([one, other]) = places.windows(2).find_map(|pair| match pair {
        [one, other] if one.row == other.row => Some([one, other]),
        _ => None,
    }) else {
        return Ok(());
    };
    let place = |place: &Place| format!("{} line {}", visible_path(&runs[place.run]), place.line);
    Err(Failure::input_message(format!(
        "row {} comes twice, in {} and in {}; give each shard once",
        one.row,
        place(one),
        place(other)
    )))
}

/// Rows that are missing before the last one. That rows after it are missing cannot be seen.
fn gaps(places: &[Place], allowed: bool) -> Outcome {
    const SHOWN: usize = 5;
    let mut expected = 0;
    let mut ranges = Vec::new();
    for place in places {
        if place.row > expected {
            ranges.push((expected, place.row - 1));
        }
        expected = place.row + 1;
    }
    if ranges.is_empty() {
        return Ok(());
    }
    let missing: usize = ranges.iter().map(|(first, last)| last - first + 1).sum();
    let shown: Vec<String> = ranges
        .iter()
        .take(SHOWN)
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    let more = if ranges.len() > SHOWN { ", ..." } else { "" };
    let said = format!("{missing} rows are missing: {}{more}", shown.join(", "));
    if allowed {
        output::tell(&format!("note: {said}"));
        return Ok(());
    }
    Err(Failure::input_message(format!("{said}; give all shards, or say --allow-gaps")))
}

fn copy_lines(places: &[Place], runs: &[PathBuf], out: &mut dyn Write) -> io::Result<()> {
    let open = |path: &PathBuf| File::open(path).map(BufReader::new);
    let mut files = runs.iter().map(open).collect::<io::Result<Vec<_>>>()?;
    for place in places {
        let Some(file) = files.get_mut(place.run) else { continue };
        // Shards are mostly in order: what is buffered stays in use.
        let here = file.stream_position()?;
        file.seek_relative(place.start.cast_signed() - here.cast_signed())?;
        let copied = io::copy(&mut file.take(place.length), out)?;
        if copied != place.length {
            return Err(io::Error::other("a shard became shorter while it was read"));
        }
    }
    out.flush()
}

impl Figures {
    fn text(&self) -> String {
        let line = |what: &str, measures: &Ranking| {
            let shown = |measure: &Measure| measure.to_string();
            format!(
                "{what}: average precision {}, AUROC {}, prevalence {}\n",
                shown(&measures.average_precision),
                shown(&measures.auroc),
                shown(&measures.prevalence)
            )
        };
        format!(
            "{} rows, {} labelled answers scored\n{}{}",
            self.rows,
            self.labelled_answers,
            line("tokens", &self.tokens),
            line("answers", &self.answers)
        )
    }
}
