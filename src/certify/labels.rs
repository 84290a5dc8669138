//! Which retrieved chunks count as correct (DRAG eq. 1 and the label after it).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::rouge::{Rouge, RougeSettings, rouge_l_words};

/// Which share of the longest common subsequence is the similarity h.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Similarity {
    #[default]
    FMeasure,
    /// Containment of the answer in the chunk: natural for short answers in long chunks.
    Recall,
    Precision,
}

impl Similarity {
    const fn of(self, rouge: Rouge) -> f64 {
        match self {
            Self::FMeasure => rouge.f_measure,
            Self::Recall => rouge.recall,
            Self::Precision => rouge.precision,
        }
    }
}

/// How chunks are labelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LabelSettings {
    pub rouge: RougeSettings,
    pub similarity: Similarity,
    /// Quantile of the wrong-document similarities that a correct chunk must reach, in thousandths.
    /// 0: the document id alone decides, and no reference answer is needed. The paper takes 990 for
    /// long documents.
    pub beta_thousandths: u16,
}

/// A question with what is known to be right and what was retrieved.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelQuestion<'a> {
    /// Acceptable answers; the most similar one counts.
    pub references: &'a [String],
    /// Ids of the documents that hold the answer.
    pub source_documents: &'a [String],
    /// In rank order.
    pub chunks: Vec<LabelChunk<'a>>,
}

/// A retrieved chunk as the labels need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelChunk<'a> {
    /// Id of the document it was cut from.
    pub document: &'a str,
    pub text: &'a str,
}

/// The labels of all questions and how they came about.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkLabels {
    /// Per question, per chunk in rank order: from a right document, and similar enough.
    pub correct: Vec<Vec<bool>>,
    /// The similarity threshold; `None` when beta is 0 or no chunk came from a wrong document, so that the document id
    /// alone decided.
    pub threshold: Option<f64>,
    /// Chunks from a wrong document whose similarity was measured.
    pub wrong_document_chunks: usize,
    /// Different texts in which the tokenizer of the similarity sees no word: their similarity is 0
    /// whatever they say.
    pub texts_without_words: usize,
}

impl ChunkLabels {
    /// What the user must hear about the labels, if anything.
    #[must_use]
    pub fn warning(&self, settings: &LabelSettings) -> Option<String> {
        let texts = match self.texts_without_words {
            0 => return None,
            1 => "1 text has".to_owned(),
            several => format!("{several} texts have"),
        };
        Some(match settings.rouge.mode {
            super::RougeMode::RougeScore => format!(
                "{texts} no scorable token: rouge-score sees only a-z and 0-9, so their similarity is 0; \
                 the default mode reads every script"
            ),
            super::RougeMode::Unicode => {
                format!("{texts} no scorable token (no letter and no digit), so their similarity is 0")
            }
        })
    }
}

