//! Whether retriever and data suit certification: m1, m2 and coverage over alpha, and the verdict.

use std::fmt::Write as _;

use ratatui::layout::{Constraint, Layout, Rect};

use super::sentence;
use super::words::interval;
use crate::certify::{Alpha, AlphaRow, CalibrationMode};
use crate::inspect::mode_name;
use crate::tui::model::{Curve, Model, Share};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Chart};

/// Least columns of one of three charts side by side.
const CHART: u16 = 24;
/// Points of the run's own curves.
const POINTS: u16 = 100;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let (focus, muted) = (canvas.style(Role::Focus), canvas.style(Role::Muted));
    let read_out = format!("alpha {:.3}", model.thresholds.alpha.value());
    let title = [("Retrieval diagnostics", focus), (" over alpha", muted)];
    let inside = canvas.frame(area, &title, &read_out, true);
    let body = sentence(canvas, inside, &words(model), if inside.height >= 16 { 5 } else { 2 });
    let table = 5.min(body.height.saturating_sub(4));
    let charts = Rect { height: body.height - table, ..body };
    if body.width >= 3 * CHART {
        let areas: [Rect; 3] = Layout::horizontal([Constraint::Fill(1); 3]).spacing(1).areas(charts);
        for (curve, area) in Curve::ALL.into_iter().zip(areas) {
            draw_chart(canvas, area, model, curve);
        }
    } else {
        draw_chart(canvas, charts, model, model.pages.curve);
    }
    let place = Rect { y: body.bottom() - table, height: table, ..body };
    draw_table(canvas, place, model);
}

fn mode(model: &Model) -> CalibrationMode {
    model.certificate.as_ref().map_or_else(CalibrationMode::default, |certificate| certificate.summary.mode)
}

/// The run's own figure at a level.
fn of_run(model: &Model, curve: Curve, alpha: Alpha) -> Share {
    let found = model.rows.certification();
    match curve {
        Curve::M1 => found.m1(alpha),
        Curve::M2 => found.m2(alpha),
        Curve::Coverage => found.coverage(alpha, mode(model)),
    }
}

fn share((some, all): Share) -> Option<f64> {
    (all > 0).then(|| some as f64 / all as f64)
}

fn run_curve(model: &Model, curve: Curve) -> Vec<(f64, f64)> {
    let alphas = (0..=POINTS).map(|step| Alpha::from_thousandths(step * (1000 / POINTS)));
    alphas.filter_map(|alpha| Some((alpha.value(), share(of_run(model, curve, alpha))?))).collect()
}

fn draw_chart(canvas: &mut Canvas<'_>, area: Rect, model: &Model, curve: Curve) {
    if area.height < 4 {
        return;
    }
    let (strong, muted) = (canvas.style(Role::Strong), canvas.style(Role::Muted));
    let head = Rect { height: 1, ..area };
    canvas.write_all(head, 1, 0, &[(curve.name(), strong), ("  ", muted), (curve.meaning(), muted)]);
    let held_out = model.certificate.as_ref().map_or_else(Vec::new, |certificate| certificate.curve(curve));
    let mut band: Vec<(f64, f64, f64)> = held_out
        .iter()
        .filter_map(|point| point.band.map(|band| (point.alpha, band.lower, band.upper)))
        .collect();
    if let Some(certificate) =
        model.certificate.as_ref().filter(|_| band.is_empty() && curve == Curve::Coverage)
    {
        band =
            certificate.bands.iter().map(|(alpha, band)| (alpha.value(), band.lower, band.upper)).collect();
    }
    let points = if held_out.is_empty() {
        run_curve(model, curve)
    } else {
        held_out.iter().map(|point| (point.alpha, point.value)).collect()
    };
    let plot = Rect { y: area.y + 1, height: area.height - 1, ..area };
    if points.is_empty() {
        let text = match curve {
            Curve::Coverage => "No chunk of this run is known to be correct.",
            _ => "No chunk of this run has a p-value.",
        };
        super::absent(canvas, plot, text, Role::Muted);
        return;
    }
    let wanted = |alpha: f64| 1.0 - alpha;
    let chart = Chart {
        points: &points,
        band: &band,
        wanted: (curve != Curve::M2).then_some(&wanted),
        cursor: model.thresholds.alpha.value(),
        axis: "alpha",
    };
    chart.draw(canvas, plot);
}

