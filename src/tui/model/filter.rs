//! Which examples the list shows.

/// The filter of the examples list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub text: String,
    /// Whether keys go into `text`.
    pub typing: bool,
    /// The filter and the selection before typing began: what Esc goes back to.
    pub before: (String, usize),
}

impl Filter {
    /// Whether id or question holds the text; capitals count only where the filter has some.
    pub fn accepts(&self, id: &str, question: &str) -> bool {
        if self.text.is_empty() {
            return true;
        }
        if self.text.chars().any(char::is_uppercase) {
            return id.contains(&self.text) || question.contains(&self.text);
        }
        id.to_lowercase().contains(&self.text) || question.to_lowercase().contains(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_count_only_where_the_filter_has_some() {
        let of = |text: &str| Filter { text: text.into(), ..Filter::default() };
        assert!(of("mayor").accepts("q1", "Who was Mayor?"));
        assert!(of("Mayor").accepts("q1", "Who was Mayor?"));
        assert!(!of("Mayor").accepts("q1", "who was mayor?"));
        assert!(of("Q1").accepts("Q1", ""));
        assert!(of("").accepts("", ""));
    }
}
