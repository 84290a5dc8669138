use super::*;

/// Writes GGUF metadata the way the format says, for tests that damage it.
pub(in crate::model) struct GgufWriter {
    entries: u64,
    body: Vec<u8>,
}

impl GgufWriter {
    pub(in crate::model) fn new() -> Self {
        Self { entries: 0, body: Vec::new() }
    }

    fn text_of(text: &str) -> Vec<u8> {
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend(text.as_bytes());
        bytes
    }

    pub(in crate::model) fn raw(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        self.entries += 1;
        self.body.extend(Self::text_of(key));
        self.body.extend(kind.to_le_bytes());
        self.body.extend(value);
        self
    }

    pub(in crate::model) fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, TEXT, &Self::text_of(value))
    }

    pub(in crate::model) fn flag(self, key: &str, value: bool) -> Self {
        self.raw(key, 7, &[u8::from(value)])
    }

    pub(in crate::model) fn number(self, key: &str, value: u32) -> Self {
        self.raw(key, 4, &value.to_le_bytes())
    }

    pub(in crate::model) fn texts<T: AsRef<str>>(self, key: &str, values: &[T]) -> Self {
        let mut bytes = TEXT.to_le_bytes().to_vec();
        bytes.extend((values.len() as u64).to_le_bytes());
        bytes.extend(values.iter().flat_map(|value| Self::text_of(value.as_ref())));
        self.raw(key, ARRAY, &bytes)
    }

    pub(in crate::model) fn integers(self, key: &str, values: &[i32]) -> Self {
        let mut bytes = 5u32.to_le_bytes().to_vec();
        bytes.extend((values.len() as u64).to_le_bytes());
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self.raw(key, ARRAY, &bytes)
    }

    pub(in crate::model) fn floats(self, key: &str, values: &[f32]) -> Self {
        let mut bytes = 6u32.to_le_bytes().to_vec();
        bytes.extend((values.len() as u64).to_le_bytes());
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self.raw(key, ARRAY, &bytes)
    }

    pub(in crate::model) fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        bytes.extend(self.entries.to_le_bytes());
        bytes.extend(&self.body);
        bytes
    }

    pub(in crate::model) fn metadata(&self) -> GgufMetadata {
        read(&self.bytes()).unwrap()
    }
}

fn read(bytes: &[u8]) -> Result<GgufMetadata, ModelTextError> {
    GgufMetadata::read(bytes, bytes.len() as u64)
}

fn message(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn every_kind_of_value_is_read() {
    let metadata = GgufWriter::new()
        .text("t", "Ünï")
        .flag("b", true)
        .number("u", 8192)
        .raw("s", 1, &[0xff])
        .raw("f", 6, &1.5f32.to_le_bytes())
        .raw("d", 12, &2.5f64.to_le_bytes())
        .raw("u64", 10, &u64::MAX.to_le_bytes())
        .texts("list", &["a", "", "市"])
        .integers("types", &[1, -3])
        .floats("scores", &[-1.5, 0.25])
        .metadata();
    assert_eq!(metadata.text("t").unwrap(), Some("Ünï"));
    assert_eq!(metadata.flag("b"), Some(true));
    assert_eq!(metadata.unsigned("u"), Some(8192));
    assert_eq!(metadata.get("s"), Some(&GgufValue::Signed(-1)));
    assert_eq!(metadata.unsigned("s"), None);
    assert_eq!(metadata.get("f"), Some(&GgufValue::Float(1.5)));
    assert_eq!(metadata.get("d"), Some(&GgufValue::Float(2.5)));
    assert_eq!(metadata.unsigned("u64"), Some(u64::MAX));
    assert_eq!(metadata.texts("list").unwrap().unwrap(), ["a", "", "市"]);
    assert_eq!(metadata.integers("types").unwrap().unwrap(), [1, -3]);
    assert_eq!(metadata.floats("scores").unwrap().unwrap(), [-1.5, 0.25]);
    assert!(metadata.floats("types").unwrap_err().to_string().contains("expected a list of floats"));
    assert_eq!(metadata.text("absent").unwrap(), None);
    let wrong = metadata.text("u").unwrap_err().to_string();
    assert!(wrong.contains("field u is the number 8192; expected text"), "{wrong}");
}

#[test]
fn other_files_and_other_versions_are_refused_by_name() {
    assert!(message(b"PK\x03\x04rest of a zip file").contains("expected GGUF"));
    let mut bytes = GgufWriter::new().bytes();
    bytes[4..8].copy_from_slice(&1u32.to_le_bytes());
    assert!(message(&bytes).contains("version 1, expected 2 or 3"));
    bytes[4..8].copy_from_slice(&3u32.to_be_bytes());
    assert!(message(&bytes).contains("big-endian"));
}

#[test]
fn a_file_cut_at_any_byte_is_an_error_and_never_a_panic() {
    let bytes = GgufWriter::new()
        .text("name", "x")
        .texts("list", &["a", "b"])
        .integers("i", &[1, 2])
        .raw("floats", ARRAY, &[&6u32.to_le_bytes()[..], &2u64.to_le_bytes(), &[0; 8]].concat())
        .bytes();
    assert!(read(&bytes).is_ok());
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "cut at {end}");
        // The same when the length that was promised is longer than what comes.
        assert!(GgufMetadata::read(&bytes[..end], u64::MAX).is_err(), "cut at {end}");
    }
}

