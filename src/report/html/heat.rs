//! Where the model looked: shares of attention on the chunks, and the heads that looked back most.

use std::fmt::Write;

use serde::Serialize;

use crate::evidence::{Evidence, Lookback};

use super::super::number::three;
use super::super::record::ExampleReport;
use super::strip::TOKEN_WIDTH;

/// Steps of the colour ramp; step 0 is not drawn.
const STEPS: usize = 6;
/// Heads in the list.
const TOP_HEADS: usize = 6;

/// What the section shows of the look-back ratios.
#[derive(Debug, Serialize)]
pub struct LookbackView {
    /// One sentence of plain words, or why there is nothing to see.
    pub sentence: String,
    /// Per chunk, in rank order.
    pub chunks: Vec<ChunkShare>,
    /// The value of the strongest cell in the strips of `chunks`.
    pub strip_highest: String,
    /// Layers x heads, as SVG; empty when absent.
    pub grid: String,
    pub grid_highest: String,
    pub top_heads: Vec<HeadRow>,
}

/// A chunk's share of the attention.
#[derive(Debug, Serialize)]
pub struct ChunkShare {
    pub rank: usize,
    pub mean: String,
    pub peak: String,
    /// Number of the token with the highest share, from 1.
    pub peak_token: usize,
    /// Share by answer token, as SVG, on one scale for all chunks.
    pub strip: String,
}

/// One attention head.
#[derive(Debug, Serialize)]
pub struct HeadRow {
    pub name: String,
    pub context: String,
    /// Rank of the chunk it looked at most, and the ratio; `n/a` without chunks.
    pub chunk: String,
}

/// The look-back view of one example; `None` when its reading holds no look-back ratios.
pub fn lookback(evidence: &Evidence, example: &ExampleReport) -> Option<LookbackView> {
    let reading = evidence.reading.as_ref()?;
    let ratios = reading.lookback.as_ref()?;
    let (tokens, chunks) = (reading.tokens.len(), example.chunks.len());
    let pairs = ratios.layers.saturating_mul(ratios.heads);
    let fits = ratios.by_token.len() == tokens.saturating_mul(chunks)
        && ratios.by_head.len() == pairs.saturating_mul(chunks)
        && ratios.context_by_head.len() == pairs;
    if !fits || tokens == 0 || pairs == 0 {
        return Some(absent(format!(
            "The look-back ratios of this record do not fit its answer: {tokens} tokens, {chunks} chunks, {} \
             layers and {} heads, but {} token values, {} head values and {} context values.",
            ratios.layers,
            ratios.heads,
            ratios.by_token.len(),
            ratios.by_head.len(),
            ratios.context_by_head.len()
        )));
    }
    let by_chunk: Vec<Vec<f64>> = (0..chunks)
        .map(|k| (0..tokens).map(|t| f64::from(ratios.by_token[t * chunks + k])).collect())
        .collect();
    let strip_highest = highest(&by_chunk);
    let shares: Vec<_> = by_chunk.iter().enumerate().map(|(k, row)| share(k, row, strip_highest)).collect();
    let by_layer: Vec<Vec<f64>> = ratios
        .context_by_head
        .chunks(ratios.heads)
        .map(|row| row.iter().map(|value| f64::from(*value)).collect())
        .collect();
    let grid_highest = highest(&by_layer);
    let label = "Look-back ratio of each head, layers downwards, heads to the right";
    Some(LookbackView {
        sentence: sentence(&by_chunk),
        chunks: shares,
        strip_highest: three(strip_highest),
        grid: heat_map(&by_layer, grid_highest, label, [14, 7]),
        grid_highest: three(grid_highest),
        top_heads: top_heads(ratios, chunks),
    })
}

fn absent(sentence: String) -> LookbackView {
    LookbackView {
        sentence,
        chunks: Vec::new(),
        strip_highest: String::new(),
        grid: String::new(),
        grid_highest: String::new(),
        top_heads: Vec::new(),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn sentence(by_chunk: &[Vec<f64>]) -> String {
    let means: Vec<f64> = by_chunk.iter().map(|row| mean(row)).collect();
    let Some((most, share)) = means.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)) else {
        return "There was no chunk to look at.".to_string();
    };
    format!(
        "While reading the answer the model spent {:.1} % of its attention on the chunks together, most of it on \
         chunk {} ({:.1} %). The rest lay on the question, the prompt and the answer itself.",
        100.0 * means.iter().sum::<f64>(),
        most + 1,
        100.0 * share
    )
}

fn share(chunk: usize, row: &[f64], highest: f64) -> ChunkShare {
    let peak = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or((0, 0.0), |(t, v)| (t, *v));
    let label = format!("Attention on chunk {} by answer token", chunk + 1);
    ChunkShare {
        rank: chunk + 1,
        mean: three(mean(row)),
        peak: three(peak.1),
        peak_token: peak.0 + 1,
        strip: heat_map(std::slice::from_ref(&row.to_vec()), highest, &label, [TOKEN_WIDTH, 14]),
    }
}

fn top_heads(ratios: &Lookback, chunks: usize) -> Vec<HeadRow> {
    let mut heads: Vec<usize> = (0..ratios.context_by_head.len()).collect();
    heads.sort_by(|a, b| ratios.context_by_head[*b].total_cmp(&ratios.context_by_head[*a]).then(a.cmp(b)));
    let row = |head: usize| {
        let on_chunks = &ratios.by_head[head * chunks..(head + 1) * chunks];
        let most = on_chunks.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        HeadRow {
            name: format!("L{} H{}", head / ratios.heads, head % ratios.heads),
            context: three(f64::from(ratios.context_by_head[head])),
            chunk: most.map_or_else(
                || super::super::number::ABSENT.to_string(),
                |(k, ratio)| format!("{} ({})", k + 1, three(f64::from(*ratio))),
            ),
        }
    };
    heads.into_iter().take(TOP_HEADS).map(row).collect()
}

fn highest(rows: &[Vec<f64>]) -> f64 {
    rows.iter().flatten().copied().filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// Cells of `rows`, stronger for higher, by the square root of the share of `highest`: attention is
/// heavy-tailed, a linear ramp shows one cell. Equal neighbours are one rectangle.
fn heat_map(rows: &[Vec<f64>], highest: f64, label: &str, [width, height]: [usize; 2]) -> String {
    let step = |value: f64| {
        let part = if highest > 0.0 && value > 0.0 { (value / highest).min(1.0).sqrt() } else { 0.0 };
        (part * STEPS as f64).ceil() as usize
    };
    let columns = rows.first().map_or(0, Vec::len);
    let mut paths = vec![String::new(); STEPS + 1];
    for (y, row) in rows.iter().enumerate() {
        let mut x = 0;
        while x < row.len() {
            let level = step(row[x]);
            let run = row[x..].iter().take_while(|value| step(**value) == level).count();
            let _ = write!(paths[level], "M{x} {y}h{run}v1h-{run}z");
            x += run;
        }
    }
    let mut out = format!(
        "<svg class=\"heat\" viewBox=\"0 0 {columns} {rows}\" width=\"{}\" height=\"{}\" \
         preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}; the strongest cell is {}, square-root scale\">",
        columns * width,
        rows.len() * height,
        three(highest),
        rows = rows.len()
    );
    for (level, path) in paths.iter().enumerate().skip(1).filter(|(_, path)| !path.is_empty()) {
        let _ = write!(out, "<path class=\"h{level}\" d=\"{path}\"/>");
    }
    out.push_str("</svg>");
    out
}
