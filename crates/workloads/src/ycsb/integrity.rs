//! The values of `data_integrity`, which tell by themselves whether they are right, and the checks of rows read.
//!
//! The text is exactly the original's: `<key>:<field>`, then again and again `:` and the hash of all so far, cut at
//! the field's length. So data loaded by either tool verifies with the other.
use crate::prelude::*;
use bakeoff_model::record::Fields;
use bakeoff_model::run::YcsbSpec;
use bakeoff_model::short;
use std::ops::Range;

#[derive(Clone, Debug)]
pub struct IntegrityValue {
    /// `:field0`, `:field1`, ...
    suffixes: Vec<Vec<u8>>,
    length: usize,
}

impl IntegrityValue {
    pub fn new(spec: &YcsbSpec) -> Self {
        // The original's SQL binding names columns FIELD0.. and hashes field0..: lower case is what it hashes.
        let prefix = spec.field_prefix.to_ascii_lowercase();
        Self {
            suffixes: (0..spec.field_count)
                .map(|i| format!(":{prefix}{i}").into_bytes())
                .collect(),
            length: spec.field_length as usize,
        }
    }

    /// Appends the value of this field of this record. About 1.5 ns a byte, no allocation beyond `out`'s growth.
    pub fn append(&self, key: &[u8], field: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(key);
        if let Some(suffix) = self.suffixes.get(field as usize) {
            out.extend_from_slice(suffix);
        }
        let mut hashed = start;
        let mut hash = 0i32;
        while out.len() - start < self.length {
            out.push(b':');
            for &byte in &out[hashed..] {
                hash = hash.wrapping_mul(31).wrapping_add(i32::from(byte));
            }
            hashed = out.len();
            out.extend_from_slice(itoa::Buffer::new().format(hash).as_bytes());
        }
        out.truncate(start + self.length);
    }

    /// Whether the values of `fields`, which lie in this row from `first_cell` on, are those of the record with this key.
    #[inline(never)]
    fn check(
        &self,
        row: &RowBuf,
        key: &[u8],
        first_cell: usize,
        fields: Range<u32>,
        scratch: &mut Vec<u8>,
    ) -> Answer<'static> {
        for (cell, field) in (first_cell..).zip(fields) {
            scratch.clear();
            self.append(key, field, scratch);
            if bytes_of(row, cell) != Some(scratch.as_slice()) {
                return Answer::Wrong("field value differs");
            }
        }
        Answer::Right
    }
}

/// What a row that was read must look like.
#[derive(Clone, Copy, Debug)]
pub struct RowRule<'a> {
    pub fields: Fields,
    pub field_count: u32,
    /// Verify every value, byte for byte.
    pub integrity: Option<&'a IntegrityValue>,
}

impl RowRule<'_> {
    /// `key`: the row's key, or `None` when any row may come (a scan beyond its first row). The row has been copied
    /// into its buffer, so each byte the system sent has been touched.
    #[inline(always)] // much of it is known beforehand, and deep in a future the compiler takes every call for a rare one
    pub fn check(&self, row: &RowBuf, key: Option<&[u8]>, scratch: &mut Vec<u8>) -> Answer<'static> {
        let (key_cells, first_field, fields) = match self.fields {
            Fields::All => (1, 0, self.field_count),
            Fields::AllByName => (0, 0, self.field_count),
            Fields::One(field) => (0, field, 1),
        };
        if row.len() != key_cells + fields as usize {
            return Answer::Wrong("fields missing");
        }
        if row.nulls() > 0 {
            return Answer::Wrong("field is null");
        }
        let row_key = if key_cells == 1 { bytes_of(row, 0) } else { None };
        if let (Some(found), Some(expected)) = (row_key, key)
            && !short::equal(found, expected)
        {
            return Answer::Wrong("another row's key");
        }
        let (Some(integrity), Some(key)) = (self.integrity, row_key.or(key)) else {
            return Answer::Right;
        };
        integrity.check(row, key, key_cells, first_field..first_field + fields, scratch)
    }
}

#[inline]
fn bytes_of(row: &RowBuf, index: usize) -> Option<&[u8]> {
    row.cell(index)?.bytes()
}

/// The key of a row read with [`Fields::All`].
pub fn key_of(row: &RowBuf) -> Option<&[u8]> {
    bytes_of(row, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integrity_spec(length: u32) -> YcsbSpec {
        YcsbSpec {
            data_integrity: true,
            field_length: length,
            ..Default::default()
        }
    }

    fn value(length: u32, field: u32) -> String {
        let mut out = b"before".to_vec();
        IntegrityValue::new(&integrity_spec(length)).append(b"user6284781860667377211", field, &mut out);
        String::from_utf8(out.split_off(6)).unwrap()
    }

    #[test]
    fn the_value_is_the_one_of_the_original() {
        let text = value(100, 0);
        assert!(
            text.starts_with("user6284781860667377211:field0:-56807877:2032869390:-165488160:"),
            "{text}"
        );
        assert_eq!(text.len(), 100);
        assert_eq!(value(10, 0), "user628478");
        assert!(value(60, 7).starts_with("user6284781860667377211:field7:"));
    }

    fn row(cells: &[&[u8]]) -> RowBuf {
        let mut row = RowBuf::default();
        for cell in cells {
            row.push(Value::Text(cell));
        }
        row
    }

    #[test]
    fn each_way_a_row_can_be_wrong_is_named() {
        let spec = YcsbSpec {
            field_count: 2,
            ..integrity_spec(30)
        };
        let integrity = IntegrityValue::new(&spec);
        let rule = RowRule {
            fields: Fields::All,
            field_count: 2,
            integrity: Some(&integrity),
        };
        let values: Vec<Vec<u8>> = (0..2)
            .map(|field| {
                let mut out = Vec::new();
                integrity.append(b"user7", field, &mut out);
                out
            })
            .collect();
        let mut scratch = Vec::new();
        let mut check = |cells: &[&[u8]], key: &[u8]| rule.check(&row(cells), Some(key), &mut scratch);

        assert_eq!(
            check(&[b"user7", &values[0], &values[1]], b"user7"),
            Answer::Right
        );
        assert_eq!(
            check(&[b"user7", &values[1], &values[0]], b"user7"),
            Answer::Wrong("field value differs")
        );
        assert_eq!(
            check(&[b"user7", &values[0]], b"user7"),
            Answer::Wrong("fields missing")
        );
        assert_eq!(
            check(&[b"user8", &values[0], &values[1]], b"user7"),
            Answer::Wrong("another row's key")
        );

        let mut with_null = row(&[b"user7", &values[0]]);
        with_null.push(Value::Null);
        assert_eq!(
            rule.check(&with_null, Some(b"user7"), &mut scratch),
            Answer::Wrong("field is null")
        );
    }

    #[test]
    fn one_field_is_verified_as_that_field() {
        let spec = integrity_spec(40);
        let integrity = IntegrityValue::new(&spec);
        let mut third = Vec::new();
        integrity.append(b"user7", 3, &mut third);
        let check = |field| {
            let rule = RowRule {
                fields: Fields::One(field),
                field_count: 10,
                integrity: Some(&integrity),
            };
            rule.check(&row(&[&third]), Some(b"user7"), &mut Vec::new())
        };
        assert_eq!(check(3), Answer::Right);
        assert_eq!(check(4), Answer::Wrong("field value differs"));
    }
}
