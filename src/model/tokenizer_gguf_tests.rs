//! Tokenizers out of GGUF vocabularies: each pre-tokenizer by what sets it apart, `SentencePiece`'s scores, and
//! Gemma's reference ids where its file is at hand.

use std::time::Instant;

use serde_json::Value;

use super::gguf_metadata::tests::GgufWriter;
use super::small_model::tokens;
use super::{GgufMetadata, ModelTokenizer};

/// A byte-level tokenizer that joins every word of `words` from its letters.
fn byte_level(pre: &str, words: &[&str]) -> ModelTokenizer {
    let mut more: Vec<String> = Vec::new();
    let mut merges = Vec::new();
    for word in words {
        let letters: Vec<char> = word.chars().collect();
        for end in 1..letters.len() {
            let left: String = letters[..end].iter().collect();
            let whole: String = letters[..=end].iter().collect();
            if !more.contains(&whole) {
                merges.push(format!("{left} {}", letters[end]));
                more.push(whole);
            }
        }
    }
    let names = tokens(&more.iter().map(String::as_str).collect::<Vec<_>>());
    let mut types = vec![1; names.len()];
    types[..5].copy_from_slice(&[3, 3, 3, 4, 4]);
    let writer = GgufWriter::new()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", pre)
        .texts("tokenizer.ggml.tokens", &names)
        .integers("tokenizer.ggml.token_type", &types)
        .texts("tokenizer.ggml.merges", &merges);
    ModelTokenizer::from_gguf(&writer.metadata()).unwrap()
}

fn pieces(tokenizer: &ModelTokenizer, text: &str) -> Vec<String> {
    let found = tokenizer.encode_data(text).unwrap();
    let mut units = found.ranges.clone();
    units.dedup();
    assert_eq!(units.into_iter().map(|unit| &text[unit]).collect::<String>(), text);
    assert_eq!(tokenizer.encode_template(text).unwrap(), found.ids, "no special token in {text:?}");
    found.ids.iter().map(|id| tokenizer.token(*id).unwrap()).collect()
}

#[test]
fn pre_tokenizers_differ_at_digits_contractions_and_white_space() {
    // Merges would join all of these if nothing kept them apart.
    let words = ["Ġ12345", "12345", "'LL", "(xy", ".ĊĊ", "ĉĉa", "fooBar"];
    let cases: [(&str, &str, &[&str]); 20] = [
        ("smollm", "12345", &["1", "2", "3", "4", "5"]),
        ("gpt-2", "12345", &["12345"]),
        ("llama-bpe", "12345", &["123", "4", "5"]),
        ("qwen2", "12345", &["1", "2", "3", "4", "5"]),
        ("tekken", "12345", &["1", "2", "3", "4", "5"]),
        // A number takes the space before it in GPT-2 alone.
        ("gpt-2", " 12", &["Ġ12"]),
        ("llama-bpe", " 12", &["Ġ", "12"]),
        // Contractions in capitals.
        ("gpt-2", "I'LL", &["I", "'", "L", "L"]),
        ("llama-bpe", "I'LL", &["I", "'LL"]),
        ("qwen2", "I'LL", &["I", "'LL"]),
        // One character of any kind before a word belongs to it, except in GPT-2.
        ("gpt-2", "(xy", &["(", "x", "y"]),
        ("llama-bpe", "(xy", &["(xy"]),
        ("qwen2", "(xy", &["(xy"]),
        // Punctuation takes the ends of lines behind it.
        ("gpt-2", ".\n\n", &[".", "Ċ", "Ċ"]),
        ("llama-bpe", ".\n\n", &[".ĊĊ"]),
        ("qwen2", ".\n\n", &[".ĊĊ"]),
        // The last of several white characters goes with the word.
        ("llama-bpe", "\t\ta", &["ĉ", "ĉ", "a"]),
        // A capital after a small letter begins a word in Tekken alone.
        ("llama-bpe", "fooBar", &["fooBar"]),
        ("qwen2", "fooBar", &["fooBar"]),
        ("tekken", "fooBar", &["foo", "B", "a", "r"]),
    ];
    for (pre, text, want) in cases {
        assert_eq!(pieces(&byte_level(pre, &words), text), want, "{pre}: {text:?}");
    }
}

#[test]
fn names_of_one_pre_tokenizer_mean_the_same() {
    let words = ["123", "(xy", "'LL"];
    for text in ["1234 (xy I'LL\r\n  z", "naïve café — 12,345"] {
        let of = |pre| pieces(&byte_level(pre, &words), text);
        assert_eq!(of("llama3"), of("llama-bpe"));
        assert_eq!(of("llama-v3"), of("llama-bpe"));
    }
}

