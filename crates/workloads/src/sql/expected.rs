//! What the plan expects of a statement's answer, held against what came.
use super::same::same;
use crate::prelude::*;
use bakeoff_model::run::sql::Expect;
use serde_json::Value as Json;

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
