//! Lists that were written as text: `['a', "it's"]`, `["a"]`, `['a' "b"]` without commas as numpy
//! writes them, `array(['a'], dtype=object)`.
//!
//! A text that looks like a list and is none is an error, never a passage that starts with `['`.

use crate::data::error::shown;
use crate::data::json::{Json, Object, parse};

/// Deepest nesting that is read.
const DEEPEST: usize = 8;

/// The value that a cell means: `None` when it is blank, a list when it is the text of one, else the
/// text itself.
///
/// # Errors
/// When the cell looks like a list and does not read as one, was cut by `...`, or holds the
/// representation of objects; the message says what and where.
pub(crate) fn value(cell: &str) -> Result<Option<Json>, String> {
    let trimmed = cell.trim();
    if trimmed.is_empty() {
        return Ok(None);
    }
    if !looks_like_list(trimmed) {
        return Ok(Some(Json::Text(cell.to_owned())));
    }
    if let Ok((json @ Json::List(_), _)) = parse(trimmed) {
        return Ok(Some(json));
    }
    let mut reader = Reader { text: trimmed, at: 0, objects: false };
    let list = reader.list(0)?;
    reader.skip_blanks();
    if reader.at < trimmed.len() {
        return Err(reader.problem("the end after the list"));
    }
    Ok(Some(list))
}

/// A list or dictionary as Python prints it. Printed objects (`Message(...)`, `<Kind.A: 1>`) become an
/// object with their text in `printed`, so that nothing can take them for a passage.
///
/// # Errors
/// When the text is no literal; the message says where.
pub(crate) fn literal(text: &str) -> Result<Json, String> {
    let trimmed = text.trim();
    if let Ok((json @ (Json::List(_) | Json::Object(_)), _)) = parse(trimmed) {
        return Ok(json);
    }
    let mut reader = Reader { text: trimmed, at: 0, objects: true };
    let value = reader.item(0)?;
    reader.skip_blanks();
    if reader.at < trimmed.len() {
        return Err(reader.problem("the end after the literal"));
    }
    Ok(value)
}

/// Whether a cell is how pandas writes an absent value.
pub(crate) fn is_absent(cell: &str) -> bool {
    matches!(cell.trim(), "" | "nan" | "NaN")
}

/// A list begins with a bracket and either ends with one or goes on as only a list goes on.
/// "[1] A footnote." is a text.
fn looks_like_list(trimmed: &str) -> bool {
    let Some(inside) = trimmed.strip_prefix('[').or_else(|| trimmed.strip_prefix('(')) else {
        return trimmed.starts_with("array([") || trimmed.starts_with("array(\n");
    };
    let inside = inside.trim_start();
    let quoted = inside.starts_with(['\'', '"']);
    if trimmed.starts_with('(') {
        // Quoted words in parentheses are prose unless a comma makes them a tuple.
        return quoted && (trimmed.ends_with(',') || trimmed.ends_with(')')) && tuple_comma(inside);
    }
    let only_in_lists = ["array(", "Document(", "...", "nan", "None", "['", "[\""];
    let one_bracket_pair = trimmed.ends_with(']') && trimmed.matches(']').count() == 1;
    quoted
        || one_bracket_pair
        || only_in_lists.iter().any(|start| inside.starts_with(start))
        || (trimmed.ends_with(']') && parse(trimmed).is_ok())
}

