//! Values as a `TypedValue` has them: its type says which of its other fields holds the value.
//!
//! Source: Calcite Avatica, common.proto (`Rep`, `TypedValue`), and TypedValue.java for what each type holds.
use super::protobuf::{double, next, number, signed, text, varint};
use crate::server::errors::malformed;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::{Decimal, Timestamp, Value};

/// Numbers of `Rep`.
mod rep {
    pub const PRIMITIVE_BOOLEAN: u64 = 0;
    pub const PRIMITIVE_FLOAT: u64 = 6;
    pub const PRIMITIVE_DOUBLE: u64 = 7;
    pub const BOOLEAN: u64 = 8;
    pub const FLOAT: u64 = 14;
    pub const DOUBLE: u64 = 15;
    pub const LONG: u64 = 13;
    pub const TIME: u64 = 16;
    pub const TIMESTAMP: u64 = 17;
    pub const DATE: u64 = 18;
    pub const UTIL_DATE: u64 = 19;
    pub const BYTE_STRING: u64 = 20;
    pub const STRING: u64 = 21;
    pub const NULL: u64 = 24;
    pub const BIG_INTEGER: u64 = 25;
    pub const BIG_DECIMAL: u64 = 26;
    pub const CHARACTERS: [u64; 3] = [2, 10, STRING];
    pub const INTEGERS: [u64; 9] = [1, 3, 4, 5, 9, 11, 12, LONG, 22];
}

const TYPE: u32 = 1;
const BOOL_VALUE: u32 = 2;
const STRING_VALUE: u32 = 3;
const NUMBER_VALUE: u32 = 4;
const BYTES_VALUE: u32 = 5;
const DOUBLE_VALUE: u32 = 6;
const IS_NULL: u32 = 7;

const DAY_MS: i64 = 86_400_000;
/// Characters of the longest decimal, and of a moment.
const TEXT_BYTES_MAX: usize = 280;

/// Writes one as this field of a message.
#[inline]
pub fn write(out: &mut Vec<u8>, field: u32, value: Value<'_>) {
    varint(out, u64::from(field) << 3 | 2);
    // All but texts and bytes are short, and so is their length.
    let begin = out.len();
    match value {
        Value::Text(bytes) => return write_bytes(out, rep::STRING, STRING_VALUE, bytes),
        Value::Bytes(bytes) => return write_bytes(out, rep::BYTE_STRING, BYTES_VALUE, bytes),
        _ => out.extend_from_slice(&[0, 0]),
    }
    match value {
        Value::Null | Value::Text(_) | Value::Bytes(_) => {
            number(out, TYPE, rep::NULL);
            number(out, IS_NULL, 1);
        }
        Value::Bool(value) => {
            number(out, TYPE, rep::BOOLEAN);
            number(out, BOOL_VALUE, value.into());
        }
        Value::Int(value) => {
            number(out, TYPE, rep::LONG);
            signed(out, NUMBER_VALUE, value);
        }
        Value::Float(value) => {
            number(out, TYPE, rep::DOUBLE);
            double(out, DOUBLE_VALUE, value);
        }
        Value::Decimal(value) => written(out, rep::BIG_DECIMAL, &value),
        // As text, or its microseconds would be lost: the type of moments has milliseconds.
        Value::Timestamp(value) => written(out, rep::STRING, &value),
        Value::Uuid(_) => written(out, rep::STRING, &value),
    }
    let length = out.len() - begin - 2;
    out[begin] = length as u8 & 0x7F | 0x80;
    out[begin + 1] = (length >> 7) as u8;
}

#[inline]
fn write_bytes(out: &mut Vec<u8>, rep: u64, field: u32, bytes: &[u8]) {
    let length = varint_bytes(bytes.len());
    varint(out, (2 + 1 + length + bytes.len()) as u64);
    number(out, TYPE, rep);
    text(out, field, bytes);
}

#[inline]
fn varint_bytes(number: usize) -> usize {
    match number {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        _ => (64 - number.leading_zeros() as usize).div_ceil(7),
    }
}

