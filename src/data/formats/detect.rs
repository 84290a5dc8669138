//! Which layout a file has, and by what it was recognised.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::data::dataset::OpenOptions;
use crate::data::error::{DataError, distinct, shown_names, shown_path};
use crate::data::json::{Json, Object};
use crate::data::source_file::{SourceFile, find_in};

use super::{
    Content, Format, beir, clapnq, deepeval, hallurag, hotpotqa, langsmith, lettuce_detect, llama_index,
    natural_questions, openinference, pubmedqa, ragas, ragbench, ragchecker, trulens, wice,
};

/// Records that are looked at.
const SAMPLE: usize = 50;

/// The outcome of looking at a file.
#[derive(Debug)]
pub(crate) struct Detected {
    pub(crate) format: Format,
    pub(crate) content: Content,
    /// By what it was recognised, to follow "because".
    pub(crate) because: String,
}

/// Recognises the layout of `file`, or checks that it can be the one the user names.
pub(crate) fn detect(file: &SourceFile, options: &OpenOptions) -> Result<Detected, DataError> {
    let content = Content::sniff(file)?;
    let (sample, problem) = content.sample(file, SAMPLE)?;
    if sample.is_empty() {
        return Err(DataError::UnknownLayout {
            path: file.shown.clone(),
            expected: "records: JSON objects or rows of a table".to_owned(),
            found: problem.unwrap_or_else(|| format!("{} without any", content.kind())),
            next: "check that this is a data file".to_owned(),
        });
    }
    let (format, because) = match options.format {
        Some(format) => (format, "--format says so".to_owned()),
        None if !options.map.is_empty() => (Format::Mapped, "--map names its fields".to_owned()),
        None => recognise(&content, &sample).ok_or_else(|| unknown(file, &content, &sample))?,
    };
    if let Err(problem) = can_be(format, &content, &sample) {
        let problem = format!("expected {problem}, found {} with {}", content.kind(), names(&sample));
        return Err(DataError::Layout { path: file.shown.clone(), format: format.name(), because, problem });
    }
    if !options.map.is_empty() && !matches!(format, Format::Mapped | Format::Ragas) {
        return Err(DataError::Map(format!(
            "{format} has a layout of its own and takes no map; leave out --map, or say --format mapped"
        )));
    }
    drop(sample);
    Ok(Detected { format, content, because })
}

