//! What reports promise: exact offsets, no text of a data set acting on anything, nothing cut silently,
//! every absence with its reason, and four faces that say the same.

use std::collections::BTreeMap;

use ragscope::certify::{Alpha, PValue};
use ragscope::evidence::{
    ChunkEvidence, DetectorScores, Evidence, LabelledSpan, Lookback, Provenance, Reading, SCHEMA, Status,
    Thresholds,
};
use ragscope::metrics::Random;
use ragscope::report::{self, CertificateFacts, Context, HighlightingFacts, Report, RunFacts};

/// An answer with one token a word (blank in front), scores given per word, over `chunks` chunks.
fn evidence(id: &str, answer: &str, scores: &[f32], chunks: usize) -> Evidence {
    let mut starts: Vec<usize> = answer.match_indices(' ').map(|(at, _)| at).collect();
    starts.insert(0, 0);
    let ends = starts.iter().skip(1).copied().chain([answer.len()]);
    let tokens: Vec<[usize; 2]> = starts.iter().copied().zip(ends).map(|(start, end)| [start, end]).collect();
    assert_eq!(tokens.len(), scores.len(), "one score a word");
    with_tokens(id, answer, tokens, scores, chunks)
}

fn with_tokens(id: &str, answer: &str, tokens: Vec<[usize; 2]>, scores: &[f32], chunks: usize) -> Evidence {
    let (layers, heads) = (30, 9);
    let mut random = Random::new(7);
    let count = tokens.len();
    let mut draw = |n: usize, scale: f64| -> Vec<f32> {
        (0..n).map(|_| (scale * random.uniform().powi(4)) as f32).collect()
    };
    Evidence {
        schema: SCHEMA.to_string(),
        id: id.to_string(),
        row: 0,
        status: Status::Ok,
        reason: None,
        notices: Vec::new(),
        question: "What does the ferry cost?".to_string(),
        answer: Some(answer.to_string()),
        references: vec!["The ferry costs 12 euro.".to_string()],
        groups: BTreeMap::from([("source".to_string(), "s1".to_string())]),
        chunks: (0..chunks).map(|at| chunk(at, "The ferry to the island costs 12 euro a person.")).collect(),
        reading: Some(Reading {
            tokens,
            log_prob_with: vec![-0.7; count],
            log_prob_without: vec![-2.1; count],
            detectors: vec![DetectorScores { name: "cortex".to_string(), raw: scores.to_vec() }],
            lookback: Some(Lookback {
                layers,
                heads,
                by_head: draw(layers * heads * chunks, 0.9),
                context_by_head: draw(layers * heads, 1.0),
                by_token: draw(count * chunks, 0.3),
            }),
            factuality: Some(0.31),
            factuality_absent: None,
        }),
        gold_spans: None,
        provenance: Provenance {
            tool: "ragscope 0.1.0".to_string(),
            data: Some("examples.jsonl".to_string()),
            data_hash: Some("0123456789abcdef".to_string()),
            model: Some("SmolLM2-135M-Instruct".to_string()),
            model_hash: Some("fedcba9876543210".to_string()),
            head_hash: Some("1111222233334444".to_string()),
            calibration_hash: Some("5555666677778888".to_string()),
            settings: BTreeMap::from([("layer".to_string(), "22".to_string())]),
        },
    }
}

fn chunk(at: usize, text: &str) -> ChunkEvidence {
    ChunkEvidence {
        id: format!("d{at}#0"),
        document: Some(format!("d{at}")),
        text: text.to_string(),
        range: Some([0, text.len()]),
        score: Some(12.5 - at as f64),
        p_value: Some(PValue { count: 60u32.saturating_sub(17 * at as u32).max(1), out_of: 102 }),
        p_value_absent: None,
        correct: Some(at == 0),
        tokens_read: Some(11),
    }
}

fn failed(id: &str, reason: &str) -> Evidence {
    Evidence {
        status: Status::Error,
        reason: Some(reason.to_string()),
        answer: None,
        chunks: Vec::new(),
        reading: None,
        references: Vec::new(),
        ..evidence(id, "x", &[0.1], 0)
    }
}

/// No smoothing, so that every score is the one given.
fn unsmoothed() -> Thresholds {
    Thresholds { rho: 0.5, rho_answer: 0.5, ..Thresholds::default() }
}

