//! ragscope as one of the engines that `benches/peers/compare.py` runs in turn, and what is measured of it alone.
//!
//! ```text
//! ragscope_reading read MODEL capture|plain CONTEXT ANSWER   a worker: see protocol.py
//! ragscope_reading answers MODEL DATA SOURCES                a worker over six answers to each of some sources
//! ragscope_reading sample MODEL DATA SOURCES FILE            token ids of the same answers for other engines
//! ragscope_reading logits MODEL FILE                         logits of 60 + 20 tokens, f32
//! ragscope_reading growth MODEL                              seconds against tokens, and the exponent
//! ragscope_reading bound MODEL                               share of the processor's multiply-add rate
//! ```

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use ragscope::data::{Dataset, Example, OpenOptions, Row};
use ragscope::model::{
    CacheDirectory, Capture, CaptureRequest, Decoder, LanguageModel, ModelConfig, ModelLocation, StateLayer,
};
use ragscope::reading::{Reader, with_references, without_references};
use rayon::prelude::*;
use serde_json::json;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const ANSWERS_OF_A_SOURCE: usize = 6;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["read", model, kind @ ("capture" | "plain"), context, answer] => {
            let (context, answer) = (context.parse()?, answer.parse()?);
            serve(
                || Ok(Decoder::from_gguf(Path::new(model))?),
                |decoder| Ok(read(decoder, context, answer, *kind == "capture")?.log_prob.iter().sum()),
            )
        }
        ["answers", model, data, sources] => {
            let examples = sample(data, sources.parse()?)?;
            serve(|| open(model), |model| answers(model, &examples))
        }
        ["sample", model, data, sources, file] => write_sample(model, data, sources.parse()?, file),
        ["logits", model, file] => write_logits(model, file),
        ["growth", model] => growth(&Decoder::from_gguf(Path::new(model))?),
        ["bound", model] => bound(&Decoder::from_gguf(Path::new(model))?),
        // `cargo bench` runs every bench binary; this one waits for `benches/peers/run.sh`.
        _ => {
            println!("ragscope_reading: run benches/peers/run.sh, which says what to read");
            Ok(())
        }
    }
}

/// The ids of protocol.py.
fn token_ids(count: usize) -> Vec<u32> {
    (0..count).map(|index| 100 + ((index * 7919 + 13) % 40_000) as u32).collect()
}

/// Reads as a detector needs it: attention of every head on four segments, states of two layers, attention
/// among the answer's tokens. The last context token goes with the answer, whose first token it predicts.
fn read(decoder: &Decoder, context: usize, answer: usize, capture: bool) -> Outcome<Capture> {
    let ids = token_ids(context + answer);
    let (before, after) = ids.split_at(context - 1);
    let request = if capture { full(decoder.config(), context) } else { CaptureRequest::default() };
    Ok(decoder.extend(&decoder.prefix(before)?, after, &request)?)
}

fn full(config: &ModelConfig, context: usize) -> CaptureRequest {
    let quarter = context / 4;
    let layers = vec![StateLayer::Block((config.layers * 3 / 4).max(1)), StateLayer::FinalNorm];
    CaptureRequest {
        segments: (0..4).map(|at| at * quarter..(at + 1) * quarter).collect(),
        states: layers.clone(),
        attention_among_new: layers,
        ..CaptureRequest::default()
    }
}

fn serve<M>(load: impl FnOnce() -> Outcome<M>, read: impl Fn(&M) -> Outcome<f32>) -> Outcome {
    let mut out = std::io::stdout();
    let mut say = |words: serde_json::Value| -> Outcome {
        writeln!(out, "{words}")?;
        Ok(out.flush()?)
    };
    let start = Instant::now();
    let model = load()?;
    say(json!({"load": start.elapsed().as_secs_f64()}))?;
    for line in std::io::stdin().lock().lines() {
        line?;
        let start = Instant::now();
        let check = read(&model)?;
        say(json!({"seconds": start.elapsed().as_secs_f64(), "check": check}))?;
    }
    say(json!({"peak_mb": peak_mb()}))
}

/// Most memory ever resident, in MB of 10^6 bytes; `None` where the system does not say.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0 / 1e6)
}

