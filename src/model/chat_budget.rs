//! What a chat template may spend, and what its filters and methods cost.
//!
//! Loops, calls, assignments, output, operators, filters and methods are paid for by the size of what goes in and
//! what could come out; instructions are counted by the engine itself. So no template, however it is written, takes
//! more memory than some multiples of the budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use minijinja::value::{Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};

use super::chat_operators::TIMES;
use super::chat_source::{CHARGE, TURN};

/// What a rendering may cost: bytes built or written, and a fixed price for each turn of a loop.
pub(super) const BUDGET: u64 = 64 << 20;
const TURN_PRICE: u64 = 16 << 10;
/// Instructions of the engine; real templates take some thousands.
const FUEL: u64 = 1_000_000;
/// Largest number that a filter or a repetition takes.
const LARGEST_NUMBER: usize = 10_000;
/// Largest width of an indentation, a batch or a field.
const LARGEST_WIDTH: usize = 256;
/// Deepest nesting of lists: the engine writes and drops them by recursion.
const DEEPEST: usize = 64;
/// What a value takes beside its text.
const VALUE: u64 = 32;
/// Before the name of an engine's own filter.
const OWN: &str = "__ragscope_own_";

/// What is left, shared by all that costs.
#[derive(Clone, Default)]
struct Spent(Arc<AtomicU64>);

impl Spent {
    fn pay(&self, price: u64) -> Result<(), Error> {
        let before = self.0.fetch_add(price.min(BUDGET + 1), Ordering::Relaxed);
        if before.saturating_add(price) > BUDGET {
            return Err(refused("it runs too long or makes too much text"));
        }
        Ok(())
    }
}

fn refused(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}

/// Puts prices on everything that a template can do.
pub(super) fn charge(environment: &mut Environment<'static>, source_length: usize) {
    environment.set_fuel(Some(FUEL));
    let spent = Spent::default();
    let turn_price = TURN_PRICE.max(source_length as u64);
    let own = spent.clone();
    environment.add_function(TURN, move || own.pay(turn_price).map(|()| ""));
    let own = spent.clone();
    environment.add_filter(CHARGE, move |value: Value| own.pay(weight(&value)).map(|()| value));
    environment.add_filter(TIMES, times);
    let own = spent.clone();
    environment.set_formatter(move |output, state, value| {
        own.pay(weight(value))?;
        minijinja::escape_formatter(output, state, value)
    });
    let own = spent.clone();
    environment.set_unknown_method_callback(move |state, value, method, arguments| {
        own.pay(price(method, std::iter::once(value).chain(arguments))?)?;
        minijinja_contrib::pycompat::unknown_method_callback(state, value, method, arguments)
    });
    environment.remove_global("debug");
    filters_that_build(environment, &spent);
}

/// Every filter of the engine whose result is more than one of its arguments.
fn filters_that_build(environment: &mut Environment<'static>, spent: &Spent) {
    macro_rules! priced {
        ($($name:ident),*) => { $(
            environment.add_filter(concat!("__ragscope_own_", stringify!($name)), filters::$name);
            let own = spent.clone();
            environment.add_filter(
                stringify!($name),
                move |state: &State, arguments: Rest<Value>| -> Result<Value, Error> {
                    let name = stringify!($name);
                    own.pay(price(name, arguments.iter())?)?;
                    state.apply_filter(&format!("{OWN}{name}"), &arguments)
                },
            );
        )* };
    }
    priced!(
        lower, upper, title, capitalize, replace, dictsort, items, reverse, trim, join, split, lines, sort,
        list, string, batch, slice, sum, indent, select, reject, selectattr, rejectattr, map, groupby,
        unique, chain, zip, pprint, format, tojson, escape
    );
}