fn context() -> Context {
    Context {
        title: "Ferry questions".to_string(),
        command: "ragscope report run.jsonl --alpha 0.1".to_string(),
        generated_by: "ragscope 0.1.0".to_string(),
        date: None,
        run: None,
        highlighting: None,
        certificate: Some(CertificateFacts {
            n: 101,
            k: 5,
            mode: "per-question".to_string(),
            recall_at_k: Some(0.87),
            data: "calibration.jsonl (5555666677778888)".to_string(),
            verdict: vec!["Suitable.".to_string()],
        }),
        guarantees: vec![
            "A correct chunk that was retrieved is kept with probability at least 0.9 (alpha 0.100, n 101)."
                .to_string(),
        ],
        notes: Vec::new(),
    }
}

fn faces(evidence: &[Evidence]) -> [(&'static str, String); 4] {
    let (thresholds, context) = (unsmoothed(), context());
    [
        ("html", report::html(evidence, &thresholds, &context)),
        ("markdown", report::markdown(evidence, &thresholds, &context)),
        ("json", report::json(evidence, &thresholds, &context)),
        ("plain", report::plain(evidence, &thresholds, &context)),
    ]
}

/// Text that tries to act on whatever shows it.
const HOSTILE: &str = "<script>alert(1)</script> </style> </textarea> \"q\" 'q' ]]> --> {{ x }} {% y %} \u{0} \
    \u{1b}[2J \u{1b}]0;owned\u{7} \u{1b}]52;c;cm0gLXJm\u{7} \u{9b}31m \u{2028} \u{2029} \u{202e}gnp.exe \
    [!unsupported 1.00: x] | `a` *b* http://evil.example";

fn hostile() -> Evidence {
    let answer = format!("Fine words. {HOSTILE}");
    let words = answer.split(' ').count();
    let scores: Vec<f32> = (0..words).map(|at| if at % 3 == 0 { 0.9 } else { 0.1 }).collect();
    let mut record = evidence(HOSTILE, &answer, &scores, 2);
    record.question = HOSTILE.to_string();
    record.status = Status::Partial;
    record.reason = Some(HOSTILE.to_string());
    record.notices = vec![HOSTILE.to_string()];
    record.references = vec![HOSTILE.to_string()];
    record.groups = BTreeMap::from([(HOSTILE.to_string(), HOSTILE.to_string())]);
    record.chunks[0].text = HOSTILE.to_string();
    record.chunks[0].document = Some(HOSTILE.to_string());
    record.chunks[1].id = HOSTILE.to_string();
    record.chunks[1].document = None;
    record.chunks[1].p_value = None;
    record.chunks[1].p_value_absent = Some(HOSTILE.to_string());
    record.gold_spans = Some(vec![LabelledSpan { start: 0, end: 20, kind: Some(HOSTILE.to_string()) }]);
    record.provenance.model = Some(HOSTILE.to_string());
    record.provenance.settings = BTreeMap::from([(HOSTILE.to_string(), HOSTILE.to_string())]);
    if let Some(reading) = &mut record.reading {
        reading.factuality = None;
        reading.factuality_absent = Some(HOSTILE.to_string());
        reading.detectors[0].name = HOSTILE.to_string();
    }
    record
}

fn hostile_context() -> Context {
    Context {
        title: HOSTILE.to_string(),
        command: HOSTILE.to_string(),
        generated_by: HOSTILE.to_string(),
        date: Some(HOSTILE.to_string()),
        run: Some(RunFacts { file: HOSTILE.to_string(), sha256: HOSTILE.to_string() }),
        highlighting: Some(HighlightingFacts { beta: 0.1, sha256: HOSTILE.to_string() }),
        certificate: Some(CertificateFacts {
            mode: HOSTILE.to_string(),
            data: HOSTILE.to_string(),
            verdict: vec![HOSTILE.to_string()],
            ..CertificateFacts::default()
        }),
        guarantees: vec![HOSTILE.to_string()],
        notes: vec![HOSTILE.to_string()],
    }
}

/// Characters that act on terminals, line ends or the order of text.
fn acts(c: char) -> bool {
    c != '\n' && (c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}'))
}

fn hostile_faces() -> [(&'static str, String); 4] {
    let (evidence, thresholds, context) = ([hostile()], unsmoothed(), hostile_context());
    [
        ("html", report::html(&evidence, &thresholds, &context)),
        ("markdown", report::markdown(&evidence, &thresholds, &context)),
        ("json", report::json(&evidence, &thresholds, &context)),
        ("plain", report::plain(&evidence, &thresholds, &context)),
    ]
}

/// The markup of the page without its style sheet and its two script elements.
fn markup(html: &str) -> String {
    let (before, rest) = html.split_once("<style>").expect("a style sheet");
    let (_, rest) = rest.split_once("</style>").expect("its end");
    let (middle, rest) =
        rest.split_once("<script type=\"application/json\" id=\"evidence\">").expect("the data");
    let (_, rest) = rest.split_once("</script>").expect("its end");
    let (_, end) = rest.rsplit_once("</script>").expect("the end of the script");
    format!("{before}{middle}{end}")
}

/// The data block of the page.
fn page_data(html: &str) -> serde_json::Value {
    let (_, rest) = html.split_once("id=\"evidence\">").expect("the data");
    let (data, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(data).expect("the data is JSON")
}

#[test]
fn no_acting_character_of_the_data_or_the_context_leaves_any_face() {
    for (face, text) in hostile_faces() {
        let found: Vec<char> = text.chars().filter(|c| acts(*c)).collect();
        assert!(found.is_empty(), "{face} lets {found:?} through");
    }
    let [_, _, _, (_, plain)] = hostile_faces();
    assert!(plain.contains("␛[2J ␛]0;owned␇"), "shown as symbols");
}

#[test]
fn hostile_text_is_text_in_the_page_and_template_marks_are_not_run() {
    let [(_, html), ..] = hostile_faces();
    let markup = markup(&html);
    assert!(!markup.contains("<script"), "only the page's own script elements exist");
    assert!(markup.contains("&lt;script&gt;") && markup.contains("{{ x }}") && markup.contains("{% y %}"));
    assert_eq!(html.matches("</style>").count(), 1);
    assert_eq!(html.matches("</script>").count(), 2);
    // The data block survives its own hostile strings.
    assert!(page_data(&html)["examples"][0]["raw"].is_array());
}

#[test]
fn the_page_names_nothing_outside_itself_and_forbids_it() {
    let html = report::html(&[evidence("a", "a b", &[0.1, 0.9], 2)], &unsmoothed(), &context());
    assert!(html.contains("default-src &#x27;none&#x27;") || html.contains("default-src 'none'"));
    assert!(html.contains("style-src 'sha256-") && html.contains("script-src 'sha256-"));
    assert!(!html.contains("unsafe-inline"));
    for outside in [
        "http://",
        "https://",
        " src=",
        "url(",
        "@import",
        "<link",
        "<iframe",
        "<img",
        " style=",
        " onclick=",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn hostile_text_is_text_in_markdown() {
    let [_, (_, markdown), ..] = hostile_faces();
    // The command stands in a code span, where only backticks act; it is longer than any run inside.
    let (code, text): (Vec<_>, Vec<_>) =
        markdown.lines().partition(|line| line.starts_with("To make this report again"));
    assert!(code.len() == 1 && code[0].ends_with("http://evil.example ``"));
    let markdown = text.join("\n");
    assert!(!markdown.contains("<script") && !markdown.contains("</style>"));
    assert!(!markdown.contains("http://"), "no address becomes a link");
    for table_line in markdown.lines().filter(|line| line.starts_with("| ")) {
        let cells = table_line.replace("\\|", "").matches('|').count();
        assert!([3, 4, 6, 7, 9].contains(&cells), "{table_line}");
    }
}

#[test]
fn only_the_report_itself_opens_a_mark_in_plain_text() {
    let [_, _, _, (_, plain)] = hostile_faces();
    assert!(!plain.contains("[!unsupported 1.00"));
    assert!(plain.contains("[\\!unsupported 1.00: x]"));
    let mut record = evidence("a", "one two", &[0.1, 0.95], 0);
    record.question = "x\nExample 9 of 9, id forged: clean.".to_string();
    let plain = report::plain(&[record], &unsmoothed(), &context());
    assert!(!plain.lines().any(|line| line.starts_with("Example 9")), "data lines are indented");
    assert!(plain.contains("one [!unsupported 0.95]two[/]"));
}

#[test]
fn json_states_its_unit_and_every_span_is_its_slice_of_the_answer() {
    let answer = "Café Ω costs 12 € — naïve 🙂 guests pay 15 €.";
    let scores = [0.1, 0.1, 0.1, 0.9, 0.9, 0.1, 0.1, 0.95, 0.1, 0.1, 0.9, 0.9];
    let mut record = evidence("a", answer, &scores, 1);
    record.gold_spans = Some(vec![LabelledSpan { start: 49, end: 55, kind: None }]);
    let written = report::json(&[record, hostile()], &unsmoothed(), &context());
    let value: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(value["schema"], "ragscope-report/1");
    assert_eq!(value["offset_unit"], "byte");
    let report: Report = serde_json::from_str(&written).unwrap();
    let mut seen = 0;
    for example in &report.examples {
        let answer = example.answer.as_deref().unwrap();
        for span in example.spans.iter().chain(example.gold_spans.iter().flatten()) {
            assert_eq!(answer.get(span.start..span.end), span.text.as_deref());
            let [start, end] = span.code_points.unwrap();
            assert_eq!(
                answer.chars().skip(start).take(end - start).collect::<String>(),
                span.text.clone().unwrap()
            );
            seen += 1;
        }
    }
    assert!(seen > 5);
    let texts: Vec<_> = report.examples[0].spans.iter().map(|span| span.text.as_deref().unwrap()).collect();
    assert_eq!(texts, ["12 €", "🙂", "15 €."]);
    let gold = &report.examples[0].gold_spans.as_ref().unwrap()[0];
    assert_eq!((gold.text.as_deref(), gold.code_points), (Some("15 €"), Some([39, 43])));
    // Exact strings come back although acting characters are escaped.
    assert_eq!(report.examples[1].question, HOSTILE);
}

#[test]
fn what_is_absent_is_null_with_a_reason_in_json_and_told_in_every_face() {
    let reason = "expected text in `answer`, got a number (line 5); quote the value";
    let mut unread = evidence("unread", "words that nobody read", &[0.1; 4], 1);
    unread.reading = None;
    unread.chunks[0].p_value = None;
    let records = [failed("bad", reason), unread];
    let value: serde_json::Value =
        serde_json::from_str(&report::json(&records, &unsmoothed(), &context())).unwrap();
    let example = &value["examples"][0];
    for field in
        ["answer", "flagged", "answer_score", "factuality", "consistent", "gold_spans", "tokens", "smoothed"]
    {
        assert!(example[field].is_null(), "{field}");
        assert!(example.as_object().unwrap().contains_key(field), "{field} is written");
    }
    assert_eq!(example["flagged_absent"], reason);
    assert_eq!(value["examples"][1]["flagged_absent"], "the answer was not read by a model");
    assert_eq!(
        value["examples"][1]["chunks"][0]["p_value_absent"],
        "no calibration was used for this record"
    );
    assert!(value["summary"]["agreement"].is_null());
    assert_eq!(value["summary"]["agreement_absent"], "no answer with token scores is labelled");
    for (face, text) in faces(&records) {
        assert!(text.contains("got a number (line 5)"), "{face} gives the reason");
        assert!(!text.contains("NaN") || face == "html", "{face}");
    }
    let plain = report::plain(&records, &unsmoothed(), &context());
    assert!(plain.contains("p n/a (no calibration was used for this record)"));
    assert!(plain.contains("No answer has token scores, so no answer could be flagged."));
}

#[test]
fn an_empty_run_makes_a_complete_report() {
    for (face, text) in faces(&[]) {
        assert!(text.contains('0'), "{face}");
    }
    let html = report::html(&[], &unsmoothed(), &context());
    assert!(html.contains("There is no example in this report."));
    assert!(report::plain(&[], &unsmoothed(), &Context::default()).contains("Nothing is guaranteed"));
}

#[test]
fn guarantees_are_shown_word_for_word_and_none_is_invented() {
    let records = [evidence("a", "a b", &[0.1, 0.9], 2)];
    for (face, text) in faces(&records) {
        assert!(
            text.contains("A correct chunk that was retrieved is kept with probability at least 0.9"),
            "{face}"
        );
    }
    let bare = Context { certificate: None, guarantees: Vec::new(), ..context() };
    for text in [
        report::html(&records, &unsmoothed(), &bare),
        report::markdown(&records, &unsmoothed(), &bare),
        report::plain(&records, &unsmoothed(), &bare),
    ] {
        assert!(text.contains("Nothing is guaranteed: this report was made without a calibration."));
        assert!(!text.contains("with probability"));
    }
}

#[test]
fn a_passage_of_a_megabyte_is_cut_in_view_with_a_note_and_whole_in_json() {
    let mut record = evidence("a", "a b", &[0.1, 0.9], 1);
    record.chunks[0].text = "市長 ".repeat(150_000);
    let records = [record];
    let html = report::html(&records, &unsmoothed(), &context());
    assert!(html.len() < 300_000);
    assert!(html.contains("Cut in this view: the first 8000 of 450000 characters are shown"));
    let plain = report::plain(&records, &unsmoothed(), &context());
    assert!(plain.contains("… [+449759 characters]"), "the line of the passage says how much is missing");
    let report: Report = serde_json::from_str(&report::json(&records, &unsmoothed(), &context())).unwrap();
    assert_eq!(report.examples[0].chunks[0].text.chars().count(), 450_000);
}

#[test]
fn a_hot_token_inside_an_emoji_marks_the_whole_emoji_and_nothing_else() {
    let tokens = vec![[0, 2], [0, 2], [2, 6], [2, 6], [2, 6], [2, 6], [6, 7], [7, 8]];
    let record = with_tokens("p1", "é🙂 a", tokens, &[0.1, 0.1, 0.1, 0.97, 0.1, 0.1, 0.1, 0.1], 0);
    let records = [record];
    let html = report::html(&records, &unsmoothed(), &context());
    assert!(html.contains("\">[1]</a>🙂<span class=\"vh\"> end of span 1 </span></mark> a</div>"));
    assert!(report::plain(&records, &unsmoothed(), &context()).contains("é[!unsupported 0.97]🙂[/] a"));
    assert!(report::markdown(&records, &unsmoothed(), &context()).contains("<strong>[1: 🙂]</strong> a"));
}

#[test]
fn spans_are_marked_in_three_channels_and_labels_in_another() {
    let mut record = evidence("a", "costs 12 euro a head", &[0.1, 0.92, 0.91, 0.1, 0.1], 1);
    record.gold_spans = Some(vec![LabelledSpan { start: 9, end: 15, kind: Some("conflict".to_string()) }]);
    let html = report::html(&[record.clone()], &unsmoothed(), &context());
    assert!(html.contains(
        "costs <mark class=\"b4\" id=\"e1-m1\"><a class=\"ix\" href=\"#e1-s1\" aria-label=\"flagged span 1, score \
         0.920\">[1]</a>12 <span class=\"gold\"><span class=\"lx\" aria-label=\"labelled span 1\">L1</span>euro</span>\
         <span class=\"vh\"> end of span 1 </span></mark><span class=\"gold\"> a</span> head</div>"
    ));
    let markdown = report::markdown(&[record], &unsmoothed(), &context());
    assert!(markdown.contains("> costs **[1: 12 euro]** a head"));
    assert!(markdown.contains("| labelled 1: conflict | euro a | n/a | 9-15 | 9-15 |"));
}

#[test]
fn a_label_that_does_not_fit_the_answer_is_told_and_breaks_nothing() {
    let mut record = evidence("a", "é b", &[0.9, 0.1], 0);
    record.gold_spans = Some(vec![LabelledSpan { start: 1, end: 99, kind: None }]);
    let told = "bytes 1 to 99 are no whole characters of the answer, which has 4 bytes";
    for (face, text) in faces(&[record]) {
        assert!(text.contains(told), "{face}");
    }
}

#[test]
fn look_back_values_that_do_not_fit_are_told_instead_of_drawn() {
    let mut record = evidence("a", "a b", &[0.9, 0.1], 2);
    if let Some(lookback) = record.reading.as_mut().and_then(|reading| reading.lookback.as_mut()) {
        lookback.by_token.pop();
    }
    let html = report::html(&[record], &unsmoothed(), &context());
    assert!(
        html.contains("do not fit its answer: 2 tokens, 2 chunks, 30 layers and 9 heads, but 3 token values")
    );
    assert!(!html.contains("class=\"heat\""));
}

#[test]
fn trust_follows_the_exact_fraction() {
    let mut record = evidence("a", "a b", &[0.9, 0.1], 2);
    record.chunks[0].p_value = Some(PValue { count: 1, out_of: 10 });
    record.chunks[1].p_value = Some(PValue { count: 2, out_of: 10 });
    let plain = report::plain(&[record.clone()], &unsmoothed(), &context());
    assert!(plain.contains("1. dropped, p = 0.100 (1/10)") && plain.contains("2. trusted, p = 0.200 (2/10)"));
    let lower = Thresholds { alpha: Alpha::from_thousandths(99), ..unsmoothed() };
    assert!(report::plain(&[record], &lower, &context()).contains("1. trusted, p = 0.100 (1/10)"));
}

#[test]
fn the_summary_counts_flags_against_labels() {
    let labelled = |id: &str, scores: &[f32], spans: Vec<LabelledSpan>| {
        let mut record = evidence(id, "one two six", scores, 1);
        record.gold_spans = Some(spans);
        record
    };
    let span = || vec![LabelledSpan { start: 4, end: 7, kind: None }];
    let records = [
        labelled("hit", &[0.1, 0.9, 0.9], span()),
        labelled("miss", &[0.1, 0.1, 0.1], span()),
        labelled("alarm", &[0.9, 0.1, 0.1], Vec::new()),
        labelled("pass", &[0.1, 0.1, 0.1], Vec::new()),
        evidence("unlabelled", "one two six", &[0.9, 0.1, 0.1], 1),
    ];
    let report = Report::new(&records, &unsmoothed(), &context());
    let agreement = report.summary.agreement.as_ref().unwrap();
    assert_eq!(
        [
            agreement.flagged_unsupported,
            agreement.missed_unsupported,
            agreement.flagged_clean,
            agreement.passed_clean
        ],
        [1; 4]
    );
    assert_eq!(
        (agreement.labelled_characters, agreement.flagged_characters, agreement.both_characters),
        (6, 9, 3)
    );
    assert_eq!((report.summary.scored, report.summary.flagged, report.summary.labelled), (5, 3, 4));
}

#[test]
fn records_made_in_different_ways_show_every_value_of_their_provenance() {
    let mut other = evidence("b", "a b", &[0.1, 0.1], 0);
    other.provenance.model_hash = Some("0000000000000000".to_string());
    other.provenance.calibration_hash = None;
    let html = report::html(&[evidence("a", "a b", &[0.1, 0.1], 0), other], &unsmoothed(), &context());
    assert!(
        html.contains("fedcba9876543210 (1 of 2 records)")
            && html.contains("0000000000000000 (1 of 2 records)")
    );
    assert!(html.contains("not recorded (1 of 2 records)"));
}

#[test]
fn a_detector_that_a_record_lacks_is_named_as_the_reason() {
    let thresholds = Thresholds { detector: Some("fusion".to_string()), ..unsmoothed() };
    let plain = report::plain(&[evidence("a", "a b", &[0.9, 0.1], 0)], &thresholds, &context());
    assert!(plain.contains("no scores of the detector `fusion` in this record; it has cortex"));
}

#[test]
fn every_link_and_label_of_the_page_points_to_an_element_and_no_id_occurs_twice() {
    let mut labelled = evidence("a", "a b c", &[0.9, 0.1, 0.9], 2);
    labelled.gold_spans = Some(vec![LabelledSpan { start: 0, end: 1, kind: None }]);
    let html = markup(&report::html(&[labelled, failed("x", "why")], &unsmoothed(), &context()));
    let values = |name: &str| -> Vec<String> {
        let pattern = format!(" {name}=\"");
        html.split(&pattern).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_string).collect()
    };
    let ids = values("id");
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "an id occurs twice");
    assert!(values("href").len() > 5);
    for target in values("href") {
        assert!(ids.contains(&target.trim_start_matches('#').to_string()), "{target}");
    }
    for target in values("aria-labelledby") {
        assert!(ids.contains(&target), "{target}");
    }
    for control in html.split("<input").skip(1) {
        let tag = control.split('>').next().unwrap();
        assert!(tag.contains("aria-label=") || tag.contains("id=\"search\""), "{tag}");
    }
}

#[test]
fn equal_reports_are_equal_byte_for_byte() {
    let records = [hostile(), evidence("a", "a b", &[0.9, 0.1], 3)];
    assert_eq!(faces(&records), faces(&records));
}
