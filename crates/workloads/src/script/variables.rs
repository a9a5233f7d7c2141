//! The variables of one user: they keep their values from one operation to the next, as a client of pgbench does.
use super::expression::Values;
use super::number::{Fault, Number};
use bakeoff_model::value::{Decimal, Timestamp, Value};

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
