//! A fixed, invented run for the screens: nothing in it was computed by a model.

use std::collections::BTreeMap;

use ragscope::certify::PValue;
use ragscope::evidence::{
    ChunkEvidence, DetectorScores, Evidence, LabelledSpan, Lookback, Provenance, Reading, SCHEMA, Status,
};
use ragscope::inspect::{Message, Planned};

pub const TITLE: &str = "harbour-faq.jsonl · SmolLM2-135M-Instruct";
const LAYERS: usize = 30;
const HEADS: usize = 9;

/// One invented example.
struct Sketch {
    id: &'static str,
    question: &'static str,
    answer: &'static str,
    chunks: &'static [(&'static str, &'static str)],
    /// Calibration values at least as nonconforming, of 199, per chunk.
    counts: &'static [u32],
    /// Parts of the answer that the detector finds unsupported, and how strongly.
    hot: &'static [(&'static str, f32)],
    /// Parts that a labeller marked; none: nobody looked.
    gold: Option<&'static [&'static str]>,
    factuality: f64,
}

const FERRY: &[(&str, &str)] = &[
    (
        "ferry-timetable#2",
        "The ferry Alba crosses to Norsund four times a day from April to September, and twice a day in \
         winter. Crossings take 35 minutes. The last boat back leaves Norsund at 20:40 in summer and at \
         17:10 in winter. In storms above force 8 the harbour office cancels crossings; passengers are \
         told by text message two hours before departure, and tickets stay valid for thirty days.",
    ),
    (
        "ferry-fares#1",
        "A single ticket costs 12 euros, a return 20 euros. Children under seven travel free; bicycles \
         cost 4 euros each way. Season tickets are sold at the harbour office only.",
    ),
    (
        "harbour-history#4",
        "The stone pier was finished in 1887 after eleven years of work. A storm in 1911 took its outer \
         third, which was never rebuilt.",
    ),
    (
        "museum-hours#1",
        "The maritime museum is open from Tuesday to Sunday, ten to five. On Mondays it opens for school \
         classes by appointment.",
    ),
    (
        "parking#3",
        "Cars can be left at the northern car park for up to three days. The fee is 6 euros a day, paid \
         at the machine beside the ticket office.",
    ),
];

const SKETCHES: &[Sketch] = &[
    Sketch {
        id: "faq-001",
        question: "How often does the ferry to Norsund run, and what does a return ticket cost?",
        answer: "The ferry Alba runs four times a day in summer and twice a day in winter, and a crossing \
                 takes 35 minutes. A return ticket costs 20 euros. Tickets bought online are ten per cent \
                 cheaper. Children under seven travel free, bicycles cost 4 euros each way. Dogs travel for \
                 half the price of an adult.",
        chunks: FERRY,
        counts: &[171, 122, 31, 9, 14],
        hot: &[
            (" Tickets bought online are ten per cent cheaper", 0.98),
            (" Dogs travel for half the price of an adult", 0.94),
        ],
        gold: Some(&[
            "Tickets bought online are ten per cent cheaper",
            "Dogs travel for half the price of an adult",
        ]),
        factuality: 0.31,
    },
    Sketch {
        id: "faq-002",
        question: "When was the stone pier finished?",
        answer: "The stone pier was finished in 1887 after eleven years of work.",
        chunks: FERRY,
        counts: &[11, 4, 183, 12, 2],
        hot: &[],
        gold: Some(&[]),
        factuality: 0.92,
    },
    Sketch {
        id: "faq-003",
        question: "Can I leave my car at the harbour over the weekend?",
        answer: "Yes. Cars can stay at the northern car park for up to three days at 6 euros a day. The car \
                 park is guarded at night by two wardens.",
        chunks: FERRY,
        counts: &[22, 61, 3, 9, 160],
        hot: &[(" is guarded at night by two wardens", 0.97)],
        gold: Some(&["guarded at night by two wardens"]),
        factuality: 0.48,
    },
    Sketch {
        id: "faq-004",
        question: "港の博物館はいつ開いていますか？",
        answer: "博物館は火曜日から日曜日まで、十時から五時まで開いています。入場料は大人三百円で、子どもは無料です。",
        chunks: FERRY,
        counts: &[8, 7, 15, 149, 5],
        hot: &[("入場料は大人三百円で、子どもは無料です", 0.96)],
        gold: None,
        factuality: 0.44,
    },
    Sketch {
        id: "faq-006",
        question: "What happens to my ticket when a crossing is cancelled?",
        answer: "Tickets stay valid for thirty days after a cancelled crossing.",
        chunks: FERRY,
        counts: &[155, 96, 3, 2, 6],
        hot: &[],
        gold: None,
        factuality: 0.87,
    },
    Sketch {
        id: "faq-007",
        question: "Do children pay on the ferry?",
        answer: "Children under seven travel free. Older children pay half of the single fare of 12 euros.",
        chunks: FERRY,
        counts: &[88, 166, 7, 19, 4],
        hot: &[(" Older children pay half of the", 0.95)],
        gold: Some(&["pay half of the single fare"]),
        factuality: 0.52,
    },
    Sketch {
        id: "faq-008",
        question: "Is the museum open on Mondays?",
        answer: "On Mondays the museum opens for school classes by appointment only.",
        chunks: FERRY,
        counts: &[3, 5, 12, 178, 6],
        hot: &[],
        gold: Some(&[]),
        factuality: 0.81,
    },
];

