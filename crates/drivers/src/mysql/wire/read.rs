//! Values as the protocol writes them, taken from the front of a payload.
use crate::mysql::errors::server_error;
use crate::mysql::values::{push_date_time, push_decimal, push_unsigned};
use crate::server::errors::malformed;
pub use crate::server::read::bytes;
use crate::server::read::{array, ended};
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::{Civil, Value};
use mysql_common::constants::ColumnType;

/// Of an answer: what a prepared statement can say.
const COLUMNS_MAX: u64 = u16::MAX as u64;
/// Of a TIME; servers end at 34.
const DAYS_MAX: u32 = 1_000_000;

#[inline]
pub fn u8(rest: &mut &[u8]) -> Result<u8, OpError> {
    Ok(array::<1>(rest)?[0])
}

#[inline]
pub fn u16(rest: &mut &[u8]) -> Result<u16, OpError> {
    Ok(u16::from_le_bytes(array(rest)?))
}

/// A length-encoded integer; `None`: SQL's NULL in a text row.
#[inline]
pub fn length(rest: &mut &[u8]) -> Result<Option<u64>, OpError> {
    Ok(Some(match u8(rest)? {
        short @ ..=0xFA => short.into(),
        0xFB => return Ok(None),
        0xFC => u16::from_le_bytes(array(rest)?).into(),
        0xFD => {
            let [a, b, c] = array(rest)?;
            u32::from_le_bytes([a, b, c, 0]).into()
        }
        0xFE => u64::from_le_bytes(array(rest)?),
        0xFF => return Err(malformed("a length that begins with 0xFF")),
    }))
}

/// The beginning of a result set.
#[inline]
pub fn column_count(rest: &mut &[u8]) -> Result<usize, OpError> {
    match length(rest)? {
        Some(count @ 1..=COLUMNS_MAX) => Ok(count as usize),
        _ => Err(malformed("a result of no columns, or of more than 65,535")),
    }
}

#[inline]
pub fn text<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, OpError> {
    match length(rest)? {
        None => Ok(None),
        Some(length) => bytes(rest, length as usize).map(Some),
    }
}

/// How a column's values are written in a binary row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tiny,
    Short,
    Long,
    LongLong,
    UnsignedTiny,
    UnsignedShort,
    UnsignedLong,
    UnsignedLongLong,
    Float,
    Double,
    DateTime,
    Time,
    Decimal,
    Text,
    Bytes,
}

/// The number of the character set `binary`: not text.
const BINARY: u16 = 63;

/// What a column's description says of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    pub kind: ColumnType,
    pub unsigned: bool,
    pub character_set: u16,
}

/// A column definition (protocol 4.1), of which the names are passed over.
#[inline]
pub fn described(mut rest: &[u8]) -> Result<Described, OpError> {
    const NAMES: usize = 6; // catalogue, schema, table twice, column twice
    const UNSIGNED_FLAG: u16 = 32;
    let rest = &mut rest;
    for _ in 0..NAMES {
        text(rest)?;
    }
    length(rest)?; // of what follows
    let character_set = u16(rest)?;
    bytes(rest, 4)?; // the column's width
    let kind = u8(rest)?;
    let flags = u16(rest)?;
    Ok(Described {
        kind: ColumnType::try_from(kind).map_err(|_| malformed("a column of an unknown type"))?,
        unsigned: flags & UNSIGNED_FLAG != 0,
        character_set,
    })
}

impl Kind {
    #[inline]
    pub fn of(column: Described) -> Self {
        match (column.kind, column.unsigned) {
            (ColumnType::MYSQL_TYPE_TINY, false) => Kind::Tiny,
            (ColumnType::MYSQL_TYPE_TINY, true) => Kind::UnsignedTiny,
            (ColumnType::MYSQL_TYPE_SHORT, false) => Kind::Short,
            (ColumnType::MYSQL_TYPE_SHORT, true) | (ColumnType::MYSQL_TYPE_YEAR, _) => Kind::UnsignedShort,
            (ColumnType::MYSQL_TYPE_LONG | ColumnType::MYSQL_TYPE_INT24, false) => Kind::Long,
            (ColumnType::MYSQL_TYPE_LONG | ColumnType::MYSQL_TYPE_INT24, true) => Kind::UnsignedLong,
            (ColumnType::MYSQL_TYPE_LONGLONG, false) => Kind::LongLong,
            (ColumnType::MYSQL_TYPE_LONGLONG, true) => Kind::UnsignedLongLong,
            (ColumnType::MYSQL_TYPE_FLOAT, _) => Kind::Float,
            (ColumnType::MYSQL_TYPE_DOUBLE, _) => Kind::Double,
            (
                ColumnType::MYSQL_TYPE_DATE
                | ColumnType::MYSQL_TYPE_DATETIME
                | ColumnType::MYSQL_TYPE_TIMESTAMP
                | ColumnType::MYSQL_TYPE_NEWDATE,
                _,
            ) => Kind::DateTime,
            (ColumnType::MYSQL_TYPE_TIME, _) => Kind::Time,
            (ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL, _) => Kind::Decimal,
            _ if column.character_set == BINARY => Kind::Bytes,
            _ => Kind::Text,
        }
    }
}

