use ratatui::TerminalOptions;
use ratatui::Viewport;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use super::*;
use crate::inspect::Planned;

#[derive(Default)]
struct Recorded(Vec<Effect>);

impl Effects for Recorded {
    fn perform(&mut self, effect: Effect, _: &mut dyn Write) -> io::Result<Option<Action>> {
        self.0.push(effect);
        Ok(None)
    }
}

fn model() -> Model {
    Model::new("demo", Thresholds::default(), Thresholds::default(), Arc::new(|_| Vec::new()))
}

/// Drives the loop with events that are all there at the start; what was written, and the effects.
fn driven(model: &mut Model, events: Vec<Event>) -> (Vec<u8>, Vec<Effect>) {
    let (sender, receiver) = mpsc::sync_channel(events.len());
    for event in events {
        sender.send(event).unwrap();
    }
    drop(sender);
    let mut written = Vec::new();
    let mut recorded = Recorded::default();
    let viewport = Viewport::Fixed(Rect::new(0, 0, 80, 24));
    let backend = CrosstermBackend::new(&mut written);
    let mut screen = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
    drive(&mut screen, model, &Theme::DARK, &receiver, &mut Vec::new(), &mut recorded).unwrap();
    drop(screen);
    (written, recorded.0)
}

fn key(c: char) -> Event {
    Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))
}

fn frames(written: &[u8]) -> usize {
    written.windows(8).filter(|window| *window == b"\x1b[?2026h").count()
}

#[test]
fn the_first_frame_comes_before_anything_has_happened_and_a_burst_costs_one_more() {
    let rows = (0..500).map(|row| Planned { row, id: format!("q{row}"), question: "who?".into() }).collect();
    let mut events = vec![Event::Message(Box::new(Message::Planned(rows)))];
    events.extend((0..200).map(|_| key('j')));
    let mut model = model();
    let (written, _) = driven(&mut model, events);
    assert_eq!(frames(&written), 2);
    assert_eq!(model.selected, 200);
}

#[test]
fn every_frame_is_held_together_and_the_cursor_is_left_alone() {
    let (written, _) = driven(&mut model(), vec![key('?')]);
    let text = String::from_utf8(written).unwrap();
    assert_eq!(text.matches("\u{1b}[?2026h").count(), text.matches("\u{1b}[?2026l").count());
    assert!(!text.contains("\u{1b}[?25l") && !text.contains("\u{1b}[2J"));
}

#[test]
fn after_a_stop_the_whole_screen_is_written_anew() {
    let (once, _) = driven(&mut model(), Vec::new());
    let (written, _) = driven(&mut model(), vec![Event::Resumed]);
    assert_eq!(frames(&written), 2);
    let mut parser = vt100::Parser::new(24, 80, 0);
    parser.process(&once);
    let first = parser.screen().contents();
    // What another program left there is gone.
    parser.process(b"\x1b[5;5Hleft by the shell");
    parser.process(&written[once.len()..]);
    assert_eq!(parser.screen().contents(), first);
    assert!(!String::from_utf8_lossy(&written).contains("\u{1b}[6n"));
}

#[test]
fn nothing_is_drawn_for_what_means_nothing() {
    let (written, _) = driven(&mut model(), vec![key('#'), Event::Paste("text".into())]);
    assert_eq!(frames(&written), 1);
}

#[test]
fn quitting_stops_the_work_and_leaves_the_rest_of_the_keys() {
    let mut model = model();
    let (_, effects) = driven(&mut model, vec![key('q'), key('?')]);
    assert_eq!(effects, [Effect::CancelRun]);
    assert!(model.overlay.is_none());
}

#[test]
fn a_writer_that_panics_is_an_export_that_failed() {
    let (sender, events) = mpsc::sync_channel(8);
    let export: Export = Box::new(|_| panic!("boom"));
    let jobs = exporter(export, sender).unwrap();
    let job = ExportOrder {
        kind: ExportKind::Html,
        evidence: Vec::new(),
        thresholds: Thresholds::default(),
        name: None,
        existing: Existing::Ask,
        picture: None,
    };
    jobs.send(job).unwrap();
    assert_eq!(
        events.recv().unwrap(),
        Event::Exported(Err(ExportFailure::Failed("the writer panicked".into())))
    );
}

#[test]
fn a_run_that_hangs_up_is_told_once() {
    let (messages, receiver) = mpsc::channel();
    let (sender, events) = mpsc::sync_channel(8);
    forward(receiver, sender).unwrap();
    messages.send(Message::Stage("reading".into())).unwrap();
    drop(messages);
    let got: Vec<Event> = events.iter().collect();
    assert_eq!(got.len(), 2);
    assert!(matches!(got[1], Event::MessagesEnded(_)));
}
