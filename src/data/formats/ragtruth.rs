//! `RAGTruth`: answers with labelled spans in one file, their sources in another, joined on
//! `source_id`.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use crate::data::dataset::BadRow;
use crate::data::error::{DataError, shown};
use crate::data::example::{Example, Passage};
use crate::data::json::{Json, Object};
use crate::data::labels::{Draft, DraftRow};
use crate::data::notice::Notices;
use crate::data::source_file::{DataHash, SourceFile};

use super::content::{self, SourceRow};
use super::{Input, Parts, record};

const RESPONSES: &str = "response.jsonl";
const SOURCES: &str = "source_info.jsonl";

/// What the answers of one source share.
struct Source {
    question: String,
    passages: Vec<Passage>,
    task: Option<String>,
}

/// The file of answers beside the file of sources, when the latter was named.
pub(super) fn response_file(input: &Input<'_>) -> Result<Option<PathBuf>, DataError> {
    let (sample, _) = input.detected.content.sample(input.file, 50)?;
    if sample.iter().any(|fields| fields.has("response")) {
        return Ok(None);
    }
    let path = input.file.beside(RESPONSES).ok_or_else(|| companion(input, RESPONSES))?;
    // The file of responses itself, without any.
    if path == input.file.path {
        return Err(input.broken("no record has a field `response`"));
    }
    Ok(Some(path))
}

fn companion(input: &Input<'_>, name: &str) -> DataError {
    DataError::Companion {
        path: input.file.shown.clone(),
        companion: format!("`{name}` (RAGTruth keeps answers and sources apart)"),
        next: format!("put `{name}` into the same folder"),
    }
}

pub(super) fn read(
    input: &Input<'_>,
    hash: &mut DataHash,
    notices: &mut Notices,
) -> Result<Parts, DataError> {
    let path = input.file.beside(SOURCES).ok_or_else(|| companion(input, SOURCES))?;
    let sources = sources(&SourceFile::open(&path, hash)?, notices)?;
    let rows = input.rows(notices)?.into_iter().map(|row| answer_row(&row, &sources)).collect();
    Ok(Parts { rows, documents: Vec::new() })
}

/// Sources by id; one that cannot be used carries the reason, for the rows that need it.
fn sources(
    file: &SourceFile,
    notices: &mut Notices,
) -> Result<HashMap<String, Result<Source, String>>, DataError> {
    let mut sources = HashMap::new();
    let mut left_out: Option<(String, usize)> = None;
    for SourceRow { line, fields, .. } in content::lines(file, notices)? {
        let place = format!("{SOURCES}, line {}", line.unwrap_or(0));
        let id = fields.as_ref().ok().and_then(|fields| fields.scalar("source_id"));
        let reason = match (&fields, id) {
            (Err(reason), _) => reason.clone(),
            (Ok(_), None) => "it has no `source_id`".to_owned(),
            (Ok(_), Some(id)) if sources.contains_key(id) => {
                format!("the source `{}` was there before", shown(id))
            }
            (Ok(fields), Some(id)) => {
                let source = source(fields).map_err(|reason| format!("its source ({place}): {reason}"));
                sources.insert(id.to_owned(), source);
                continue;
            }
        };
        left_out.get_or_insert((format!("{place} was left out: {reason}"), 0)).1 += 1;
    }
    match left_out {
        None => {}
        Some((first, 1)) => notices.tell(first),
        Some((first, all)) => notices.tell(format!("{first}, and {} lines more", all - 1)),
    }
    Ok(sources)
}

