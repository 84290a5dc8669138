//! Prefix and continuation of the default model where it has been fetched, else of a small synthetic one.

#[path = "synthetic/mod.rs"]
mod synthetic;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ragscope::model::{CacheDirectory, CaptureRequest, Decoder, ModelLocation, StateLayer};

const CONTEXT: usize = 600;
const ANSWER: usize = 200;

/// The model and its name.
fn decoder() -> (Decoder, &'static str) {
    let default = CacheDirectory::from_environment(&|name| std::env::var_os(name))
        .and_then(|cache| ModelLocation::parse(None, &cache))
        .ok()
        .and_then(|location| Decoder::from_gguf(location.path()).ok());
    default.map_or_else(|| (synthetic::decoder(4, 1536), "synthetic"), |decoder| (decoder, "default model"))
}

fn forward(criterion: &mut Criterion) {
    let (decoder, name) = decoder();
    let ids = synthetic::token_ids(CONTEXT + ANSWER);
    let (before, answer) = ids.split_at(CONTEXT - 1);
    let layers = vec![StateLayer::Block(decoder.config().layers * 3 / 4), StateLayer::FinalNorm];
    let capture = CaptureRequest {
        segments: (0..4).map(|at| at * CONTEXT / 4..(at + 1) * CONTEXT / 4).collect(),
        states: layers.clone(),
        attention_among_new: layers,
        ..CaptureRequest::default()
    };
    let mut group = criterion.benchmark_group(format!("forward, {name}"));
    group.sample_size(10);
    group.throughput(Throughput::Elements(before.len() as u64));
    group.bench_function(BenchmarkId::new("prefix", before.len()), |bencher| {
        bencher.iter(|| decoder.prefix(black_box(before)).expect("known tokens"));
    });
    let prefix = decoder.prefix(before).expect("known tokens");
    group.throughput(Throughput::Elements(answer.len() as u64));
    for (kept, request) in [("nothing kept", CaptureRequest::default()), ("full capture", capture)] {
        group.bench_function(BenchmarkId::new(format!("continuation, {kept}"), answer.len()), |bencher| {
            bencher.iter(|| decoder.extend(&prefix, black_box(answer), &request).expect("known tokens"));
        });
    }
    group.finish();
}

criterion_group!(benches, forward);
criterion_main!(benches);
