//! The screen: from a key to a frame, and from a file to the first frame, at runs of several sizes.
//!
//! `cargo bench --bench screen`

#[path = "../tests/screens/demo.rs"]
#[allow(dead_code, reason = "a part of what the screens' tests use")]
mod demo;

use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ragscope::evidence::{Evidence, RunFile, Thresholds, write_line};
use ragscope::inspect::Message;
use ragscope::tui::{Action, Command, Model, Pane, SliderName, Theme, draw, update};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const SCREEN: Rect = Rect { x: 0, y: 0, width: 200, height: 60 };
const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// Answers of about 75 tokens with five chunks and the heads of the default model.
fn records(count: usize) -> impl Iterator<Item = Evidence> {
    let examples = demo::all();
    (0..count).map(move |row| {
        let mut evidence = examples[row % examples.len()].clone();
        evidence.row = row;
        evidence.id = format!("example-{row}");
        evidence
    })
}

fn empty() -> Model {
    let thresholds = Thresholds::default();
    Model::new("bench", thresholds.clone(), thresholds, Arc::new(|_| vec!["A guarantee.".into()]))
}

fn settle(model: &mut Model) {
    while model.rows.has_pending() {
        model.rows.decide_slice();
    }
}

fn filled(count: usize) -> Model {
    let mut model = empty();
    for evidence in records(count) {
        update(&mut model, Action::Message(Message::Evidence(Box::new(evidence))));
    }
    update(&mut model, Action::Message(Message::Finished));
    update(&mut model, Action::Do(Command::Focus(Pane::Sliders)));
    model.slider = SliderName::Token;
    settle(&mut model);
    model
}

/// A step that no kept decision knows: the value goes round in sixty steps.
fn step(model: &mut Model, steps: &mut u32) {
    *steps = (*steps + 1) % 60;
    let command = if *steps == 0 { Command::Minimum } else { Command::StepUp };
    update(model, Action::Do(command));
}

fn frame(model: &mut Model, buffer: &mut Buffer) {
    buffer.reset();
    let hits = draw(model, &Theme::DARK, buffer, SCREEN);
    model.limits = hits.limits.clone();
    black_box(&hits);
}

/// What a key press waits for: the step, the decision about the example on the screen, the frame.
fn slider_step(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("slider step to frame, 200x60");
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_secs(1));
    for count in SIZES {
        let (mut model, mut buffer, mut steps) = (filled(count), Buffer::empty(SCREEN), 0);
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| {
                step(&mut model, &mut steps);
                frame(&mut model, &mut buffer);
            });
        });
    }
    group.finish();
}

/// What keys may have to wait for while all examples are decided about anew: one slice and its frame.
fn slice(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("one slice of decisions and its frame, 200x60");
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_secs(1));
    for count in SIZES {
        let (mut model, mut buffer, mut steps) = (filled(count), Buffer::empty(SCREEN), 0);
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter_custom(|rounds| {
                let mut spent = Duration::ZERO;
                for _ in 0..rounds {
                    step(&mut model, &mut steps);
                    let start = Instant::now();
                    model.rows.decide_slice();
                    frame(&mut model, &mut buffer);
                    spent += start.elapsed();
                }
                spent
            });
        });
    }
    group.finish();
}

/// A frame that shows counted effects of moved sliders: each is a comparison of all examples.
fn counted_frame(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame with all effects counted, 200x60");
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_secs(1));
    for count in SIZES {
        let (mut model, mut buffer, mut steps) = (filled(count), Buffer::empty(SCREEN), 0);
        step(&mut model, &mut steps);
        model.slider = SliderName::Alpha;
        step(&mut model, &mut steps);
        settle(&mut model);
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| frame(&mut model, &mut buffer));
        });
    }
    group.finish();
}

/// From the step until the effect on all examples is known.
fn all_counted(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("slider step to the count of all its effects");
    group.sample_size(10).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    for count in SIZES {
        let (mut model, mut steps) = (filled(count), 0);
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| {
                step(&mut model, &mut steps);
                settle(&mut model);
            });
        });
    }
    group.finish();
}

/// From a closed file to a frame that shows its first example.
fn first_frame(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("there is room for a run");
    let mut group = criterion.benchmark_group("file to first frame, 200x60");
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_secs(1));
    for count in SIZES {
        let path = folder.path().join(format!("{count}.jsonl"));
        let mut out = BufWriter::new(std::fs::File::create(&path).expect("the run can be written"));
        for evidence in records(count) {
            write_line(&evidence, &mut out).expect("the run can be written");
        }
        out.flush().expect("the run can be written");
        let mut buffer = Buffer::empty(SCREEN);
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| {
                let mut file = RunFile::open(&path).expect("the run is there");
                let mut model = empty();
                for evidence in file.next_records(4).expect("the run can be read") {
                    update(&mut model, Action::Message(Message::Evidence(Box::new(evidence))));
                }
                frame(&mut model, &mut buffer);
            });
        });
    }
    group.finish();
}

criterion_group!(screen, slider_step, slice, counted_frame, all_counted, first_frame);
criterion_main!(screen);
