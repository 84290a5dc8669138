//! The choice of an export.

use crate::tui::action::ExportKind;
use crate::tui::model::LineInput;

/// Which examples are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExportScope {
    /// The one on the screen.
    Example,
    /// Those that the list shows.
    Shown,
    #[default]
    All,
}

impl ExportScope {
    pub const ALL: [Self; 3] = [Self::Example, Self::Shown, Self::All];
}

/// The field that has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExportField {
    Scope,
    #[default]
    Form,
    Name,
}

impl ExportField {
    const ALL: [Self; 3] = [Self::Scope, Self::Form, Self::Name];

    /// The field `steps` further, round the end.
    #[must_use]
    pub fn moved(self, steps: usize) -> Self {
        let at = Self::ALL.iter().position(|field| *field == self).unwrap_or(0);
        Self::ALL[(at + steps) % Self::ALL.len()]
    }
}

/// How far an export is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ExportStage {
    #[default]
    Choosing,
    Writing,
    /// A file of this name is there: asked what to do.
    Exists(String),
    /// Nothing was written, and why.
    Refused(String),
}

/// The dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportDialog {
    pub scope: ExportScope,
    pub form: ExportKind,
    pub name: LineInput,
    pub field: ExportField,
    pub stage: ExportStage,
    /// Whether the user typed the name: then choices change its ending only.
    pub named: bool,
    /// Id of the example on the screen, for a name.
    id: String,
}

impl ExportDialog {
    /// With a name that fits the choices.
    pub fn new(scope: ExportScope, form: ExportKind, id: &str) -> Self {
        let mut dialog = Self {
            scope,
            form,
            name: LineInput::default(),
            field: ExportField::default(),
            stage: ExportStage::default(),
            named: false,
            id: id.to_owned(),
        };
        dialog.name = LineInput::new(&dialog.default_name());
        dialog
    }

    /// Whether a scope can be chosen: a picture is of the screen.
    pub fn has_scope(&self) -> bool {
        self.form != ExportKind::Svg
    }

    pub fn choose_scope(&mut self, scope: ExportScope) {
        self.scope = scope;
        self.rename(self.form);
    }

    pub fn choose_form(&mut self, form: ExportKind) {
        let before = std::mem::replace(&mut self.form, form);
        self.rename(before);
    }

    /// The name follows a choice, as far as it is not the user's own.
    fn rename(&mut self, before: ExportKind) {
        if !self.named {
            self.name = LineInput::new(&self.default_name());
        } else if let Some(stem) = self.name.text().strip_suffix(&format!(".{}", before.ending())) {
            self.name = LineInput::new(&format!("{stem}.{}", self.form.ending()));
        }
    }

    fn default_name(&self) -> String {
        let stem = match (self.has_scope(), self.scope) {
            (false, _) => "ragscope-view".to_owned(),
            (true, ExportScope::Example) => format!("ragscope-{}", file_name_part(&self.id)),
            (true, _) => "ragscope-report".to_owned(),
        };
        format!("{stem}.{}", self.form.ending())
    }
}

/// An id as a part of a file name: what every system takes, and not too long.
fn file_name_part(id: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let part: String = id.chars().map(plain).take(40).collect();
    let part = part.trim_matches('-');
    if part.is_empty() { "example".to_owned() } else { part.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_the_choices_until_the_user_types_one_and_then_only_its_ending_does() {
        let mut dialog = ExportDialog::new(ExportScope::All, ExportKind::Html, "a/b: c");
        assert_eq!(dialog.name.text(), "ragscope-report.html");
        dialog.choose_scope(ExportScope::Example);
        assert_eq!(dialog.name.text(), "ragscope-a-b--c.html");
        dialog.choose_form(ExportKind::Svg);
        assert_eq!(dialog.name.text(), "ragscope-view.svg");
        dialog.named = true;
        dialog.name = LineInput::new("mine.svg");
        dialog.choose_form(ExportKind::Csv);
        assert_eq!(dialog.name.text(), "mine.csv");
        dialog.name = LineInput::new("mine.table");
        dialog.choose_form(ExportKind::Json);
        assert_eq!(dialog.name.text(), "mine.table");
    }

    #[test]
    fn an_id_that_is_no_file_name_still_gives_one() {
        assert_eq!(file_name_part("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name_part("\u{1b}]0;x"), "0-x");
        assert_eq!(file_name_part("…"), "example");
    }
}