/// The figures at the present alpha.
fn draw_table(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let alpha = model.thresholds.alpha;
    let (muted, strong, text) =
        (canvas.style(Role::Muted), canvas.style(Role::Strong), canvas.style(Role::Text));
    let nearest = model.certificate.as_ref().and_then(|certificate| {
        let diagnosed = certificate.verdict.as_ref()?.alpha;
        certificate.row(diagnosed)
    });
    let columns = [1, 11, 11 + area.width.saturating_sub(12) / 3, 11 + area.width.saturating_sub(12) * 2 / 3];
    let level = nearest.map_or_else(
        || "held-out halves".to_owned(),
        |row| format!("held out, alpha {:.2}", row.alpha.value()),
    );
    let heads = ["", level.as_str(), "should be", "this run"];
    // A column ends where the next one begins.
    let cell = |column: usize| {
        let end = columns.get(column + 1).map_or(area.width, |next| next.saturating_sub(1));
        Rect { width: end.min(area.width), ..area }
    };
    for (column, head) in heads.into_iter().enumerate() {
        canvas.write(cell(column), columns[column], 0, head, muted);
    }
    for (row, curve) in Curve::ALL.into_iter().enumerate() {
        let row = row as u16 + 1;
        let (held_out, wanted) = held_out(model, curve, nearest);
        let (some, all) = of_run(model, curve, alpha);
        let run = share((some, all))
            .map_or_else(|| "none known".to_owned(), |share| format!("{share:.3} ({some} of {all})"));
        canvas.write(cell(0), columns[0], row, curve.name(), strong);
        for (column, shown) in [(1, &held_out), (2, &wanted), (3, &run)] {
            canvas.write(cell(column), columns[column], row, shown, text);
        }
    }
}

/// A figure on halves that did not calibrate, and what it should be.
fn held_out(model: &Model, curve: Curve, row: Option<&AlphaRow>) -> (String, String) {
    let Some(row) = row else {
        let band = model.certificate.as_ref().filter(|_| curve == Curve::Coverage).and_then(|certificate| {
            let band = certificate
                .bands
                .iter()
                .min_by_key(|(alpha, _)| alpha.thousandths().abs_diff(model.thresholds.alpha.thousandths()));
            band.map(|(_, band)| format!("in {}", interval(*band)))
        });
        return ("not diagnosed".to_owned(), band.unwrap_or_else(|| "–".to_owned()));
    };
    match curve {
        Curve::M1 => {
            let error = row.m1_standard_error.value().unwrap_or(0.0);
            let least = 1.0 - row.alpha.value() - 2.0 * error;
            (format!("{:.3} ± {:.3}", row.m1, 2.0 * error), format!("at least {least:.3}"))
        }
        Curve::M2 => (format!("{:.3}", row.m2), "the less, the more it rules out".to_owned()),
        Curve::Coverage => {
            let band = row
                .coverage_band
                .map_or_else(|| "no guarantee".to_owned(), |band| format!("in {}", interval(band)));
            (format!("{:.3}", row.coverage), band)
        }
    }
}

/// The guarantee in its own words, the verdict, and what the figures rest on.
fn words(model: &Model) -> String {
    let mut text = String::new();
    if let Some(first) = model.guarantee.first() {
        text.push_str(&sentence_of(first));
    }
    let Some(certificate) = &model.certificate else {
        return text;
    };
    let summary = &certificate.summary;
    if let Some(verdict) = &certificate.verdict {
        let _ = write!(text, " Verdict: {}.", verdict.to_string().trim_end_matches('.'));
    } else if let Some(verdict) = &summary.verdict {
        let _ = write!(text, " Verdict when calibrated: {}.", verdict.trim_end_matches('.'));
    } else {
        text.push_str(" No verdict: `ragscope certify` diagnoses the data that calibrated.");
    }
    let _ = write!(
        text,
        " {} calibration values ({}), recall@{} {:.3}",
        summary.values,
        mode_name(summary.mode),
        summary.k,
        summary.recall
    );
    if let Some(diagnostics) = &summary.diagnostics {
        let _ = write!(text, ", AUROC of the score {:.3}", diagnostics.auroc);
    }
    text.push('.');
    if let Some(limit) = model.guarantee.get(1) {
        let _ = write!(text, " {}", sentence_of(limit));
    }
    text
}

/// A statement as a sentence: a capital before, a stop behind.
fn sentence_of(statement: &str) -> String {
    let mut letters = statement.chars();
    let capital: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    format!("{capital}{}.", letters.as_str().trim_end_matches('.'))
}