/// A row of the binary protocol, without its first byte, into the buffer.
#[inline]
pub fn binary_row(mut rest: &[u8], columns: &[Kind], row: &mut RowBuf) -> Result<(), OpError> {
    row.clear();
    let rest = &mut rest;
    let nulls = bytes(rest, (columns.len() + 9) / 8)?;
    row.reserve(columns.len(), rest.len());
    for (index, kind) in columns.iter().enumerate() {
        // The first two bits of the bitmap mean nothing.
        if nulls[(index + 2) / 8] & (1 << ((index + 2) % 8)) != 0 {
            row.push(Value::Null);
            continue;
        }
        match kind {
            Kind::Text => row.push(Value::Text(text(rest)?.unwrap_or_default())),
            Kind::Bytes => row.push(Value::Bytes(text(rest)?.unwrap_or_default())),
            Kind::Long => row.push(Value::Int(i32::from_le_bytes(array(rest)?).into())),
            Kind::LongLong => row.push(Value::Int(i64::from_le_bytes(array(rest)?))),
            Kind::Tiny => row.push(Value::Int(i8::from_le_bytes(array(rest)?).into())),
            Kind::Short => row.push(Value::Int(i16::from_le_bytes(array(rest)?).into())),
            Kind::UnsignedTiny => row.push(Value::Int(u8(rest)?.into())),
            Kind::UnsignedShort => row.push(Value::Int(u16(rest)?.into())),
            Kind::UnsignedLong => row.push(Value::Int(u32::from_le_bytes(array(rest)?).into())),
            Kind::UnsignedLongLong => push_unsigned(u64::from_le_bytes(array(rest)?), row),
            Kind::Float => row.push(Value::Float(f32::from_le_bytes(array(rest)?).into())),
            Kind::Double => row.push(Value::Float(f64::from_le_bytes(array(rest)?))),
            Kind::Decimal => push_decimal(text(rest)?.unwrap_or_default(), row),
            Kind::DateTime => push_date_time(date_time(rest)?, row),
            Kind::Time => row.push(Value::Text(&written(time(rest)?))),
        }
    }
    ended(rest)
}

/// A row of the text protocol into the buffer.
pub fn text_row(mut rest: &[u8], columns: usize, row: &mut RowBuf) -> Result<(), OpError> {
    row.clear();
    let rest = &mut rest;
    for _ in 0..columns {
        match text(rest)? {
            Some(value) => row.push(Value::Text(value)),
            None => row.push(Value::Null),
        }
    }
    ended(rest)
}

/// As the server would write it.
fn written(date_or_time: mysql_common::value::Value) -> Vec<u8> {
    date_or_time.as_sql(true).trim_matches('\'').as_bytes().to_vec()
}

/// Zero, four, seven or eleven bytes: what is zero at the end is left out.
fn date_time(rest: &mut &[u8]) -> Result<Civil, OpError> {
    let length = u8(rest)?;
    let mut all = [0; 11];
    fill(&mut all, rest, length)?;
    let [y0, y1, month, day, hour, minute, second, m0, m1, m2, m3] = all;
    Ok(Civil {
        year: u16::from_le_bytes([y0, y1]).into(),
        month,
        day,
        hour,
        minute,
        second,
        us: u32::from_le_bytes([m0, m1, m2, m3]),
    })
}

fn time(rest: &mut &[u8]) -> Result<mysql_common::value::Value, OpError> {
    let length = u8(rest)?;
    let mut all = [0; 12];
    fill(&mut all, rest, length)?;
    let [negative, d0, d1, d2, d3, hour, minute, second, m0, m1, m2, m3] = all;
    let (days, micros) = (
        u32::from_le_bytes([d0, d1, d2, d3]),
        u32::from_le_bytes([m0, m1, m2, m3]),
    );
    if days > DAYS_MAX {
        return Err(malformed("a time of more than a million days"));
    }
    Ok(mysql_common::value::Value::Time(
        negative != 0,
        days,
        hour,
        minute,
        second,
        micros,
    ))
}

fn fill(all: &mut [u8], rest: &mut &[u8], length: u8) -> Result<(), OpError> {
    let sent = bytes(rest, length.into())?;
    let room = all
        .get_mut(..sent.len())
        .ok_or_else(|| malformed("a date or time is too long"))?;
    room.copy_from_slice(sent);
    Ok(())
}

