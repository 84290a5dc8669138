//! An inspection in front of someone: on the screen where there is one, else as text.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;

use crate::certify::guarantee::NOT_CALIBRATED;
use crate::evidence::{Evidence, RunFile, Thresholds, read_hashed_run};
use crate::inspect::{self, CertificateSummary, InspectError, Message, Request, Told};
use crate::report::{Context, RunFacts, html, plain};
use crate::retrieval::RetrievalError;
use crate::tui;

use super::config::preset_store;
use super::keys::key_map;
use super::progress::progress_bar;
use super::report_context::{certificate_in, context, run_facts, with_highlighting};
use super::signals::{cancel_on_interrupt, cancelled};
use super::thresholds::HighlightingCalibration;
use super::{Failure, Outcome, Shared, export, output};

/// What is shown.
pub struct Showing {
    /// Heading.
    pub title: String,
    /// The command that shows the same again, without thresholds.
    pub command: String,
    /// The file of evidence, where that is what is shown, as soon as all of it is read.
    pub run: Arc<OnceLock<RunFacts>>,
    /// The sliders at the start.
    pub thresholds: Thresholds,
    /// A calibration of the highlighting, for the beta among the thresholds.
    pub highlighting: Option<HighlightingCalibration>,
    /// What a reset goes back to.
    pub defaults: Thresholds,
    /// Text even where there is a screen.
    pub plain: bool,
    /// Where marks of the reader are kept.
    pub annotations: PathBuf,
    /// Also write the HTML report when there is no screen.
    pub write_html: bool,
}

/// Runs `plan` and shows it.
pub fn show_plan(shared: &Shared, plan: inspect::Plan, showing: &Showing) -> Outcome {
    let certified = Arc::new(OnceLock::new());
    let own = Arc::clone(&certified);
    let (asking, requests) = mpsc::channel();
    let asking = if plan.dataset.documents.is_empty() {
        // As long as someone could ask, the run would wait for questions.
        drop(asking);
        Err("this data set has no documents to search; the questions of its records have passages of their own"
            .to_owned())
    } else {
        Ok(asking)
    };
    show(shared, showing, &certified, asking, move |cancel, sender| {
        let mut send = |message| {
            // Nobody listens any more once the screen is closed; the run then stops at `cancel`.
            let _ = sender.send(message);
        };
        let failure = inspect::run_and_answer(&plan, cancel, &own, &requests, &mut send).err();
        if let Some(error) = &failure {
            send(Message::Failed(error.to_string()));
        }
        failure.map(failure_of)
    })
}

/// Records of a run that are read at once while the screen is there: the first few fill it.
const FIRST_RECORDS: usize = 4;
const MORE_RECORDS: usize = 128;

/// Shows evidence that exists already: on the screen while it is being read.
pub fn show_run(shared: &Shared, path: &Path, showing: &Showing) -> Outcome {
    if !is_interactive(showing) {
        let run = read_hashed_run(path).map_err(Failure::input)?;
        let _ = showing.run.set(run_facts(path, &run.sha256));
        return show_evidence(shared, run.evidence, run.notice, showing);
    }
    let mut file = RunFile::open(path).map_err(Failure::input)?;
    let (facts, path) = (Arc::clone(&showing.run), path.to_owned());
    let certified = Arc::new(OnceLock::new());
    let own = Arc::clone(&certified);
    // What cannot be read at all needs no screen.
    let mut records = file.next_records(FIRST_RECORDS).map_err(Failure::input)?;
    show(shared, showing, &certified, no_questions(), move |cancel, sender| {
        while !records.is_empty() && !cancel.load(Ordering::SeqCst) {
            if own.get().is_none()
                && let Some(summary) = certificate_in(&records)
            {
                let _ = own.set(summary.clone());
                sender.send(Message::Certified(Box::new(summary))).ok()?;
            }
            let stage = Message::Stage(format!("reading the run: {:.0} %", 100.0 * file.share_read()));
            let messages =
                std::iter::once(stage).chain(records.into_iter().map(|one| Message::Evidence(Box::new(one))));
            for message in messages {
                sender.send(message).ok()?;
            }
            records = match file.next_records(MORE_RECORDS) {
                Ok(records) => records,
                Err(error) => {
                    sender.send(Message::Failed(error.to_string())).ok()?;
                    return Some(Failure::input(error));
                }
            };
        }
        if let Some(sha256) = file.sha256() {
            let _ = facts.set(run_facts(&path, &sha256));
        }
        let notice = file.torn().map(|torn| Message::Notice(torn.to_owned()));
        for message in notice.into_iter().chain(std::iter::once(Message::Finished)) {
            sender.send(message).ok()?;
        }
        None
    })
}

