//! Changes to inputs: of bits and bytes, of numbers and lengths, of the structure of JSON, of text.

use ragscope::metrics::Random;
use serde_json::{Map, Value, json};

/// What an input is, so that changes hit what its reader looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One JSON value, or one a line.
    Json,
    Text,
    /// Mostly its first bytes are read closely.
    Binary,
}

const LONGEST: usize = 1 << 18;
/// Bytes of a binary file that are changed most: the header.
const HOT: usize = 8192;

/// Text that has broken readers before.
const TEXTS: [&str; 24] = [
    "",
    " ",
    "\0",
    "\u{feff}",
    "\u{2028}",
    "\u{2029}",
    "\u{85}",
    "\u{b}\u{c}",
    "\r",
    "\r\n",
    "e\u{301}",
    "👩\u{200d}👩\u{200d}👧",
    "\u{202e}abc",
    "\u{1b}[2J",
    "\u{1b}]52;c;eA==\u{7}",
    "é🙂 a",
    "</script><script>",
    "{{ x }}",
    "../../etc/passwd",
    "'; DROP",
    "NaN",
    "\\ud83d",
    "市長は十二月に辞任した",
    "['a' \"it's\"]",
];

const NUMBERS: [&str; 20] = [
    "0",
    "-1",
    "1",
    "2",
    "-0",
    "0.5",
    "1e39",
    "-1e39",
    "1e308",
    "1e999",
    "4294967295",
    "4294967296",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e-320",
    "3.4028235e38",
    "99999999999999999999999999",
];

const INTEGERS: [u64; 16] = [
    0,
    1,
    2,
    3,
    7,
    0xff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    1 << 40,
    1 << 60,
    0x7fff_ffff_ffff_ffff,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

pub struct Mutator<'a> {
    pub random: &'a mut Random,
    pub kind: Kind,
    pub words: &'a [Vec<u8>],
    /// How many inputs of the corpus, from the first, are good ones.
    pub seeds: usize,
}

