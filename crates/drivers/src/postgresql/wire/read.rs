//! What messages say, taken from the front of their content.
use crate::postgresql::errors::Said;
use crate::postgresql::kind::Kind;
use crate::server::errors::malformed;
pub use crate::server::read::text;
use crate::server::read::{array, bytes, ended};
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::Value;

#[inline]
fn u16(rest: &mut &[u8]) -> Result<u16, OpError> {
    Ok(u16::from_be_bytes(array(rest)?))
}

#[inline]
pub fn u32(rest: &mut &[u8]) -> Result<u32, OpError> {
    Ok(u32::from_be_bytes(array(rest)?))
}

/// A row into the buffer. `None`: as text, of any number of columns.
#[inline]
pub fn row(mut rest: &[u8], kinds: Option<&[Kind]>, row: &mut RowBuf) -> Result<(), OpError> {
    let rest = &mut rest;
    let count = u16(rest)?;
    row.clear();
    let Some(kinds) = kinds else {
        for _ in 0..count {
            match value(rest)? {
                Some(value) => row.push(Value::Text(value)),
                None => row.push(Value::Null),
            }
        }
        return ended(rest);
    };
    if kinds.len() != usize::from(count) {
        return Err(malformed("a row of other columns than it has described"));
    }
    for kind in kinds {
        match value(rest)? {
            Some(value) if !kind.push(value, row) => return Err(malformed("a value of another length")),
            Some(_) => {}
            None => row.push(Value::Null),
        }
    }
    ended(rest)
}

/// `None`: SQL's NULL.
#[inline]
fn value<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, OpError> {
    match i32::from_be_bytes(array(rest)?) {
        -1 => Ok(None),
        length => bytes(
            rest,
            usize::try_from(length).map_err(|_| malformed("a negative length"))?,
        )
        .map(Some),
    }
}

/// The columns of a RowDescription.
pub fn columns(mut rest: &[u8]) -> Result<Box<[Kind]>, OpError> {
    /// Table, column's number; type; its size, modifier, format.
    const BEFORE: usize = 6;
    const AFTER: usize = 8;
    let rest = &mut rest;
    let mut kinds = Vec::new();
    for _ in 0..u16(rest)? {
        text(rest)?;
        bytes(rest, BEFORE)?;
        kinds.push(Kind::of(u32(rest)?));
        bytes(rest, AFTER)?;
    }
    ended(rest)?;
    Ok(kinds.into())
}

/// The parameters of a ParameterDescription.
pub fn params(mut rest: &[u8]) -> Result<Box<[Kind]>, OpError> {
    let rest = &mut rest;
    let mut kinds = Vec::new();
    for _ in 0..u16(rest)? {
        kinds.push(Kind::of(u32(rest)?));
    }
    ended(rest)?;
    Ok(kinds.into())
}

/// Rows that a command has written, by its tag: `INSERT 0 2`, `UPDATE 1`. What only read has written none.
#[inline]
pub fn affected(tag: &[u8]) -> u64 {
    // Looked at from behind, because the number is there.
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    if tag.starts_with(b"SELECT") || tag.starts_with(b"FETCH") || tag.starts_with(b"MOVE") {
        return 0;
    }
    let (mut number, mut unit) = (0u64, 1u64);
    for &digit in tag.iter().rev().take_while(|byte| byte.is_ascii_digit()) {
        number = number.saturating_add(u64::from(digit - b'0').saturating_mul(unit));
        unit = unit.saturating_mul(10);
    }
    number
}

/// Whether a command has undone the transaction, by its tag.
#[inline]
pub fn rolls_back(tag: &[u8]) -> bool {
    tag.starts_with(b"ROLLBACK")
}

/// How the transaction stands, of a ReadyForQuery.
#[inline]
pub fn status(content: &[u8]) -> Result<u8, OpError> {
    match content {
        [status @ (b'I' | b'T' | b'E')] => Ok(*status),
        _ => Err(malformed("an unknown state of the transaction")),
    }
}

/// The fields of an ErrorResponse. What is not text is left out.
#[cold]
pub fn error(mut rest: &[u8]) -> Said<'_> {
    let mut said = Said::default();
    let rest = &mut rest;
    while let Ok([field]) = array(rest) {
        let Ok(text) = text(rest) else { break };
        let text = std::str::from_utf8(text).unwrap_or_default();
        match field {
            // The second is in English whatever the server's language.
            b'S' if said.severity.is_empty() => said.severity = text,
            b'V' => said.severity = text,
            b'C' => said.state = text,
            b'M' => said.message = text,
            b'D' => said.detail = Some(text),
            _ => {}
        }
    }
    said
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tags_tell_what_was_written() {
        for (tag, rows) in [
            (&b"INSERT 0 25\0"[..], 25),
            (b"UPDATE 1\0", 1),
            (b"DELETE 0\0", 0),
            (b"COPY 10000\0", 10_000),
            (b"SELECT 7\0", 0),
            (b"CREATE TABLE\0", 0),
            (b"BEGIN\0", 0),
            (b"", 0),
            (b"UPDATE 99999999999999999999999999\0", u64::MAX),
        ] {
            assert_eq!(affected(tag), rows, "{}", String::from_utf8_lossy(tag));
        }
    }

    #[test]
    fn a_row_keeps_values_and_nulls_in_their_places() {
        let kinds = [Kind::Int4, Kind::Text, Kind::Text, Kind::Float8];
        let mut content = vec![0, 4, 0, 0, 0, 4];
        content.extend((-5i32).to_be_bytes());
        content.extend(b"\0\0\0\x03abc\xff\xff\xff\xff\0\0\0\x08");
        content.extend(0.5f64.to_be_bytes());
        let mut row = RowBuf::default();
        super::row(&content, Some(&kinds), &mut row).unwrap();
        let cells: Vec<_> = row.cells().collect();
        assert_eq!(
            cells,
            [
                Value::Int(-5),
                Value::Text(b"abc"),
                Value::Null,
                Value::Float(0.5)
            ]
        );
        for end in 0..content.len() {
            assert!(
                super::row(&content[..end], Some(&kinds), &mut row).is_err(),
                "cut at {end}"
            );
        }
        assert!(super::row(&content, Some(&kinds[..3]), &mut row).is_err());
        content[5] = 3; // a number of three bytes
        assert!(super::row(&content, Some(&kinds), &mut row).is_err());
    }

    #[test]
    fn errors_tell_severity_state_and_words() {
        let said = error(b"SFEHLER\0VERROR\0C40001\0Mcould not serialize\0Dbecause\0Zunknown\0\0");
        assert_eq!((said.severity, said.state), ("ERROR", "40001"));
        assert_eq!(
            (said.message, said.detail),
            ("could not serialize", Some("because"))
        );
        assert_eq!(error(b"SFATAL\0C28").severity, "FATAL");
    }
}