/// What a filter or method of this name may take and make.
fn price<'v>(name: &str, arguments: impl Iterator<Item = &'v Value>) -> Result<u64, Error> {
    let arguments: Vec<&Value> = arguments.collect();
    let size: u64 = arguments.iter().map(|value| weight(value)).fold(0, u64::saturating_add);
    let length = |at: usize| arguments.get(at).and_then(|value| value.as_str()).map_or(0, str::len) as u64;
    match name {
        "batch" | "slice" | "indent" | "tojson" => {
            for argument in &arguments[1.min(arguments.len())..] {
                within(argument, LARGEST_WIDTH)?;
            }
            // A width before every line or value.
            Ok(size.saturating_mul(8))
        }
        "format" if arguments.iter().any(|value| has_long_number(value)) => {
            Err(refused("a field is too wide"))
        }
        "replace" => {
            let matches = arguments.first().and_then(|text| text.as_str()).map_or(0, |text| {
                let wanted = arguments.get(1).and_then(|value| value.as_str()).unwrap_or_default();
                text.matches(wanted).count() as u64
            });
            Ok(size.saturating_add(matches.saturating_mul(length(2))))
        }
        "join" => {
            // `list|join(text)`, and `text.join(list)`.
            let (items, text) = if arguments.first().is_some_and(|value| value.as_str().is_some())
                && arguments.get(1).is_some_and(|value| value.as_str().is_none())
            {
                (1, 0)
            } else {
                (0, 1)
            };
            let count = arguments.get(items).and_then(|value| value.len()).unwrap_or(0) as u64;
            Ok(size.saturating_add(count.saturating_mul(length(text))))
        }
        "list" | "split" | "splitlines" | "lines" | "map" => {
            let items = arguments.first().and_then(|value| value.len()).unwrap_or(0) as u64;
            Ok(size.saturating_add(items.saturating_mul(VALUE)))
        }
        _ => Ok(size),
    }
}

/// Refuses a number beyond `largest`, also as a keyword argument.
fn within(value: &Value, largest: usize) -> Result<(), Error> {
    let number = |value: &Value| value.is_number() && value.as_usize().is_none_or(|number| number > largest);
    let inside = value.kind() == ValueKind::Map
        && value
            .try_iter()
            .is_ok_and(|mut names| names.any(|name| value.get_item(&name).is_ok_and(|value| number(&value))));
    if number(value) || inside { Err(refused("a width is too large")) } else { Ok(()) }
}

/// Whether a text holds a number of four digits: a width, where the text is a pattern.
fn has_long_number(value: &Value) -> bool {
    let digits = |window: &[u8]| window.iter().all(u8::is_ascii_digit);
    value.as_str().is_some_and(|text| text.as_bytes().windows(4).any(digits))
}

/// The right side of `*`.
fn times(value: Value) -> Result<Value, Error> {
    if value.is_number() {
        let fits = value.as_usize().is_some_and(|number| number <= LARGEST_NUMBER)
            || f64::try_from(value.clone()).is_ok_and(|number| number.abs() <= LARGEST_NUMBER as f64);
        return if fits { Ok(value) } else { Err(refused("it multiplies by too large a number")) };
    }
    Err(Error::new(
        ErrorKind::InvalidOperation,
        format!("it multiplies by {}, expected a number behind `*`", value.kind()),
    ))
}

/// The bytes that a value takes when it is written out, roughly; more than the budget as soon as that is known.
fn weight(value: &Value) -> u64 {
    let mut left = BUDGET + 1;
    weigh(value, 0, &mut left);
    BUDGET + 1 - left
}

fn weigh(value: &Value, depth: usize, left: &mut u64) {
    *left = left.saturating_sub(VALUE);
    if depth > DEEPEST {
        *left = 0;
    }
    if *left == 0 {
        return;
    }
    if let Some(text) = value.as_str() {
        *left = left.saturating_sub(text.len() as u64);
        return;
    }
    let map = value.kind() == ValueKind::Map;
    // What has no length is a sequence that can be gone through once.
    if !(map || matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)) || value.len().is_none() {
        return;
    }
    let Ok(items) = value.try_iter() else { return };
    for item in items {
        weigh(&item, depth + 1, left);
        if map && let Ok(inside) = value.get_item(&item) {
            weigh(&inside, depth + 1, left);
        }
        if *left == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_of_a_value_is_that_of_all_it_holds() {
        assert_eq!(weight(&Value::from("abc")), VALUE + 3);
        assert_eq!(weight(&Value::from(vec!["abc", "d"])), 3 * VALUE + 4);
        assert!(weight(&Value::from("x".repeat(BUDGET as usize + 9))) > BUDGET);
        let mut nested = Value::from(1);
        for _ in 0..DEEPEST + 2 {
            nested = Value::from(vec![nested]);
        }
        assert!(weight(&nested) > BUDGET);
    }
}