fn source(fields: &Object) -> Result<Source, String> {
    let prompt = fields.text("prompt").unwrap_or_default();
    let task = fields.scalar("task_type").map(str::to_owned);
    let first_line = || prompt.lines().next().unwrap_or_default().trim().to_owned();
    let (question, passages) = match fields.get("source_info") {
        Some(Json::Text(text)) => {
            // A summary: the question is what the prompt asks before it shows the text.
            let instruction = prompt.split_once(text.trim()).map(|(before, _)| before.trim().to_owned());
            (instruction.unwrap_or_else(first_line), vec![passage(None, text)])
        }
        Some(Json::Object(info)) => match (info.text("question"), info.text("passages")) {
            (Some(question), Some(passages)) => {
                let split = split_passages(passages);
                let numbered = split.iter().enumerate().map(|(at, text)| passage(Some(at + 1), text));
                (question.to_owned(), numbered.collect())
            }
            // A record of data to be put into words.
            _ => (first_line(), vec![passage(None, &Json::Object(info.clone()).write())]),
        },
        Some(other) => {
            return Err(format!("expected text or an object in `source_info`, found {}", other.kind()));
        }
        None => return Err("expected `source_info`, found none".to_owned()),
    };
    if question.trim().is_empty() {
        return Err(
            "expected a question in `source_info` or an instruction in `prompt`, found none".to_owned()
        );
    }
    Ok(Source { question, passages, task })
}

fn passage(number: Option<usize>, text: &str) -> Passage {
    Passage {
        id: number.map(|number| format!("passage-{number}")),
        text: text.to_owned(),
        ..Passage::default()
    }
}

/// Splits `passage 1:…\n\npassage 2:…\n\n` so that `passage <n>:<text>\n\n`, joined, is the original
/// byte for byte. Text of another form is one passage.
fn split_passages(glued: &str) -> Vec<&str> {
    let pieces = || {
        let mut rest = glued.strip_prefix("passage 1:")?;
        let mut pieces = Vec::new();
        for next in 2.. {
            let Some((piece, after)) = rest.split_once(&format!("\n\npassage {next}:")) else { break };
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest.strip_suffix("\n\n")?);
        Some(pieces)
    };
    pieces().unwrap_or_else(|| vec![glued])
}

fn answer_row(source_row: &SourceRow, sources: &HashMap<String, Result<Source, String>>) -> DraftRow {
    let SourceRow { row, line, fields } = source_row;
    let draft = fields.as_ref().map_err(Clone::clone).and_then(|fields| draft(fields, *row, *line, sources));
    match draft {
        Ok(draft) => DraftRow::Draft(Box::new(draft)),
        Err(reason) => {
            let id = fields.as_ref().ok().and_then(|fields| fields.scalar("id")).map(str::to_owned);
            DraftRow::Bad(BadRow { row: *row, id, line: *line, reason })
        }
    }
}

fn draft(
    fields: &Object,
    row: usize,
    line: Option<usize>,
    sources: &HashMap<String, Result<Source, String>>,
) -> Result<Draft, String> {
    let source_id = fields.scalar("source_id").ok_or("expected `source_id`, found none")?;
    let source = match sources.get(source_id) {
        Some(Ok(source)) => source,
        Some(Err(reason)) => return Err(reason.clone()),
        None => return Err(format!("the source `{}` is not in {SOURCES}", shown(source_id))),
    };
    let answer = match fields.get("response") {
        None => None,
        Some(Json::Text(answer)) => Some(answer.clone()).filter(|answer| !answer.trim().is_empty()),
        Some(other) => return Err(format!("field `response`: expected text, found {}", other.kind())),
    };
    let labels = fields.get("labels").map(|labels| record::labels("labels", labels)).transpose()?;
    if answer.is_none() && labels.as_ref().is_some_and(|labels| !labels.is_empty()) {
        return Err("field `labels`: expected a response that they mark, found none".to_owned());
    }
    let mut groups = BTreeMap::from([("source".to_owned(), source_id.to_owned())]);
    groups.extend(fields.scalar("model").map(|model| ("generator".to_owned(), model.to_owned())));
    groups.extend(source.task.clone().map(|task| ("task".to_owned(), task)));
    let example = Example {
        id: fields.scalar("id").map_or_else(|| format!("row-{row}"), str::to_owned),
        row,
        question: source.question.clone(),
        passages: source.passages.clone(),
        answer,
        references: Vec::new(),
        source_documents: Vec::new(),
        gold_spans: None,
        gold_consistent: None,
        groups,
    };
    Ok(Draft { example, line, labels, unit: None })
}

#[cfg(test)]
#[path = "ragtruth_tests.rs"]
mod tests;
