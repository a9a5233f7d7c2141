//! What the plan expects of a statement's answer, compared with what came.
use crate::prelude::*;
use crate::script::Statement;
use bakeoff_model::run::sql::Expect;
use bakeoff_model::value::{Decimal, Value};
use serde_json::Value as Json;

/// What has been seen of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    rows: u64,
    /// The first row has the value that was expected.
    pub right: bool,
}

impl Seen {
    pub const NOTHING: Self = Self { rows: 0, right: true };

    /// `kept`: for the row that `\gset` takes.
    #[inline]
    pub fn row(
        &mut self,
        row: &RowBuf,
        statement: &Statement,
        expected: Option<&Expected>,
        kept: &mut RowBuf,
    ) {
        if let (0, Some(expected)) = (self.rows, expected) {
            self.right = expected.has_value(row);
        }
        if let Some(sets) = &statement.sets
            && (self.rows == 0 || !sets.one_row)
        {
            kept.clear();
            row.cells().for_each(|cell| kept.push(cell));
        }
        self.rows += 1;
    }
}

/// Of one statement; the words are for the report.
#[derive(Clone, Debug)]
pub struct Expected {
    rows: Option<u64>,
    rows_words: String,
    value: Option<String>,
    value_words: String,
}

impl Expected {
    /// All that is expected of one statement of a file.
    pub fn new(file: &str, statement: u32, expect: &[Expect]) -> Option<Self> {
        let own = || expect.iter().filter(|expect| expect.statement == statement);
        own().next()?;
        let rows = own().find_map(|expect| expect.rows);
        let value = own()
            .find_map(|expect| expect.value.as_ref())
            .map(|value| match value {
                Json::String(text) => text.clone(),
                other => other.to_string(),
            });
        let words = |what: String| format!("{file}, statement {statement}: {what}");
        Some(Self {
            rows_words: rows.map_or(String::new(), |rows| {
                words(format!("the number of rows is not {rows}"))
            }),
            value_words: value
                .as_ref()
                .map_or(String::new(), |value| words(format!("the value is not {value}"))),
            rows,
            value,
        })
    }

    /// Of a statement's first row.
    pub fn has_value(&self, row: &RowBuf) -> bool {
        let cell = row.cell(0).unwrap_or(Value::Null);
        self.value
            .as_ref()
            .is_none_or(|value| same(cell, Value::Text(value.as_bytes())))
    }

    /// What is wrong with the whole answer. `rows`: `None` where the system does not count them. `right`: the first row was.
    pub fn fault(&self, rows: Option<u64>, right: bool) -> Option<Fault> {
        if self
            .rows
            .is_some_and(|expected| rows.is_some_and(|rows| rows != expected))
        {
            return Some(Fault::Rows);
        }
        (self.value.is_some() && (!right || rows == Some(0))).then_some(Fault::Value)
    }

    pub fn words(&self, fault: Fault) -> &str {
        match fault {
            Fault::Rows => &self.rows_words,
            Fault::Value => &self.value_words,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Rows,
    Value,
}

// Whether two values are the same, whatever system or protocol they came by: what is a number in both is compared as a
// number, `1.50` with `1.5` and a sum of MySQL's (digits) with one of SQLite's.

/// Doubles that were added up in another order differ in their last digits.
const RELATIVE_ERROR: f64 = 1e-9;

pub fn same(a: Value<'_>, b: Value<'_>) -> bool {
    if let (Value::Null, Value::Null) = (a, b) {
        return true;
    }
    if let (Some(a), Some(b)) = (exact(a), exact(b)) {
        return equal(a, b);
    }
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= RELATIVE_ERROR * a.abs().max(b.abs()),
        _ => match (a.bytes(), b.bytes()) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

fn exact(value: Value<'_>) -> Option<Decimal> {
    match value {
        Value::Int(units) => Some(Decimal { units, scale: 0 }),
        Value::Bool(value) => Some(Decimal {
            units: value.into(),
            scale: 0,
        }),
        Value::Decimal(value) => Some(value),
        Value::Text(text) | Value::Bytes(text) => Decimal::parse(text),
        _ => None,
    }
}

fn number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Float(value) => Some(value),
        Value::Text(text) | Value::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        other => exact(other).map(|value| value.units as f64 / 10f64.powi(value.scale.into())),
    }
}

fn equal(a: Decimal, b: Decimal) -> bool {
    let scaled = |value: Decimal, scale: u8| {
        let factor = 10i128.checked_pow(u32::from(scale - value.scale))?;
        i128::from(value.units).checked_mul(factor)
    };
    let scale = a.scale.max(b.scale);
    match (scaled(a, scale), scaled(b, scale)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_numbers_and_text_as_text() {
        let price = Value::Decimal(Decimal { units: 150, scale: 2 });
        for (a, b, expected) in [
            (price, Value::Text(b"1.5"), true),
            (price, Value::Float(1.5), true),
            (price, Value::Int(1), false),
            (Value::Int(i64::MAX), Value::Int(i64::MAX - 1), false),
            (Value::Text(b"9223372036854775807"), Value::Int(i64::MAX), true),
            (Value::Float(0.1 + 0.2), Value::Text(b"0.3"), true),
            (Value::Float(1e300), Value::Text(b"1e300"), true),
            (Value::Text(b"a"), Value::Bytes(b"a"), true),
            (Value::Text(b"a"), Value::Text(b"A"), false),
            (Value::Null, Value::Null, true),
            (Value::Null, Value::Int(0), false),
            (Value::Bool(true), Value::Int(1), true),
        ] {
            assert_eq!(same(a, b), expected, "{a:?} {b:?}");
            assert_eq!(same(b, a), expected, "{b:?} {a:?}");
        }
    }
}
