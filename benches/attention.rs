//! The fused attention against the plain one, in a decoder in which little but attention takes time.

#[path = "synthetic/mod.rs"]
mod synthetic;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ragscope::model::{AttentionKernel, CaptureRequest, StateLayer};

const LAYERS: usize = 2;
const ANSWER: usize = 200;

fn attention(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("attention");
    group.sample_size(10);
    for kernel in [AttentionKernel::Fused, AttentionKernel::Plain] {
        let decoder = synthetic::decoder(LAYERS, 8).with_attention(kernel);
        for tokens in [800, 2000] {
            let ids = synthetic::token_ids(tokens);
            let (before, answer) = ids.split_at(tokens - ANSWER);
            let quarter = before.len() / 4;
            let capture = CaptureRequest {
                segments: (0..4).map(|at| at * quarter..(at + 1) * quarter).collect(),
                states: vec![StateLayer::FinalNorm],
                attention_among_new: vec![StateLayer::FinalNorm],
                ..CaptureRequest::default()
            };
            group.throughput(Throughput::Elements(tokens as u64));
            for (name, request) in [("nothing kept", CaptureRequest::default()), ("full capture", capture)] {
                let id = BenchmarkId::new(format!("{kernel:?}, {name}"), tokens);
                group.bench_function(id, |bencher| {
                    bencher.iter(|| {
                        let prefix = decoder.prefix(black_box(before)).expect("known tokens");
                        decoder.extend(&prefix, black_box(answer), &request).expect("known tokens")
                    });
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, attention);
criterion_main!(benches);
