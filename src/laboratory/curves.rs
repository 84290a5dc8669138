//! Precision-recall and reliability curves as small SVG pictures that read on light and dark pages.

use std::fmt::Write as _;

use crate::metrics::reliability;

/// A line of a picture.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Okabe-Ito, told apart by most eyes on either background.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const SIDE: f64 = 320.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 12.0;

/// Precision against recall, one line for each named row; the share of positives is the dashed line of chance.
pub(super) fn precision_recall(rows: &[(String, Vec<f64>)], labels: &[bool]) -> String {
    let lines = rows
        .iter()
        .map(|(name, scores)| Line { name: name.clone(), points: precision_recall_points(scores, labels) });
    let share = labels.iter().filter(|&&label| label).count() as f64 / labels.len().max(1) as f64;
    picture("recall", "precision", &lines.collect::<Vec<_>>(), &[(0.0, share), (1.0, share)])
}

/// Share of positives against the mean score of ten bins; the diagonal is perfect calibration.
pub(super) fn reliability_curve(rows: &[(String, Vec<f64>)], labels: &[bool]) -> String {
    let lines = rows.iter().map(|(name, scores)| {
        let bins = reliability(labels, scores).bins;
        let filled = bins.iter().filter(|bin| bin.count > 0);
        let point = |bin: &crate::metrics::ReliabilityBin| Some((bin.predicted?, bin.observed?));
        Line { name: name.clone(), points: filled.filter_map(point).collect() }
    });
    picture("score", "share unsupported", &lines.collect::<Vec<_>>(), &[(0.0, 0.0), (1.0, 1.0)])
}

/// At most two hundred points of the curve, ties taken together.
fn precision_recall_points(scores: &[f64], labels: &[bool]) -> Vec<(f64, f64)> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let positives = labels.iter().filter(|&&label| label).count();
    let mut points = Vec::new();
    let (mut hits, mut next_recall) = (0_usize, 0.0);
    for (taken, pair) in order.iter().enumerate() {
        hits += usize::from(labels[*pair]);
        let tied = order.get(taken + 1).is_some_and(|next| scores[*next] == scores[*pair]);
        let recall = hits as f64 / positives.max(1) as f64;
        if !tied && recall >= next_recall && hits > 0 {
            points.push((recall, hits as f64 / (taken + 1) as f64));
            next_recall = recall + 0.005;
        }
    }
    points
}

fn picture(across: &str, up: &str, lines: &[Line], dashed: &[(f64, f64); 2]) -> String {
    let place = |(x, y): (f64, f64)| (LEFT + x * SIDE, TOP + (1.0 - y) * SIDE);
    let width = LEFT + SIDE + 12.0;
    let height = TOP + SIDE + 40.0 + 18.0 * lines.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<g fill=\"none\" stroke=\"#888888\">\n<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\"/>\n"
    );
    let path = |points: &[(f64, f64)]| {
        let mut path = String::new();
        for (number, point) in points.iter().enumerate() {
            let (x, y) = place(*point);
            let _ = write!(path, "{}{x:.1} {y:.1}", if number == 0 { "M" } else { " L" });
        }
        path
    };
    let _ = writeln!(svg, "<path d=\"{}\" stroke-dasharray=\"4 4\"/>\n</g>", path(dashed));
    svg.push_str("<g fill=\"#888888\">\n");
    for (value, label) in [(0.0, "0"), (0.5, "0.5"), (1.0, "1")] {
        let (x, bottom) = place((value, 0.0));
        let (_, y) = place((0.0, value));
        let _ = writeln!(
            svg,
            "<text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{label}</text>",
            bottom + 15.0
        );
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{label}</text>",
            LEFT - 5.0,
            y + 4.0
        );
    }
    let (middle, bottom) = place((0.5, 0.0));
    let _ = writeln!(
        svg,
        "<text x=\"{middle:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{across}</text>",
        bottom + 30.0
    );
    let (x, y) = (14.0, TOP + SIDE / 2.0);
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{up}</text>\n</g>"
    );
    for (number, line) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let _ = writeln!(
            svg,
            "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>",
            path(&line.points)
        );
        let y = TOP + SIDE + 48.0 + 18.0 * number as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{:.0}\" width=\"16\" height=\"3\" fill=\"{colour}\"/>\n\
             <text x=\"{:.0}\" y=\"{y:.0}\" fill=\"#888888\">{}</text>",
            y - 5.0,
            LEFT + 22.0,
            escaped(&line.name)
        );
    }
    svg + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_are_those_of_the_curve_with_ties_taken_together() {
        let points = precision_recall_points(&[0.9, 0.8, 0.8, 0.1], &[true, false, true, true]);
        assert_eq!(points, [(1.0 / 3.0, 1.0), (2.0 / 3.0, 2.0 / 3.0), (1.0, 0.75)]);
    }

    #[test]
    fn a_picture_names_its_rows_and_keeps_markup_out() {
        let rows = vec![("a < b".to_owned(), vec![0.9, 0.2, 0.4])];
        for svg in
            [precision_recall(&rows, &[true, false, true]), reliability_curve(&rows, &[true, false, true])]
        {
            assert!(svg.contains("a &lt; b") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
        }
    }
}
