//! Chat template source made ready for the engine: the tags it lacks, and a price on every turn.
//!
//! A template comes with a model file and is a program. Each pass through a loop, macro or call body, each
//! assignment and each operator is made to pay, so that a hostile one runs out instead of running on.

use super::chat_operators::charged;

/// Function that a loop body calls at every turn.
pub(super) const TURN: &str = "__ragscope_turn";
/// Filter that every assigned value goes through.
pub(super) const CHARGE: &str = "__ragscope_charge";

/// Replaces `generation` tags (a mark for training, without meaning here) and adds the price tags.
pub(super) fn prepare(source: &str) -> String {
    let mut prepared = String::with_capacity(source.len() + source.len() / 4);
    let mut rest = source;
    while let Some(at) = next_opening(rest) {
        prepared.push_str(&rest[..at]);
        rest = &rest[at..];
        let closing = match rest.as_bytes()[1] {
            b'#' => rest.find("#}").map(|end| end + 2),
            b'{' => closing(rest, "}}"),
            _ => closing(rest, "%}"),
        };
        // An unclosed tag is the engine's to report.
        let Some(end) = closing else { break };
        let tag = &rest[..end];
        rest = &rest[end..];
        if tag.starts_with("{%") {
            prepared.push_str(&priced(tag));
            if keyword(inside(tag).1) == "raw" {
                let end = end_of_raw(rest);
                prepared.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        } else if tag.starts_with("{{") {
            let (open, inner, close) = inside(tag);
            prepared.extend([open, &charged(inner), close]);
        } else {
            prepared.push_str(tag);
        }
    }
    prepared.push_str(rest);
    prepared
}

fn next_opening(text: &str) -> Option<usize> {
    text.as_bytes().windows(2).position(|pair| pair[0] == b'{' && matches!(pair[1], b'{' | b'%' | b'#'))
}

/// Byte behind the end of the tag that `text` begins with; ends inside strings and brackets do not count.
fn closing(text: &str, end: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = 2;
    while at < bytes.len() {
        if depth == 0 && bytes[at..].starts_with(end.as_bytes()) {
            return Some(at + 2);
        }
        match bytes[at] {
            b'\'' | b'"' => at = behind_string(bytes, at)?,
            b'(' | b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            _ => at += 1,
        }
    }
    None
}

pub(super) fn behind_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == bytes[start] => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Opening with its white-space mark, what stands between, closing with its mark.
fn inside(tag: &str) -> (&str, &str, &str) {
    let marked = |byte: Option<&u8>| usize::from(matches!(byte, Some(b'-' | b'+')));
    let start = 2 + marked(tag.as_bytes().get(2));
    let end = tag.len() - 2;
    let end = end - if end > start { marked(tag.as_bytes().get(end - 1)) } else { 0 };
    // `{%-%}`: the one mark belongs to the opening.
    let end = end.max(start);
    (&tag[..start], &tag[start..end], &tag[end..])
}

fn keyword(inner: &str) -> &str {
    let inner = inner.trim_start();
    let end = inner.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(inner.len());
    &inner[..end]
}

fn priced(tag: &str) -> String {
    let (open, inner, close) = inside(tag);
    if keyword(inner) == "raw" {
        return tag.to_owned();
    }
    let inner = &*charged(inner);
    let tag = format!("{open}{inner}{close}");
    match keyword(inner) {
        "generation" => format!("{open} if true {close}"),
        "endgeneration" => format!("{open} endif {close}"),
        "for" | "macro" | "call" => format!("{tag}{{% do {TURN}() {close}"),
        "set" => match assignment(inner) {
            Some(at) => format!("{open}{}=({})|{CHARGE} {close}", &inner[..at], &inner[at + 1..]),
            None => tag,
        },
        _ => tag,
    }
}

/// Where the equals sign of a `set` tag is; the block form has none outside brackets.
fn assignment(inner: &str) -> Option<usize> {
    let bytes = inner.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'\'' | b'"' => at = behind_string(bytes, at)?,
            b'=' if depth == 0 => return Some(at),
            byte => {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                at += 1;
            }
        }
    }
    None
}

/// Length of raw text up to and with its `endraw` tag.
fn end_of_raw(text: &str) -> usize {
    let mut from = 0;
    while let Some(at) = text[from..].find("{%") {
        let start = from + at;
        let Some(end) = text[start..].find("%}").map(|end| start + end + 2) else { break };
        if keyword(inside(&text[start..end]).1) == "endraw" {
            return end;
        }
        from = start + 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_tags_become_a_condition_that_always_holds() {
        assert_eq!(prepare("{% generation %}x{%- endgeneration -%}"), "{% if true %}x{%- endif -%}");
    }

    #[test]
    fn loops_macros_and_assignments_are_priced_and_keep_their_white_space_marks() {
        assert_eq!(prepare("{%- for a in b -%} x"), "{%- for a in b -%}{% do __ragscope_turn() -%} x");
        assert_eq!(prepare("{% macro m() %}"), "{% macro m() %}{% do __ragscope_turn() %}");
        assert_eq!(prepare("{% set a = b < '=' -%}"), "{% set a =( b < '=' )|__ragscope_charge -%}");
        assert_eq!(prepare("{% set a.b={'c': 1} %}"), "{% set a.b=({'c': 1} )|__ragscope_charge %}");
        assert_eq!(prepare("{% set a | default(b=1) %}"), "{% set a | default(b=1) %}");
    }

    #[test]
    fn tags_inside_strings_comments_and_raw_text_are_left_alone() {
        for text in [
            "{{ '{% for a in b %}' }}",
            "{{ {'a': {'b': 1}} }}",
            "{# {% for a in b %} #}",
            "{% raw %}{% for a in b %}{{ x }}{% endraw %}",
            "{% if a == '%}{% for %}' %}",
            "plain { text } %}",
            "{%-%}{%",
            "{{ 'open",
            "{%",
            "{",
        ] {
            assert_eq!(prepare(text), text);
        }
    }
}