#[test]
fn qwen_composes_letters_and_accents_and_ranges_stay_those_of_the_text() {
    let decomposed = "caf\u{65}\u{301} x";
    let qwen = byte_level("qwen2", &[]);
    let found = qwen.encode_data(decomposed).unwrap();
    assert_eq!(found.ids, qwen.encode_data("café x").unwrap().ids);
    let mut units = found.ranges.clone();
    units.dedup();
    assert_eq!(units.iter().map(|unit| &decomposed[unit.clone()]).collect::<String>(), decomposed);
    let llama = byte_level("llama-bpe", &[]);
    assert_ne!(llama.encode_data(decomposed).unwrap().ids, llama.encode_data("café x").unwrap().ids);
}

#[test]
fn a_word_that_is_a_token_needs_no_merges_in_llama_3() {
    let of = |pre: &str| {
        let names = tokens(&["hello"]);
        let mut types = vec![1; names.len()];
        types[..5].copy_from_slice(&[3, 3, 3, 4, 4]);
        let writer = GgufWriter::new()
            .text("tokenizer.ggml.model", "gpt2")
            .text("tokenizer.ggml.pre", pre)
            .texts("tokenizer.ggml.tokens", &names)
            .integers("tokenizer.ggml.token_type", &types)
            .texts::<&str>("tokenizer.ggml.merges", &[]);
        pieces(&ModelTokenizer::from_gguf(&writer.metadata()).unwrap(), "hello")
    };
    assert_eq!(of("llama-bpe"), ["hello"]);
    assert_eq!(of("qwen2"), ["h", "e", "l", "l", "o"]);
}

/// `SentencePiece` in Llama 2's order: unknown, two special tokens, 256 bytes, then pieces with falling scores.
fn scored(pieces: &[(&str, f32)]) -> GgufWriter {
    let mut names: Vec<String> = ["<unk>", "<s>", "</s>"].map(str::to_owned).to_vec();
    names.extend((0..=255u8).map(|byte| format!("<0x{byte:02X}>")));
    names.extend(pieces.iter().map(|(piece, _)| (*piece).to_owned()));
    let mut types = vec![2, 3, 3];
    types.extend([6; 256]);
    types.extend(vec![1; pieces.len()]);
    let mut scores = vec![0.0; 259];
    scores.extend(pieces.iter().map(|(_, score)| *score));
    GgufWriter::new()
        .text("tokenizer.ggml.model", "llama")
        .texts("tokenizer.ggml.tokens", &names)
        .integers("tokenizer.ggml.token_type", &types)
        .floats("tokenizer.ggml.scores", &scores)
        .number("tokenizer.ggml.unknown_token_id", 0)
}

const PIECES: [(&str, f32); 11] = [
    ("▁a", -1.0),
    ("bc", -2.0),
    ("ab", -3.0),
    ("abc", -4.0),
    ("▁abc", -5.0),
    ("▁", -6.0),
    ("a", -7.0),
    ("b", -8.0),
    ("c", -9.0),
    ("▁▁", -10.0),
    ("é", -11.0),
];

#[test]
fn better_scores_join_first_and_what_has_no_piece_becomes_bytes() {
    let metadata = scored(&PIECES).flag("tokenizer.ggml.add_space_prefix", false).metadata();
    let tokenizer = ModelTokenizer::from_gguf(&metadata).unwrap();
    for (text, want) in [
        // `bc` before `ab`, then `abc` out of `a` and `bc`.
        ("abc", &["abc"][..]),
        // `▁a` and `bc` come first and nothing joins them but `▁abc`.
        (" abc", &["▁abc"]),
        ("ab", &["ab"]),
        ("abb", &["ab", "b"]),
        ("a  bc", &["a", "▁▁", "bc"]),
        ("é", &["é"]),
        ("🙂c", &["<0xF0>", "<0x9F>", "<0x99>", "<0x82>", "c"]),
        ("\n", &["<0x0A>"]),
    ] {
        assert_eq!(pieces(&tokenizer, text), want, "{text:?}");
        let ids = tokenizer.encode_data(text).unwrap().ids;
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    }
    // The bytes of one character share it.
    assert_eq!(tokenizer.encode_data("🙂c").unwrap().ranges, [0..4, 0..4, 0..4, 0..4, 4..5]);
}

#[test]
fn a_space_is_put_before_text_and_behind_special_tokens_unless_the_file_says_no() {
    for writer in [scored(&PIECES), scored(&PIECES).flag("tokenizer.ggml.add_space_prefix", true)] {
        let tokenizer = ModelTokenizer::from_gguf(&writer.metadata()).unwrap();
        let found = tokenizer.encode_data("abc b").unwrap();
        let texts: Vec<_> = found.ids.iter().map(|id| tokenizer.token(*id).unwrap()).collect();
        assert_eq!(texts, ["▁abc", "▁", "b"]);
        assert_eq!(found.ranges, [0..3, 3..4, 4..5]);
        assert_eq!(tokenizer.decode(&found.ids).unwrap(), "abc b");
        let special = tokenizer.encode_template("<s>abc").unwrap();
        assert_eq!(special, [1, tokenizer.id("▁abc").unwrap()]);
        // In data the special token is text like any other.
        let data = tokenizer.encode_data("<s>abc").unwrap();
        assert!(!data.ids.iter().any(|id| tokenizer.is_structural(*id)));
    }
}

