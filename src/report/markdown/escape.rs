//! Data text that Markdown must take for text and nothing else.

use crate::text::{visible, visible_line};

/// One line of data text: control characters as symbols, everything Markdown, its tables or HTML would
/// act on escaped.
pub fn inline(text: &str) -> String {
    escape(&visible_line(text), true)
}

/// Data text with its lines kept, as hard breaks. `at_line_start` says whether the first line begins one.
pub fn lines(text: &str, at_line_start: bool) -> String {
    let shown = visible(text);
    let mut out = String::new();
    let mut rest = shown.split('\n').enumerate().peekable();
    while let Some((number, line)) = rest.next() {
        out.push_str(&escape(line, at_line_start || number > 0));
        if let Some((_, next)) = rest.peek() {
            // A backslash at the end breaks the line inside a paragraph; before a blank line it would show.
            let blank = line.trim().is_empty() || next.trim().is_empty();
            out.push_str(if blank { "\n" } else { "\\\n" });
        }
    }
    out
}

/// `**[1: words]**`; brackets of the data are escaped, so these two are the only ones. Emphasis cannot cross a blank line, so every line of the span is marked by itself.
/// Between letters (Japanese has no spaces) two asterisks would stay asterisks: there `<strong>` is used.
pub fn strong(text: &str, index: usize, before: Option<char>, after: Option<char>) -> String {
    let shown = visible(text);
    let parts: Vec<&str> = shown.split('\n').collect();
    let apart = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || c.is_ascii_punctuation());
    let (first, last) = (0, parts.len() - 1);
    let marked = parts.iter().enumerate().map(|(at, part)| {
        if part.trim().is_empty() {
            return String::new();
        }
        let words = format!("[{index}: {}]", escape(part.trim(), false));
        if (at != first || apart(before)) && (at != last || apart(after)) {
            format!("**{words}**")
        } else {
            format!("<strong>{words}</strong>")
        }
    });
    marked.collect::<Vec<_>>().join("\n")
}

fn escape(line: &str, at_line_start: bool) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let body = if at_line_start { line_start(line, &mut out) } else { line };
    for (at, c) in body.char_indices() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '@' => {
                out.push('\\');
                out.push(c);
            }
            // Addresses in the data must not become links.
            ':' if body[at..].starts_with("://") => out.push_str("\\:"),
            '.' if ends_with_www(&body[..at]) => out.push_str("\\."),
            _ => out.push(c),
        }
    }
    out
}

fn ends_with_www(text: &str) -> bool {
    text.len() >= 3 && text.as_bytes()[text.len() - 3..].eq_ignore_ascii_case(b"www")
}

/// Writes what would begin a heading, list, quote, rule, fence or code block so that it does not, and
/// returns what is left.
fn line_start<'a>(line: &'a str, out: &mut String) -> &'a str {
    let body = line.trim_start_matches(' ');
    out.push_str(&"&#32;".repeat(line.len() - body.len()));
    let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match body[digits..].chars().next() {
        Some(c @ ('#' | '+' | '-' | '=' | '!')) if digits == 0 => {
            out.push('\\');
            out.push(c);
            &body[1..]
        }
        Some(c @ ('.' | ')')) if digits > 0 => {
            out.push_str(&body[..digits]);
            out.push('\\');
            out.push(c);
            &body[digits + 1..]
        }
        _ => body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_keeps_pipes_backticks_html_and_line_feeds_as_text() {
        assert_eq!(inline("a|b `c` <script>&"), "a\\|b \\`c\\` &lt;script&gt;&amp;");
        assert_eq!(inline("a\nb\u{1b}[0m\u{202e}"), "a␊b␛\\[0m\u{fffd}");
        assert_eq!(inline("\\| *x* _y_ ~z~ $1$"), "\\\\\\| \\*x\\* \\_y\\_ \\~z\\~ \\$1\\$");
    }

    #[test]
    fn nothing_at_a_line_start_becomes_a_block() {
        assert_eq!(
            lines("# a\n1. b\n- c\n    d\n===", true),
            "\\# a\\\n1\\. b\\\n\\- c\\\n&#32;&#32;&#32;&#32;d\\\n\\==="
        );
        assert_eq!(lines("10) x", true), "10\\) x");
        assert_eq!(lines("3.5 km", true), "3\\.5 km");
        assert_eq!(lines("- not a start", false), "- not a start");
    }

    #[test]
    fn addresses_do_not_become_links() {
        assert_eq!(
            inline("http://x.example WWW.x.example a@b.c"),
            "http\\://x.example WWW\\.x.example a\\@b.c"
        );
    }

    #[test]
    fn a_blank_line_stays_a_blank_line() {
        assert_eq!(lines("a\n\nb", true), "a\n\nb");
    }

    #[test]
    fn spans_are_strong_with_their_number_and_line_by_line() {
        assert_eq!(strong("12 €", 1, Some(' '), Some('.')), "**[1: 12 €]**");
        assert_eq!(strong("a\n\nb", 2, None, None), "**[2: a]**\n\n**[2: b]**");
        assert_eq!(strong("辞任", 3, Some('に'), Some('し')), "<strong>[3: 辞任]</strong>");
    }
}