fn open(model: &str) -> Outcome<LanguageModel> {
    let cache = CacheDirectory::from_environment(&|name| std::env::var_os(name))?;
    let location = ModelLocation::parse(Some(model), &cache)?;
    Ok(LanguageModel::open(&location, &cache)?)
}

/// Answers to `sources` sources spread evenly over the data, six to each.
fn sample(data: &str, sources: usize) -> Outcome<Vec<Example>> {
    let rows = Dataset::open(data, &OpenOptions::default())?.rows;
    let examples: Vec<Example> = rows
        .into_iter()
        .filter_map(|row| match row {
            Row::Example(example) if example.answer.is_some() => Some(example),
            _ => None,
        })
        .collect();
    let groups: Vec<&[Example]> = examples
        .chunk_by(|left, right| left.question == right.question)
        .filter(|group| group.len() >= ANSWERS_OF_A_SOURCE)
        .collect();
    let wanted = (0..sources).filter_map(|at| groups.get(at * groups.len() / sources.max(1)));
    Ok(wanted.flat_map(|group| group[..ANSWERS_OF_A_SOURCE].to_vec()).collect())
}

fn answers(model: &LanguageModel, examples: &[Example]) -> Outcome<f32> {
    let layers = model.decoder.config().layers;
    let states = vec![StateLayer::Block((layers * 3 / 4).max(1)), StateLayer::FinalNorm];
    let mut reader = Reader::new(model, states);
    let mut total = 0.0;
    for group in examples.chunks(ANSWERS_OF_A_SOURCE) {
        let passages: Vec<&str> = group[0].passages.iter().map(|passage| passage.text.as_str()).collect();
        let answers: Vec<&str> = group.iter().filter_map(|example| example.answer.as_deref()).collect();
        for read in reader.read_many(&group[0].question, &passages, &answers) {
            let trace = read?.trace;
            total += trace.log_prob_with.iter().chain(&trace.log_prob_without).sum::<f32>();
        }
    }
    Ok(total)
}

fn write_sample(model: &str, data: &str, sources: usize, file: &str) -> Outcome {
    let model = open(model)?;
    let mut lines = String::new();
    for example in sample(data, sources)? {
        let passages: Vec<&str> = example.passages.iter().map(|passage| passage.text.as_str()).collect();
        let with = model.prompt(&with_references(&example.question, &passages))?;
        let chunks: Vec<[usize; 2]> = with.chunks().iter().map(|range| [range.start, range.end]).collect();
        let without = model.prompt(&without_references(&example.question))?;
        let answer = model.tokenize(example.answer.as_deref().unwrap_or_default())?;
        let ids = json!({"with": with.ids, "without": without.ids, "answer": answer.ids, "chunks": chunks});
        lines += &format!("{ids}\n");
    }
    Ok(std::fs::write(file, lines)?)
}

fn write_logits(model: &str, file: &str) -> Outcome {
    let decoder = Decoder::from_gguf(Path::new(model))?;
    let ids = token_ids(80);
    let request = CaptureRequest { logits: true, ..CaptureRequest::default() };
    let capture = decoder.extend(&decoder.prefix(&ids[..60])?, &ids[60..], &request)?;
    let bytes: Vec<u8> = capture.logits.unwrap_or_default().iter().flat_map(|x| x.to_le_bytes()).collect();
    Ok(std::fs::write(file, bytes)?)
}

fn timed(decoder: &Decoder, context: usize, answer: usize) -> Outcome<f64> {
    let start = Instant::now();
    black_box(read(decoder, context, answer, true)?);
    Ok(start.elapsed().as_secs_f64())
}