/// Formats without taking memory.
fn written(out: &mut Vec<u8>, rep: u64, value: &dyn std::fmt::Display) {
    let mut buffer = [0; TEXT_BYTES_MAX];
    let mut rest = &mut buffer[..];
    // A value that is longer does not exist: a decimal has at most 255 places.
    let _ = std::io::Write::write_fmt(&mut rest, format_args!("{value}"));
    let left = rest.len();
    number(out, TYPE, rep);
    text(out, STRING_VALUE, &buffer[..TEXT_BYTES_MAX - left]);
}

/// What a column holds, where a value does not say it: the server sends dates and times as plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Days.
    Date,
    /// Milliseconds, as the next.
    Time,
    Moment,
    Other,
}

impl Column {
    /// By its number in java.sql.Types.
    pub fn of(kind: u64) -> Self {
        match kind {
            91 => Self::Date,
            92 => Self::Time,
            93 => Self::Moment,
            _ => Self::Other,
        }
    }
}

/// Appends one to a row.
#[inline]
pub fn read(mut message: &[u8], column: Column, row: &mut RowBuf) -> Result<(), OpError> {
    let (mut rep, mut whole, mut float, mut is_null) = (rep::PRIMITIVE_BOOLEAN, 0, 0.0, false);
    let (mut string, mut bytes, mut flag) = (&b""[..], &b""[..], false);
    while let Some((field, value)) = next(&mut message)? {
        match field as u32 {
            TYPE => rep = value.number()?,
            BOOL_VALUE => flag = value.number()? != 0,
            STRING_VALUE => string = value.bytes()?,
            NUMBER_VALUE => whole = value.signed()?,
            BYTES_VALUE => bytes = value.bytes()?,
            DOUBLE_VALUE => float = f64::from_bits(value.number()?),
            IS_NULL => is_null = value.number()? != 0,
            _ => {}
        }
    }
    row.push(match rep {
        _ if is_null => Value::Null,
        rep::NULL => Value::Null,
        rep::PRIMITIVE_BOOLEAN | rep::BOOLEAN => Value::Bool(flag),
        rep if rep::INTEGERS.contains(&rep) => match column {
            Column::Other => Value::Int(whole),
            Column::Moment => moment(Some(whole))?,
            Column::Date => moment(whole.checked_mul(DAY_MS))?,
            Column::Time => return time_of_day(whole, row),
        },
        rep if rep::CHARACTERS.contains(&rep) => Value::Text(string),
        rep::BYTE_STRING => Value::Bytes(bytes),
        rep::DOUBLE | rep::PRIMITIVE_DOUBLE => Value::Float(float),
        rep::FLOAT | rep::PRIMITIVE_FLOAT => Value::Float(f32::from_bits(whole as u32).into()),
        rep::BIG_DECIMAL => Decimal::parse(string).map_or(Value::Text(string), Value::Decimal),
        rep::TIMESTAMP | rep::UTIL_DATE => moment(Some(whole))?,
        rep::DATE => moment(whole.checked_mul(DAY_MS))?,
        rep::TIME => return time_of_day(whole, row),
        rep::BIG_INTEGER => return big_integer(bytes, row),
        _ => return Err(malformed("a value of no known type")),
    });
    Ok(())
}

fn moment<'a>(ms: Option<i64>) -> Result<Value<'a>, OpError> {
    let us = ms.and_then(|ms| ms.checked_mul(1000));
    let us = us.ok_or_else(|| malformed("a moment that is none"))?;
    Ok(Value::Timestamp(Timestamp { us }))
}

/// `08:01:00`, with milliseconds if there are any.
#[cold]
fn time_of_day(ms: i64, row: &mut RowBuf) -> Result<(), OpError> {
    let (s, ms) = (ms.div_euclid(1000), ms.rem_euclid(1000));
    let mut text = format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
    if ms > 0 {
        text += &format!(".{ms:03}");
    }
    row.push(Value::Text(text.as_bytes()));
    Ok(())
}

