//! `WiCE` (Kamoi et al. 2023), `non_supported_tokens`: claims of Wikipedia, the sentences of the page they cite, and
//! for each word of a claim whether the page does not support it.
//!
//! The claim is the answer. `WiCE` has no question, yet a reader's prompt needs one that a claim answers and that
//! gives nothing of it away: a fixed instruction with the title of the article, without which claims such as
//! "The audience consists of Australian expatriates" speak of nothing.
//!
//! Evidence is a whole page, up to thousands of words. Its sentences are joined to passages of about a hundred
//! words; those with a sentence that annotators marked as supporting come first, since a prompt that is too long
//! loses its last passages. That order is an oracle's: it says nothing about a retriever, and nothing about
//! which words of the claim are unsupported.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::data::dataset::BadRow;
use crate::data::error::{DataError, shown};
use crate::data::example::{Example, Passage};
use crate::data::json::{Json, Object};
use crate::data::labels::{Draft, DraftRow, Label};
use crate::data::notice::Notices;
use crate::data::source_file::{DataHash, SourceFile, find_in};
use crate::data::units::OffsetUnit;

use super::content::{self, SourceRow};
use super::jsonl::Records;
use super::{Input, Parts};

/// Files of the folder, in the order in which they are read.
const SPLITS: [&str; 3] = ["train", "dev", "test"];

/// Words of a passage, unless its one sentence is longer.
const PASSAGE_WORDS: usize = 100;

/// Whether a record can be one of `WiCE`'s with labelled words.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.has("claim") && fields.list("evidence").is_some() && fields.list("non_supported_spans").is_some()
}

/// The file of a folder from which reading begins: the first of the three, when its first record is one of `WiCE`'s.
/// Other data sets have such names too.
pub(super) fn first_file(folder: &Path) -> Option<PathBuf> {
    let path = SPLITS.iter().find_map(|split| find_in(folder, &name_of(split)))?;
    let file = SourceFile::open(&path, &mut DataHash::default()).ok()?;
    let first = Records::new(file.bytes.as_slice(), file.shown.as_str()).next()?.ok()?;
    let (fields, _) = content::object(&first.content.ok()?).ok()?;
    is_record(&fields).then_some(path)
}

fn name_of(split: &str) -> String {
    format!("{split}.jsonl")
}

/// Reads the file that was named; of a folder, every split.
pub(super) fn read(
    input: &Input<'_>,
    hash: &mut DataHash,
    notices: &mut Notices,
) -> Result<Parts, DataError> {
    let mut rows = Vec::new();
    append(input.rows(notices)?, &input.file.path, &mut rows);
    if input.folder {
        for path in SPLITS.iter().filter_map(|split| input.file.beside(&name_of(split))) {
            if path != input.file.path {
                let file = SourceFile::open(&path, hash)?;
                append(content::lines(&file, notices)?, &path, &mut rows);
            }
        }
    }
    notices.tell("passages with a sentence that annotators marked as supporting come first");
    Ok(Parts { rows, documents: Vec::new() })
}

fn append(records: Vec<SourceRow>, path: &Path, rows: &mut Vec<DraftRow>) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let split = SPLITS.into_iter().find(|split| name.split('.').next() == Some(split));
    for SourceRow { line, fields, .. } in records {
        let row = rows.len();
        let meta = fields.as_ref().ok().and_then(|fields| fields.get("meta")).and_then(Json::object);
        let id = meta.and_then(|meta| meta.scalar("id")).map(str::to_owned);
        let draft = fields.and_then(|fields| draft(&fields, id.as_deref(), row, line, split));
        rows.push(match draft {
            Ok(draft) => DraftRow::Draft(Box::new(draft)),
            Err(reason) => DraftRow::Bad(BadRow { row, id, line, reason }),
        });
    }
}

fn draft(
    fields: &Object,
    id: Option<&str>,
    row: usize,
    line: Option<usize>,
    split: Option<&str>,
) -> Result<Draft, String> {
    let claim = fields.text("claim").filter(|text| !text.trim().is_empty());
    let claim = claim.ok_or("field `claim`: expected text, found none")?;
    let labels = unsupported(claim, fields)?.into_iter().map(|range| Label {
        text: Some(claim[range.clone()].to_owned()),
        start: range.start,
        end: range.end,
        kind: None,
    });
    let labels = Some(labels.collect());
    let id = id.map_or_else(|| format!("row-{row}"), str::to_owned);
    // `dev02986-2` is a part of the claim `dev02986`; all its parts cite one page.
    let page = id.rsplit_once('-').map_or(id.as_str(), |(claim, _)| claim).to_owned();
    let meta = fields.get("meta").and_then(Json::object);
    let title = meta.and_then(|meta| meta.text("claim_title")).filter(|title| !title.trim().is_empty());
    let mut groups = BTreeMap::from([
        ("task".to_owned(), "wice".to_owned()),
        ("source".to_owned(), title.unwrap_or(&page).to_owned()),
    ]);
    for (name, value) in [("split", split), ("label", fields.scalar("label"))] {
        if let Some(value) = value {
            groups.insert(name.to_owned(), value.to_owned());
        }
    }
    let question = match title {
        Some(title) => format!("What do the references state about {title}?"),
        None => "What do the references state?".to_owned(),
    };
    let example = Example {
        passages: passages(fields, &page)?,
        id,
        row,
        question,
        answer: Some(claim.to_owned()),
        references: Vec::new(),
        source_documents: Vec::new(),
        gold_spans: None,
        gold_consistent: None,
        groups,
    };
    Ok(Draft { example, line, labels, unit: Some(OffsetUnit::Byte) })
}