/// Shows evidence that is read already.
fn show_evidence(
    shared: &Shared,
    evidence: Vec<Evidence>,
    notice: Option<String>,
    showing: &Showing,
) -> Outcome {
    let certified = Arc::new(OnceLock::new());
    let summary = certificate_in(&evidence);
    if let Some(summary) = &summary {
        let _ = certified.set(summary.clone());
    }
    show(shared, showing, &certified, no_questions(), move |_, sender| {
        let messages = summary
            .map(|summary| Message::Certified(Box::new(summary)))
            .into_iter()
            .chain(notice.map(Message::Notice))
            .chain(evidence.into_iter().map(|one| Message::Evidence(Box::new(one))))
            .chain(std::iter::once(Message::Finished));
        for message in messages {
            sender.send(message).ok()?;
        }
        None
    })
}

/// Why a run of evidence answers no questions.
fn no_questions() -> Result<Sender<Request>, String> {
    Err("this is a run of evidence, without documents and model: open its data set instead (ragscope open DATA)"
        .to_owned())
}

/// Whether there is someone at a screen.
fn is_interactive(showing: &Showing) -> bool {
    !showing.plain && std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

fn show(
    shared: &Shared,
    showing: &Showing,
    certified: &Arc<OnceLock<CertificateSummary>>,
    asking: Result<Sender<Request>, String>,
    work: impl FnOnce(&AtomicBool, &Sender<Message>) -> Option<Failure> + Send + 'static,
) -> Outcome {
    let interactive = is_interactive(showing);
    // Before any work begins: a key map that does not fit ends it.
    let preferences = if interactive { preferences(shared)? } else { tui::Preferences::default() };
    let cancel = if interactive { Arc::new(AtomicBool::new(false)) } else { cancel_on_interrupt() };
    let (sender, messages) = mpsc::channel();
    let worker_cancel = Arc::clone(&cancel);
    let worker = thread::spawn(move || work(&worker_cancel, &sender));
    if interactive {
        on_screen(shared, showing, certified, messages, Arc::clone(&cancel), (asking, preferences))?;
    } else {
        // Nobody can ask, so the run ends when its data does.
        drop(asking);
        as_text(showing, certified, &messages)?;
    }
    match worker.join() {
        Ok(_) if !interactive && cancelled(&cancel) => Err(Failure::Interrupted),
        Ok(None) => Ok(()),
        Ok(Some(failure)) => Err(failure),
        Err(_) => Err(Failure::input_message("the inspection ended in a panic; what was finished is kept")),
    }
}

/// What is told while a retriever is made, where there is no screen.
pub fn tell_on_standard_error(told: Told<'_>) {
    match told {
        Told::Doing(text) => output::tell(text),
        Told::Note(text) => output::tell(&format!("note: {text}")),
    }
}

/// Which kind of failure an ended run was.
pub fn failure_of(error: InspectError) -> Failure {
    match error {
        InspectError::Model(_)
        | InspectError::Retrieval(RetrievalError::Encoder(_))
        | InspectError::Fetch(_)
        | InspectError::Detect(_)
        | InspectError::Head { .. } => Failure::model(error),
        error => Failure::input(error),
    }
}

/// How the screen starts, as the configuration says.
fn preferences(shared: &Shared) -> Outcome<tui::Preferences> {
    let (keys, warnings) = key_map(&shared.configuration)?;
    Ok(tui::Preferences {
        keys,
        without_mouse: shared.configuration.flag("mouse") == Some(false),
        scale: shared.scale(),
        notices: warnings.into_iter().chain(shared.configuration.notes().iter().cloned()).collect(),
    })
}

fn on_screen(
    shared: &Shared,
    showing: &Showing,
    certified: &Arc<OnceLock<CertificateSummary>>,
    messages: Receiver<Message>,
    cancel: Arc<AtomicBool>,
    (asking, preferences): (Result<Sender<Request>, String>, tui::Preferences),
) -> Outcome {
    let (title, command, run) = (showing.title.clone(), showing.command.clone(), Arc::clone(&showing.run));
    let own = Arc::clone(certified);
    let highlighting = showing.highlighting.clone();
    let export = move |request: tui::ExportRequest<'_>| {
        let context =
            Context { run: run.get().cloned(), ..context(&title, &command, own.get(), request.thresholds) };
        let context = as_certified(context, highlighting.as_ref(), request.thresholds, request.evidence);
        export::write(&request, &context)
    };
    let own = Arc::clone(certified);
    let session = tui::Session {
        title: showing.title.clone(),
        messages,
        thresholds: showing.thresholds.clone(),
        defaults: showing.defaults.clone(),
        cancel,
        guarantee: Arc::new(move |alpha| match own.get() {
            Some(summary) => summary.sentences(alpha),
            None => vec![NOT_CALIBRATED.to_owned()],
        }),
        highlighting: showing.highlighting.as_ref().map(|calibration| calibration.artefact.clone()),
        export: Box::new(export),
        asking,
        marks: tui::KeptMarks::open(&showing.annotations),
        presets: preset_store(&shared.configuration),
        preferences,
        theme: shared.theme(),
        borders: shared.borders(),
        depth: shared.depth(),
    };
    let outcome = tui::run(session).map_err(Failure::input)?;
    for path in &outcome.exported {
        output::tell_written(path);
    }
    for notice in &outcome.notices {
        output::tell(&format!("note: {notice}"));
    }
    Ok(())
}