fn tuple_comma(inside: &str) -> bool {
    let mut reader = Reader { text: inside, at: 0, objects: false };
    reader.string().is_ok() && {
        reader.skip_blanks();
        reader.peek() == Some(',')
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Whether dictionaries and printed objects are read too.
    objects: bool,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn problem(&self, expected: &str) -> String {
        let rest: String = self.rest().chars().take(20).collect();
        let found = if rest.is_empty() { "the end".to_owned() } else { format!("`{}`", shown(&rest)) };
        let column = self.text.get(..self.at).map_or(0, |before| before.chars().count()) + 1;
        format!("looks like a list, but at character {column} expected {expected}, found {found}")
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEEPEST {
            return Err(self.problem("less nesting"));
        }
        let array = self.take("array(");
        self.skip_blanks();
        let close = if self.take("[") {
            "]"
        } else if self.take("(") {
            ")"
        } else {
            return Err(self.problem("a list"));
        };
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            if self.take(close) {
                break;
            }
            items.push(self.item(depth)?);
            self.skip_blanks();
            // numpy puts blanks where Python puts commas.
            self.take(",");
        }
        if array {
            self.skip_blanks();
            if self.take(",") {
                self.skip_blanks();
                if !self.take("dtype=") {
                    return Err(self.problem("`dtype=`"));
                }
                self.at += self.rest().find(')').unwrap_or(self.rest().len());
            }
            if !self.take(")") {
                return Err(self.problem("`)`"));
            }
        }
        Ok(Json::List(items))
    }

    fn item(&mut self, depth: usize) -> Result<Json, String> {
        if self.rest().starts_with("...") {
            return Err(
                "looks like a list that was cut by `...` when it was printed; write the data with to_json \
                        instead of the printed form"
                    .to_owned(),
            );
        }
        if self.rest().starts_with("Document(") && !self.objects {
            return Err(
                "looks like a list of printed `Document(...)` objects; write their page_content instead"
                    .to_owned(),
            );
        }
        match self.peek() {
            Some('\'' | '"') => Ok(Json::Text(self.string()?)),
            Some('u') if matches!(self.rest().as_bytes().get(1), Some(b'\'' | b'"')) => {
                Ok(Json::Text(self.string()?))
            }
            Some('[' | '(') => self.list(depth + 1),
            Some('a') if !self.objects || self.rest().starts_with("array(") => self.list(depth + 1),
            Some('{') if self.objects => self.dictionary(depth + 1),
            Some('-' | '0'..='9') => Ok(self.number()),
            _ if self.take("nan") || self.take("None") || self.take("null") => Ok(Json::Null),
            _ if self.objects && self.take("True") => Ok(Json::Bool(true)),
            _ if self.objects && self.take("False") => Ok(Json::Bool(false)),
            Some(first) if self.objects && (first.is_alphabetic() || first == '<') => self.printed(),
            _ => Err(self.problem("a quoted text")),
        }
    }

    fn dictionary(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEEPEST {
            return Err(self.problem("less nesting"));
        }
        self.take("{");
        let mut fields = Vec::new();
        loop {
            self.skip_blanks();
            if self.take("}") {
                break;
            }
            let key = self.item(depth)?;
            self.skip_blanks();
            if !self.take(":") {
                return Err(self.problem("`:` after a key"));
            }
            self.skip_blanks();
            let value = self.item(depth)?;
            fields.push((key.scalar().unwrap_or_default().to_owned(), value));
            self.skip_blanks();
            if !self.take(",") && !self.rest().starts_with('}') {
                return Err(self.problem("`,` or `}`"));
            }
        }
        Ok(Json::Object(Object::new(fields).0))
    }

    /// Skips what Python prints for an object: up to the end of its brackets, quoted texts inside left alone.
    fn printed(&mut self) -> Result<Json, String> {
        let start = self.at;
        let mut open = 0_usize;
        while let Some(c) = self.peek() {
            match c {
                '\'' | '"' => {
                    self.string()?;
                    continue;
                }
                '(' | '[' | '{' | '<' => open += 1,
                ')' | ']' | '}' | ',' | ':' if open == 0 => break,
                ')' | ']' | '}' | '>' => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += c.len_utf8();
        }
        let text = self.text[start..self.at].trim_end().to_owned();
        Ok(Json::Object(Object::new(vec![("printed".to_owned(), Json::Text(text))]).0))
    }

    fn number(&mut self) -> Json {
        let end = self.rest().find(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'));
        let digits = self.rest()[..end.unwrap_or(self.rest().len())].to_owned();
        self.at += digits.len();
        Json::Number(digits)
    }

    /// A string literal of Python; JSON's are read by the JSON parser.
    fn string(&mut self) -> Result<String, String> {
        self.take("u");
        let start = self.at;
        let Some(quote @ ('\'' | '"')) = self.peek() else { return Err(self.problem("a quoted text")) };
        self.at += 1;
        let mut out = String::new();
        loop {
            let Some(c) = self.peek() else {
                self.at = start;
                return Err(self.problem("a closing quote somewhere after"));
            };
            self.at += c.len_utf8();
            if c == quote {
                return Ok(out);
            }
            if c == '\\' { self.escape(&mut out)? } else { out.push(c) }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), String> {
        let Some(c) = self.peek() else { return Err(self.problem("a character after the backslash")) };
        self.at += c.len_utf8();
        match c {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(c),
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'v' => out.push('\u{b}'),
            'x' => out.push(self.code(2)?),
            'u' => out.push(self.code(4)?),
            'U' => out.push(self.code(8)?),
            '0' => out.push('\0'),
            // Python keeps the backslash of an escape it does not know.
            other => out.extend(['\\', other]),
        }
        Ok(())
    }

    fn code(&mut self, digits: usize) -> Result<char, String> {
        let code = self.rest().get(..digits).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(code) = code.and_then(|code| u32::from_str_radix(code, 16).ok()) else {
            return Err(self.problem("hexadecimal digits"));
        };
        self.at += digits;
        // A lone surrogate has no character.
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(cell: &str) -> Vec<String> {
        match value(cell).unwrap() {
            None => Vec::new(),
            Some(Json::List(items)) => {
                items.iter().map(|item| item.scalar().unwrap_or("?").to_owned()).collect()
            }
            Some(other) => vec![other.scalar().unwrap().to_owned()],
        }
    }

    #[test]
    fn the_cells_of_p11_are_two_two_one_none_and_none() {
        assert_eq!(texts(r#"["one", "it's two"]"#), ["one", "it's two"]);
        assert_eq!(texts(r#"['one', "it's two"]"#), ["one", "it's two"]);
        assert_eq!(texts("one"), ["one"]);
        assert_eq!(texts(""), Vec::<String>::new());
        assert_eq!(texts("[]"), Vec::<String>::new());
        assert_eq!(texts("['1931']"), ["1931"]);
    }

    #[test]
    fn texts_side_by_side_without_a_comma_are_two_items() {
        assert_eq!(texts("['a' \"it's\"\n 'c']"), ["a", "it's", "c"]);
        assert_eq!(texts("array(['a', 'b'], dtype=object)"), ["a", "b"]);
        assert_eq!(texts("('a', 'b')"), ["a", "b"]);
        assert_eq!(texts("[nan 'b' None]"), ["?", "b", "?"]);
    }

    #[test]
    fn python_escapes_are_undone() {
        assert_eq!(texts(r"['a\n\'\\ \xe9 \u5e02 \U0001f642 \d']"), ["a\n'\\ é 市 🙂 \\d"]);
        assert_eq!(texts(r"['café \ud83d']"), ["café \u{fffd}"]);
    }

    #[test]
    fn a_cell_that_looks_like_a_list_and_is_none_is_an_error() {
        for cell in [
            "['one', 'tw",
            "['one'",
            "[one, two]",
            "['a', {'b': 1}]",
            "['a']]",
            "[b'a']",
            "array(['a'",
            "['\\x4']",
        ] {
            let reason = value(cell).unwrap_err();
            assert!(reason.starts_with("looks like a list"), "{cell}: {reason}");
        }
        assert!(value("['a', ..., 'z']").unwrap_err().contains("cut by `...`"));
        assert!(value("['a' ...\n 'z']").unwrap_err().contains("cut by `...`"));
        assert!(value("[Document(page_content='x')]").unwrap_err().contains("Document"));
        assert!(value("['a\u{1b}").unwrap_err().contains('␛'));
        assert!(value(&"[['".repeat(10_000)).is_err());
        assert!(value(&format!("['x', {}", "[".repeat(100_000))).unwrap_err().contains("less nesting"));
    }

    #[test]
    fn a_text_with_a_footnote_or_quotes_in_parentheses_is_a_text() {
        for cell in
            ["[1] The ferry began in 1931.", "[1] a [2]", "('quoted') words", "('quoted' words)", "say \"a\""]
        {
            assert_eq!(texts(cell), [cell]);
        }
    }

    #[test]
    fn a_printed_dictionary_reads_as_an_object_and_printed_objects_stay_apart() {
        let text = "{'a.b': 'x', \"it's\": [1, True, None], 'm': [HumanMessage(content='q, (?', id=1)], 'k': <Kind.A: 1>}";
        let Json::Object(fields) = literal(text).unwrap() else { panic!("no object") };
        assert_eq!(fields.text("a.b"), Some("x"));
        assert_eq!(fields.list("it's").unwrap().len(), 3);
        let message = fields.list("m").unwrap()[0].object().unwrap();
        assert_eq!(message.text("printed"), Some("HumanMessage(content='q, (?', id=1)"));
        assert_eq!(fields.get("k").unwrap().object().unwrap().text("printed"), Some("<Kind.A: 1>"));
        assert!(literal("{'a': }").unwrap_err().contains("expected"));
        assert!(literal(&"{'a': ".repeat(1000)).unwrap_err().contains("less nesting"));
    }

    proptest! {
        #[test]
        fn no_literal_makes_the_reader_panic(text in "[\\[\\](){}<>'\"ua:,.\\\\x0éDn ]{0,30}") {
            let _ = literal(&text);
        }

        #[test]
        fn whatever_python_prints_comes_back(items in proptest::collection::vec("[a'\"\\\\\n é市🙂,\\[\\]]{0,8}", 1..4)) {
            let printed: Vec<String> = items
                .iter()
                .map(|item| {
                    let quote = if item.contains('\'') && !item.contains('"') { '"' } else { '\'' };
                    let mut text = item.replace('\\', "\\\\").replace('\n', "\\n");
                    if quote == '\'' {
                        text = text.replace('\'', "\\'");
                    }
                    format!("{quote}{text}{quote}")
                })
                .collect();
            for separator in [", ", " ", "\n "] {
                prop_assert_eq!(&texts(&format!("[{}]", printed.join(separator))), &items);
            }
        }

        #[test]
        fn no_cell_makes_the_reader_panic(cell in "[\\[\\]()'\"ua,.\\\\x0éDn ]{0,30}") {
            let _ = value(&cell);
        }
    }
}