/// Two's complement, the highest byte first.
#[cold]
fn big_integer(bytes: &[u8], row: &mut RowBuf) -> Result<(), OpError> {
    if bytes.is_empty() || bytes.len() > 16 {
        return Err(malformed("a number of more than 128 bits"));
    }
    let first = if bytes[0] >= 0x80 { -1i128 } else { 0 };
    let number = bytes
        .iter()
        .fold(first, |number, byte| number << 8 | i128::from(*byte));
    match i64::try_from(number) {
        Ok(number) => row.push(Value::Int(number)),
        Err(_) => row.push(Value::Text(number.to_string().as_bytes())),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::protobuf::Field;
    use super::*;

    fn read_back(value: Value<'_>) -> RowBuf {
        let (mut message, mut row) = (vec![], RowBuf::default());
        write(&mut message, 2, value);
        let mut rest = &message[..];
        let Some((2, Field::Bytes(typed))) = next(&mut rest).unwrap() else {
            panic!("{message:?}");
        };
        assert!(rest.is_empty());
        read(typed, Column::Other, &mut row).unwrap();
        row
    }

    #[test]
    fn values_come_back_as_they_were_written() {
        let long = vec![b'x'; 70_000];
        for value in [
            Value::Null,
            Value::Bool(true),
            Value::Bool(false),
            Value::Int(0),
            Value::Int(i64::MIN),
            Value::Float(-0.25),
            Value::Decimal(Decimal {
                units: -1230,
                scale: 2,
            }),
            Value::Decimal(Decimal { units: 3, scale: 255 }),
            Value::Text(b""),
            Value::Text(&long),
            Value::Text(&long[..130]),
            Value::Bytes(b"\xff\0"),
        ] {
            let row = read_back(value);
            let read = row.cell(0).unwrap();
            match value {
                Value::Decimal(Decimal { scale: 255, .. }) => assert_eq!(read.to_string(), value.to_string()),
                _ => assert_eq!(read, value),
            }
        }
        let moment = Value::Timestamp(Timestamp {
            us: 1_795_248_062_000_003,
        });
        assert_eq!(
            read_back(moment).cell(0),
            Some(Value::Text(b"2026-11-21 08:01:02.000003"))
        );
        for number in [0, 0x7F, 0x80, 0x3FFF, 0x4000, 0x1F_FFFF, 0x20_0000, usize::MAX] {
            let mut out = vec![];
            varint(&mut out, number as u64);
            assert_eq!(varint_bytes(number), out.len(), "{number}");
        }
    }

    #[test]
    fn what_a_server_alone_says_is_read() {
        let said_of = |column: Column, kind: u64, write: &dyn Fn(&mut Vec<u8>)| {
            let (mut message, mut row) = (vec![], RowBuf::default());
            number(&mut message, TYPE, kind);
            write(&mut message);
            read(&message, column, &mut row).map(|()| row.cell(0).unwrap().to_string())
        };
        let said = |kind: u64, write: &dyn Fn(&mut Vec<u8>)| said_of(Column::Other, kind, write);
        let whole = |value: i64| move |out: &mut Vec<u8>| signed(out, NUMBER_VALUE, value);
        assert_eq!(
            said(rep::TIMESTAMP, &whole(1)).unwrap(),
            "1970-01-01 00:00:00.001000"
        );
        assert_eq!(said(rep::DATE, &whole(-1)).unwrap(), "1969-12-31 00:00:00.000000");
        assert_eq!(said(rep::TIME, &whole(3_661_000)).unwrap(), "01:01:01");
        assert_eq!(said(rep::TIME, &whole(1)).unwrap(), "00:00:00.001");
        assert_eq!(said(rep::FLOAT, &whole(0.5f32.to_bits().into())).unwrap(), "0.5");
        let big = |bytes: &'static [u8]| move |out: &mut Vec<u8>| text(out, BYTES_VALUE, bytes);
        assert_eq!(said(rep::BIG_INTEGER, &big(&[0xFF])).unwrap(), "-1");
        assert_eq!(
            said(rep::BIG_INTEGER, &big(&[1, 0, 0, 0, 0, 0, 0, 0, 0])).unwrap(),
            "18446744073709551616"
        );
        for (kind, value) in [
            (rep::TIMESTAMP, i64::MAX),
            (rep::DATE, i64::MAX),
            (27, 0),
            (99, 0),
        ] {
            assert!(said(kind, &whole(value)).is_err(), "{kind}");
        }
        assert!(said(rep::BIG_INTEGER, &big(&[1; 17])).is_err());
    }
}