/// The context of a report where a beta is in force; as it was where none is.
fn as_certified(
    context: Context,
    highlighting: Option<&HighlightingCalibration>,
    thresholds: &Thresholds,
    evidence: &[Evidence],
) -> Context {
    let certified = highlighting
        .filter(|_| thresholds.beta.is_some())
        .and_then(|calibration| calibration.apply(&mut thresholds.clone(), evidence).ok());
    match certified {
        Some(certified) => with_highlighting(context, &certified, thresholds),
        None => context,
    }
}

fn as_text(
    showing: &Showing,
    certified: &OnceLock<CertificateSummary>,
    messages: &Receiver<Message>,
) -> Outcome {
    let bar = progress_bar("answers");
    let mut by_row: BTreeMap<usize, Evidence> = BTreeMap::new();
    let mut complete = false;
    let mut last_told = String::new();
    for message in messages {
        match message {
            Message::Stage(stage) => {
                bar.set_message(crate::text::visible_line(&stage).into_owned());
                // What follows a colon counts on; where no bar can be drawn, each stage is told once.
                let told = stage.split(':').next().unwrap_or_default();
                if !std::io::stderr().is_terminal() && told != last_told {
                    output::tell(told);
                    told.clone_into(&mut last_told);
                }
            }
            Message::Notice(notice) => {
                bar.suspend(|| output::tell(&format!("note: {notice}")));
            }
            Message::Progress { done, total, .. } => {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
                // Where no bar can be drawn, a line now and then shows that work goes on.
                if !std::io::stderr().is_terminal() && (done == 1 || done % 10 == 0 || done == total) {
                    output::tell(&format!("{done} of {total} answers read"));
                }
            }
            Message::Evidence(one) => {
                by_row.insert(one.row, *one);
            }
            Message::Finished => complete = true,
            Message::Planned(_)
            | Message::Certified(_)
            | Message::Failed(_)
            | Message::Stopped
            | Message::Answer { .. } => {}
        }
    }
    bar.finish_and_clear();
    if by_row.is_empty() && !complete {
        return Ok(());
    }
    let evidence: Vec<Evidence> = by_row.into_values().collect();
    let mut thresholds = showing.thresholds.clone();
    if let (Some(calibration), Some(_)) = (&showing.highlighting, thresholds.beta) {
        calibration.apply(&mut thresholds, &evidence)?;
    }
    let context = Context {
        run: showing.run.get().cloned(),
        ..context(&showing.title, &showing.command, certified.get(), &thresholds)
    };
    let context = as_certified(context, showing.highlighting.as_ref(), &thresholds, &evidence);
    output::print(&plain(&evidence, &thresholds, &context))?;
    if showing.write_html && complete {
        let path = output::free_name(std::path::Path::new("."), "ragscope-report", "html");
        output::write_new(&path, html(&evidence, &thresholds, &context).as_bytes(), false)?;
        output::tell_written(&path);
    }
    Ok(())
}