/// Byte ranges of runs of unsupported words in the claim.
fn unsupported(claim: &str, fields: &Object) -> Result<Vec<Range<usize>>, String> {
    let tokens = fields.list("claim_tokens").ok_or("field `claim_tokens`: expected a list of words")?;
    let flags = fields.list("non_supported_spans").unwrap_or_default();
    if tokens.len() != flags.len() {
        return Err(format!(
            "field `non_supported_spans`: expected one for each of {} words in `claim_tokens`, found {}",
            tokens.len(),
            flags.len()
        ));
    }
    let mut runs: Vec<Range<usize>> = Vec::new();
    let (mut cursor, mut in_run) = (0, false);
    for (number, (token, flag)) in tokens.iter().zip(flags).enumerate() {
        let wrong = |field: &str, expected: &str, found: &Json| {
            format!("field `{field}`, word {number}: expected {expected}, found {}", found.kind())
        };
        let text = token.text().ok_or_else(|| wrong("claim_tokens", "text", token))?;
        let Json::Bool(flagged) = *flag else {
            return Err(wrong("non_supported_spans", "true or false", flag));
        };
        if text.trim().is_empty() {
            continue;
        }
        let found = token_at(claim, cursor, text).ok_or_else(|| {
            let there = shown(claim.get(cursor..).unwrap_or_default().trim_start());
            format!(
                "field `claim_tokens`, word {number}: expected `{}` in the claim, found `{there}`",
                shown(text)
            )
        })?;
        cursor = found.end;
        match runs.last_mut() {
            Some(run) if flagged && in_run => run.end = found.end,
            _ if flagged => runs.push(found),
            _ => {}
        }
        in_run = flagged;
    }
    Ok(runs)
}

/// The place of `token` right after `from`, blanks apart. Tokenisers rewrite quotes and brackets.
fn token_at(claim: &str, from: usize, token: &str) -> Option<Range<usize>> {
    let others: &[&str] = match token {
        "``" | "''" | "\"" => &["\"", "\u{201c}", "\u{201d}", "``", "''"],
        "`" | "'" => &["'", "\u{2018}", "\u{2019}", "`"],
        "-LRB-" => &["("],
        "-RRB-" => &[")"],
        "-LSB-" => &["["],
        "-RSB-" => &["]"],
        _ => &[],
    };
    let tail = claim.get(from..)?;
    std::iter::once(token).chain(others.iter().copied()).find_map(|spelling| {
        let mut shown = tail.char_indices().filter(|(_, c)| !c.is_whitespace());
        let mut found: Option<Range<usize>> = None;
        for expected in spelling.chars().filter(|c| !c.is_whitespace()) {
            let (at, c) = shown.next()?;
            if c != expected {
                return None;
            }
            let start = found.map_or(from + at, |found| found.start);
            found = Some(start..from + at + c.len_utf8());
        }
        found
    })
}

