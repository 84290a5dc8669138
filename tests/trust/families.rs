//! Bug reports of this field, beyond the case that was reported: what else goes wrong in the same way.

use ragscope::model::ModelTokenizer;
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, tiny_model};

/// Characters of several bytes, code points, tokens or columns, and such that normalisation joins, splits or drops.
const TEXTS: &[&str] = &[
    "ﬁne ① Å K",
    "e\u{301}\u{323}tude E\u{301}",
    "👩‍👩‍👧‍👦 🇩🇪🇫🇷 👍🏽",
    "각 \u{1100}\u{1161}\u{11a8} 한국",
    "İstanbul ß ẞ Σς",
    "  two  spaces \u{a0}\u{3000}wide ",
    "\r\n\t\u{85}\u{2028}",
    "a\u{200b}b\u{feff}c\u{ad}d",
    "\u{202e}right\u{202c} \u{0}null",
    "שלום مرحبا नमस्ते ไทย",
    "🙂",
];

/// P1: a tokenizer may change the text before it cuts it; its tokens are still places of the text as it is.
#[test]
fn whatever_a_normalizer_changes_the_tokens_rebuild_the_text_as_it_is() {
    let sandbox = Sandbox::new();
    let folder = sandbox.work().join("tiny");
    tiny_model::write(&folder);
    let path = folder.join("tokenizer.json");
    let sound: Value = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
    let sequence = json!({"type": "Sequence", "normalizers": [
        {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
        {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}]});
    let mut read = 0;
    for normalizer in [
        Value::Null,
        json!({"type": "NFC"}),
        json!({"type": "NFD"}),
        json!({"type": "NFKC"}),
        json!({"type": "NFKD"}),
        json!({"type": "Lowercase"}),
        json!({"type": "Strip", "strip_left": true, "strip_right": true}),
        json!({"type": "Replace", "pattern": {"String": "e"}, "content": ""}),
        json!({"type": "Replace", "pattern": {"String": " "}, "content": "   "}),
        json!({"type": "Prepend", "prepend": "x "}),
        sequence,
    ] {
        let mut changed = sound.clone();
        changed["normalizer"] = normalizer.clone();
        std::fs::write(&path, changed.to_string()).expect("a file");
        // What cannot keep its places may be refused, by name.
        let tokenizer = match ModelTokenizer::from_directory(&folder, None) {
            Ok(tokenizer) => tokenizer,
            Err(error) => {
                assert!(error.to_string().contains("tokenizer"), "{normalizer}: {error}");
                continue;
            }
        };
        for text in TEXTS {
            let Ok(tokens) = tokenizer.encode_data(text) else { continue };
            assert_eq!(tokens.ids.len(), tokens.ranges.len());
            let mut ranges = tokens.ranges.clone();
            ranges.retain(|range| !range.is_empty());
            ranges.dedup();
            let rebuilt: Option<String> = ranges.iter().map(|range| text.get(range.clone())).collect();
            // A text that is dropped whole has no token: there is nothing to read.
            let nothing = tokens.ids.is_empty() && text.trim().is_empty();
            assert!(nothing || rebuilt.as_deref() == Some(*text), "{normalizer} over {text:?}: {ranges:?}");
            read += 1;
        }
    }
    assert!(read > TEXTS.len() * 5, "{read} texts were read");
}

/// P10 and P11: what other programs write beside plain JSON lines.
#[test]
fn odd_files_are_read_whole_or_refused_by_line_and_field() {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let record = r#"{"question":"When?","contexts":["At noon."],"answer":"At noon."}"#;
    let twice =
        r#"{"question":"When?","contexts":["At noon."],"contexts":["At night."],"answer":"At noon."}"#;
    let inner = r#"{"question":"When?","contexts":"[\"At noon.\", \"['not', 'taken', 'apart']\"]","answer":"At noon."}"#;
    for (name, bytes, rows) in [
        ("carriage-returns", format!("{record}\r\n\r\n{record}\r\n").into_bytes(), vec![1, 1]),
        ("mark-and-blanks", [&b"\xef\xbb\xbf\n \t\n"[..], record.as_bytes(), b"\n\n\n"].concat(), vec![1]),
        ("no-end", format!("{record}\n{record}").into_bytes(), vec![1, 1]),
        ("list-in-text", format!("{inner}\n").into_bytes(), vec![2]),
        ("empty-lists", record.replace("[\"At noon.\"]", "[]").into_bytes(), vec![0]),
        ("null-list", record.replace("[\"At noon.\"]", "null").into_bytes(), vec![0]),
        ("last-name-wins-or-is-refused", format!("{twice}\n").into_bytes(), vec![1]),
        ("null-byte", record.replace("noon", "no\\u0000on").into_bytes(), vec![1]),
        ("half-a-pair", record.replace("noon", "no\\ud83don").into_bytes(), vec![1]),
    ] {
        sandbox.write("data.jsonl", bytes);
        let ran = sandbox.run(&["score", "data.jsonl", "--model", "tiny"]).code(0).harmless();
        let chunks: Vec<usize> = ran.evidence().iter().map(|evidence| evidence.chunks.len()).collect();
        assert_eq!(chunks, rows, "{name}: {ran}");
    }
    // Another encoding, or a line end of long ago, is no guess.
    let wide: Vec<u8> =
        [&[0xff, 0xfe][..], &record.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()].concat();
    sandbox.write("data.jsonl", wide);
    sandbox.run(&["score", "data.jsonl", "--model", "tiny"]).code(3).complains(&["UTF-16"]);
    sandbox.write("data.jsonl", format!("{record}\r{record}\r"));
    let ran = sandbox.run(&["score", "data.jsonl", "--model", "tiny"]);
    assert!(ran.code == Some(3) || ran.evidence()[0].reason.is_some(), "{ran}");
}

/// P4: a question is words, whatever else it looks like; its length is no exception.
#[test]
fn questions_that_look_like_programs_patterns_or_books_find_what_their_words_find() {
    let sandbox = Sandbox::new();
    let documents: Vec<Value> =
        ["The ferry Alba sails at noon.", "A ticket costs twelve euros.", "Times are on the board."]
            .iter()
            .enumerate()
            .map(|(at, text)| json!({"id": format!("d{at}"), "text": text}))
            .collect();
    sandbox.write_lines("data/documents.jsonl", &documents);
    let long = format!("{} ferry Alba", "unheard ".repeat(20_000));
    let mut questions: Vec<String> = [
        "/ferry.*Alba/i",
        "ferry^2 AND NOT Alba",
        "title:[ferry TO Alba] OR *:*",
        "+ferry -Alba ~3",
        "ferry\u{0}Alba",
        "ferry\u{2028}Alba\r\n",
        "{\"match\": {\"text\": \"ferry Alba\"}}",
        "'; DROP TABLE ferry; -- Alba",
        "${ferry} $(Alba) `ferry`",
        "%s %n ferry Alba %x",
        "ferry\\Alba\\",
        "<ferry>&amp;Alba</ferry>",
    ]
    .map(str::to_owned)
    .to_vec();
    questions.push(long);
    let examples: Vec<Value> = questions.iter().map(|question| json!({"question": question})).collect();
    sandbox.write_lines("data/examples.jsonl", &examples);
    tiny_model::write(&sandbox.work().join("tiny"));
    let run = sandbox.run(&["score", "data", "--model", "tiny"]).code(0).harmless().evidence();
    assert_eq!(run.len(), questions.len());
    for (question, evidence) in questions.iter().zip(run) {
        let first = evidence.chunks.first().and_then(|chunk| chunk.document.clone());
        assert_eq!(first.as_deref(), Some("d0"), "{}", &question[..question.len().min(60)]);
    }
}