#[test]
fn absurd_counts_are_refused_before_anything_is_allocated() {
    let mut bytes = GgufWriter::new().bytes();
    bytes[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(message(&bytes).contains("metadata entries"));

    for kind in [0u32, 4, 5, 6, TEXT, ARRAY, 12] {
        for count in [u64::MAX, MAX_ARRAY + 1, MAX_ARRAY, 1000] {
            let claim = [&kind.to_le_bytes()[..], &count.to_le_bytes()].concat();
            let text = message(&GgufWriter::new().raw("list", ARRAY, &claim).bytes());
            assert!(text.contains("array items"), "{kind} {count}: {text}");
        }
    }
}

#[test]
fn a_text_longer_than_the_file_is_refused() {
    for length in [u64::MAX, 1 << 40, 5] {
        let claim = [&length.to_le_bytes()[..], b"abcd"].concat();
        let text = message(&GgufWriter::new().raw("name", TEXT, &claim).bytes());
        assert!(text.contains("bytes of text"), "{text}");
    }
}

#[test]
fn deep_nesting_unknown_types_and_broken_text_are_refused() {
    let mut nested = Vec::new();
    for _ in 0..10_000 {
        nested.extend(ARRAY.to_le_bytes());
        nested.extend(1u64.to_le_bytes());
    }
    assert!(message(&GgufWriter::new().raw("a", ARRAY, &nested).bytes()).contains("nested deeper"));
    assert!(message(&GgufWriter::new().raw("a", 13, &[0; 8]).bytes()).contains("type 13 is unknown"));
    let unknown = [&99u32.to_le_bytes()[..], &0u64.to_le_bytes()].concat();
    assert!(message(&GgufWriter::new().raw("a", ARRAY, &unknown).bytes()).contains("unknown value type 99"));
    let broken = [&2u64.to_le_bytes()[..], &[0xff, 0xfe]].concat();
    assert!(message(&GgufWriter::new().raw("a", TEXT, &broken).bytes()).contains("not UTF-8"));
}

#[test]
fn arrays_that_nobody_needs_are_read_past() {
    let flags = [&7u32.to_le_bytes()[..], &3u64.to_le_bytes(), &[0; 3]].concat();
    let inner = [&0u32.to_le_bytes()[..], &2u64.to_le_bytes(), &[1, 2]].concat();
    let nested = [&ARRAY.to_le_bytes()[..], &1u64.to_le_bytes(), &inner].concat();
    let metadata =
        GgufWriter::new().raw("f", ARRAY, &flags).raw("n", ARRAY, &nested).text("after", "x").metadata();
    assert_eq!(metadata.get("f"), Some(&GgufValue::OtherArray(3)));
    assert_eq!(metadata.get("n"), Some(&GgufValue::OtherArray(1)));
    assert_eq!(metadata.text("after").unwrap(), Some("x"));
}

/// Deterministic damage: every byte of a small file set to a few values in turn.
#[test]
fn damaged_bytes_never_panic() {
    let bytes = GgufWriter::new().text("name", "x").texts("list", &["a"]).integers("i", &[7]).bytes();
    for at in 0..bytes.len() {
        for value in [0, 1, 8, 9, 0x7f, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            let _ = read(&damaged);
        }
    }
}
