//! Evidence for the pages: the golden run, hostile text, and many answers.

use std::collections::BTreeMap;

use ragscope::certify::PValue;
use ragscope::evidence::{
    ChunkEvidence, DetectorScores, Evidence, LabelledSpan, Provenance, Reading, SCHEMA, Status, read_run,
};
use ragscope::metrics::Random;

/// What tries to act on a page.
pub const HOSTILE: &str = "<script>window.owned = 1</script> <img src=x onerror=\"window.owned = 2\"> \
    </script><svg onload=window.owned=3> </textarea> \" onmouseover=window.owned=4 ' javascript:alert(1) \
    <!-- --> &lt;b&gt; {{ x }} \u{0} \u{1b}[2J \u{9b}31m \u{2028} \u{202e}gnp.exe\u{2069} http://evil.example";

/// The real run of the other tests.
pub fn golden() -> Vec<Evidence> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/run.jsonl");
    read_run(&path).expect("the golden run").0
}

/// An answer in words, one token a word, with drawn scores and labels.
pub fn drawn(id: &str, words: &[&str], chunks: usize, passage: &str, random: &mut Random) -> Evidence {
    let answer = words.join(" ");
    let mut starts: Vec<usize> = answer.match_indices(' ').map(|(at, _)| at).collect();
    starts.insert(0, 0);
    let ends = starts.iter().skip(1).copied().chain([answer.len()]);
    let tokens: Vec<[usize; 2]> = starts.iter().copied().zip(ends).map(|(start, end)| [start, end]).collect();
    let count = tokens.len();
    // Unsupported words come in runs.
    let mut level = 0.1;
    let raw: Vec<f32> = (0..count)
        .map(|_| {
            if random.uniform() < 0.15 {
                level = random.uniform();
            }
            (0.8 * level + 0.2 * random.uniform()) as f32
        })
        .collect();
    let label = LabelledSpan { start: tokens[count / 3][0], end: tokens[count / 2][1], kind: None };
    Evidence {
        schema: SCHEMA.to_owned(),
        id: id.to_owned(),
        row: 0,
        status: Status::Ok,
        reason: None,
        notices: Vec::new(),
        question: format!("What about {id}?"),
        answer: Some(answer.clone()),
        references: vec!["A reference.".to_owned()],
        groups: BTreeMap::new(),
        chunks: (0..chunks)
            .map(|at| ChunkEvidence {
                id: format!("d{at}#0"),
                document: Some(format!("d{at}")),
                text: passage.to_owned(),
                range: None,
                score: Some(10.0 - at as f64),
                p_value: Some(PValue { count: 1 + random.below(100) as u32, out_of: 101 }),
                p_value_absent: None,
                correct: None,
                tokens_read: None,
            })
            .collect(),
        reading: Some(Reading {
            tokens,
            log_prob_with: vec![-0.5; count],
            log_prob_without: vec![-1.5; count],
            detectors: vec![DetectorScores { name: "cortex".to_owned(), raw }],
            lookback: None,
            factuality: Some(random.uniform()),
            factuality_absent: None,
        }),
        gold_spans: if random.uniform() < 0.8 { Some(vec![label]) } else { Some(Vec::new()) },
        provenance: Provenance { tool: "ragscope 0.1.0".to_owned(), ..Provenance::default() },
    }
}

/// Answers in several scripts, with punctuation and numbers to bridge, characters of several tokens, and hostile text.
pub fn various() -> Vec<Evidence> {
    let mut random = Random::new(11);
    let sentences = [
        "The ferry costs 12 euro , and the last one leaves at 19:30 ( on Sundays at 18:00 ) .",
        "Zażółć gęślą jaźń — naïve 🙂 guests pay 15 € or \"less\" ; 3 . 5 km .",
        "市長 は 辞任 した 。 新 しい 市長 は 五月 に 選 ばれる 。",
        "שלום עולם هذا نص عربي mixed with English words \n\n and a new paragraph .",
    ];
    let mut run: Vec<Evidence> = sentences
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let words: Vec<&str> = text.split(' ').collect();
            drawn(&format!("various-{at}"), &words, 3, "The ferry to the island costs 12 euro.", &mut random)
        })
        .collect();
    let answer = "é🙂 a";
    let tokens = vec![[0, 2], [0, 2], [2, 6], [2, 6], [2, 6], [2, 6], [6, 7], [7, 8]];
    let mut shared = drawn("shared", &["x", "y", "z"], 1, "p", &mut random);
    shared.answer = Some(String::from(answer));
    shared.gold_spans = None;
    if let Some(reading) = &mut shared.reading {
        reading.log_prob_with = vec![-1.0; tokens.len()];
        reading.log_prob_without = vec![-1.0; tokens.len()];
        reading.detectors[0].raw = vec![0.1, 0.2, 0.3, 0.97, 0.1, 0.6, 0.2, 0.55];
        reading.tokens = tokens;
    }
    run.push(shared);
    run.push(hostile());
    run
}

/// Every text of it is [`HOSTILE`].
pub fn hostile() -> Evidence {
    let answer = format!("Fine words. {HOSTILE}");
    let words: Vec<&str> = answer.split(' ').collect();
    let mut record = drawn(HOSTILE, &words, 2, HOSTILE, &mut Random::new(3));
    HOSTILE.clone_into(&mut record.question);
    record.status = Status::Partial;
    record.reason = Some(HOSTILE.to_owned());
    record.notices = vec![HOSTILE.to_owned()];
    record.references = vec![HOSTILE.to_owned()];
    record.groups = BTreeMap::from([(HOSTILE.to_owned(), HOSTILE.to_owned())]);
    record.chunks[1].document = Some(HOSTILE.to_owned());
    record.chunks[1].p_value = None;
    record.chunks[1].p_value_absent = Some(HOSTILE.to_owned());
    record.provenance.model = Some(HOSTILE.to_owned());
    record.provenance.settings = BTreeMap::from([(HOSTILE.to_owned(), HOSTILE.to_owned())]);
    if let Some(span) = record.gold_spans.iter_mut().flatten().next() {
        span.kind = Some(HOSTILE.to_owned());
    }
    record
}

/// `count` answers of about 140 tokens over five passages of 600 characters, as RAGTruth has them.
pub fn many(count: usize) -> Vec<Evidence> {
    const WORDS: [&str; 16] = [
        "the", "ferry", "leaves", "at", "nine", "o'clock", "from", "pier", "seven", "and", "costs", "twelve",
        "euro", "a", "person", "today.",
    ];
    let mut random = Random::new(5);
    let passage = "The ferry to the island leaves at nine and costs twelve euro a person. ".repeat(8);
    (0..count)
        .map(|number| {
            let words: Vec<&str> =
                (0..80 + random.below(120)).map(|_| WORDS[random.below(WORDS.len())]).collect();
            let mut record = drawn(&format!("q{number:04}"), &words, 5, &passage, &mut random);
            record.row = number;
            record
        })
        .collect()
}
