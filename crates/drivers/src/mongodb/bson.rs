//! BSON, version 1.1 (bsonspec.org): documents are written into a request in one pass, and read where they arrived.
use crate::server::errors::malformed;
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::value::Value;

const DOUBLE: u8 = 0x01;
const TEXT: u8 = 0x02;
pub const DOCUMENT: u8 = 0x03;
pub const ARRAY: u8 = 0x04;
const BINARY: u8 = 0x05;
const BOOL: u8 = 0x08;
const NULL: u8 = 0x0A;
const INT32: u8 = 0x10;
const INT64: u8 = 0x12;

/// A name with the zero that ends it.
pub type Name<'a> = &'a [u8];

/// Begins a document; `close` gets what this returns.
#[inline]
pub fn open(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

#[inline]
pub fn close(out: &mut Vec<u8>, start: usize) {
    out.push(0);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

#[inline]
fn head(out: &mut Vec<u8>, kind: u8, name: Name<'_>) {
    debug_assert_eq!(name.last(), Some(&0));
    out.push(kind);
    out.extend_from_slice(name);
}

/// Begins a document in a document.
#[inline]
pub fn open_document(out: &mut Vec<u8>, name: Name<'_>) -> usize {
    head(out, DOCUMENT, name);
    open(out)
}

/// Its elements are named `0`, `1`, ... (`number`).
#[inline]
pub fn open_array(out: &mut Vec<u8>, name: Name<'_>) -> usize {
    head(out, ARRAY, name);
    open(out)
}

#[inline]
pub fn text(out: &mut Vec<u8>, name: Name<'_>, text: &[u8]) {
    head(out, TEXT, name);
    bare_text(out, text);
}

/// Its length and the zero that ends it included.
#[inline]
pub fn bare_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
    out.extend_from_slice(text);
    out.push(0);
}

#[inline]
pub fn int32(out: &mut Vec<u8>, name: Name<'_>, value: i32) {
    head(out, INT32, name);
    out.extend_from_slice(&value.to_le_bytes());
}

#[inline]
pub fn int64(out: &mut Vec<u8>, name: Name<'_>, value: i64) {
    head(out, INT64, name);
    out.extend_from_slice(&value.to_le_bytes());
}

#[inline]
pub fn bool(out: &mut Vec<u8>, name: Name<'_>, value: bool) {
    head(out, BOOL, name);
    out.push(value.into());
}

/// subtype: 0 of any bytes, 4 of a UUID.
pub fn binary(out: &mut Vec<u8>, name: Name<'_>, subtype: u8, bytes: &[u8]) {
    head(out, BINARY, name);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.push(subtype);
    out.extend_from_slice(bytes);
}

/// The value of a condition or of a patch. Errors: there are no such values in documents.
#[inline]
pub fn value(out: &mut Vec<u8>, name: Name<'_>, value: Value<'_>) -> Result<(), OpError> {
    match value {
        Value::Text(bytes) | Value::Bytes(bytes) => text(out, name, bytes),
        Value::Int(value) => {
            out.push(0);
            out.extend_from_slice(name);
            let kind = out.len() - name.len() - 1;
            out[kind] = integer(out, value);
        }
        Value::Float(value) => {
            head(out, DOUBLE, name);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Value::Bool(value) => bool(out, name, value),
        Value::Null => head(out, NULL, name),
        Value::Decimal(_) | Value::Timestamp(_) | Value::Uuid(_) => {
            let what = "a document of JSON has no such value";
            return Err(OpError::fail(FailClass::Refused, "CLIENT", what));
        }
    }
    Ok(())
}

/// As the server's own shell does: in 32 bits where they are enough. The type's byte.
#[inline]
pub fn integer(out: &mut Vec<u8>, value: i64) -> u8 {
    match i32::try_from(value) {
        Ok(value) => {
            out.extend_from_slice(&value.to_le_bytes());
            INT32
        }
        Err(_) => {
            out.extend_from_slice(&value.to_le_bytes());
            INT64
        }
    }
}

#[inline]
pub fn double(out: &mut Vec<u8>, value: f64) -> u8 {
    out.extend_from_slice(&value.to_le_bytes());
    DOUBLE
}

#[inline]
pub fn boolean(out: &mut Vec<u8>, value: bool) -> u8 {
    out.push(value.into());
    BOOL
}

pub const NOTHING: u8 = NULL;
pub const A_TEXT: u8 = TEXT;

/// A value as it was received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bson<'a> {
    Double(f64),
    Text(&'a [u8]),
    Document(&'a [u8]),
    Array(&'a [u8]),
    Binary(&'a [u8]),
    Bool(bool),
    Null,
    Int(i64),
    /// What JSON has no form for, by its type.
    Other(u8),
}

impl Bson<'_> {
    pub fn whole_number(self) -> Option<i64> {
        match self {
            Bson::Int(number) => Some(number),
            Bson::Double(number) if number.fract() == 0.0 => Some(number as i64),
            _ => None,
        }
    }

    /// The server says `1`, `1.0` and `true`.
    pub fn is_true(self) -> bool {
        self == Bson::Bool(true) || self.whole_number().is_some_and(|number| number != 0)
    }
}

const SHORT: &str = "a document ends too early";

/// The elements of a document, or of an array, in their order.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

/// `document`: all of it and nothing more.
#[inline]
pub fn elements(document: &[u8]) -> Result<Elements<'_>, OpError> {
    let whole = length(document).is_some_and(|length| length == document.len() && length >= 5);
    match document {
        [_, _, _, _, rest @ .., 0] if whole => Ok(Elements { rest }),
        _ => Err(malformed("a document of another length than it says")),
    }
}

/// What a document says of its own length.
#[inline]
pub fn length(document: &[u8]) -> Option<usize> {
    let length = i32::from_le_bytes(*document.first_chunk()?);
    usize::try_from(length).ok()
}

impl<'a> Elements<'a> {
    /// The next one's name and value; `None` at the end.
    #[inline]
    pub fn next(&mut self) -> Result<Option<(&'a [u8], Bson<'a>)>, OpError> {
        let Some((&kind, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        self.rest = rest;
        let name = self.name()?;
        let value = match kind {
            DOUBLE => Bson::Double(f64::from_le_bytes(self.array()?)),
            TEXT => Bson::Text(self.text()?),
            DOCUMENT => Bson::Document(self.document()?),
            ARRAY => Bson::Array(self.document()?),
            BINARY => {
                let size = self.size()?;
                self.bytes(1)?;
                Bson::Binary(self.bytes(size)?)
            }
            BOOL => match self.array()? {
                [0] => Bson::Bool(false),
                [1] => Bson::Bool(true),
                _ => return Err(malformed("neither true nor false")),
            },
            NULL => Bson::Null,
            INT32 => Bson::Int(i32::from_le_bytes(self.array()?).into()),
            INT64 => Bson::Int(i64::from_le_bytes(self.array()?)),
            other => {
                self.skip(other)?;
                Bson::Other(other)
            }
        };
        Ok(Some((name, value)))
    }

    fn skip(&mut self, kind: u8) -> Result<(), OpError> {
        match kind {
            0x06 | 0x7F | 0xFF => {}             // undefined, the largest and the smallest key
            0x07 => drop(self.bytes(12)?),       // an object's number
            0x09 | 0x11 => drop(self.bytes(8)?), // a moment, and one of the server's own clock
            0x0B => drop((self.name()?, self.name()?)), // a regular expression
            0x0C => drop((self.text()?, self.bytes(12)?)), // a pointer
            0x0D | 0x0E => drop(self.text()?),   // a program, a symbol
            0x0F => drop(self.document_of_any_kind()?), // a program and its variables
            0x13 => drop(self.bytes(16)?),       // a decimal
            _ => return Err(malformed("a value of no known type")),
        }
        Ok(())
    }

    #[inline]
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], OpError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(malformed(SHORT));
        };
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], OpError> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else {
            return Err(malformed(SHORT));
        };
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    fn name(&mut self) -> Result<&'a [u8], OpError> {
        let Some(end) = self.rest.iter().position(|&byte| byte == 0) else {
            return Err(malformed(SHORT));
        };
        let name = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(name)
    }

    #[inline]
    fn size(&mut self) -> Result<usize, OpError> {
        usize::try_from(i32::from_le_bytes(self.array()?)).map_err(|_| malformed("a length below 0"))
    }

    #[inline]
    fn text(&mut self) -> Result<&'a [u8], OpError> {
        let size = self.size()?;
        match self.bytes(size)? {
            [text @ .., 0] => Ok(text),
            _ => Err(malformed("a text that does not end where it says")),
        }
    }

    #[inline]
    fn document(&mut self) -> Result<&'a [u8], OpError> {
        let document = self.document_of_any_kind()?;
        match document {
            [.., 0] if document.len() >= 5 => Ok(document),
            _ => Err(malformed(SHORT)),
        }
    }

    #[inline]
    fn document_of_any_kind(&mut self) -> Result<&'a [u8], OpError> {
        let size = length(self.rest).ok_or_else(|| malformed(SHORT))?;
        self.bytes(size)
    }
}

