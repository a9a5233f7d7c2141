//! How a record is stored. Key: the number of its table (4 bytes, big-endian, so that tables lie apart and keys stay in
//! order), then the record's own key. Value: where each field ends (4 bytes, little-endian, from the first field's beginning),
//! then all fields, end to end. Any field is found without a look at the others.
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::record::{FieldValue, Fields, Record};
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::Value;

pub const PREFIX: usize = 4;

#[inline]
pub fn put_key(out: &mut Vec<u8>, table: u32, key: &[u8]) {
    out.clear();
    out.extend_from_slice(&table.to_be_bytes());
    out.extend_from_slice(key);
}

#[inline]
pub fn put_value(out: &mut Vec<u8>, record: Record<'_>) {
    out.clear();
    for end in record.ends {
        out.extend_from_slice(&end.to_le_bytes());
    }
    out.extend_from_slice(record.bytes);
}

/// A stored value, whose fields are where they must be.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    ends: &'a [[u8; 4]],
    bytes: &'a [u8],
}

impl<'a> Stored<'a> {
    /// fields: how many its table has.
    #[inline]
    pub fn read(value: &'a [u8], fields: usize) -> Result<Self, OpError> {
        let read = || {
            let (ends, bytes) = value.split_at_checked(fields * 4)?;
            let (ends, _) = ends.as_chunks::<4>();
            let mut before = 0;
            let in_order = ends.iter().all(|end| {
                let end = u32::from_le_bytes(*end);
                let follows = end >= before;
                before = end;
                follows
            });
            (in_order && before as usize == bytes.len()).then_some(Self { ends, bytes })
        };
        read().ok_or_else(no_record)
    }

    #[inline]
    fn field(&self, field: usize) -> &'a [u8] {
        let end = |field: usize| u32::from_le_bytes(self.ends[field]) as usize;
        let start = field.checked_sub(1).map_or(0, end);
        &self.bytes[start..end(field)]
    }

    #[inline]
    pub fn fill(&self, key: &[u8], fields: Fields, row: &mut RowBuf) {
        row.clear();
        match fields {
            Fields::One(field) => return row.push(Value::Text(self.field(field as usize))),
            Fields::All => row.push(Value::Text(key)),
            Fields::AllByName => {}
        }
        (0..self.ends.len()).for_each(|field| row.push(Value::Text(self.field(field))));
    }

    /// The record with some of its fields changed, as it is stored.
    #[inline]
    pub fn put_changed(&self, changes: &[FieldValue<'_>], out: &mut Vec<u8>) {
        out.clear();
        out.resize(self.ends.len() * 4, 0);
        for field in 0..self.ends.len() {
            let change = changes.iter().rfind(|change| change.field as usize == field);
            out.extend_from_slice(change.map_or(self.field(field), |change| change.value));
            let end = (out.len() - self.ends.len() * 4) as u32;
            out[field * 4..][..4].copy_from_slice(&end.to_le_bytes());
        }
    }
}

#[cold]
fn no_record() -> OpError {
    OpError::fail(
        FailClass::Other,
        "RECORD",
        "a stored value is no record of this table",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored() -> Vec<u8> {
        let mut value = Vec::new();
        let record = Record {
            key: b"k",
            bytes: b"onethree",
            ends: &[3, 3, 8],
        };
        put_value(&mut value, record);
        value
    }

    fn cells(row: &RowBuf) -> Vec<&[u8]> {
        row.cells().filter_map(|cell| cell.bytes()).collect()
    }

    #[test]
    fn a_record_comes_back_whole_and_by_the_field() {
        let value = stored();
        let read = Stored::read(&value, 3).unwrap_or_else(|error| panic!("{error}"));
        let mut row = RowBuf::default();
        read.fill(b"k", Fields::All, &mut row);
        assert_eq!(cells(&row), [&b"k"[..], b"one", b"", b"three"]);
        read.fill(b"k", Fields::One(2), &mut row);
        assert_eq!(cells(&row), [b"three"]);
    }

    #[test]
    fn changed_fields_may_be_of_any_length_and_the_last_of_two_changes_counts() {
        let value = stored();
        let read = Stored::read(&value, 3).unwrap_or_else(|error| panic!("{error}"));
        let set = |field, value| FieldValue { field, value };
        let mut changed = Vec::new();
        read.put_changed(&[set(1, &b"x"[..]), set(0, b""), set(1, b"second")], &mut changed);
        let mut row = RowBuf::default();
        Stored::read(&changed, 3)
            .unwrap_or_else(|error| panic!("{error}"))
            .fill(b"k", Fields::AllByName, &mut row);
        assert_eq!(cells(&row), [&b""[..], b"second", b"three"]);
    }

    #[test]
    fn whatever_is_no_record_is_refused() {
        let value = stored();
        for length in 0..value.len() {
            assert!(Stored::read(&value[..length], 3).is_err(), "{length}");
        }
        assert!(Stored::read(&value, 2).is_err());
        assert!(Stored::read(&[9, 0, 0, 0, 3, 0, 0, 0, b'a', b'b', b'c'], 2).is_err());
    }
}
