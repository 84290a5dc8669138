//! Marking spans: selecting tokens, marking, undoing, going through the list, saving.

use std::ops::Range;

use super::{Effect, fail, say};
use crate::evidence::{AnnotationAgreement, MarkKind, SavedAnnotations, ShownFlags};
use crate::tui::action::{Command, Context, DialogKey};
use crate::tui::model::{Dialog, DialogItem, MarkEntry, MarksDialog, Model, Pane};

/// Why nothing can be marked on the answer on the screen; `None`: it can.
pub fn why_not_mark(model: &Model) -> Option<String> {
    if let Some(reason) = &model.annotating.closed {
        return Some(reason.clone());
    }
    if model.row().is_some_and(|row| row.asked.is_some()) {
        return Some(
            "an answer that was asked for here is no part of the data: nothing keeps its marks".into(),
        );
    }
    model.reading().is_none().then(|| "this answer has not been read, so it has no tokens to mark".to_owned())
}

fn refused(model: &mut Model) -> bool {
    let Some(reason) = why_not_mark(model) else { return false };
    say(model, reason);
    true
}

/// Begins a selection at the cursor, or gives it up.
pub fn select(model: &mut Model) {
    if model.annotating.anchor.take().is_some() || refused(model) {
        return;
    }
    model.focus = Pane::Answer;
    model.annotating.anchor = Some((model.selected, model.token));
    say(model, "selecting: move to the other end, then - wrong flag, + missed, Esc gives up");
}

/// Bytes of the selection; without one, of what the cursor is on as `kind` means it.
fn range(model: &Model, kind: Option<MarkKind>) -> Option<Range<usize>> {
    let (reading, answer) = (model.reading()?, model.evidence()?.answer.as_deref()?);
    if let Some(tokens) = model.selection() {
        let [start, _] = *reading.tokens.get(tokens.start)?;
        let [_, end] = *reading.tokens.get(tokens.end.checked_sub(1)?)?;
        return Some(start..end);
    }
    if kind == Some(MarkKind::FalseAlarm) {
        let span = model.span_at_cursor()?;
        return Some(model.findings.as_ref()?.spans.get(span)?.range.clone());
    }
    // The whole word: a token is often a part of one.
    let [start, end] = *reading.tokens.get(model.token)?;
    let token = answer.get(start..end)?;
    let start = start + token.len() - token.trim_start().len();
    let word_start = answer[..start]
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + answer[at..].chars().next().map_or(0, char::len_utf8));
    let word_end = answer[end..].find(char::is_whitespace).map_or(answer.len(), |at| end + at);
    Some(word_start..word_end)
}

fn shown(model: &Model) -> ShownFlags {
    let detector = model.detector().map(|scores| scores.name.as_str());
    model
        .findings
        .as_ref()
        .map_or_else(ShownFlags::default, |findings| ShownFlags::of(findings, &model.thresholds, detector))
}

/// Marks the selection, or what the cursor is on.
pub fn mark(model: &mut Model, kind: MarkKind) -> Vec<Effect> {
    if refused(model) {
        return Vec::new();
    }
    let Some(range) = range(model, Some(kind)) else {
        let next = model.keys.label(Command::NextSpan);
        let select = model.keys.label_in(Context::Pane(Pane::Answer), Command::SelectTokens);
        say(
            model,
            format!("the cursor is on no flagged span: {next} goes to the next, {select} selects tokens"),
        );
        return Vec::new();
    };
    let shown = shown(model);
    let text = model.evidence().and_then(|evidence| evidence.answer.as_ref()?.get(range.clone()));
    let text = super::super::views::quoted(text.unwrap_or_default(), 24);
    let done = change(model, |marks, evidence| marks.mark(evidence, range, kind, shown));
    model.annotating.anchor = None;
    if done {
        let what = match kind {
            MarkKind::FalseAlarm => "marked as supported (a false alarm)",
            MarkKind::Missed => "marked as unsupported (missed)",
        };
        let undo = model.keys.label_in(Context::Pane(Pane::Answer), Command::UndoMark);
        say(model, format!("{text} {what}; {undo} undoes"));
    }
    save(model)
}