fn unknown(file: &SourceFile, content: &Content, sample: &[Cow<'_, Object>]) -> DataError {
    if let Some(found) = sample.first().and_then(|fields| trulens::without_records(fields)) {
        return DataError::UnknownLayout {
            path: file.shown.clone(),
            expected: "records with questions".to_owned(),
            found: format!("{found}, which has none"),
            next: "export the tables `trulens_events` or `records` of the same database".to_owned(),
        };
    }
    DataError::UnknownLayout {
        path: file.shown.clone(),
        expected: format!("one of the layouts {}", Format::names()),
        found: format!("{} with {}", content.kind(), names(sample)),
        next: "name the fields, for example --map question=FIELD,contexts=FIELD,answer=FIELD".to_owned(),
    }
}

/// The field names of the sample, once each.
fn names(sample: &[Cow<'_, Object>]) -> String {
    let names = distinct(sample.iter().flat_map(|fields| fields.names()));
    format!("the fields {}", shown_names(names))
}

/// The most telling layout first: own records have the fewest demands, and come last.
fn recognise(content: &Content, sample: &[Cow<'_, Object>]) -> Option<(Format, String)> {
    const ORDER: [Format; 21] = [
        Format::RagTruth,
        Format::Squad,
        Format::HotpotQa,
        Format::NaturalQuestions,
        Format::Wice,
        Format::ClapNq,
        Format::PubMedQa,
        Format::NqOpen,
        Format::TatQa,
        Format::RagBench,
        Format::HalluRag,
        Format::LettuceDetect,
        Format::RagChecker,
        Format::TruLens,
        Format::OpenInference,
        Format::LangSmith,
        Format::LlamaIndex,
        Format::Beir,
        Format::Ragas,
        Format::DeepEval,
        Format::Ragscope,
    ];
    ORDER.into_iter().find_map(|format| {
        let telling = format != Format::Ragas || tells_ragas(content, sample);
        let because = can_be(format, content, sample).ok()?;
        telling.then(|| (format, format!("it is {} with {because}", content.kind())))
    })
}

/// Whether names or values occur that only RAGAS has; `question`, `contexts`, `answer` are shared.
fn tells_ragas(content: &Content, sample: &[Cow<'_, Object>]) -> bool {
    const ONLY_RAGAS: [&str; 8] = [
        "user_input",
        "retrieved_contexts",
        "response",
        "ground_truth",
        "ground_truths",
        "reference_contexts",
        "retrieved_context_ids",
        "reference_context_ids",
    ];
    const ONLY_OWN: [&str; 5] = ["labels", "offset_unit", "source_ids", "consistent", "groups"];
    let own = any(sample, |fields| fields.has("question") && ONLY_OWN.iter().any(|name| fields.has(name)));
    let other = any(sample, |fields| deepeval::is_record(fields) || fields.has("_id"));
    matches!(content, Content::Table { .. } | Content::Rows { .. }) && !other
        || !own
            && any(sample, |fields| {
                ONLY_RAGAS.iter().any(|name| fields.has(name))
                    || fields.text("contexts").is_some()
                    || ragas::is_annotated(fields)
            })
}

fn any(sample: &[Cow<'_, Object>], what: impl Fn(&Object) -> bool) -> bool {
    sample.iter().any(|fields| what(fields))
}

/// By which fields the sample can be `format`; else what it would need.
fn can_be(
    format: Format,
    content: &Content,
    sample: &[Cow<'_, Object>],
) -> Result<&'static str, &'static str> {
    let has = |names: &[&str]| any(sample, |fields| names.iter().all(|name| fields.has(name)));
    let records = |is_record: fn(&Object) -> bool, fields: &'static str| {
        if any(sample, is_record) { Ok(fields) } else { Err(fields) }
    };
    let table = matches!(content, Content::Table { .. });
    match format {
        Format::RagTruth if !table && has(&["source_id", "response", "labels"]) => {
            Ok("the fields `source_id`, `response` and `labels`")
        }
        Format::RagTruth if !table && has(&["source_id", "source_info"]) => {
            Ok("the fields `source_id` and `source_info`")
        }
        Format::RagTruth => {
            Err("records with `source_id`, `response` and `labels`, or `source_id` and `source_info`")
        }
        Format::Squad if matches!(content, Content::Document(Json::Object(fields), _) if fields.list("data").is_some()) => {
            Ok("a list `data`")
        }
        Format::Squad => Err("one JSON object with a list `data` of articles"),
        Format::NqOpen if !table && has(&["question", "nq_annotated_gold"]) => {
            Ok("the fields `question` and `nq_annotated_gold`")
        }
        Format::NqOpen if !table && has(&["question", "answers", "ctxs"]) => {
            Ok("the fields `question`, `answers` and `ctxs`")
        }
        Format::NqOpen => Err("records with `question`, `answers` and `ctxs` or `nq_annotated_gold`"),
        Format::TatQa if !table && has(&["table", "questions"]) => Ok("the fields `table` and `questions`"),
        Format::TatQa => Err("a list of objects with `table`, `paragraphs` and `questions`"),
        Format::Ragas if any(sample, ragas::is_annotated) => Ok("lists of `metric_input`"),
        Format::Ragas if has(&["user_input"]) => Ok("the field `user_input`"),
        Format::Ragas if has(&["question"]) => Ok("the field `question`"),
        Format::Ragas => Err("records with `user_input` or `question`"),
        Format::Ragscope if !table && has(&["question"]) => Ok("the field `question`"),
        Format::Ragscope => Err("JSON records with `question`"),
        Format::RagBench => {
            records(ragbench::is_record, "the fields `documents`, `response` and `response_sentences`")
        }
        Format::HalluRag => records(hallurag::is_record, "the fields `prompt` and `sentence_data`"),
        Format::LettuceDetect => {
            records(lettuce_detect::is_record, "the fields `prompt`, `answer` and `labels`")
        }
        Format::RagChecker => records(ragchecker::is_record, "the fields `query` and `gt_answer`"),
        Format::DeepEval => records(
            deepeval::is_record,
            "`testCases`, or the field `input` beside `actual_output`, `expected_output` or `retrieval_context`",
        ),
        Format::LlamaIndex => records(
            llama_index::is_record,
            "`examples` with `query`, or the fields `query`, `response` and `passing`",
        ),
        Format::TruLens => records(
            trulens::is_record,
            "the field `record_attributes`, a `record_id` with its calls or a `feedback_result_id`, or `query` and \
             `expected_response`",
        ),
        Format::OpenInference => records(
            openinference::is_record,
            "the id of a trace (`context.trace_id`, `spanContext.traceId`) and `attributes`",
        ),
        Format::LangSmith => records(
            langsmith::is_record,
            "the fields `run_type` and `inputs`, or columns `input_*` and `output_*`",
        ),
        Format::Beir if !table => records(beir::is_record, "the fields `_id` and `text`"),
        Format::Beir => Err("JSON records with `_id` and `text`"),
        Format::HotpotQa => {
            records(hotpotqa::is_record, "the fields `question`, `supporting_facts` and `context`")
        }
        Format::NaturalQuestions => {
            records(natural_questions::is_record, "the fields `question_text` and `document_text`")
        }
        Format::Wice => records(wice::is_record, "the fields `claim`, `evidence` and `non_supported_spans`"),
        Format::ClapNq => records(clapnq::is_record, "the fields `input`, `passages` and `output`"),
        Format::PubMedQa if any(sample, pubmedqa::is_decisions) => Ok("decisions by PMID"),
        Format::PubMedQa => records(pubmedqa::is_record, "`QUESTION` and `CONTEXTS` by PMID"),
        Format::Mapped => Ok("the mapped fields"),
    }
}

/// The file of a folder from which reading begins.
pub(crate) fn directory(folder: &Path, format: Option<Format>) -> Result<PathBuf, DataError> {
    let examples = find_in(folder, "examples.jsonl");
    let responses = find_in(folder, "response.jsonl").or_else(|| find_in(folder, "source_info.jsonl"));
    let queries = find_in(folder, "queries.jsonl");
    let found = match format {
        Some(Format::Ragscope) => examples,
        Some(Format::RagTruth) => responses,
        Some(Format::Beir) => queries,
        Some(Format::Wice) => wice::first_file(folder),
        Some(_) => None,
        None => examples.or(responses).or(queries).or_else(|| wice::first_file(folder)),
    };
    found.ok_or_else(|| {
        let mut inside: Vec<String> = std::fs::read_dir(folder)
            .map(|entries| {
                entries
                    .filter_map(Result::ok)
                    .map(|entry| entry.file_name().to_string_lossy().into_owned())
                    .collect()
            })
            .unwrap_or_default();
        inside.sort();
        DataError::UnknownLayout {
            path: shown_path(folder),
            expected:
                "a folder with `examples.jsonl` and `documents.jsonl` (ragscope), with `response.jsonl` and \
                       `source_info.jsonl` (ragtruth), with `queries.jsonl` and `corpus.jsonl` (beir), or with \
                       `train.jsonl`, `dev.jsonl` and `test.jsonl` of labelled claims (wice)"
                    .to_owned(),
            found: format!("a folder with {}", shown_names(inside.iter().map(String::as_str))),
            next: "name one data file".to_owned(),
        }
    })
}
