//! The tolerant parser: recursive descent over UTF-8 text, with a limit on depth.

use super::{Json, Object, Tolerated};
use crate::data::error::shown;

/// Deepest nesting that is read; deeper text is refused instead of exhausting the stack.
const DEEPEST: usize = 128;

/// Where and why text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonError {
    /// Byte of the text.
    pub(crate) at: usize,
    /// What was expected and what came.
    pub(crate) problem: String,
}

impl JsonError {
    /// The problem with its column in a text of one line.
    pub(crate) fn in_line(&self, text: &str) -> String {
        format!("{} at column {}", self.problem, characters_before(text, self.at) + 1)
    }

    /// The problem with line and column.
    pub(crate) fn in_text(&self, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        format!("{} at line {line}, column {}", self.problem, before[line_start..].chars().count() + 1)
    }
}

fn characters_before(text: &str, at: usize) -> usize {
    text.get(..at).map_or(at, |before| before.chars().count())
}

/// Reads one JSON value that fills `text`, and counts what had to be tolerated.
pub(crate) fn parse(text: &str) -> Result<(Json, Tolerated), JsonError> {
    let mut parser = Parser { text, at: 0, tolerated: Tolerated::default() };
    parser.skip_blanks();
    let value = parser.value(0)?;
    parser.skip_blanks();
    if parser.at < text.len() {
        return Err(parser.expected("the end"));
    }
    Ok((value, parser.tolerated))
}