/// Another answer to the first question, from the same chunks.
const SECOND: Sketch = Sketch {
    id: "faq-001b",
    question: "How often does the ferry to Norsund run, and what does a return ticket cost?",
    answer: "From April to September the ferry crosses four times a day, in winter twice. A return ticket is \
             20 euros, and it is sold at every kiosk in Norsund.",
    chunks: FERRY,
    counts: &[171, 122, 31, 9, 14],
    hot: &[(" and it is sold at every kiosk in Norsund", 0.97)],
    gold: None,
    factuality: 0.48,
};

/// An example that answers the first question once more.
pub fn second_answer() -> Evidence {
    evidence(&SECOND, 8)
}

/// What was planned: the sketches, a record that fails, and rows that are still to come.
pub fn planned() -> Message {
    let mut rows: Vec<Planned> = all().iter().map(plan).collect();
    for (row, question) in [(8, "Where can I rent a bicycle?"), (9, "Who owns the ferry Alba?")] {
        rows.push(Planned { row, id: format!("faq-{:03}", row + 1), question: question.into() });
    }
    Message::Planned(rows)
}

fn plan(evidence: &Evidence) -> Planned {
    Planned { row: evidence.row, id: evidence.id.clone(), question: evidence.question.clone() }
}

/// All evidence of the invented run.
pub fn all() -> Vec<Evidence> {
    let mut all: Vec<Evidence> = SKETCHES
        .iter()
        .enumerate()
        .map(|(index, sketch)| evidence(sketch, if index < 4 { index } else { index + 1 }))
        .collect();
    all.insert(4, broken());
    all
}

/// The same before the answer was read.
pub fn unread(mut evidence: Evidence) -> Evidence {
    evidence.reading = None;
    evidence
}

fn broken() -> Evidence {
    Evidence {
        schema: SCHEMA.into(),
        id: "faq-005".into(),
        row: 4,
        status: Status::Error,
        reason: Some(
            "row 4, field \"contexts\": expected a list of texts, got a number; correct the record or map \
             another field"
                .into(),
        ),
        notices: Vec::new(),
        question: "Which bus goes to the harbour?".into(),
        answer: None,
        references: Vec::new(),
        groups: BTreeMap::new(),
        chunks: Vec::new(),
        reading: None,
        gold_spans: None,
        provenance: Provenance::default(),
    }
}

fn evidence(sketch: &Sketch, row: usize) -> Evidence {
    let chunks: Vec<ChunkEvidence> = sketch
        .chunks
        .iter()
        .zip(sketch.counts)
        .map(|((id, text), count)| ChunkEvidence {
            id: (*id).into(),
            document: id.split('#').next().map(str::to_owned),
            text: (*text).into(),
            range: None,
            score: Some(2.0 + f64::from(*count) / 11.0),
            p_value: (*count != 9).then_some(PValue { count: count + 1, out_of: 200 }),
            p_value_absent: (*count == 9).then(|| "no score came with this chunk".to_owned()),
            correct: None,
            tokens_read: None,
        })
        .collect();
    let gold = sketch.gold.map(|parts| {
        let spans = parts.iter().filter_map(|part| {
            let start = sketch.answer.find(part)?;
            Some(LabelledSpan { start, end: start + part.len(), kind: None })
        });
        spans.collect()
    });
    Evidence {
        schema: SCHEMA.into(),
        id: sketch.id.into(),
        row,
        status: Status::Ok,
        reason: None,
        notices: Vec::new(),
        question: sketch.question.into(),
        answer: Some(sketch.answer.into()),
        references: Vec::new(),
        groups: BTreeMap::from([("task".into(), "qa".into())]),
        reading: Some(reading(sketch, chunks.len(), row as u64)),
        chunks,
        gold_spans: gold,
        provenance: Provenance::default(),
    }
}