/// Labels every chunk: `y = [h >= s_thres and d(chunk) is a source document]`.
///
/// The threshold `s_thres` is the ceil(beta n)-th smallest of the n similarities of chunks from wrong documents.
/// (The paper's prose calls it a quantile of retrieval scores; its formula and figure mean ROUGE-L.)
#[must_use]
pub fn label_chunks(questions: &[LabelQuestion<'_>], settings: &LabelSettings) -> ChunkLabels {
    let from_source = |question: &LabelQuestion<'_>, chunk: &LabelChunk<'_>| {
        question.source_documents.iter().any(|source| source == chunk.document)
    };
    if settings.beta_thousandths == 0 {
        let correct = questions
            .iter()
            .map(|question| question.chunks.iter().map(|chunk| from_source(question, chunk)).collect())
            .collect();
        return ChunkLabels { correct, threshold: None, wrong_document_chunks: 0, texts_without_words: 0 };
    }
    // A chunk is retrieved for many questions: its words are found once.
    let mut words: HashMap<&str, Vec<String>> = HashMap::new();
    for question in questions {
        let texts = question.chunks.iter().map(|chunk| chunk.text);
        for text in texts.chain(question.references.iter().map(String::as_str)) {
            words.entry(text).or_insert_with(|| settings.rouge.words(text));
        }
    }
    let similarity = |question: &LabelQuestion<'_>, chunk: &LabelChunk<'_>| {
        question
            .references
            .iter()
            .map(|reference| {
                let rouge = rouge_l_words(&words[chunk.text], &words[reference.as_str()]);
                settings.similarity.of(rouge)
            })
            .fold(0.0, f64::max)
    };
    let mut measured: Vec<Vec<(bool, f64)>> = Vec::with_capacity(questions.len());
    let mut wrong = Vec::new();
    for question in questions {
        let chunks: Vec<(bool, f64)> = question
            .chunks
            .iter()
            .map(|chunk| (from_source(question, chunk), similarity(question, chunk)))
            .collect();
        wrong.extend(chunks.iter().filter(|(right, _)| !right).map(|&(_, similarity)| similarity));
        measured.push(chunks);
    }
    wrong.sort_unstable_by(f64::total_cmp);
    let threshold = quantile(&wrong, settings.beta_thousandths);
    let correct = measured
        .iter()
        .map(|chunks| {
            chunks.iter().map(|&(right, h)| right && threshold.is_none_or(|least| h >= least)).collect()
        })
        .collect();
    ChunkLabels {
        correct,
        threshold,
        wrong_document_chunks: wrong.len(),
        texts_without_words: words.values().filter(|words| words.is_empty()).count(),
    }
}

/// The ceil(beta n)-th smallest value; `None` without values.
fn quantile(sorted: &[f64], beta_thousandths: u16) -> Option<f64> {
    let rank = (sorted.len() * usize::from(beta_thousandths.min(1000))).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::super::RougeMode;
    use super::*;

    fn question<'a>(
        references: &'a [String],
        sources: &'a [String],
        chunks: &[(&'a str, &'a str)],
    ) -> LabelQuestion<'a> {
        LabelQuestion {
            references,
            source_documents: sources,
            chunks: chunks.iter().map(|&(document, text)| LabelChunk { document, text }).collect(),
        }
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn with_beta_zero_the_document_alone_decides_and_no_answer_is_needed() {
        let sources = texts(&["a"]);
        let asked = question(&[], &sources, &[("a", "x"), ("b", "x"), ("a", "")]);
        let labels = label_chunks(&[asked], &LabelSettings::default());
        assert_eq!(labels.correct, [[true, false, true]]);
        assert_eq!((labels.threshold, labels.warning(&LabelSettings::default())), (None, None));
    }

    #[test]
    fn a_chunk_of_the_right_document_must_be_as_similar_as_the_most_similar_wrong_ones() {
        let (answer, sources) = (texts(&["the valve is closed"]), texts(&["a"]));
        let asked = question(
            &answer,
            &sources,
            &[
                ("a", "the valve is closed"),
                ("a", "nothing of that"),
                ("b", "the valve"),
                ("b", "the valve is closed"),
            ],
        );
        let at = |beta_thousandths| {
            let settings = LabelSettings { beta_thousandths, ..LabelSettings::default() };
            label_chunks(std::slice::from_ref(&asked), &settings)
        };
        assert_eq!(at(990).threshold, Some(1.0));
        assert_eq!(at(990).correct, [[true, false, false, false]]);
        assert!((at(500).threshold.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(at(990).wrong_document_chunks, 2);
    }

    #[test]
    fn the_best_reference_counts_and_without_wrong_chunks_there_is_no_threshold() {
        let (answers, sources) = (texts(&["no", "42 litres"]), texts(&["a"]));
        let settings = LabelSettings {
            beta_thousandths: 990,
            similarity: Similarity::Recall,
            ..LabelSettings::default()
        };
        let only_right = question(&answers, &sources, &[("a", "it holds 42 litres")]);
        let labels = label_chunks(std::slice::from_ref(&only_right), &settings);
        assert_eq!((labels.threshold, labels.correct), (None, vec![vec![true]]));
        let with_wrong = question(&answers, &sources, &[("a", "it holds 42 litres"), ("b", "no idea")]);
        assert_eq!(label_chunks(&[with_wrong], &settings).correct, [[true, false]]);
    }

    #[test]
    fn the_compatible_mode_says_how_many_texts_it_cannot_see() {
        let (answer, sources) = (texts(&["市長は十二月に辞任した"]), texts(&["a"]));
        let chunks =
            [("a", "市長は十二月に辞任した"), ("b", "議会"), ("b", "In December the mayor resigned")];
        let asked = question(&answer, &sources, &chunks);
        let compatible = LabelSettings {
            rouge: RougeSettings { mode: RougeMode::RougeScore, stemming: false },
            beta_thousandths: 990,
            ..LabelSettings::default()
        };
        let labels = label_chunks(std::slice::from_ref(&asked), &compatible);
        assert_eq!(labels.texts_without_words, 2);
        assert!(labels.warning(&compatible).unwrap().starts_with("2 texts have no scorable token"));
        let unicode = LabelSettings { beta_thousandths: 990, ..LabelSettings::default() };
        let labels = label_chunks(&[asked], &unicode);
        assert_eq!((labels.texts_without_words, &labels.correct[0][0]), (0, &true));
    }
}
