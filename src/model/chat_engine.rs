//! The template engine as chat templates expect it, with a budget that a hostile one cannot outrun.
//!
//! What is paid for, and how, is in `chat_budget`.

use std::io;

use minijinja::{Environment, Error, ErrorKind, Value, context};

use super::chat_budget::{BUDGET, charge};
use super::text_error::ModelTextError;

const MAX_RANGE: i64 = 10_000;
/// `strftime_now` gives this day, so that one prompt is one prompt for ever.
const TODAY: (&str, &str, &str, &str, &str) = ("2024", "07", "26", "Jul", "July");

/// What a template may name besides the messages.
#[derive(Debug, Clone, Default)]
pub(super) struct SpecialTexts {
    pub(super) bos: String,
    pub(super) eos: String,
    pub(super) starts_with_bos: bool,
}

/// Renders a prepared template for `messages` (role, content), up to where the answer begins.
pub(super) fn render(
    prepared: &str,
    source_length: usize,
    messages: &[(&str, String)],
    special: &SpecialTexts,
) -> Result<String, ModelTextError> {
    let environment = environment(source_length);
    let messages: Vec<Value> =
        messages.iter().map(|(role, content)| context! { role => role, content => content }).collect();
    let context = context! {
        messages => messages,
        add_generation_prompt => true,
        bos_token => special.bos,
        eos_token => special.eos,
        tools => Value::from(()),
        documents => Value::from(()),
        // The answer that is read holds no reasoning, so none is announced.
        enable_thinking => false,
    };
    let mut written = Bounded(Vec::new());
    let rendered = environment
        .template_from_str(prepared)
        .and_then(|template| template.render_captured_to(context, &mut written).map(|_| ()));
    rendered.map_err(|error| ModelTextError::Template(describe(&error)))?;
    String::from_utf8(written.0).map_err(|_| ModelTextError::Template("it writes no UTF-8".to_owned()))
}

fn describe(error: &Error) -> String {
    let line = error.line().map_or(String::new(), |line| format!(" (line {line})"));
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    format!("{detail}{line}")
}

fn environment(source_length: usize) -> Environment<'static> {
    let mut environment = Environment::new();
    // As transformers sets Jinja up.
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    charge(&mut environment, source_length);
    environment
        .add_function("range", |lower: i64, upper: Option<i64>, step: Option<i64>| range(lower, upper, step));
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, format!("it says: {message}")))
    });
    environment.add_function("strftime_now", |format: String| strftime_today(&format));
    environment
}

/// Python's `range` as a list, with a limit.
fn range(lower: i64, upper: Option<i64>, step: Option<i64>) -> Result<Vec<i64>, Error> {
    let (start, end) = upper.map_or((0, lower), |upper| (lower, upper));
    let step = step.unwrap_or(1);
    let distance = if step < 0 { start.saturating_sub(end) } else { end.saturating_sub(start) };
    let wrong = |what: &'static str| Err(Error::new(ErrorKind::InvalidOperation, what));
    if step == 0 {
        return wrong("a range has a step of 0");
    }
    if distance / step.saturating_abs() >= MAX_RANGE {
        return wrong("a range is too long");
    }
    let mut values = Vec::new();
    let mut value = start;
    while (step > 0 && value < end) || (step < 0 && value > end) {
        values.push(value);
        value = value.saturating_add(step);
    }
    Ok(values)
}

/// The fields of `strftime` that templates use, for the fixed day; others stay as they are.
fn strftime_today(format: &str) -> String {
    let (year, month, day, short, long) = TODAY;
    let fields = [("%Y", year), ("%m", month), ("%d", day), ("%b", short), ("%B", long), ("%H", "00")];
    let more = [("%-d", day), ("%M", "00"), ("%S", "00"), ("%A", "Friday"), ("%a", "Fri"), ("%y", "24")];
    fields.iter().chain(&more).fold(format.to_owned(), |text, (field, value)| text.replace(field, value))
}

/// Output that refuses to grow past the budget.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.0.len() + bytes.len()) as u64 > BUDGET {
            return Err(io::Error::other("it writes too much text"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_python() {
        assert_eq!(range(3, None, None).unwrap(), [0, 1, 2]);
        assert_eq!(range(2, Some(9), Some(3)).unwrap(), [2, 5, 8]);
        assert_eq!(range(3, Some(0), Some(-1)).unwrap(), [3, 2, 1]);
        assert!(range(0, Some(3), Some(0)).is_err());
        assert!(range(i64::MIN, Some(i64::MAX), None).is_err());
        assert!(range(i64::MAX, Some(i64::MIN), Some(i64::MIN)).unwrap().len() <= 2);
        assert!(range(5, Some(3), None).unwrap().is_empty());
    }
}