/// Takes marks away.
pub fn unmark(model: &mut Model) -> Vec<Effect> {
    if refused(model) {
        return Vec::new();
    }
    let Some(range) = range(model, None) else { return Vec::new() };
    let shown = shown(model);
    let done = change(model, |marks, evidence| marks.unmark(evidence, &range, shown));
    model.annotating.anchor = None;
    say(model, if done { "the mark is gone; u brings it back" } else { "there is no mark here" });
    save(model)
}

/// Says that all of the answer was looked at, or takes that back.
pub fn check(model: &mut Model) -> Vec<Effect> {
    if refused(model) {
        return Vec::new();
    }
    let checked = !model.marked().is_some_and(|marked| marked.checked);
    let shown = shown(model);
    change(model, |marks, evidence| marks.check(evidence, checked, shown));
    say(model, if checked { "checked: what is not marked here is right" } else { "no longer checked" });
    save(model)
}

fn change(
    model: &mut Model,
    change: impl FnOnce(&mut crate::evidence::Annotations, &crate::evidence::Evidence) -> bool,
) -> bool {
    let Some(evidence) = model.row().and_then(|row| row.evidence.clone()) else { return false };
    let answer = evidence.answer.clone().unwrap_or_default();
    let index = model.selected;
    model.annotating.change(index, &evidence.id, &answer, |marks| change(marks, &evidence))
}

/// Takes the last change of a mark back, and goes to its answer; `None`: there is none.
pub fn undo(model: &mut Model) -> Option<Vec<Effect>> {
    let index = model.annotating.undo()?;
    model.select(index);
    say(model, "the last mark is undone; U makes it again");
    Some(save(model))
}

/// Makes the change again that was undone last; `None`: there is none.
pub fn redo(model: &mut Model) -> Option<Vec<Effect>> {
    let index = model.annotating.redo()?;
    model.select(index);
    say(model, "the mark is made again");
    Some(save(model))
}

/// Writes what changed, unless something is being written.
fn save(model: &mut Model) -> Vec<Effect> {
    refresh_list(model);
    model.annotating.to_save().map(Effect::SaveMarks).into_iter().collect()
}

/// What came of a writing.
pub fn saved(model: &mut Model, result: Result<SavedAnnotations, String>) -> Vec<Effect> {
    match result {
        Ok(saved) => {
            if model.annotating.saved(saved.joined) {
                say(model, "somebody else changed the file of marks: theirs and yours are kept");
            }
            save(model)
        }
        Err(reason) => {
            model.annotating.not_saved();
            fail(model, reason);
            Vec::new()
        }
    }
}

/// Opens the list of all marks.
pub fn open_list(model: &mut Model) {
    if let Some(reason) = &model.annotating.closed {
        let reason = reason.clone();
        say(model, reason);
        return;
    }
    model.dialog = Some(Dialog::Marks(MarksDialog::default()));
    refresh_list(model);
}

fn refresh_list(model: &mut Model) {
    if !matches!(model.dialog, Some(Dialog::Marks(_))) {
        return;
    }
    let mut entries = Vec::new();
    let mut agreement = AnnotationAgreement::default();
    let marks = model.annotating.marks();
    for marked in marks.answers() {
        let has_it = |index: &usize| {
            let evidence = model.rows.get(*index).and_then(|row| row.evidence.as_deref());
            evidence.filter(|evidence| evidence.id == marked.id).is_some_and(|evidence| {
                evidence.answer.as_deref().and_then(|answer| marks.of(&marked.id, answer)) == Some(marked)
            })
        };
        let index = (0..model.rows.len()).find(has_it);
        if let Some(index) = index
            && let Some(evidence) = model.rows.get(index).and_then(|row| row.evidence.as_deref())
            && let Some(findings) = model.rows.findings(index, &model.thresholds)
        {
            agreement.add(marks, evidence, &findings);
        }
        let entry =
            |mark| MarkEntry { id: marked.id.clone(), answer_hash: marked.answer_hash.clone(), index, mark };
        entries.extend(
            marked.marks.iter().map(|mark| entry(Some((mark.kind, mark.range(), mark.text.clone())))),
        );
        entries.extend(marked.checked.then(|| entry(None)));
    }
    entries.sort_by_key(|entry| entry.index.unwrap_or(usize::MAX));
    if let Some(Dialog::Marks(dialog)) = &mut model.dialog {
        dialog.at = dialog.at.min(entries.len().saturating_sub(1));
        (dialog.entries, dialog.agreement) = (entries, agreement);
    }
}

