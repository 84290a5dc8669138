use proptest::prelude::*;

use super::*;

fn index(chunks: &[&str]) -> Bm25 {
    Bm25::new(chunks.iter().copied(), Bm25Settings::default()).unwrap()
}

fn found(index: &Bm25, question: &str, k: usize) -> Vec<usize> {
    index.rank(question, k).unwrap().hits.into_iter().map(|hit| hit.chunk).collect()
}

const FERRY: [&str; 3] =
    ["The ferry \"Alba\" is 40 m long.", "Ticket price (2024): 12 €", "See http://example.org/x for times."];

#[test]
fn a_question_is_never_parsed_as_a_query_language() {
    let index = index(&FERRY);
    assert_eq!(found(&index, "What is \"Alba\"?", 10)[0], 0);
    assert_eq!(found(&index, "price: how much (2024)?", 10)[0], 1);
    assert_eq!(found(&index, "what's at http://example.org/x?", 10)[0], 2);
    for question in [
        "unbalanced ( paren",
        "fares [adult] {child}",
        "AND",
        "OR NOT",
        "body:ferry^3 -long +\"",
        "price:[2024 TO *]",
        "\"Alba",
        "a:b:c/d~2",
        "\u{0}\u{1b}[2J alba",
    ] {
        let answer = index.rank(question, 10).unwrap();
        assert_eq!(answer.state, RetrievalState::Found, "{question}");
        let bare: Vec<String> = crate::text::words(question).into_iter().map(|word| word.text).collect();
        assert_eq!(answer, index.rank(&bare.join(" "), 10).unwrap(), "{question}");
    }
}

#[test]
fn a_question_of_punctuation_has_no_searchable_words() {
    for question in ["*", "\\", "?!", "", " \n", "— … 🙂"] {
        let answer = index(&FERRY).rank(question, 10).unwrap();
        assert_eq!(answer, Ranking { hits: Vec::new(), state: RetrievalState::NoSearchableWords });
        assert_eq!(answer.state.describe(), "no searchable words");
    }
}

#[test]
fn ties_come_back_in_stored_order_however_the_index_was_written() {
    let chunks = ["same words here"; 6];
    for _ in 0..20 {
        for (threads, commits) in [(1, 3), (1, 1), (2, 3), (4, 1), (3, 6)] {
            let index =
                Bm25::written(&chunks, Bm25Settings::default(), Writing { threads, commits }).unwrap();
            assert_eq!(found(&index, "same", 6), [0, 1, 2, 3, 4, 5]);
            for k in [2, 3, 5] {
                assert_eq!(found(&index, "same", k), (0..k).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn scores_are_those_of_the_formula_with_repeated_words_counted() {
    let chunks = ["a b", "a c d e", "c c", "f g"];
    let index = index(&chunks);
    // N = 4, mean length 2.5; lengths below 40 are stored exactly.
    let term = |df: f64, tf: f64, length: f64| {
        let idf = (1.0 + (4.0 - df + 0.5) / (df + 0.5)).ln();
        idf * 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * length / 2.5))
    };
    let hits = index.rank("c a C", 10).unwrap().hits;
    let expected = [
        (2, 2.0 * term(2.0, 2.0, 2.0)),
        (1, 2.0 * term(2.0, 1.0, 4.0) + term(2.0, 1.0, 4.0)),
        (0, term(2.0, 1.0, 2.0)),
    ];
    assert_eq!(hits.len(), 3);
    for (hit, (chunk, score)) in hits.iter().zip(expected) {
        assert_eq!(hit.chunk, chunk);
        assert!((hit.score - score).abs() < 1e-5, "{hit:?}, expected {score}");
    }
}

#[test]
fn unspaced_scripts_are_found_by_their_bigrams_and_case_does_not_matter() {
    let index = index(&["議会は市長を選んだ", "長い市場の話", "ZAŻÓŁĆ GĘŚLĄ"]);
    assert_eq!(found(&index, "市長", 10)[0], 0);
    assert_eq!(found(&index, "zażółć", 10), [2]);
}

#[test]
fn the_english_stemmer_is_a_switch() {
    let chunks = ["ferries were running", "a boat"];
    let stemming = Bm25::new(chunks, Bm25Settings { english_stemmer: true }).unwrap();
    assert_eq!(found(&stemming, "ferry runs", 10), [0]);
    assert!(found(&index(&chunks), "ferry runs", 10).is_empty());
    assert_ne!(stemming.settings(), index(&chunks).settings());
}

#[test]
fn an_empty_corpus_empty_chunks_and_k_of_zero_answer_with_nothing() {
    assert!(found(&index(&[]), "ferry", 10).is_empty());
    assert!(found(&index(&["", "ferry"]), "ferry", 0).is_empty());
    assert_eq!(found(&index(&["", "ferry"]), "ferry", usize::MAX), [1]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn the_top_k_is_the_start_of_the_top_k_plus_m_on_any_number_of_segments(
        chunks in proptest::collection::vec(proptest::collection::vec(0_u8..5, 0..6), 1..40),
        question in proptest::collection::vec(0_u8..5, 1..6),
        k in 0_usize..12,
        m in 0_usize..12,
        commits in 1_usize..5,
    ) {
        let text = |words: &[u8]| words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
        let chunks: Vec<String> = chunks.iter().map(|words| text(words)).collect();
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let whole = index(&chunks);
        let question = text(&question);
        let longer = whole.rank(&question, k + m).unwrap().hits;
        let shorter = whole.rank(&question, k).unwrap().hits;
        prop_assert_eq!(&shorter[..], &longer[..k.min(longer.len())]);
        let cut = Bm25::written(&chunks, Bm25Settings::default(), Writing { threads: 1, commits }).unwrap();
        prop_assert_eq!(cut.rank(&question, k + m).unwrap().hits, longer);
    }

    #[test]
    fn any_question_finds_what_its_bare_words_find(
        parts in proptest::collection::vec(
            prop_oneof![
                "(ferry|price|see|AND|OR|NOT|IN|TO|title|body)",
                "[-+~^:\"()\\[\\]{}\\\\/*?&|!<>=,;']{1,3}",
                "(http://example\\.org|title:|\\^2|~0\\.5|\\[a TO b\\]|\"[a-z]*)",
            ],
            0..8,
        ),
    ) {
        let corpus = ["The ferry is 40 m long.", "Ticket price (2024): 12", "See http://example.org/x for times.", "and or not in to"];
        let whole = index(&corpus);
        let question = parts.join(" ");
        let bare: Vec<String> = crate::text::words(&question).into_iter().map(|word| word.text).collect();
        let asked = whole.rank(&question, 4).unwrap();
        let plain = whole.rank(&bare.join(" "), 4).unwrap();
        prop_assert_eq!(asked.hits, plain.hits);
    }
}
