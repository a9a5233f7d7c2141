//! The variables of one user: they keep their values from one operation to the next, as a client of pgbench does.
use super::number::{Fault, Number};
use bakeoff_model::value::{Decimal, Timestamp, Value};
use std::collections::HashMap;

/// Where variables get their values.
pub trait Values {
    /// `place`: of [`Names`].
    fn value(&self, place: u32) -> Result<Number, Fault>;
}

impl Values for [Number] {
    #[inline]
    fn value(&self, place: u32) -> Result<Number, Fault> {
        self.get(place as usize).copied().ok_or(Fault::Unset)
    }
}

/// What a variable holds.
#[derive(Clone, Copy, Debug)]
enum Cell {
    Unset,
    Number(Number),
    Decimal(Decimal),
    Timestamp(Timestamp),
    /// In `texts`.
    Text,
    Bytes,
    Uuid,
}

#[derive(Clone, Debug)]
pub struct Variables {
    cells: Vec<Cell>,
    /// By place; each keeps the room of its longest.
    texts: Vec<Vec<u8>>,
    /// As they were when the present operation began.
    kept: Vec<(Cell, Vec<u8>)>,
}

impl Variables {
    pub fn new(count: usize) -> Self {
        Self {
            cells: vec![Cell::Unset; count],
            texts: vec![vec![]; count],
            kept: vec![(Cell::Unset, vec![]); count],
        }
    }

    #[inline]
    pub fn set(&mut self, place: u32, value: Number) {
        self.cells[place as usize] = Cell::Number(value);
    }

    /// It has no value any more.
    pub fn unset(&mut self, place: u32) {
        self.cells[place as usize] = Cell::Unset;
    }

    /// To what a query answered.
    pub fn take(&mut self, place: u32, value: Value<'_>) {
        let place = place as usize;
        let mut text = |kind, bytes: &[u8]| {
            let own = &mut self.texts[place];
            own.clear();
            own.extend_from_slice(bytes);
            kind
        };
        self.cells[place] = match value {
            Value::Null => Cell::Number(Number::Null),
            Value::Bool(value) => Cell::Number(Number::Bool(value)),
            Value::Int(value) => Cell::Number(Number::Int(value)),
            Value::Float(value) => Cell::Number(Number::Double(value)),
            Value::Decimal(value) => Cell::Decimal(value),
            Value::Timestamp(value) => Cell::Timestamp(value),
            Value::Text(bytes) => text(Cell::Text, bytes),
            Value::Bytes(bytes) => text(Cell::Bytes, bytes),
            Value::Uuid(bytes) => text(Cell::Uuid, &bytes),
        };
    }

    /// As a statement's parameter.
    #[inline]
    pub fn parameter(&self, place: u32) -> Result<Value<'_>, Fault> {
        let text = &self.texts[place as usize];
        Ok(match self.cells[place as usize] {
            Cell::Unset => return Err(Fault::Unset),
            Cell::Number(value) => match value.written() {
                Number::Null => Value::Null,
                Number::Bool(value) => Value::Bool(value),
                Number::Int(value) => Value::Int(value),
                Number::Double(value) => Value::Float(value),
            },
            Cell::Decimal(value) => Value::Decimal(value),
            Cell::Timestamp(value) => Value::Timestamp(value),
            Cell::Text => Value::Text(text),
            Cell::Bytes => Value::Bytes(text),
            Cell::Uuid => text
                .first_chunk()
                .map_or(Value::Null, |bytes| Value::Uuid(*bytes)),
        })
    }

    /// As an expression computes with it.
    #[inline]
    pub fn number(&self, place: u32) -> Result<Number, Fault> {
        match self.cells[place as usize] {
            Cell::Number(value) => Ok(value),
            Cell::Unset => Err(Fault::Unset),
            Cell::Decimal(Decimal { units, scale: 0 }) => Ok(Number::Int(units)),
            Cell::Decimal(Decimal { units, scale }) => {
                Ok(Number::Double(units as f64 / 10f64.powi(scale.into())))
            }
            Cell::Text => Number::parse(&self.texts[place as usize]),
            Cell::Timestamp(_) | Cell::Bytes | Cell::Uuid => Err(Fault::Malformed),
        }
    }

    /// Keeps the values of `places` for `restore`.
    #[inline]
    pub fn keep(&mut self, places: &[u32]) {
        for place in places.iter().map(|place| *place as usize) {
            let kept = &mut self.kept[place];
            kept.0 = self.cells[place];
            if matches!(kept.0, Cell::Text | Cell::Bytes | Cell::Uuid) {
                kept.1.clear();
                kept.1.extend_from_slice(&self.texts[place]);
            }
        }
    }

    /// What another attempt at the operation begins with.
    #[cold]
    pub fn restore(&mut self, places: &[u32]) {
        for place in places.iter().map(|place| *place as usize) {
            let (cell, text) = &self.kept[place];
            self.cells[place] = *cell;
            self.texts[place].clear();
            self.texts[place].extend_from_slice(text);
        }
    }
}

impl Values for Variables {
    #[inline]
    fn value(&self, place: u32) -> Result<Number, Fault> {
        self.number(place)
    }
}

// Variables by name: each has a place, which is what programs know them by.

/// Variables that have a value without being set; the first places.
pub const AUTOMATIC: [&str; 4] = ["client_id", "default_seed", "random_seed", "scale"];
pub const DEFAULT_SEED: u32 = 1;

#[derive(Clone, Debug)]
pub struct Names {
    names: Vec<String>,
    places: HashMap<String, u32>,
    /// Of those that nothing sets: expressions have their values built in.
    fixed: Vec<Option<Number>>,
    /// Whether an expression may name a variable without its colon.
    pub bare: bool,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self {
            names: vec![],
            places: HashMap::new(),
            fixed: vec![],
            bare: false,
        };
        for name in AUTOMATIC {
            names.add(name);
        }
        names
    }
}

impl Names {
    pub fn place(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }

    /// Its place, a new one if it has none yet.
    pub fn add(&mut self, name: &str) -> u32 {
        self.place(name).unwrap_or_else(|| {
            let place = self.names.len() as u32;
            self.names.push(name.into());
            self.places.insert(name.into(), place);
            self.fixed.push(None);
            place
        })
    }

    /// A variable that has this value for every user, unless a script sets it.
    pub fn fix(&mut self, name: &str, value: Number) {
        let place = self.add(name);
        self.fixed[place as usize] = Some(value);
    }

    /// One that a script sets.
    pub fn set(&mut self, name: &str) -> u32 {
        let place = self.add(name);
        self.fixed[place as usize] = None;
        place
    }

    pub fn fixed(&self, place: u32) -> Option<Number> {
        self.fixed.get(place as usize).copied().flatten()
    }

    pub fn all(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn name(&self, place: u32) -> &str {
        self.names.get(place as usize).map_or("", String::as_str)
    }
}