pub fn key(model: &mut Model, key: &DialogKey) -> Vec<Effect> {
    let Some(Dialog::Marks(dialog)) = &mut model.dialog else { return Vec::new() };
    let last = dialog.entries.len().saturating_sub(1);
    match key {
        DialogKey::Up => dialog.at = dialog.at.saturating_sub(1),
        DialogKey::Down => dialog.at = (dialog.at + 1).min(last),
        DialogKey::PageUp => dialog.at = dialog.at.saturating_sub(10),
        DialogKey::PageDown => dialog.at = (dialog.at + 10).min(last),
        DialogKey::Home => dialog.at = 0,
        DialogKey::End => dialog.at = last,
        DialogKey::Leave => model.dialog = None,
        DialogKey::Accept => go(model),
        DialogKey::Delete | DialogKey::Erase => return remove(model),
        DialogKey::Text(text) => match text.as_str() {
            "k" => dialog.at = dialog.at.saturating_sub(1),
            "j" => dialog.at = (dialog.at + 1).min(last),
            "g" => dialog.at = 0,
            "G" => dialog.at = last,
            "q" => model.dialog = None,
            "x" => return remove(model),
            "u" => return undo(model).unwrap_or_default(),
            "U" => return redo(model).unwrap_or_default(),
            _ => {}
        },
        _ => {}
    }
    Vec::new()
}

pub fn press(dialog: &mut MarksDialog, item: DialogItem) {
    if let DialogItem::Line(line) = item {
        dialog.at = line.min(dialog.entries.len().saturating_sub(1));
    }
}

/// Goes to the mark that has the cursor.
fn go(model: &mut Model) {
    let Some(Dialog::Marks(dialog)) = &model.dialog else { return };
    let Some(entry) = dialog.entries.get(dialog.at).cloned() else {
        model.dialog = None;
        return;
    };
    let Some(index) = entry.index else {
        say(model, format!("no answer on the screen is the one that was marked in {}", entry.id));
        return;
    };
    model.dialog = None;
    model.select(index);
    model.focus = Pane::Answer;
    if let Some((_, range, _)) = entry.mark
        && let Some(units) = model.token_units()
    {
        model.token = units.overlapping(&range).start.min(model.token_count().saturating_sub(1));
    }
}

/// Takes the mark away that has the cursor.
fn remove(model: &mut Model) -> Vec<Effect> {
    let Some(Dialog::Marks(dialog)) = &model.dialog else { return Vec::new() };
    let Some(entry) = dialog.entries.get(dialog.at).cloned() else { return Vec::new() };
    let evidence = entry.index.and_then(|index| model.rows.get(index)?.evidence.clone());
    let (Some(index), Some(evidence)) = (entry.index, evidence) else {
        say(model, "its answer is not on the screen: the mark stays in the file");
        return Vec::new();
    };
    let answer = evidence.answer.clone().unwrap_or_default();
    let flags = model.annotating.of(&evidence.id, &answer).map(|marked| marked.shown.clone());
    let flags = flags.unwrap_or_default();
    model.annotating.change(index, &evidence.id, &answer, |marks| match entry.mark {
        Some((_, range, _)) => marks.unmark(&evidence, &range, flags),
        None => marks.check(&evidence, false, flags),
    });
    save(model)
}