/// Full capture of 200 answer tokens after contexts of growing length.
fn growth(decoder: &Decoder) -> Outcome {
    timed(decoder, 300, 200)?;
    let mut points = Vec::new();
    for (tokens, rounds) in [(500, 3), (1000, 3), (2000, 2), (4000, 1), (8000, 1)] {
        let mut seconds = Vec::new();
        for _ in 0..rounds {
            seconds.push(timed(decoder, tokens - 200, 200)?);
        }
        seconds.sort_by(f64::total_cmp);
        let median = seconds[seconds.len() / 2];
        println!("{tokens} tokens: {median:.2} s, {:.0} tokens/s", tokens as f64 / median);
        points.push(((tokens as f64).ln(), median.ln()));
    }
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    let (x, y) = (x / count, y / count);
    let (over, under) = points
        .iter()
        .fold((0.0, 0.0), |sum, p| (sum.0 + (p.0 - x) * (p.1 - y), sum.1 + (p.0 - x) * (p.0 - x)));
    println!("time grows as tokens to the power {:.2}", over / under);
    println!("peak {:.0} MB", peak_mb().unwrap_or(f64::NAN));
    Ok(())
}

/// Multiplications and additions of a reading: what enters matrix products.
fn operations(config: &ModelConfig, context: usize, answer: usize) -> f64 {
    let [d, hidden, heads, kv] =
        [config.hidden_size, config.intermediate_size, config.heads, config.kv_heads];
    let (tokens, width) = (context + answer, config.head_dim);
    let projections = d * width * (heads + 2 * kv) + heads * width * d + 3 * d * hidden;
    // The prefix, all but the last context token, needs nothing after the keys and values of the last block.
    let skipped = (context - 1) * (heads * width * d + 3 * d * hidden);
    let attended = (1..=tokens).sum::<usize>() * config.layers - (1..context).sum::<usize>();
    let attention = 2 * heads * width * attended;
    let head = (answer + 1) * d * config.vocab_size;
    2.0 * (tokens * projections * config.layers - skipped + attention + head) as f64
}

/// Operations of readings against what the processor can do at most.
fn bound(decoder: &Decoder) -> Outcome {
    let threads = rayon::current_num_threads();
    let Some(peak) = (0..3).filter_map(|_| multiply_add_rate(threads)).reduce(f64::max) else {
        println!("the multiply-add rate is measured on x86-64 with FMA alone");
        return Ok(());
    };
    println!("multiply-add peak {:.0} GFLOP/s on {threads} threads", peak / 1e9);
    for (context, rounds) in [(600, 5), (2800, 2)] {
        let mut seconds = Vec::new();
        for _ in 0..rounds {
            seconds.push(timed(decoder, context, 200)?);
        }
        seconds.sort_by(f64::total_cmp);
        let median = seconds[seconds.len() / 2];
        let work = operations(decoder.config(), context, 200);
        println!(
            "{context} + 200 tokens: {:.0} GFLOP in {median:.2} s, {:.0} GFLOP/s, {:.0} % of the peak",
            work / 1e9,
            work / median / 1e9,
            100.0 * work / median / peak
        );
    }
    Ok(())
}

/// Operations a second of independent multiply-adds in registers, on all threads.
fn multiply_add_rate(threads: usize) -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx2") {
        const ROUNDS: usize = 100_000_000;
        let start = Instant::now();
        let sums: Vec<f32> = (0..threads)
            .into_par_iter()
            // SAFETY: the features were found just above.
            .map(|_| unsafe { multiply_adds(black_box(ROUNDS)) })
            .collect();
        black_box(sums);
        let operations = (ROUNDS * LANES * CHAINS * 2 * threads) as f64;
        return Some(operations / start.elapsed().as_secs_f64());
    }
    let _ = threads;
    None
}

#[cfg(target_arch = "x86_64")]
const LANES: usize = 8;
/// Chains that do not wait for each other: two units of four to five cycles.
#[cfg(target_arch = "x86_64")]
const CHAINS: usize = 12;

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_adds(rounds: usize) -> f32 {
    use std::arch::x86_64::{_mm256_add_ps, _mm256_cvtss_f32, _mm256_fmadd_ps, _mm256_set1_ps};
    let (factor, addend) = (_mm256_set1_ps(black_box(0.5)), _mm256_set1_ps(black_box(0.25)));
    let mut sums = [_mm256_set1_ps(1.0); CHAINS];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = _mm256_fmadd_ps(*sum, factor, addend);
        }
    }
    _mm256_cvtss_f32(sums.into_iter().fold(_mm256_set1_ps(0.0), |total, sum| _mm256_add_ps(total, sum)))
}