/// The value at a path, member by member; `None`: there is none.
#[inline]
pub fn at<'a>(document: &'a [u8], path: &[Vec<u8>]) -> Result<Option<Bson<'a>>, OpError> {
    let mut document = document;
    for (place, step) in path.iter().enumerate() {
        let Some(found) = member(document, step)? else {
            return Ok(None);
        };
        match found {
            value if place + 1 == path.len() => return Ok(Some(value)),
            Bson::Document(inner) => document = inner,
            _ => return Ok(None),
        }
    }
    Ok(None)
}

#[inline]
pub fn member<'a>(document: &'a [u8], name: &[u8]) -> Result<Option<Bson<'a>>, OpError> {
    let mut all = elements(document)?;
    while let Some((found, value)) = all.next()? {
        if found == name {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// `{ a: 1, b: { c: "x" }, d: [true, null], e: 1.5, f: 5000000000 }`
    fn example() -> Vec<u8> {
        let mut out = vec![];
        let whole = open(&mut out);
        value(&mut out, b"a\0", Value::Int(1)).unwrap();
        let inner = open_document(&mut out, b"b\0");
        text(&mut out, b"c\0", b"x");
        close(&mut out, inner);
        let inner = open_array(&mut out, b"d\0");
        bool(&mut out, b"0\0", true);
        value(&mut out, b"1\0", Value::Null).unwrap();
        close(&mut out, inner);
        value(&mut out, b"e\0", Value::Float(1.5)).unwrap();
        value(&mut out, b"f\0", Value::Int(5_000_000_000)).unwrap();
        close(&mut out, whole);
        out
    }

    /// Worked out by hand from the specification's grammar, and from its example `{"hello": "world"}`.
    #[test]
    fn documents_are_those_of_the_specification() {
        let mut out = vec![];
        let whole = open(&mut out);
        text(&mut out, b"hello\0", b"world");
        close(&mut out, whole);
        assert_eq!(out, b"\x16\0\0\0\x02hello\0\x06\0\0\0world\0\0");
        assert_eq!(
            example(),
            [
                &b"\x42\0\0\0\x10a\0\x01\0\0\0\x03b\0\x0e\0\0\0\x02c\0\x02\0\0\0x\0\0"[..],
                b"\x04d\0\x0c\0\0\0\x080\0\x01\x0a1\0\0",
                b"\x01e\0\0\0\0\0\0\0\xf8\x3f\x12f\0\0\xf2\x05\x2a\x01\0\0\0\0"
            ]
            .concat()
        );
    }

    #[test]
    fn what_was_written_is_found_by_its_path() {
        let document = example();
        let path = |steps: &[&str]| {
            let steps: Vec<_> = steps.iter().map(|step| step.as_bytes().to_vec()).collect();
            at(&document, &steps).unwrap()
        };
        assert_eq!(path(&["a"]), Some(Bson::Int(1)));
        assert_eq!(path(&["b", "c"]), Some(Bson::Text(b"x")));
        assert_eq!(path(&["e"]), Some(Bson::Double(1.5)));
        assert_eq!(path(&["f"]), Some(Bson::Int(5_000_000_000)));
        assert_eq!(path(&["a", "c"]), None);
        assert_eq!(path(&["b", "d"]), None);
        assert_eq!(path(&["g"]), None);
    }

    /// Every type that the specification names, of which most are no JSON.
    #[test]
    fn values_of_other_types_are_passed_over() {
        for value in [
            &b"\x05x\0\x02\0\0\0\x00ab"[..],
            b"\x06x\0",
            b"\x07x\0abcdefghijkl",
            b"\x09x\0abcdefgh",
            b"\x0bx\0a\0i\0",
            b"\x0cx\0\x02\0\0\0a\0abcdefghijkl",
            b"\x0dx\0\x02\0\0\0a\0",
            b"\x0ex\0\x02\0\0\0a\0",
            b"\x0fx\0\x0f\0\0\0\x02\0\0\0a\0\x05\0\0\0\0",
            b"\x11x\0abcdefgh",
            b"\x13x\0abcdefghijklmnop",
            b"\xffx\0",
            b"\x7fx\0",
        ] {
            let mut out = vec![];
            let whole = open(&mut out);
            out.extend_from_slice(value);
            int32(&mut out, b"after\0", 7);
            close(&mut out, whole);
            assert_eq!(member(&out, b"after").unwrap(), Some(Bson::Int(7)), "{value:?}");
        }
    }

    #[test]
    fn what_is_no_document_is_refused_wherever_it_ends() {
        let document = example();
        for end in 0..document.len() {
            assert!(elements(&document[..end]).is_err(), "{end}");
        }
        for bad in [
            &b"\x09\0\0\0\x08a\0\x02\0"[..],        // neither true nor false
            b"\x0c\0\0\0\x02a\0\xff\xff\xff\xff\0", // a text of length -1
            b"\x0d\0\0\0\x02a\0\x01\0\0\0b\0",      // a text without its end
            b"\x0c\0\0\0\x03a\0\xff\xff\xff\x7f\0", // a document of 2 GiB
            b"\x08\0\0\0\x20a\0\0",                 // no known type
            b"\x07\0\0\0\x10a\0",                   // a name without an end
        ] {
            let mut all = elements(bad).unwrap();
            assert!(all.next().is_err(), "{bad:?}");
        }
    }
}
