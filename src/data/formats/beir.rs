//! BEIR: `queries.jsonl`, `corpus.jsonl` and judgements in `qrels/*.tsv`, with a header, or as TREC writes them (four
//! columns, none). Ids are text: "007" is not 7.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use crate::data::dataset::BadRow;
use crate::data::error::DataError;
use crate::data::example::{Document, Example};
use crate::data::json::Object;
use crate::data::labels::DraftRow;
use crate::data::notice::Notices;
use crate::data::source_file::{DataHash, SourceFile};

use super::content::{self, SourceRow};
use super::squad::draft;
use super::{Input, Parts};

const CORPUS: &str = "corpus.jsonl";
const QUERIES: &str = "queries.jsonl";

/// Whether a record can be a query or a document.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.has("_id") && fields.has("text")
}

/// The file of queries, when the corpus was named.
pub(super) fn query_file(input: &Input<'_>) -> Option<PathBuf> {
    let name = input.file.path.file_name()?.to_str()?;
    if name.starts_with("corpus.") { input.file.beside(QUERIES) } else { None }
}

pub(super) fn read(
    input: &Input<'_>,
    hash: &mut DataHash,
    notices: &mut Notices,
) -> Result<Parts, DataError> {
    let path = input.file.beside(CORPUS).ok_or_else(|| DataError::Companion {
        path: input.file.shown.clone(),
        companion: format!("`{CORPUS}` (BEIR keeps queries and documents apart)"),
        next: format!("put `{CORPUS}` into the same folder"),
    })?;
    let documents = documents(input, &SourceFile::open(&path, hash)?, notices)?;
    let known: HashSet<&str> = documents.iter().map(|document| document.id.as_str()).collect();
    let judged = if let Some(path) = judgements_file(input) {
        Some(judgements(&SourceFile::open(&path, hash)?, notices))
    } else {
        notices.tell("no judgements in `qrels/` beside the queries: no query knows its documents");
        None
    };
    let mut rows = Vec::new();
    let mut without = 0;
    for SourceRow { row, line, fields } in input.rows(notices)? {
        let (id, text) = match &fields {
            Ok(fields) => (fields.scalar("_id").map(str::to_owned), fields.text("text").map(str::to_owned)),
            Err(reason) => {
                let row = rows.len();
                rows.push(DraftRow::Bad(BadRow { row, id: None, line, reason: reason.clone() }));
                continue;
            }
        };
        let (Some(id), Some(question)) = (id.clone(), text.filter(|text| !text.trim().is_empty())) else {
            let reason = "expected `_id` and a query in `text`".to_owned();
            let row = rows.len();
            rows.push(DraftRow::Bad(BadRow { row, id, line, reason }));
            continue;
        };
        let source_documents = match &judged {
            Some(judged) => {
                let Some(relevant) = judged.get(&id) else {
                    // Queries of other splits have no judgement in this file.
                    without += 1;
                    continue;
                };
                let unknown = relevant.iter().filter(|document| !known.contains(document.as_str())).count();
                notices.add("a judgement names a document that the corpus does not have", unknown, Some(row));
                relevant.clone()
            }
            None => Vec::new(),
        };
        rows.push(draft(Example {
            id,
            row: rows.len(),
            question,
            passages: Vec::new(),
            answer: None,
            references: Vec::new(),
            source_documents,
            gold_spans: None,
            gold_consistent: None,
            groups: BTreeMap::new(),
        }));
    }
    if without > 0 {
        notices.tell(format!("{without} queries without a judgement were left out"));
    }
    Ok(Parts { rows, documents })
}

fn documents(
    input: &Input<'_>,
    file: &SourceFile,
    notices: &mut Notices,
) -> Result<Vec<Document>, DataError> {
    let mut documents = Vec::new();
    let mut blank = 0;
    for SourceRow { line, fields, .. } in content::lines(file, notices)? {
        let broken = |reason: &str| input.broken(format!("{CORPUS}, line {}: {reason}", line.unwrap_or(0)));
        let fields = fields.map_err(|reason| broken(&reason))?;
        let id = fields.scalar("_id").ok_or_else(|| broken("expected `_id`, found none"))?;
        let text = fields.text("text").unwrap_or_default();
        if text.trim().is_empty() {
            blank += 1;
            continue;
        }
        documents.push(Document {
            id: id.to_owned(),
            title: fields.text("title").filter(|title| !title.trim().is_empty()).map(str::to_owned),
            parts: vec![text.to_owned()],
            groups: BTreeMap::new(),
        });
    }
    if blank > 0 {
        notices.tell(format!("{blank} documents without text were left out"));
    }
    Ok(documents)
}

/// The judgements of the test split, else of the first split there is.
fn judgements_file(input: &Input<'_>) -> Option<PathBuf> {
    let folder = input.file.path.parent()?.join("qrels");
    ["test.tsv", "dev.tsv", "train.tsv", "test.txt", "qrels.txt"]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
}

/// Relevant documents of each query; a score of 0 says that a document is not.
fn judgements(file: &SourceFile, notices: &mut Notices) -> HashMap<String, Vec<String>> {
    let mut relevant: HashMap<String, Vec<String>> = HashMap::new();
    let text = String::from_utf8_lossy(&file.bytes);
    for (row, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let (query, document, score) = match cells.as_slice() {
            [query, document, score] | [query, _, document, score] => (*query, *document, *score),
            [] => continue,
            _ => {
                notices.add("a judgement that is neither three nor four columns was left out", 1, Some(row));
                continue;
            }
        };
        match score.parse::<f64>() {
            Ok(score) if score > 0.0 => {
                relevant.entry(query.to_owned()).or_default().push(document.to_owned());
            }
            Ok(_) => {
                relevant.entry(query.to_owned()).or_default();
            }
            Err(_) if row == 0 => {}
            Err(_) => notices.add("a judgement whose score is no number was left out", 1, Some(row)),
        }
    }
    relevant
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::formats::test_files::{examples, notices};
    use crate::data::{Dataset, OpenOptions};

    fn folder(qrels: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| std::fs::write(folder.path().join(name), content).unwrap();
        write(
            "corpus.jsonl",
            "{\"_id\":\"007\",\"title\":\"Ferry\",\"text\":\"It began in 1931.\"}\n{\"_id\":\"7\",\"title\":\"\",\"text\":\"Other.\"}\n",
        );
        write("queries.jsonl", "{\"_id\":\"q1\",\"text\":\"when?\"}\n{\"_id\":\"q2\",\"text\":\"why?\"}\n");
        std::fs::create_dir(folder.path().join("qrels")).unwrap();
        write("qrels/test.tsv", qrels);
        folder
    }

    #[test]
    fn a_folder_opens_with_ids_as_text_and_a_score_of_zero_is_not_relevant() {
        for qrels in ["query-id\tcorpus-id\tscore\nq1\t007\t1\nq1\t7\t0\n", "q1 0 007 2\nq1 0 7 0\n"] {
            let folder = folder(qrels);
            let data = Dataset::open(folder.path(), &OpenOptions::default()).unwrap();
            assert_eq!(data.format, Format::Beir);
            let examples = examples(&data);
            assert_eq!(examples.len(), 1);
            assert_eq!(examples[0].source_documents, ["007"]);
            assert!(notices(&data).contains("1 queries without a judgement"));
            let named = Dataset::open(folder.path().join("corpus.jsonl"), &OpenOptions::default()).unwrap();
            assert_eq!(named.rows, data.rows);
        }
    }
}