/// What an OK packet says, its first byte taken off. Also the end of a result set, with the same content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OkPacket {
    pub affected_rows: u64,
    /// 0: no key was numbered.
    pub insert_id: u64,
    pub status: u16,
    pub warnings: u16,
}

#[inline]
pub fn ok_packet(mut rest: &[u8]) -> Result<OkPacket, OpError> {
    let rest = &mut rest;
    Ok(OkPacket {
        affected_rows: length(rest)?.unwrap_or(0),
        insert_id: length(rest)?.unwrap_or(0),
        status: u16(rest)?,
        warnings: u16(rest)?,
    })
}

/// The same from the older end of a result set: warnings first, and no rows.
pub fn old_end(mut rest: &[u8]) -> Result<OkPacket, OpError> {
    let warnings = u16(&mut rest)?;
    Ok(OkPacket {
        status: u16(&mut rest)?,
        warnings,
        ..OkPacket::default()
    })
}

/// Number and words of an ERR packet, its first byte taken off.
#[cold]
pub fn error(mut rest: &[u8]) -> (u16, String) {
    let number = u16(&mut rest).unwrap_or_default();
    if let Some(state) = rest.strip_prefix(b"#") {
        rest = state.get(5..).unwrap_or_default();
    }
    (number, String::from_utf8_lossy(rest).into_owned())
}

/// An error packet, without its first byte.
#[cold]
pub fn refusal(packet: &[u8]) -> OpError {
    let (number, message) = error(packet);
    server_error(number, &message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use bakeoff_model::value::{Decimal, Timestamp};

    #[test]
    fn lengths_of_every_width_are_read() {
        for (written, expected) in [
            (vec![250], Some(250)),
            (vec![0xFB], None),
            (vec![0xFC, 1, 2], Some(0x201)),
            (vec![0xFD, 1, 2, 3], Some(0x30201)),
            (vec![0xFE, 1, 0, 0, 0, 0, 0, 0, 1], Some(0x100_0000_0000_0001)),
        ] {
            assert_eq!(length(&mut written.as_slice()).unwrap(), expected);
        }
        assert!(length(&mut [0xFC, 1].as_slice()).is_err());
        assert!(length(&mut [0xFF].as_slice()).is_err());
    }

    #[test]
    fn a_binary_row_keeps_values_and_nulls_in_their_places() {
        let columns = [
            Kind::Long,
            Kind::Text,
            Kind::Bytes,
            Kind::UnsignedLongLong,
            Kind::Double,
            Kind::Decimal,
        ];
        let mut payload = vec![1 << 4]; // the third column is null
        payload.extend_from_slice(&(-5i32).to_le_bytes());
        payload.extend_from_slice(b"\x03abc");
        payload.extend_from_slice(&u64::MAX.to_le_bytes());
        payload.extend_from_slice(&0.5f64.to_le_bytes());
        payload.extend_from_slice(b"\x06-12.30");
        let mut row = RowBuf::default();
        binary_row(&payload, &columns, &mut row).unwrap();
        let cells: Vec<_> = row.cells().collect();
        let digits = Value::Text(b"18446744073709551615");
        assert_eq!(
            cells,
            [
                Value::Int(-5),
                Value::Text(b"abc"),
                Value::Null,
                digits,
                Value::Float(0.5),
                Value::Decimal(Decimal {
                    units: -1230,
                    scale: 2
                }),
            ]
        );
        assert!(binary_row(&payload[..8], &columns, &mut row).is_err());
    }

    #[test]
    fn dates_are_moments_and_what_is_none_is_written_as_the_server_writes_it() {
        let mut row = RowBuf::default();
        let payload = [0, 4, 0xEA, 7, 11, 21, 8, 1, 1, 0, 0, 0, 2, 3, 4, 0];
        binary_row(&payload, &[Kind::DateTime, Kind::Time, Kind::DateTime], &mut row).unwrap();
        let midnight = Timestamp {
            us: 1_795_219_200_000_000,
        };
        assert_eq!(row.cell(0), Some(Value::Timestamp(midnight)));
        assert_eq!(row.cell(1), Some(Value::Text(b"-026:03:04")));
        assert_eq!(row.cell(2), Some(Value::Text(b"0000-00-00 00:00:00.000000")));
    }

    #[test]
    fn errors_are_read_with_and_without_a_state() {
        assert_eq!(error(b"\xBD\x04#40001Deadlock"), (1213, "Deadlock".into()));
        assert_eq!(error(b"\x10\x04Too many"), (1040, "Too many".into()));
    }
}
