//! The one reusable buffer through which rows are read.
use crate::short;
use crate::value::{Decimal, Timestamp, Value};
use std::ops::Range;

#[derive(Clone, Copy, Debug)]
enum Kept {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Its parts in line: as a structure they would make every cell half as large again.
    Decimal {
        units: i64,
        scale: u8,
    },
    Timestamp(Timestamp),
    /// Places in `bytes`; no row has 4 GiB.
    Text(Span),
    Bytes(Span),
    Uuid {
        start: u32,
    },
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    #[inline(always)]
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The cells of one row, owned by a session and overwritten by the next row. A driver fills it by copying, so every
/// byte that the system sent has been touched. Cost: no allocation once it has grown to the largest row.
#[derive(Debug, Default)]
pub struct RowBuf {
    bytes: Vec<u8>,
    cells: Vec<Kept>,
    nulls: usize,
}

impl RowBuf {
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.cells.clear();
        self.nulls = 0;
    }
    /// Room for one row of known size and no more, where a driver knows it: with thousands of sessions the halves that
    /// doubling would leave empty add up to megabytes.
    #[inline]
    pub fn reserve(&mut self, cells: usize, bytes: usize) {
        self.cells.reserve_exact(cells);
        self.bytes.reserve_exact(bytes);
    }
    /// What it is, is known where it is called: so inline, and nothing is left to decide.
    #[inline(always)]
    pub fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Null => {
                self.nulls += 1;
                Kept::Null
            }
            Value::Bool(value) => Kept::Bool(value),
            Value::Int(value) => Kept::Int(value),
            Value::Float(value) => Kept::Float(value),
            Value::Decimal(Decimal { units, scale }) => Kept::Decimal { units, scale },
            Value::Timestamp(value) => Kept::Timestamp(value),
            Value::Text(value) => Kept::Text(self.append(value)),
            Value::Bytes(value) => Kept::Bytes(self.append(value)),
            Value::Uuid(value) => Kept::Uuid {
                start: self.append(&value).start,
            },
        };
        self.cells.push(cell);
    }
    /// Replaces the text at `index`, which must exist. Replacing the same cell again and again takes no more room.
    #[inline(always)]
    pub fn set_text(&mut self, index: usize, value: &[u8]) {
        if let Kept::Text(span) = self.cells[index] {
            if let Some(place) = self.bytes.get_mut(span.range())
                && short::copy(value, place)
            {
                return;
            }
            if span.end as usize == self.bytes.len() {
                self.bytes.truncate(span.start as usize);
            }
        }
        self.cells[index] = Kept::Text(self.append(value));
    }
    #[inline(always)] // else a call for each cell of every row
    fn append(&mut self, value: &[u8]) -> Span {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        Span {
            start,
            end: self.bytes.len() as u32,
        }
    }
    #[inline]
    pub fn len(&self) -> usize {
        self.cells.len()
    }
    /// How many cells are null, without looking at each.
    #[inline]
    pub fn nulls(&self) -> usize {
        self.nulls
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
    /// The cell at `index` (0-based), or `None` past the end.
    #[inline(always)]
    pub fn cell(&self, index: usize) -> Option<Value<'_>> {
        Some(match *self.cells.get(index)? {
            Kept::Null => Value::Null,
            Kept::Bool(value) => Value::Bool(value),
            Kept::Int(value) => Value::Int(value),
            Kept::Float(value) => Value::Float(value),
            Kept::Decimal { units, scale } => Value::Decimal(Decimal { units, scale }),
            Kept::Timestamp(value) => Value::Timestamp(value),
            Kept::Text(span) => Value::Text(&self.bytes[span.range()]),
            Kept::Bytes(span) => Value::Bytes(&self.bytes[span.range()]),
            Kept::Uuid { start } => Value::Uuid(*self.bytes[start as usize..].first_chunk()?),
        })
    }
    #[inline]
    pub fn cells(&self) -> impl Iterator<Item = Value<'_>> {
        (0..self.len()).filter_map(|i| self.cell(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back_as_it_was_put_in() {
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int(-1),
            Value::Float(0.5),
            Value::Decimal(Decimal {
                units: 1230,
                scale: 2,
            }),
            Value::Timestamp(Timestamp { us: -7 }),
            Value::Text(b"text"),
            Value::Bytes(b"\xff"),
            Value::Uuid([7; 16]),
        ];
        let mut row = RowBuf::default();
        values.iter().for_each(|value| row.push(*value));
        assert!(row.cells().eq(values));
        assert_eq!((row.len(), row.nulls()), (9, 1));
        assert_eq!(size_of::<Kept>(), 16);
    }
}