/// Consecutive sentences joined, those with support first, else in the order of the page.
fn passages(fields: &Object, page: &str) -> Result<Vec<Passage>, String> {
    let supporting: BTreeSet<usize> = fields
        .list("supporting_sentences")
        .unwrap_or_default()
        .iter()
        .filter_map(Json::list)
        .flatten()
        .filter_map(Json::offset)
        .collect();
    let mut found: Vec<(bool, String)> = Vec::new();
    let mut words = 0;
    for (number, sentence) in fields.list("evidence").unwrap_or_default().iter().enumerate() {
        let sentence = sentence.text().ok_or_else(|| {
            format!("field `evidence`, sentence {number}: expected text, found {}", sentence.kind())
        })?;
        let sentence = sentence.trim();
        let more = sentence.split_whitespace().count();
        if more == 0 {
            continue;
        }
        let supports = supporting.contains(&number);
        words += more;
        match found.last_mut() {
            Some((any_supports, text)) if words <= PASSAGE_WORDS => {
                text.push(' ');
                text.push_str(sentence);
                *any_supports |= supports;
            }
            _ => {
                found.push((supports, sentence.to_owned()));
                words = more;
            }
        }
    }
    let mut numbered: Vec<(usize, (bool, String))> = found.into_iter().enumerate().collect();
    numbered.sort_by_key(|(_, (supports, _))| !supports);
    let passage = |(number, (_, text)): (usize, (bool, String))| Passage {
        id: Some(format!("{page}#{}", number + 1)),
        document: Some(page.to_owned()),
        text,
        score: None,
    };
    Ok(numbered.into_iter().map(passage).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::formats::test_files::{bad, examples, open, public_data, try_open};
    use crate::data::{Dataset, Format, OpenOptions};

    const CLAIM: &str = r#"{"claim":"Café “Ω”  opened in 1931, they say.","claim_tokens":["Café","``","Ω","''","opened","in","1931",",","they","say","."],"non_supported_spans":[false,true,true,true,false,false,true,false,true,true,false],"evidence":["(meta data) TITLE: Café","It opened."],"supporting_sentences":[[1]],"label":"partially_supported","meta":{"id":"dev7-2","claim_title":"Cafés"}}"#;

    fn marked(example: &Example) -> Vec<&str> {
        let answer = example.answer.as_deref().unwrap();
        example.gold_spans.as_ref().unwrap().iter().map(|span| &answer[span.range.clone()]).collect()
    }

    #[test]
    fn runs_of_unsupported_words_are_found_in_the_claim_in_spite_of_quotes_and_blanks() {
        let data = open("dev.jsonl", CLAIM);
        assert_eq!(data.format, Format::Wice);
        let example = examples(&data)[0];
        assert_eq!(marked(example), ["“Ω”", "1931", "they say"]);
        assert_eq!(example.question, "What do the references state about Cafés?");
        assert_eq!(example.passages.len(), 1);
        assert_eq!(example.passages[0].document.as_deref(), Some("dev7"));
        assert_eq!((example.split_key(), example.groups["split"].as_str()), ("Cafés", "dev"));
        assert_eq!(example.groups["task"], "wice");
    }

    #[test]
    fn words_that_are_not_the_claims_make_a_bad_row() {
        let other = CLAIM.replace(r#""opened","in""#, r#""closed","in""#);
        let data = open("dev.jsonl", &other);
        assert!(
            bad(&data)[0].reason.contains("word 4: expected `closed` in the claim, found `opened"),
            "{}",
            bad(&data)[0]
        );
        let fewer = CLAIM.replace(r#""they","#, "");
        assert!(bad(&open("dev.jsonl", &fewer))[0].reason.contains("each of 10 words"));
        let number = CLAIM.replace("[false,true", "[0,true");
        assert!(
            bad(&open("dev.jsonl", &number))[0].reason.contains("expected true or false, found a number")
        );
    }

    #[test]
    fn passages_have_about_a_hundred_words_and_those_with_support_come_first() {
        let sentence = |word: &str| format!("\"{}\"", vec![word; 40].join(" "));
        let evidence: Vec<String> = ["a", "b", "c", "d", "e"].map(sentence).to_vec();
        let long = CLAIM
            .replace(r#""(meta data) TITLE: Café","It opened.""#, &evidence.join(","))
            .replace("[[1]]", "[[4],[4,2,99]]");
        let data = open("dev.jsonl", &long);
        let passages = &examples(&data)[0].passages;
        let begins: Vec<(&str, &str)> =
            passages.iter().map(|passage| (passage.id.as_deref().unwrap(), &passage.text[..1])).collect();
        assert_eq!(begins, [("dev7#2", "c"), ("dev7#3", "e"), ("dev7#1", "a")]);
        assert_eq!(passages[0].text.split(' ').count(), 80);
    }

    #[test]
    fn a_folder_opens_with_every_split_and_a_file_alone() {
        let (dev, test) = (CLAIM.to_owned(), CLAIM.replace("dev7", "test7"));
        let files: [(&str, &[u8]); 2] = [("test.jsonl", test.as_bytes()), ("dev.jsonl", dev.as_bytes())];
        let folder = try_open(&files, "", &OpenOptions::default()).unwrap();
        let splits: Vec<(usize, &str)> =
            folder.examples().map(|example| (example.row, example.groups["split"].as_str())).collect();
        assert_eq!(splits, [(0, "dev"), (1, "test")]);
        let alone = try_open(&files, "dev.jsonl", &OpenOptions::default()).unwrap();
        assert_eq!(alone.rows.len(), 1);
        assert_ne!(alone.hash, folder.hash);
    }

    #[test]
    fn a_folder_of_other_data_with_such_names_is_not_opened_in_part() {
        let files: [(&str, &[u8]); 1] = [("train.jsonl", br#"{"question":"q?"}"#)];
        let error = try_open(&files, "", &OpenOptions::default()).unwrap_err().to_string();
        assert!(error.contains("name one data file"), "{error}");
    }

    #[test]
    fn the_public_folder_has_603_claims_each_with_unsupported_words() {
        let Some(path) = public_data("wice/non_supported_tokens") else { return };
        let data = Dataset::open(path, &OpenOptions::default()).unwrap();
        assert_eq!((data.format, data.rows.len(), data.bad_rows().count()), (Format::Wice, 603, 0));
        let count = |split: &str| data.examples().filter(|e| e.groups["split"] == split).count();
        assert_eq!(SPLITS.map(count), [374, 124, 105]);
        assert!(data.examples().all(|example| !marked(example).is_empty() && !example.passages.is_empty()));
    }
}
