//! Answers for records that have none: written by the model that reads, from all chunks or the trusted ones.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::certify::Alpha;
use crate::evidence::{ChunkEvidence, Evidence, Status};
use crate::reading::{GenerationSettings, Reader, StopReason};

use super::asking::is_asked;

/// Names under which the provenance of a record says how its answer was written.
const GENERATED_BY: &str = "generated_by";
const GENERATION: &str = "generation";
const FILTER: &str = "generation_filter";
const GENERATED_FROM: &str = "generated_from";
const REASONING: &str = "generated_reasoning";
const NO_PASSAGE: &str = "no passage";
const TRUSTED_AT: &str = "chunks trusted at alpha ";

/// Round what a reasoning model writes before its answer (Qwen3, DeepSeek-R1).
const THINKING: (&str, &str) = ("<think>", "</think>");

/// Which chunks an answer is written from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChunkFilter {
    /// All of them.
    #[default]
    All,
    /// Those whose p-value exceeds alpha. A chunk without a p-value is certified by nothing and left out.
    Trusted(Alpha),
}

impl ChunkFilter {
    fn describe(self) -> String {
        match self {
            Self::All => "all chunks".to_owned(),
            Self::Trusted(alpha) => {
                format!("{TRUSTED_AT}{}", f64::from(alpha.thousandths()) / 1000.0)
            }
        }
    }

    fn admits(self, chunk: &ChunkEvidence) -> bool {
        match self {
            Self::All => true,
            Self::Trusted(alpha) => chunk.p_value.is_some_and(|p_value| p_value.exceeds(alpha)),
        }
    }
}

/// How answers are written where the data has none.
#[derive(Debug, Clone)]
pub struct Generation {
    /// How tokens are chosen.
    pub settings: GenerationSettings,
    /// Chunks in the prompt.
    pub filter: ChunkFilter,
    /// Ends the answer that is being written.
    pub cancel: Arc<AtomicBool>,
}

impl Generation {
    /// Writes an answer into `evidence` and says there that it was written, by whom, how and from what.
    /// `false`: there is no answer, and `evidence` says why.
    ///
    /// `piece` hears the text as it comes.
    pub(super) fn write(
        &self,
        evidence: &mut Evidence,
        reader: &mut Reader,
        piece: &mut dyn FnMut(&str),
    ) -> bool {
        let admitted: Vec<usize> =
            (0..evidence.chunks.len()).filter(|index| self.filter.admits(&evidence.chunks[*index])).collect();
        let passages: Vec<&str> =
            admitted.iter().map(|index| evidence.chunks[*index].text.as_str()).collect();
        let written = reader.write(&evidence.question, &passages, &self.settings, &self.cancel, piece);
        let from = self.describe_source(&admitted, evidence.chunks.len());
        let by = evidence.provenance.model.clone().unwrap_or_else(|| "the model".to_owned());
        evidence.provenance.settings.extend([
            (GENERATED_BY.to_owned(), by.clone()),
            (GENERATION.to_owned(), self.settings.describe()),
            (FILTER.to_owned(), self.filter.describe()),
            (GENERATED_FROM.to_owned(), from.clone()),
        ]);
        // Labels are about an answer of the data; this one nobody labelled.
        evidence.gold_spans = None;
        let written = match written {
            Ok(written) => written,
            Err(error) => return nothing(evidence, format!("no answer could be written: {error}")),
        };
        evidence.notices.extend(written.notices.iter().map(|notice| format!("writing the answer: {notice}")));
        match written.generated.stopped {
            StopReason::Cancelled => {
                return nothing(evidence, "writing the answer was interrupted".to_owned());
            }
            StopReason::MaxNewTokens => evidence.notices.push(format!(
                "the answer was cut at {} tokens, before the model ended it; --max-new-tokens of `ragscope \
                 score` and `ragscope ask` gives it more",
                self.settings.max_new_tokens
            )),
            StopReason::ContextFull => {
                evidence.notices.push("the answer was cut where the model's context was full".to_owned());
            }
            StopReason::StopToken => {}
        }
        let Some((reasoning, text)) = without_reasoning(&written.generated.text) else {
            let reason = "the model had not ended its reasoning when its answer was cut; --max-new-tokens gives \
                          it more";
            return nothing(evidence, reason.to_owned());
        };
        if text.trim().is_empty() {
            return nothing(evidence, "the model ended its answer before the first word".to_owned());
        }
        if let Some(reasoning) = reasoning {
            evidence.provenance.settings.insert(REASONING.to_owned(), reasoning.to_owned());
            evidence.notices.push(format!(
                "the model reasoned in {} words before its answer; they are kept apart and not scored",
                reasoning.split_whitespace().count()
            ));
        }
        let read = match evidence.chunks.len() {
            0 => String::new(),
            chunks => format!(", and then read with all {chunks} chunks"),
        };
        let which = if is_asked(evidence) { "this answer" } else { "the data has no answer: this one" };
        evidence
            .notices
            .push(format!("{which} was written by {by} from {from} ({}){read}", self.settings.describe()));
        evidence.answer = Some(text.to_owned());
        true
    }

