//! Lines of evidence, the cache of them, and every face of a report made from them.

use ragscope::certify::Alpha;
use ragscope::evidence::{Evidence, Provenance, Thresholds, decide, parse_line, write_line};
use ragscope::inspect::EvidenceCache;
use ragscope::report::verify::{Stated, differences};
use ragscope::report::{Context, html, json, markdown, plain};

use crate::engine::{Target, said, words};
use crate::importers::folder;
use crate::mutation::Kind;
use crate::sandbox::repository;

fn golden_lines() -> Vec<Vec<u8>> {
    let run = std::fs::read_to_string(repository("tests/golden/run.jsonl")).expect("the golden run");
    run.lines().map(|line| line.as_bytes().to_vec()).collect()
}

fn thresholds() -> Vec<Thresholds> {
    vec![
        Thresholds::default(),
        Thresholds { alpha: Alpha::from_thousandths(1000), token: 0.0, rho: 0.5, ..Thresholds::default() },
        Thresholds { token: 1.0, rho: 0.9999, factuality: 1.0, ..Thresholds::default() },
    ]
}

/// Evidence that was accepted is written and read again as itself, and gives finite findings.
fn accepted(evidence: &Evidence) {
    let mut line = Vec::new();
    write_line(evidence, &mut line).expect("memory");
    let text = String::from_utf8(line).expect("UTF-8");
    assert_eq!(text.matches('\n').count(), 1);
    assert!(!text.trim_end().chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')));
    let again = parse_line(text.trim_end(), 1).expect("what was written is read");
    assert_eq!(&again, evidence);
    for thresholds in thresholds() {
        let findings = decide(evidence, &thresholds);
        assert!(findings.smoothed.iter().all(|score| (0.0..=1.0).contains(score)), "a score out of bounds");
        assert!(findings.answer_score.is_none_or(f64::is_finite));
        let answer = evidence.answer.as_deref().unwrap_or_default();
        for span in &findings.spans {
            assert!(answer.get(span.range.clone()).is_some(), "a span cuts a character");
        }
    }
}

fn evidence() -> Target {
    Target {
        name: "evidence",
        kind: Kind::Json,
        seeds: golden_lines(),
        words: words(&[
            "\"schema\"",
            "ragscope-evidence/1",
            "lookback",
            "by_head",
            "p_value",
            "count",
            "out_of",
            "tokens",
        ]),
        read: Box::new(|bytes| match parse_line(&String::from_utf8_lossy(bytes), 1) {
            Ok(evidence) => {
                accepted(&evidence);
                format!("ok {:?} {}", evidence.status, evidence.reading.is_some())
            }
            Err(error) => said(&error),
        }),
    }
}

fn evidence_cache() -> Target {
    let place = folder();
    let provenance = Provenance { tool: "ragscope test".to_owned(), ..Provenance::default() };
    let cache = EvidenceCache::open(place.path(), &provenance).expect("a cache");
    let path = cache.path().to_owned();
    drop(cache);
    let whole = golden_lines().iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect();
    let one = parse_line(&String::from_utf8_lossy(&golden_lines()[0]), 1).expect("golden evidence");
    Target {
        name: "evidence-cache",
        kind: Kind::Json,
        seeds: vec![whole],
        words: words(&["\n", "\"row\":0"]),
        read: Box::new(move |bytes| {
            std::fs::write(&path, bytes).expect("a file");
            let mut cache = EvidenceCache::open(place.path(), &provenance).expect("any file is a cache");
            if !cache.keeps() {
                // Another test starts a process just now, which holds what we hold until it runs.
                return "ok held elsewhere".to_owned();
            }
            let known = (0..100).filter(|row| cache.get(*row).is_some()).count();
            cache.put(&one).expect("it is written");
            drop(cache);
            let again = EvidenceCache::open(place.path(), &provenance).expect("a cache");
            assert_eq!(again.get(one.row), Some(&one), "what was put is there again");
            assert!((0..100).filter(|row| again.get(*row).is_some()).count() >= known, "a row was lost");
            format!("ok {known} rows")
        }),
    }
}

fn report() -> Target {
    Target {
        name: "report",
        kind: Kind::Json,
        seeds: golden_lines(),
        words: words(&[
            "<script>",
            "-->",
            "]]>",
            "`",
            "|",
            "&lt;",
            "\\",
            "{{ answer }}",
            "javascript:",
            "onload=",
        ]),
        read: Box::new(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            let Ok(mut evidence) = parse_line(&text, 1) else { return "refused".to_owned() };
            // Many views have to doubt what the reader does not.
            if let Some(reading) = &mut evidence.reading
                && text.len().is_multiple_of(7)
            {
                reading.detectors.truncate(text.len() % 2);
            }
            let context = Context { title: evidence.id.clone(), ..Context::default() };
            let all = [evidence.clone(), evidence];
            for thresholds in thresholds() {
                let page = html(&all, &thresholds, &context);
                let acts = |c: char| c.is_control() && c != '\n';
                for (face, text) in [
                    ("html", &page),
                    ("markdown", &markdown(&all, &thresholds, &context)),
                    ("json", &json(&all, &thresholds, &context)),
                    ("plain", &plain(&all, &thresholds, &context)),
                ] {
                    assert!(!text.chars().any(acts), "{face} holds a control character");
                }
                let report = serde_json::from_str::<serde_json::Value>(&json(&all, &thresholds, &context));
                assert!(report.is_ok(), "the JSON report is JSON");
            }
            "ok".to_owned()
        }),
    }
}

/// A report that came from elsewhere, held against the evidence.
fn written_report() -> Target {
    let line = golden_lines().swap_remove(0);
    let evidence = vec![parse_line(&String::from_utf8_lossy(&line), 1).expect("golden evidence")];
    let (context, thresholds) =
        (Context { title: "run".to_owned(), ..Context::default() }, Thresholds::default());
    let faces = [markdown, json, html].map(|face| face(&evidence, &thresholds, &context));
    Target {
        name: "written-report",
        kind: Kind::Text,
        seeds: faces.iter().map(|face| face.clone().into_bytes()).collect(),
        words: words(&[
            "<!doctype",
            "</script>",
            "statement",
            "schema",
            "thresholds",
            "-->",
            "\\u001b",
            "1e999",
            "null",
        ]),
        read: Box::new(move |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let stated = match Stated::read(&text) {
                Ok(stated) => stated,
                Err(error) => return said(&error),
            };
            let found = differences(&text, &stated, &evidence, &context);
            assert!(
                !found.is_empty() || faces.iter().any(|face| same(face, &text)),
                "a changed report passes"
            );
            found.first().map_or_else(|| "ok match".to_owned(), |first| format!("ok {}", said(first)))
        }),
    }
}

/// Reports that say the same: blanks of JSON and the ends of lines say nothing.
fn same(report: &str, other: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let values = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    words(report) == words(other) || (values(report).is_some() && values(report) == values(other))
}

pub fn targets() -> Vec<Target> {
    vec![evidence(), evidence_cache(), report(), written_report()]
}
