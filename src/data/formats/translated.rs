//! Layouts whose records are put under ragscope's own names: an importer then says only which field of
//! its layout is which, and [`super::own`] checks the rest.

use crate::data::error::DataError;
use crate::data::json::{Json, Object};
use crate::data::labels::DraftRow;
use crate::data::notice::Notices;

use super::content::SourceRow;
use super::{Input, Parts, own};

/// A record under ragscope's own names, as it is put together.
#[derive(Debug, Default)]
pub(super) struct Translation {
    fields: Vec<(String, Json)>,
    groups: Vec<(String, Json)>,
}

impl Translation {
    /// The value as it is; nothing when there is none.
    pub(super) fn put(mut self, name: &str, value: Option<&Json>) -> Self {
        if let Some(value) = value {
            self.fields.push((name.to_owned(), value.clone()));
        }
        self
    }

    /// A value made here.
    pub(super) fn with(mut self, name: &str, value: Json) -> Self {
        self.fields.push((name.to_owned(), value));
        self
    }

    pub(super) fn text(self, name: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.with(name, Json::Text(text.to_owned())),
            None => self,
        }
    }

    /// A name and value to group by; nested and absent values are left out.
    pub(super) fn group(mut self, name: &str, value: Option<&str>) -> Self {
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            self.groups.push((name.to_owned(), Json::Text(value.to_owned())));
        }
        self
    }

    pub(super) fn finish(mut self) -> Object {
        if !self.groups.is_empty() {
            self.fields.push(("groups".to_owned(), Json::Object(Object::new(self.groups).0)));
        }
        Object::new(self.fields).0
    }
}

/// A translated record, or why it cannot be used, with the line it came from.
pub(super) type Translated = (Option<usize>, Result<Object, String>);

/// The rows of a layout in which every record is one example: `record` puts its fields under own names.
pub(super) fn one_by_one(
    input: &Input<'_>,
    notices: &mut Notices,
    record: impl Fn(&Object, usize, &mut Notices) -> Result<Object, String>,
) -> Result<Parts, DataError> {
    let mut records: Vec<Translated> = Vec::new();
    for SourceRow { row, line, fields } in input.rows(notices)? {
        records.push((line, fields.and_then(|fields| record(&fields, row, notices))));
    }
    Ok(Parts { rows: drafts(records, notices), documents: Vec::new() })
}

/// The draft of one record of such a layout.
pub(super) fn one(
    source: &SourceRow,
    notices: &mut Notices,
    record: impl Fn(&Object, usize, &mut Notices) -> Result<Object, String>,
) -> DraftRow {
    let fields = source.fields.as_ref().map_err(Clone::clone);
    let fields = fields.and_then(|fields| record(fields, source.row, notices));
    own::draft(&SourceRow { row: source.row, line: source.line, fields }, notices)
}

/// Drafts of translated records, numbered in their order.
pub(super) fn drafts(records: impl IntoIterator<Item = Translated>, notices: &mut Notices) -> Vec<DraftRow> {
    let draft =
        |(row, (line, fields)): (usize, Translated)| own::draft(&SourceRow { row, line, fields }, notices);
    records.into_iter().enumerate().map(draft).collect()
}

/// An object with the given fields, absent ones left out.
pub(super) fn object<const N: usize>(fields: [(&str, Option<Json>); N]) -> Json {
    let present = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Json::Object(Object::new(present.collect()).0)
}