    fn describe_source(&self, admitted: &[usize], chunks: usize) -> String {
        if admitted.is_empty() {
            return NO_PASSAGE.to_owned();
        }
        let ranks: Vec<String> = admitted.iter().map(|index| (index + 1).to_string()).collect();
        match self.filter {
            ChunkFilter::All => format!("all {chunks} chunks"),
            ChunkFilter::Trusted(_) => {
                format!("{} of {chunks} chunks (trusted: rank {})", admitted.len(), ranks.join(", "))
            }
        }
    }
}

/// Reasoning, if there is any worth keeping, and the answer behind it. `None`: the reasoning never ends.
fn without_reasoning(text: &str) -> Option<(Option<&str>, &str)> {
    let Some(inside) = text.trim_start().strip_prefix(THINKING.0) else { return Some((None, text)) };
    let (reasoning, answer) = inside.split_once(THINKING.1)?;
    let reasoning = reasoning.trim();
    Some(((!reasoning.is_empty()).then_some(reasoning), answer.trim_start()))
}

fn nothing(evidence: &mut Evidence, reason: String) -> bool {
    evidence.status = Status::Partial;
    evidence.reason = Some(reason);
    false
}

/// An answer that was written from other chunks than those that are trusted now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleAnswer {
    /// The alpha whose trusted chunks it was written from.
    pub written_at: Alpha,
    /// How many these are.
    pub written_from: usize,
    /// How many chunks are trusted now, and how many of these were not read when it was written.
    pub trusted: usize,
    pub unread: usize,
}

/// Whether at `alpha` other chunks are trusted than those that the answer was written from. `None` also for
/// answers of the data, and for those written from all chunks whatever their certificate.
#[must_use]
pub fn stale_answer(evidence: &Evidence, alpha: Alpha) -> Option<StaleAnswer> {
    evidence.answer.as_ref()?;
    let ChunkFilter::Trusted(written_at) = filter_of(evidence)? else { return None };
    let then = ChunkFilter::Trusted(written_at);
    let now = ChunkFilter::Trusted(alpha);
    let admitted = |filter: ChunkFilter| evidence.chunks.iter().filter(move |chunk| filter.admits(chunk));
    let (written_from, trusted) = (admitted(then).count(), admitted(now).count());
    let unread = admitted(now).filter(|chunk| !then.admits(chunk)).count();
    // The trusted chunks at two levels lie inside each other: as many means the same.
    (written_from != trusted).then_some(StaleAnswer { written_at, written_from, trusted, unread })
}

/// Which chunks the provenance of a record says that its answer was written from.
fn filter_of(evidence: &Evidence) -> Option<ChunkFilter> {
    let said = evidence.provenance.settings.get(FILTER)?;
    if *said == ChunkFilter::All.describe() {
        return Some(ChunkFilter::All);
    }
    let level: f64 = said.strip_prefix(TRUSTED_AT)?.parse().ok()?;
    (0.0..=1.0)
        .contains(&level)
        .then(|| ChunkFilter::Trusted(Alpha::from_thousandths((level * 1000.0).round() as u16)))
}

/// Whether the answer of a record was written by a model here.
#[must_use]
pub fn is_generated(evidence: &Evidence) -> bool {
    evidence.answer.is_some() && evidence.provenance.settings.contains_key(GENERATED_BY)
}

/// Whether it was written although no chunk was there or none was trusted.
#[must_use]
pub fn is_generated_without_passage(evidence: &Evidence) -> bool {
    is_generated(evidence)
        && evidence.provenance.settings.get(GENERATED_FROM).is_some_and(|from| from == NO_PASSAGE)
}

#[cfg(test)]
#[path = "generation_tests.rs"]
pub(super) mod tests;
