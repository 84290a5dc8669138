//! Which examples the list shows, and in which order.

use crate::evidence::{Evidence, Status};

/// Which examples are shown by what was decided about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Show {
    #[default]
    All,
    /// With a flagged span.
    Flagged,
    /// Read, and nothing flagged.
    Clean,
    /// Not or only partly usable.
    Errors,
}

impl Show {
    /// The next choice, round the end.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::All => Self::Flagged,
            Self::Flagged => Self::Clean,
            Self::Clean => Self::Errors,
            Self::Errors => Self::All,
        }
    }

    /// Name for the pane's read-out.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Flagged => "flagged",
            Self::Clean => "clean",
            Self::Errors => "errors",
        }
    }
}

/// Order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    #[default]
    File,
    /// By the answer's score, the least supported first.
    Worst,
    /// By flagged spans, most first.
    Spans,
    /// By id, numbers in it by their value.
    Id,
}

impl Sort {
    /// The next choice, round the end.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::File => Self::Worst,
            Self::Worst => Self::Spans,
            Self::Spans => Self::Id,
            Self::Id => Self::File,
        }
    }

    /// Name for the pane's read-out.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file order",
            Self::Worst => "worst first",
            Self::Spans => "most spans",
            Self::Id => "by id",
        }
    }
}

/// The filter of the examples list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub text: String,
    /// Whether keys go into `text`.
    pub typing: bool,
    /// The filter and the selection before typing began: what Esc goes back to.
    pub before: (String, usize),
    pub show: Show,
    /// Only examples of this group: its name and value.
    pub group: Option<(String, String)>,
    pub sort: Sort,
}

impl Filter {
    /// Whether id, question or a group (`task=qa`) holds the text; capitals count only where the filter
    /// has some.
    pub fn accepts(&self, id: &str, question: &str, evidence: Option<&Evidence>) -> bool {
        if let Some((name, value)) = &self.group
            && evidence.and_then(|evidence| evidence.groups.get(name)) != Some(value)
        {
            return false;
        }
        if self.text.is_empty() {
            return true;
        }
        let exact = self.text.chars().any(char::is_uppercase);
        let holds = |text: &str| {
            if exact { text.contains(&self.text) } else { text.to_lowercase().contains(&self.text) }
        };
        holds(id)
            || holds(question)
            || evidence.is_some_and(|evidence| {
                evidence.groups.iter().any(|(name, value)| holds(&format!("{name}={value}")))
            })
    }

    /// Whether what was decided about an example lets it be shown; what is not decided yet only is where
    /// nothing is asked.
    pub fn shows(&self, evidence: Option<&Evidence>, flagged: Option<bool>) -> bool {
        let status = evidence.map(|evidence| evidence.status);
        match self.show {
            Show::All => true,
            Show::Flagged => flagged == Some(true),
            Show::Clean => {
                flagged == Some(false) && evidence.is_some_and(|evidence| evidence.reading.is_some())
            }
            Show::Errors => matches!(status, Some(Status::Error | Status::Partial)),
        }
    }

    /// Whether list or order can change with the thresholds.
    pub fn depends_on_decisions(&self) -> bool {
        matches!(self.show, Show::Flagged | Show::Clean) || matches!(self.sort, Sort::Worst | Sort::Spans)
    }

    /// Whether anything is left out by more than its text.
    pub fn is_narrowed(&self) -> bool {
        self.show != Show::All || self.group.is_some()
    }
}

/// Compares ids as people do: `q9` before `q10`.
pub fn compare_ids(one: &str, other: &str) -> std::cmp::Ordering {
    let (mut one_rest, mut other_rest) = (one, other);
    loop {
        let (Some(left), Some(right)) = (one_rest.chars().next(), other_rest.chars().next()) else {
            return one_rest.len().cmp(&other_rest.len()).then_with(|| one.cmp(other));
        };
        if left.is_ascii_digit() && right.is_ascii_digit() {
            let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
            let (left, rest) = one_rest.split_at(digits(one_rest));
            one_rest = rest;
            let (right, rest) = other_rest.split_at(digits(other_rest));
            other_rest = rest;
            let (left, right) = (left.trim_start_matches('0'), right.trim_start_matches('0'));
            // Longer is greater once leading zeros are gone; no number is too long for that.
            let order = left.len().cmp(&right.len()).then_with(|| left.cmp(right));
            if order.is_ne() {
                return order;
            }
        } else if left == right {
            one_rest = &one_rest[left.len_utf8()..];
            other_rest = &other_rest[right.len_utf8()..];
        } else {
            return left.cmp(&right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_count_only_where_the_filter_has_some() {
        let of = |text: &str| Filter { text: text.into(), ..Filter::default() };
        assert!(of("mayor").accepts("q1", "Who was Mayor?", None));
        assert!(of("Mayor").accepts("q1", "Who was Mayor?", None));
        assert!(!of("Mayor").accepts("q1", "who was mayor?", None));
        assert!(of("Q1").accepts("Q1", "", None));
        assert!(of("").accepts("", "", None));
    }

    #[test]
    fn numbers_in_ids_are_ordered_by_their_value() {
        let mut ids = ["q10", "q9", "q009b", "a", "q9a", "9", "", "市2", "市10", "q99999999999999999999999"];
        ids.sort_by(|one, other| compare_ids(one, other));
        assert_eq!(
            ids,
            ["", "9", "a", "q9", "q9a", "q009b", "q10", "q99999999999999999999999", "市2", "市10"]
        );
    }
}