impl Mutator<'_> {
    fn chance(&mut self, of: usize) -> bool {
        self.random.below(of) == 0
    }

    fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.random.below(values.len())]
    }

    /// A changed copy of one of the inputs.
    pub fn mutate(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        // Inputs that led somewhere new are mostly broken ones: half of all begin with a good one.
        let from = if self.chance(2) { &corpus[..self.seeds.min(corpus.len())] } else { corpus };
        let mut bytes = self.pick(from).clone();
        let most = if self.chance(4) { 12 } else { 3 };
        let changes = 1 + self.random.below(most);
        for _ in 0..changes {
            let structured = self.kind == Kind::Json && !self.chance(3);
            if !(structured && self.change_json(&mut bytes, corpus)) {
                self.change_bytes(&mut bytes, corpus);
            }
            bytes.truncate(LONGEST);
        }
        bytes
    }

    fn place(&mut self, length: usize) -> usize {
        let hot = self.kind == Kind::Binary && !self.chance(6);
        self.random.below(if hot { length.min(HOT) } else { length } + 1)
    }

    fn change_bytes(&mut self, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let length = bytes.len();
        let at = self.place(length);
        let most = if self.chance(8) { 4096 } else { 16 };
        let span = 1 + self.random.below(most);
        let end = (at + span).min(length);
        match self.random.below(13) {
            0 if at < length => bytes[at] ^= 1 << self.random.below(8),
            1 if at < length => bytes[at] = self.random.next_u64() as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                let most = if self.chance(20) { 400 } else { 3 };
                let times = 1 + self.random.below(most);
                let repeated = piece.repeat(times);
                bytes.splice(at..at, repeated);
            }
            4 => {
                let word = self.word();
                bytes.splice(at..at, word);
            }
            5 => {
                let word = self.word();
                let end = (at + word.len()).min(length);
                bytes.splice(at..end, word);
            }
            6 => {
                let other = self.pick(corpus);
                let from = self.random.below(other.len() + 1);
                let tail = other[from..].to_vec();
                bytes.truncate(at);
                bytes.extend(tail);
            }
            7 => bytes.truncate(at),
            8 => self.change_number(bytes),
            9 | 10 if self.kind == Kind::Binary => {
                let number = *self.pick(&INTEGERS);
                let width = *self.pick(&[1, 2, 4, 8, 8]);
                let little = &number.to_le_bytes()[..width];
                let end = (at + width).min(length);
                bytes.splice(at..end, little.iter().copied());
            }
            11 => {
                let (open, close) = *self.pick(&[
                    ("[", "]"),
                    ("{\"a\":", "}"),
                    ("(", ")"),
                    ("\"", "\""),
                    ("{{", "}}"),
                    ("{%", "%}"),
                ]);
                let depth = *self.pick(&[1, 2, 60, 130, 3000]);
                bytes.splice(end..end, close.repeat(depth).bytes());
                bytes.splice(at..at, open.repeat(depth).bytes());
            }
            _ => {
                let word = self.pick(&TEXTS).as_bytes().to_vec();
                bytes.splice(at..at, word);
            }
        }
    }

    fn word(&mut self) -> Vec<u8> {
        if self.words.is_empty() || self.chance(4) {
            let text = if self.chance(2) { *self.pick(&TEXTS) } else { *self.pick(&NUMBERS) };
            return text.as_bytes().to_vec();
        }
        let words = self.words;
        self.pick(words).clone()
    }

    /// Another number where digits are.
    fn change_number(&mut self, bytes: &mut Vec<u8>) {
        let starts: Vec<usize> = (0..bytes.len())
            .filter(|at| bytes[*at].is_ascii_digit() && (*at == 0 || !bytes[at - 1].is_ascii_digit()))
            .take(4000)
            .collect();
        if starts.is_empty() {
            return;
        }
        let start = *self.pick(&starts);
        let end = (start..bytes.len()).find(|at| !bytes[*at].is_ascii_digit()).unwrap_or(bytes.len());
        let number = self.pick(&NUMBERS).as_bytes().to_vec();
        bytes.splice(start..end, number);
    }

    /// Changes a value of one record; `false` where the input is no JSON.
    fn change_json(&mut self, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        if let Ok(mut whole) = serde_json::from_str::<Value>(text) {
            self.change_value(&mut whole, corpus);
            *bytes = whole.to_string().into_bytes();
            return true;
        }
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        if lines.is_empty() {
            return false;
        }
        let at = self.random.below(lines.len());
        match self.random.below(8) {
            0 => {
                let copy = lines[at].clone();
                let to = self.random.below(lines.len() + 1);
                lines.insert(to, copy);
            }
            1 => drop(lines.remove(at)),
            _ => {
                let Ok(mut record) = serde_json::from_str::<Value>(&lines[at]) else { return false };
                self.change_value(&mut record, corpus);
                lines[at] = record.to_string() + if self.chance(6) { "\r\n" } else { "\n" };
            }
        }
        *bytes = lines.concat().into_bytes();
        true
    }

    fn change_value(&mut self, root: &mut Value, corpus: &[Vec<u8>]) {
        let count = count(root);
        let at = self.random.below(count.max(1));
        let donor = self.donor(corpus);
        let Some(place) = nth(root, &mut { at }) else { return };
        match self.random.below(12) {
            0 => *place = Value::Null,
            1 => *place = self.value(),
            2 => *place = json!([place.clone()]),
            3 => *place = json!({ "a": place.clone() }),
            4 => *place = donor,
            5 => *place = Value::String(place.to_string()),
            6 => {
                // Exactly as written, so that numbers beyond f64 reach the reader.
                let number = *self.pick(&NUMBERS);
                *place = serde_json::from_str(number).unwrap_or_else(|_| Value::String(number.to_owned()));
            }
            7 => {
                let mut deep = place.clone();
                for _ in 0..*self.pick(&[3, 60, 125]) {
                    deep = json!([deep]);
                }
                *place = deep;
            }
            _ => match place {
                Value::Object(fields) => self.change_object(fields),
                Value::Array(items) => self.change_list(items),
                Value::String(text) => {
                    let mut bytes = std::mem::take(text).into_bytes();
                    let kind = std::mem::replace(&mut self.kind, Kind::Text);
                    self.change_bytes(&mut bytes, corpus);
                    self.kind = kind;
                    bytes.truncate(1 << 16);
                    *text = String::from_utf8_lossy(&bytes).into_owned();
                }
                Value::Number(_) | Value::Bool(_) | Value::Null => *place = self.value(),
            },
        }
    }

    fn change_object(&mut self, fields: &mut Map<String, Value>) {
        let names: Vec<String> = fields.keys().cloned().collect();
        if names.is_empty() {
            fields.insert("text".to_owned(), self.value());
            return;
        }
        let name = self.pick(&names).clone();
        match self.random.below(4) {
            0 => drop(fields.shift_remove(&name)),
            1 => {
                let value = fields.shift_remove(&name).unwrap_or_default();
                let other = if self.chance(2) { name.to_uppercase() } else { self.pick(&names).clone() };
                fields.insert(other, value);
            }
            2 => {
                let other = self.pick(&names).clone();
                let (one, two) = (fields[&name].clone(), fields[&other].clone());
                fields.insert(name, two);
                fields.insert(other, one);
            }
            _ => {
                let word = self.word();
                let value = self.value();
                fields.insert(String::from_utf8_lossy(&word).into_owned(), value);
            }
        }
    }

    fn change_list(&mut self, items: &mut Vec<Value>) {
        let value = self.value();
        if items.is_empty() {
            items.push(value);
            return;
        }
        let at = self.random.below(items.len());
        match self.random.below(5) {
            0 => drop(items.remove(at)),
            1 => {
                let copies = *self.pick(&[1, 2, 300]);
                let item = items[at].clone();
                items.extend(std::iter::repeat_n(item, copies));
            }
            2 => items.reverse(),
            3 => items[at] = value,
            _ => items.push(value),
        }
    }

    fn value(&mut self) -> Value {
        match self.random.below(7) {
            0 => Value::Null,
            1 => json!(self.chance(2)),
            2 => json!([]),
            3 => json!({}),
            4 => {
                let number = *self.pick(&NUMBERS);
                serde_json::from_str(number).unwrap_or(Value::Null)
            }
            5 => json!(self.pick(&TEXTS).repeat(*self.pick(&[1, 1, 1, 3000]))),
            _ => json!(*self.pick(&TEXTS)),
        }
    }

    /// A value out of another input.
    fn donor(&mut self, corpus: &[Vec<u8>]) -> Value {
        let other = self.pick(corpus);
        let text = String::from_utf8_lossy(other);
        let line = text.lines().next().unwrap_or_default();
        let Ok(mut value) =
            serde_json::from_str::<Value>(&text).or_else(|_| serde_json::from_str::<Value>(line))
        else {
            return Value::Null;
        };
        let at = self.random.below(count(&value).max(1));
        nth(&mut value, &mut { at }).map(std::mem::take).unwrap_or_default()
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// The value that is reached after `left` others.
fn nth<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|item| nth(item, left)),
        _ => None,
    }
}
