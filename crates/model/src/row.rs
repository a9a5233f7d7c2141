//! The one reusable buffer through which rows are read.
use crate::short;

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Null,
    Int(i64),
    Float(f64),
    Bytes(&'a [u8]),
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Null,
    Int(i64),
    Float(f64),
    /// Places in `bytes`; no row has 4 GiB.
    Bytes {
        start: u32,
        end: u32,
    },
}

/// The cells of one row, owned by a session and overwritten by the next row. A driver fills it by copying, so every
/// byte that the system sent has been touched. Cost: no allocation once it has grown to the largest row.
#[derive(Debug, Default)]
pub struct RowBuf {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    nulls: usize,
}

impl RowBuf {
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.slots.clear();
        self.nulls = 0;
    }
    /// Room for one row of known size and no more, where a driver knows it: with thousands of sessions the halves that
    /// doubling would leave empty add up to megabytes.
    #[inline]
    pub fn reserve(&mut self, cells: usize, bytes: usize) {
        self.slots.reserve_exact(cells);
        self.bytes.reserve_exact(bytes);
    }
    #[inline]
    pub fn push_null(&mut self) {
        self.slots.push(Slot::Null);
        self.nulls += 1;
    }
    #[inline]
    pub fn push_int(&mut self, value: i64) {
        self.slots.push(Slot::Int(value));
    }
    #[inline]
    pub fn push_float(&mut self, value: f64) {
        self.slots.push(Slot::Float(value));
    }
    #[inline]
    pub fn push_bytes(&mut self, value: &[u8]) {
        let slot = self.append(value);
        self.slots.push(slot);
    }
    /// Replaces the cell at `index`, which must exist. Replacing the same cell again and again takes no more room.
    #[inline(always)]
    pub fn set_bytes(&mut self, index: usize, value: &[u8]) {
        if let Slot::Bytes { start, end } = self.slots[index] {
            if let Some(place) = self.bytes.get_mut(start as usize..end as usize)
                && short::copy(value, place)
            {
                return;
            }
            if end as usize == self.bytes.len() {
                self.bytes.truncate(start as usize);
            }
        }
        self.slots[index] = self.append(value);
    }
    #[inline]
    fn append(&mut self, value: &[u8]) -> Slot {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        Slot::Bytes {
            start,
            end: self.bytes.len() as u32,
        }
    }
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len()
    }
    /// How many cells are null, without looking at each.
    #[inline]
    pub fn nulls(&self) -> usize {
        self.nulls
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
    /// The cell at `index` (0-based), or `None` past the end.
    #[inline(always)]
    pub fn cell(&self, index: usize) -> Option<Cell<'_>> {
        Some(match *self.slots.get(index)? {
            Slot::Null => Cell::Null,
            Slot::Int(v) => Cell::Int(v),
            Slot::Float(v) => Cell::Float(v),
            Slot::Bytes { start, end } => Cell::Bytes(&self.bytes[start as usize..end as usize]),
        })
    }
    #[inline]
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        (0..self.len()).filter_map(|i| self.cell(i))
    }
}
