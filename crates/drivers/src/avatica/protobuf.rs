//! Protocol buffers, as far as these messages use them: written into a request's buffer, and read where they were received.
//!
//! Source: Protocol Buffers documentation, "Encoding".
use crate::server::errors::malformed;
use crate::server::read::{array, bytes};
use bakeoff_model::outcome::OpError;

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const DELIMITED: u64 = 2;
const FIXED_32: u64 = 5;

#[inline]
pub fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7F {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[inline]
pub fn number(out: &mut Vec<u8>, field: u32, number: u64) {
    varint(out, u64::from(field) << 3 | VARINT);
    varint(out, number);
}

/// A number as `sint64` writes it: small ones are short whatever their sign.
#[inline]
pub fn signed(out: &mut Vec<u8>, field: u32, value: i64) {
    number(out, field, (value << 1 ^ value >> 63) as u64);
}

#[inline]
pub fn double(out: &mut Vec<u8>, field: u32, value: f64) {
    varint(out, u64::from(field) << 3 | FIXED_64);
    out.extend_from_slice(&value.to_le_bytes());
}

#[inline]
pub fn text(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    varint(out, u64::from(field) << 3 | DELIMITED);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Of the length of a message that is not written yet: more than a request may have.
const LENGTH_BYTES: usize = 4;

/// Begins a message within another; where it begins.
#[inline]
pub fn open(out: &mut Vec<u8>, field: u32) -> usize {
    varint(out, u64::from(field) << 3 | DELIMITED);
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    out.len()
}

/// Ends it: its length, in as many bytes as were left for it, which a varint may have.
#[inline]
pub fn close(out: &mut [u8], begin: usize) {
    let mut length = out.len() - begin;
    for place in &mut out[begin - LENGTH_BYTES..begin] {
        *place = length as u8 & 0x7F | 0x80;
        length >>= 7;
    }
    out[begin - 1] &= 0x7F;
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    Number(u64),
    /// Of 64 bits, or 32.
    Fixed(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    #[inline]
    pub fn number(self) -> Result<u64, OpError> {
        match self {
            Field::Number(number) | Field::Fixed(number) => Ok(number),
            Field::Bytes(_) => Err(malformed("a text in place of a number")),
        }
    }

    #[inline]
    pub fn signed(self) -> Result<i64, OpError> {
        self.number()
            .map(|number| (number >> 1) as i64 ^ -((number & 1) as i64))
    }

    #[inline]
    pub fn bytes(self) -> Result<&'a [u8], OpError> {
        match self {
            Field::Bytes(bytes) => Ok(bytes),
            _ => Err(malformed("a number in place of a message")),
        }
    }
}

/// Takes the next field of a message; `None`: it is over.
#[inline]
pub fn next<'a>(rest: &mut &'a [u8]) -> Result<Option<(u64, Field<'a>)>, OpError> {
    if rest.is_empty() {
        return Ok(None);
    }
    let tag = take_varint(rest)?;
    let field = match tag & 7 {
        VARINT => Field::Number(take_varint(rest)?),
        FIXED_64 => Field::Fixed(u64::from_le_bytes(array(rest)?)),
        FIXED_32 => Field::Fixed(u32::from_le_bytes(array(rest)?).into()),
        DELIMITED => {
            let length = take_varint(rest)?;
            Field::Bytes(bytes(rest, usize::try_from(length).unwrap_or(usize::MAX))?)
        }
        _ => return Err(malformed("a field of no known type")),
    };
    Ok(Some((tag >> 3, field)))
}

#[inline]
pub fn take_varint(rest: &mut &[u8]) -> Result<u64, OpError> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = array(rest)?;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(malformed("a number without an end"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn fields_come_back_as_they_were_written() {
        let mut message = vec![];
        number(&mut message, 1, 300);
        signed(&mut message, 4, i64::MIN);
        signed(&mut message, 4, -1);
        double(&mut message, 6, 0.5);
        let begin = open(&mut message, 20);
        text(&mut message, 3, &[b'x'; 200]);
        close(&mut message, begin);
        let mut rest = &message[..];
        let mut take = || next(&mut rest).unwrap();
        assert_eq!(take(), Some((1, Field::Number(300))));
        assert_eq!(take().unwrap().1.signed().unwrap(), i64::MIN);
        assert_eq!(take().unwrap().1.signed().unwrap(), -1);
        assert_eq!(take(), Some((6, Field::Fixed(0.5f64.to_bits()))));
        let (field, inner) = take().unwrap();
        assert_eq!(field, 20);
        assert_eq!(take(), None);
        let mut inner = inner.bytes().unwrap();
        assert_eq!(next(&mut inner).unwrap(), Some((3, Field::Bytes(&[b'x'; 200]))));
        for end in 1..message.len() {
            let mut rest = &message[..end];
            while matches!(next(&mut rest), Ok(Some(_))) {}
        }
    }

    #[test]
    fn what_is_no_field_is_refused() {
        for wrong in [
            &[0x0B][..],
            &[0x08],
            &[0x0A, 5, 1],
            &[0x80; 11],
            &[0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1],
        ] {
            assert!(next(&mut { wrong }).is_err(), "{wrong:?}");
        }
    }
}