fn reading(sketch: &Sketch, chunks: usize, seed: u64) -> Reading {
    let answer = sketch.answer;
    let tokens = tokens(answer);
    let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9) + 1);
    let hot = |token: &[usize; 2]| {
        sketch.hot.iter().find_map(|(part, score)| {
            let start = answer.find(part)?;
            (token[0] < start + part.len() && start < token[1]).then_some(*score)
        })
    };
    let raw = |noise: &mut Noise, base: f32| -> Vec<f32> {
        let score = |token| match hot(token) {
            Some(score) => (score * base - 0.25 * noise.next() * noise.next()).clamp(0.0, 1.0),
            None => 0.02 + 0.3 * noise.next() * noise.next(),
        };
        tokens.iter().map(score).collect()
    };
    let detectors = vec![
        DetectorScores { name: "cortex".into(), raw: raw(&mut noise, 1.0) },
        DetectorScores { name: "lookback".into(), raw: raw(&mut noise, 0.97) },
    ];
    let log_prob_with: Vec<f32> = tokens
        .iter()
        .map(|token| if hot(token).is_some() { -2.5 - noise.next() } else { -0.1 - noise.next() })
        .collect();
    let log_prob_without: Vec<f32> = log_prob_with.iter().map(|log| log - 1.5 * noise.next()).collect();
    let weight = |chunk: usize| 0.05 + f64::from(sketch.counts[chunk]) / 250.0;
    let mut by_token = Vec::new();
    for token in &tokens {
        let attention = if hot(token).is_some() { 0.25 } else { 1.0 };
        for chunk in 0..chunks {
            by_token.push((weight(chunk) * attention) as f32 * (0.3 + 0.5 * noise.next()));
        }
    }
    Reading {
        tokens,
        log_prob_with,
        log_prob_without,
        detectors,
        lookback: Some(lookback(chunks, &weight, &mut noise, by_token)),
        factuality: Some(sketch.factuality),
        factuality_absent: None,
    }
}

/// A few heads in the middle layers look back, most hardly do: the shape that real models have.
fn lookback(chunks: usize, weight: &dyn Fn(usize) -> f64, noise: &mut Noise, by_token: Vec<f32>) -> Lookback {
    let mut by_head = Vec::new();
    let mut context_by_head = Vec::new();
    for layer in 0..LAYERS {
        for _ in 0..HEADS {
            let depth = 1.0 - ((layer as f32 - 17.0) / 15.0).powi(2);
            let strength = (noise.next().powi(4) * 0.9 + 0.06) * depth.max(0.12);
            context_by_head.push((strength * 1.05 + 0.02).min(0.98));
            for chunk in 0..chunks {
                by_head.push((strength * (0.2 + weight(chunk) as f32)).min(0.97));
            }
        }
    }
    Lookback { layers: LAYERS, heads: HEADS, by_head, context_by_head, by_token }
}

/// Word pieces of at most eight characters with their leading blank; one per character without blanks.
fn tokens(text: &str) -> Vec<[usize; 2]> {
    let mut tokens: Vec<[usize; 2]> = Vec::new();
    let mut start = 0;
    let mut length = 0;
    for (at, c) in text.char_indices() {
        let starts = c.len_utf8() > 1 || length >= 9 || !c.is_alphanumeric();
        if starts && at > start {
            tokens.push([start, at]);
            start = at;
            length = 0;
        }
        length += 1;
    }
    tokens.push([start, text.len()]);
    tokens
}

/// A fixed stream of numbers in [0, 1).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1_u64 << 24) as f32
    }
}