#[test]
fn phi3_tokens_take_the_white_space_behind_them() {
    let mut pieces = PIECES.to_vec();
    pieces.push(("<|end|>", 0.0));
    let of = |writer: GgufWriter| {
        let metadata: GgufMetadata = writer.metadata();
        let types = metadata.integers("tokenizer.ggml.token_type").unwrap().unwrap();
        let mut types: Vec<i32> = types.iter().map(|kind| *kind as i32).collect();
        *types.last_mut().unwrap() = 3;
        writer.integers("tokenizer.ggml.token_type", &types).metadata()
    };
    let phi3 = of(scored(&pieces).text("general.architecture", "phi3"));
    let tokenizer = ModelTokenizer::from_gguf(&phi3).unwrap();
    let end = tokenizer.id("<|end|>").unwrap();
    assert_eq!(tokenizer.encode_template("<|end|>\nabc").unwrap(), [end, tokenizer.id("▁abc").unwrap()]);
    let llama = of(scored(&pieces).text("general.architecture", "llama"));
    let tokenizer = ModelTokenizer::from_gguf(&llama).unwrap();
    assert_eq!(tokenizer.encode_template("<|end|>\nabc").unwrap().len(), 4);
}

#[test]
fn scored_vocabularies_that_do_not_fit_are_errors() {
    let refusal = |writer: GgufWriter| ModelTokenizer::from_gguf(&writer.metadata()).unwrap_err().to_string();
    let error = refusal(scored(&PIECES).floats("tokenizer.ggml.scores", &[1.0]));
    assert!(error.contains("tokenizer.ggml.scores is a list of 1"), "{error}");
    let error = refusal(scored(&PIECES).integers("tokenizer.ggml.scores", &[1]));
    assert!(error.contains("tokenizer.ggml.scores"), "{error}");
    let error = refusal(scored(&PIECES).flag("tokenizer.ggml.remove_extra_whitespaces", true));
    assert!(error.contains("remove_extra_whitespaces"), "{error}");
    let error = refusal(scored(&PIECES).number("tokenizer.ggml.add_space_prefix", 1));
    assert!(error.contains("add_space_prefix"), "{error}");
    let mut few = vec!["<unk>".to_owned()];
    few.extend((0..=254u8).map(|byte| format!("<0x{byte:02X}>")));
    let error = refusal(
        scored(&PIECES)
            .texts("tokenizer.ggml.tokens", &few)
            .integers("tokenizer.ggml.token_type", &[6; 256])
            .floats("tokenizer.ggml.scores", &[0.0; 256]),
    );
    assert!(error.contains("<0xFF>"), "{error}");
    let not_a_number = scored(&[("a", f32::NAN), ("b", 1.0), ("ab", f32::NAN)]).metadata();
    assert!(ModelTokenizer::from_gguf(&not_a_number).is_ok(), "any order will do, no panic");
}

#[test]
fn gemma_3_gives_the_reference_ids() {
    let Some(path) = std::env::var_os("RAGSCOPE_TEST_GEMMA") else {
        eprintln!("gemma_3_gives_the_reference_ids: skipped, RAGSCOPE_TEST_GEMMA names no Gemma 3 270M GGUF");
        return;
    };
    let metadata = GgufMetadata::open(path.as_ref()).unwrap();
    let start = Instant::now();
    let tokenizer = ModelTokenizer::from_gguf(&metadata).unwrap();
    eprintln!("tokenizer built in {:?}", start.elapsed());
    let golden: Value =
        serde_json::from_str(include_str!("../../tests/golden/tokenizer_gemma3.json")).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 50);
    let mut with_special = 0;
    for case in cases {
        let text = case["text"].as_str().unwrap();
        let ids: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
        assert_eq!(tokenizer.encode_template(text).unwrap(), ids, "{text:?}");
        let data = tokenizer.encode_data(text).unwrap();
        let mut units = data.ranges.clone();
        units.dedup();
        assert_eq!(units.into_iter().map(|unit| &text[unit]).collect::<String>(), text);
        assert!(!data.ids.iter().any(|id| tokenizer.is_structural(*id)), "{text:?}");
        if ids.iter().any(|id| tokenizer.is_structural(*id)) {
            with_special += 1;
            assert_ne!(data.ids, ids);
        } else {
            assert_eq!(data.ids, ids, "{text:?}");
        }
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    }
    assert!(with_special > 0);
}
