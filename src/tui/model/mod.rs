//! All that the screen shows, changed only by `update`.

mod annotating;
mod asked;
mod attention;
mod certificate;
mod certification;
mod comparison;
mod decisions;
mod dialog;
mod figures;
mod filter;
mod highlighting;
mod histogram;
mod history;
mod line_input;
mod page;
mod pane;
mod presets;
mod rows;
mod run_state;
mod selection;
mod sliders;
mod tally;
mod token_units;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use annotating::Annotating;
pub use asked::{AskState, Asked};
pub use attention::{
    AttentionCursor, AttentionView, Subject, chunk_ratio, context_ratio, elsewhere, looked_at_most, mass,
};
pub use certificate::{CertificateFigures, CurvePoint};
pub use certification::{Certification, Share};
pub use comparison::{Chosen, Comparison, Partner, SecondOpinion};
pub use dialog::{
    AskDialog, Dialog, DialogItem, ExportDialog, ExportField, ExportScope, ExportStage, MarkEntry,
    MarksDialog,
};
pub use figures::{Figures, GroupRate, Overview, Passage, Rate, WorstAnswer};
pub use filter::{Filter, Show, Sort};
pub use highlighting::{CertifiedLevel, Highlighting};
pub use histogram::Histogram;
pub use history::History;
pub use line_input::LineInput;
pub use page::{Compared, Curve, OverviewList, Page, Pages};
pub use pane::{Overlay, Pane, Strip};
pub use presets::{
    LONGEST_NAME, Preset, PresetAnswer, PresetFailure, PresetList, PresetQuestion, PresetRequest,
};
pub use rows::{Row, Rows};
pub use run_state::{Phase, RunState, Toast, Tone};
pub use selection::{AnswerView, Lock};
pub use sliders::{SliderEffect, SliderName};
pub use tally::Tally;
pub use token_units::TokenUnits;

use super::action::{ExportKind, KeyMap};
use super::hit::Limits;
use crate::certify::Alpha;
use crate::evidence::{
    AnnotatedAnswer, Annotations, DetectorScores, Evidence, Findings, Reading, Thresholds, chosen_detector,
};

/// Says what is guaranteed at a level, in plain sentences.
pub type Guarantee = Arc<dyn Fn(Alpha) -> Vec<String> + Send + Sync>;

/// The state of the inspector.
pub struct Model {
    /// Data set and model, for the header.
    pub title: String,
    pub rows: Rows,
    /// Index into `rows` of the example on the screen.
    pub selected: usize,
    pub filter: Filter,
    pub focus: Pane,
    pub zoom: bool,
    pub overlay: Option<Overlay>,
    /// Lies over everything and takes all keys.
    pub dialog: Option<Dialog>,
    /// Whether questions can be asked here, or why not.
    pub asking: Result<(), String>,
    pub last_question: String,
    /// Marks of the reader.
    pub annotating: Annotating,
    /// Choices of the last export.
    pub last_export: (ExportScope, ExportKind),
    pub thresholds: Thresholds,
    pub defaults: Thresholds,
    /// Chunk under selection, and how far its text is scrolled.
    pub chunk: usize,
    pub chunk_scroll: u16,
    /// Token under the cursor.
    pub token: usize,
    pub strip: Strip,
    pub answer_view: AnswerView,
    pub attention: AttentionCursor,
    /// A selection kept beside the cursors.
    pub lock: Option<Lock>,
    pub pages: Pages,
    /// Index of the example to compare others with.
    pub marked: Option<usize>,
    /// What stands beside the selection while the comparison is open.
    pub comparison: Comparison,
    pub certificate: Option<CertificateFigures>,
    pub slider: SliderName,
    /// A number being typed into the selected slider.
    pub typed: Option<String>,
    /// The slider held by the pointer: first column and width of its track.
    pub drag: Option<(SliderName, u16, u16)>,
    /// That slider, and the thresholds when it was taken: what Esc goes back to.
    pub held: Option<(SliderName, Thresholds)>,
    pub run: RunState,
    pub notices: Vec<String>,
    pub toast: Option<Toast>,
    /// Whether the pointer belongs to the inspector.
    pub mouse: bool,
    /// Sentences about what holds at the present alpha.
    pub guarantee: Vec<String>,
    /// What the last drawing knew of the layout.
    pub limits: Limits,
    /// Decisions about the selected example, as of the present thresholds.
    pub findings: Option<Findings>,
    /// The user's keys.
    pub keys: Arc<KeyMap>,
    /// Thresholds as they were.
    pub history: History,
    /// Thresholds under a name, as they were last read.
    pub presets: Vec<Preset>,
    /// A calibration of the highlighting, where one was given.
    pub highlighting: Option<Highlighting>,
    /// What the thresholds' beta comes to; `None` while they have none.
    pub certified_level: Option<CertifiedLevel>,
    guarantee_at: Guarantee,
}

impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Model")
            .field("rows", &self.rows.len())
            .field("selected", &self.selected)
            .field("focus", &self.focus)
            .field("overlay", &self.overlay)
            .field("thresholds", &self.thresholds)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// An empty screen: nothing is planned yet.
    pub fn new(title: &str, thresholds: Thresholds, defaults: Thresholds, guarantee: Guarantee) -> Self {
        let mut model = Self {
            title: title.to_owned(),
            rows: Rows::new(thresholds.clone()),
            selected: 0,
            filter: Filter::default(),
            focus: Pane::Examples,
            zoom: false,
            overlay: None,
            dialog: None,
            asking: Err("nothing answers questions here".to_owned()),
            last_question: String::new(),
            annotating: Annotating::new(
                Annotations::default(),
                Some("nothing keeps marks here".to_owned()),
                String::new(),
            ),
            last_export: (ExportScope::default(), ExportKind::Html),
            thresholds,
            defaults,
            chunk: 0,
            chunk_scroll: 0,
            token: 0,
            strip: Strip::default(),
            answer_view: AnswerView::default(),
            attention: AttentionCursor::default(),
            lock: None,
            pages: Pages::default(),
            marked: None,
            comparison: Comparison::default(),
            certificate: None,
            slider: SliderName::Alpha,
            typed: None,
            drag: None,
            held: None,
            run: RunState::default(),
            notices: Vec::new(),
            toast: None,
            mouse: true,
            guarantee: Vec::new(),
            limits: Limits::default(),
            findings: None,
            keys: Arc::default(),
            history: History::default(),
            presets: Vec::new(),
            highlighting: None,
            certified_level: None,
            guarantee_at: guarantee,
        };
        model.guarantee = (model.guarantee_at)(model.thresholds.alpha);
        model
    }

    /// The selected row, where there is one.
    pub fn row(&self) -> Option<&Row> {
        self.rows.get(self.selected)
    }

    /// Evidence of the selected row.
    pub fn evidence(&self) -> Option<&Evidence> {
        self.row()?.evidence.as_deref()
    }

    /// The reading of the selected row.
    pub fn reading(&self) -> Option<&Reading> {
        self.evidence()?.reading.as_ref()
    }

    /// The scores on display: the chosen detector's.
    pub fn detector(&self) -> Option<&DetectorScores> {
        chosen_detector(self.reading()?, &self.thresholds)
    }

    /// Number of chunks of the selected row.
    pub fn chunk_count(&self) -> usize {
        self.evidence().map_or(0, |evidence| evidence.chunks.len())
    }

    /// Number of answer tokens of the selected row.
    pub fn token_count(&self) -> usize {
        self.reading().map_or(0, |reading| reading.tokens.len())
    }

    /// The flagged span that holds the token under the cursor, from 0.
    pub fn span_at_cursor(&self) -> Option<usize> {
        self.findings.as_ref()?.spans.iter().position(|span| span.tokens.contains(&self.token))
    }

    /// The lock, where it belongs to the selected example and its record still holds what was locked.
    pub fn locked(&self) -> Option<Lock> {
        self.lock.filter(|lock| lock.example == self.selected && lock.token < self.token_count())
    }

    /// The chunk that the token under the cursor looked at most, and the share of attention it got.
    pub fn looked_at(&self) -> Option<(usize, f64)> {
        self.looked_at_by(self.token)
    }

    /// The same for any token.
    pub fn looked_at_by(&self, token: usize) -> Option<(usize, f64)> {
        let lookback = self.reading()?.lookback.as_ref()?;
        looked_at_most(lookback, self.chunk_count(), token..token.checked_add(1)?)
    }

    /// Text of an answer token; `None` outside the record.
    pub fn token_text(&self, token: usize) -> Option<&str> {
        let [start, end] = *self.reading()?.tokens.get(token)?;
        self.evidence()?.answer.as_deref()?.get(start..end)
    }

    /// What is marked on the answer on the screen.
    pub fn marked(&self) -> Option<&AnnotatedAnswer> {
        let evidence = self.evidence()?;
        self.annotating.of(&evidence.id, evidence.answer.as_deref()?)
    }

    /// Tokens of the selection on the screen.
    pub fn selection(&self) -> Option<Range<usize>> {
        let (row, anchor) = self.annotating.anchor?;
        (row == self.selected).then(|| anchor.min(self.token)..anchor.max(self.token) + 1)
    }

    /// Selects an example and puts all cursors at its start (the token cursor at its first flag).
    pub fn select(&mut self, index: usize) {
        let index = index.min(self.rows.len().saturating_sub(1));
        let other = index != self.selected;
        self.selected = index;
        if other {
            self.annotating.anchor = None;
            self.chunk = 0;
            self.chunk_scroll = 0;
            self.token = 0;
            self.pages.scroll = 0;
            self.refresh();
            self.token = self.first_flagged_token();
        } else {
            self.refresh();
        }
    }

    /// Decides about the selected example anew and keeps the cursors inside it.
    pub fn refresh(&mut self) {
        self.findings = self.rows.findings(self.selected, &self.thresholds);
        self.chunk = self.chunk.min(self.chunk_count().saturating_sub(1));
        self.token = self.token.min(self.token_count().saturating_sub(1));
        let (layers, heads) = self
            .reading()
            .and_then(|reading| reading.lookback.as_ref())
            .map_or((0, 0), |lookback| (lookback.layers, lookback.heads));
        if layers > 0 && heads > 0 {
            self.attention.layer = self.attention.layer.min(layers - 1);
            self.attention.head = self.attention.head.min(heads - 1);
        }
        self.compare();
    }

    /// Finds what stands beside the selection, while that is on the screen.
    pub fn compare(&mut self) {
        self.comparison = if self.pages.open == Some(Page::Comparison) {
            Comparison::of(&self.rows, self.selected, self.marked, &self.thresholds)
        } else {
            Comparison::default()
        };
    }

    /// Applies thresholds that changed: the selected example at once, the others in slices.
    pub fn decide_anew(&mut self) {
        self.follow_beta();
        let baselines = SliderName::ALL.into_iter().filter_map(|slider| self.baseline(slider));
        self.rows.aim(self.thresholds.clone(), baselines.collect());
        self.ask_what_is_guaranteed();
        self.refresh();
    }

    /// Gives the calibration of the highlighting to the screen.
    pub fn certify_highlighting(&mut self, highlighting: Highlighting) {
        self.highlighting = Some(highlighting);
        self.decide_anew();
    }

    /// Lets the token threshold follow the beta, where that is in force.
    fn follow_beta(&mut self) {
        let Some(highlighting) = &self.highlighting else {
            self.thresholds.beta = None;
            return;
        };
        self.certified_level = highlighting.level(&self.thresholds);
        if let Some(CertifiedLevel::InForce(threshold)) = self.certified_level {
            self.thresholds.token = threshold;
        }
    }

    /// Whether the token threshold follows a beta.
    pub fn follows_beta(&self) -> bool {
        matches!(self.certified_level, Some(CertifiedLevel::InForce(_)))
    }

    /// The sliders that can be moved here.
    pub fn sliders(&self) -> &'static [SliderName] {
        let all = &SliderName::ALL;
        if self.highlighting.is_some() { all } else { &all[..all.len() - 1] }
    }

    /// The calibration becomes known while the inspection runs, so what is guaranteed is asked again
    /// whenever a stage is left behind.
    pub fn ask_what_is_guaranteed(&mut self) {
        self.guarantee = (self.guarantee_at)(self.thresholds.alpha);
        if let Some(certificate) = &mut self.certificate {
            certificate.judge_at(self.thresholds.alpha);
        }
    }

    /// First token of the first flagged span; 0 where nothing is flagged.
    pub fn first_flagged_token(&self) -> usize {
        let first = self.findings.as_ref().and_then(|findings| findings.spans.first());
        first.map_or(0, |span| span.tokens.start)
    }

    /// What a slider did to all evidence since its default, or while it is held since it was taken;
    /// `None` while it did not move or is still being counted.
    pub fn effect(&self, slider: SliderName) -> Option<SliderEffect> {
        self.rows.compare(&self.baseline(slider)?, &self.thresholds, slider)
    }

    /// What a slider's effect is measured against; `None` where it did not move.
    pub fn baseline(&self, slider: SliderName) -> Option<Thresholds> {
        let before = match &self.held {
            Some((held, before)) if *held == slider => before,
            _ => &self.defaults,
        };
        slider.is_moved(&self.thresholds, before).then(|| slider.with_default(&self.thresholds, before))
    }

    /// Units of the answer that share no character, with their tokens.
    pub fn token_units(&self) -> Option<TokenUnits> {
        Some(TokenUnits::new(&self.reading()?.tokens))
    }
}