struct Parser<'a> {
    text: &'a str,
    /// Always on a character boundary.
    at: usize,
    tolerated: Tolerated,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn expected(&self, what: &str) -> JsonError {
        let found: String = self.rest().chars().take(12).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{}`", shown(&found)) };
        JsonError { at: self.at, problem: format!("expected {what}, found {found}") }
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > DEEPEST {
            let problem = format!("expected at most {DEEPEST} levels of nesting, found more");
            return Err(JsonError { at: self.at, problem });
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => self.number(),
            _ if self.take("null") => Ok(Json::Null),
            _ if self.take("true") => Ok(Json::Bool(true)),
            _ if self.take("false") => Ok(Json::Bool(false)),
            _ => Err(self.expected("a JSON value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut fields = Vec::new();
        self.skip_blanks();
        if !self.take("}") {
            loop {
                self.skip_blanks();
                if self.peek() != Some(b'"') {
                    return Err(self.expected("a field name in double quotes"));
                }
                let name = self.string()?;
                self.skip_blanks();
                if !self.take(":") {
                    return Err(self.expected("`:` after the field name"));
                }
                self.skip_blanks();
                fields.push((name, self.value(depth + 1)?));
                self.skip_blanks();
                if self.take("}") {
                    break;
                }
                if !self.take(",") {
                    return Err(self.expected("`,` or `}`"));
                }
            }
        }
        let (object, repeated) = Object::new(fields);
        self.tolerated.repeated_names += repeated;
        Ok(Json::Object(object))
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_blanks();
        if self.take("]") {
            return Ok(Json::List(items));
        }
        loop {
            self.skip_blanks();
            items.push(self.value(depth + 1)?);
            self.skip_blanks();
            if self.take("]") {
                return Ok(Json::List(items));
            }
            if !self.take(",") {
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        for name in ["NaN", "Infinity", "-Infinity"] {
            if self.take(name) {
                self.tolerated.not_finite += 1;
                return Ok(Json::Null);
            }
        }
        self.take("-");
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        let fraction = if self.take(".") { self.digits() } else { 1 };
        let exponent = if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()
        } else {
            1
        };
        if whole == 0 || fraction == 0 || exponent == 0 || (leading_zero && whole > 1) {
            self.at = start;
            return Err(self.expected("a JSON value"));
        }
        Ok(Json::Number(self.text[start..self.at].to_owned()))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let plain = self.rest().find(['"', '\\']).ok_or_else(|| JsonError {
                at: start,
                problem: "expected a closing quote, found the end of the record".to_owned(),
            })?;
            let piece = &self.rest()[..plain];
            self.tolerated.raw_controls += piece.bytes().filter(|byte| *byte < 0x20).count();
            let piece_end = self.at + plain;
            out.push_str(&self.text[self.at..piece_end]);
            self.at = piece_end;
            if self.take("\"") {
                return Ok(out);
            }
            out.push(self.escape()?);
        }
    }

    /// One escape sequence; the reader stands on its backslash.
    fn escape(&mut self) -> Result<char, JsonError> {
        let c = match self.text.as_bytes().get(self.at + 1) {
            Some(b'u') => return self.unicode_escape(),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.expected("an escape sequence of JSON")),
        };
        self.at += 2;
        Ok(c)
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let unit = self.code_unit(self.at).ok_or_else(|| self.expected("`\\u` with four hex digits"))?;
        self.at += 6;
        if !(0xd800..=0xdfff).contains(&unit) {
            return Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if unit < 0xdc00
            && let Some(low @ 0xdc00..=0xdfff) = self.code_unit(self.at)
        {
            self.at += 6;
            let c = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            return Ok(char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.tolerated.lone_surrogates += 1;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    /// The code unit of a `\uXXXX` that begins at byte `at`.
    fn code_unit(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        u32::from_str_radix(digits, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Json {
        parse(text).unwrap().0
    }

    fn problem(text: &str) -> String {
        parse(text).unwrap_err().in_text(text)
    }

    #[test]
    fn long_numbers_keep_every_digit() {
        assert_eq!(value("12345678901234567890123"), Json::Number("12345678901234567890123".to_owned()));
        assert_eq!(value("-12.60e+2"), Json::Number("-12.60e+2".to_owned()));
        assert_eq!(value("7.0").offset(), Some(7));
        assert_eq!(value("-1").offset(), None);
        assert_eq!(value("7.5").offset(), None);
    }

    #[test]
    fn what_python_writes_beyond_json_is_read_and_counted() {
        let (value, tolerated) =
            parse("{\"a\": NaN, \"b\": [-Infinity, Infinity], \"c\": \"x\u{1}\", \"a\": 2}").unwrap();
        let object = value.object().unwrap();
        assert_eq!(object.scalar("a"), Some("2"));
        assert_eq!(object.list("b"), Some(&[Json::Null, Json::Null][..]));
        assert_eq!(
            tolerated,
            Tolerated { not_finite: 3, lone_surrogates: 0, repeated_names: 1, raw_controls: 1 }
        );
    }

    #[test]
    fn a_lone_surrogate_becomes_the_replacement_character_and_a_pair_its_character() {
        let (value, tolerated) = parse(r#""\ud83d \ud83d\ude42 \ude42\ud83dx \ud83dA""#).unwrap();
        assert_eq!(value.text(), Some("\u{fffd} 🙂 \u{fffd}\u{fffd}x \u{fffd}A"));
        assert_eq!(tolerated.lone_surrogates, 4);
    }

    #[test]
    fn errors_say_what_was_expected_what_came_and_where() {
        assert_eq!(problem("{\n \"é\": 1 \"b\"}"), "expected `,` or `}`, found `\"b\"}` at line 2, column 9");
        assert_eq!(
            problem("[\"open"),
            "expected a closing quote, found the end of the record at line 1, column 2"
        );
        for wrong in
            ["", "01", "1.", "-", "1e", "+1", "nul", "{'a': 1}", "[1,]", "{} x", "\"\\x\"", "\"\\u12\""]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(problem("\u{1b}[2J").contains("␛[2J"));
    }

    #[test]
    fn nesting_beyond_the_limit_is_refused_instead_of_exhausting_the_stack() {
        assert!(parse(&"[".repeat(1_000_000)).unwrap_err().problem.contains("128 levels"));
        let deep = format!("{}1{}", "[".repeat(120), "]".repeat(120));
        assert!(parse(&deep).is_ok());
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i64>().prop_map(serde_json::Value::from),
            "\\PC{0,8}|[\\x00-\\x1f\"\\\\]{0,4}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
                proptest::collection::btree_map("\\PC{0,4}", inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn standard_json_is_read_as_serde_json_reads_it(expected in any_json()) {
            for text in [serde_json::to_string(&expected).unwrap(), serde_json::to_string_pretty(&expected).unwrap()] {
                let (read, tolerated) = parse(&text).unwrap();
                prop_assert_eq!(tolerated, Tolerated::default());
                let again: serde_json::Value = serde_json::from_str(&read.write()).unwrap();
                prop_assert_eq!(&again, &expected);
            }
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[\\[\\]{}\",:\\\\ud8dc0e1N.é🙂 -]{0,40}") {
            let _ = parse(&text).map_err(|error| error.in_text(&text));
        }
    }
}
