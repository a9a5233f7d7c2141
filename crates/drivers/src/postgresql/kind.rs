//! Types of the server as parameters and columns have them: which values are written and read in binary, and how.
use super::numeric;
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::{Decimal, Timestamp, Value};
use bytes::BufMut;
use std::io::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Bytea,
    Numeric,
    Timestamp,
    Date,
    Uuid,
    /// Its binary form is its text.
    Text,
    /// Whatever else there is: written and read as the server writes it.
    Other,
}

impl Kind {
    /// By the number in `pg_type`.
    pub fn of(oid: u32) -> Self {
        match oid {
            16 => Kind::Bool,
            17 => Kind::Bytea,
            20 => Kind::Int8,
            21 => Kind::Int2,
            23 => Kind::Int4,
            // "char" is a byte; name, text, unknown, char(n), varchar.
            18 | 19 | 25 | 705 | 1042 | 1043 => Kind::Text,
            700 => Kind::Float4,
            701 => Kind::Float8,
            1082 => Kind::Date,
            // Without and with a time zone: the latter is UTC as it is stored.
            1114 | 1184 => Kind::Timestamp,
            1700 => Kind::Numeric,
            2950 => Kind::Uuid,
            _ => Kind::Other,
        }
    }

    /// Of its values in a row: 1 is binary.
    pub fn result_format(self) -> u16 {
        u16::from(self != Kind::Other)
    }

    /// A value of a row into the buffer; false: it has not the length of its kind.
    #[inline]
    pub fn push(self, value: &[u8], row: &mut RowBuf) -> bool {
        match self {
            Kind::Text | Kind::Other => row.push(Value::Text(value)),
            Kind::Bytea => row.push(Value::Bytes(value)),
            Kind::Numeric => match numeric::decimal(value) {
                Some(decimal) => row.push(Value::Decimal(decimal)),
                None => return push_long(value, row),
            },
            Kind::Timestamp => match value.try_into() {
                Ok(bytes) => push_moment(i64::from_be_bytes(bytes), row),
                Err(_) => return false,
            },
            Kind::Date => match value.try_into() {
                Ok(bytes) => push_moment(i64::from(i32::from_be_bytes(bytes)).saturating_mul(DAY_US), row),
                Err(_) => return false,
            },
            Kind::Uuid => match value.try_into() {
                Ok(bytes) => row.push(Value::Uuid(bytes)),
                Err(_) => return false,
            },
            Kind::Int4 => match value.try_into() {
                Ok(bytes) => row.push(Value::Int(i32::from_be_bytes(bytes).into())),
                Err(_) => return false,
            },
            Kind::Int8 => match value.try_into() {
                Ok(bytes) => row.push(Value::Int(i64::from_be_bytes(bytes))),
                Err(_) => return false,
            },
            Kind::Int2 => match value.try_into() {
                Ok(bytes) => row.push(Value::Int(i16::from_be_bytes(bytes).into())),
                Err(_) => return false,
            },
            Kind::Float8 => match value.try_into() {
                Ok(bytes) => row.push(Value::Float(f64::from_be_bytes(bytes))),
                Err(_) => return false,
            },
            Kind::Float4 => match value.try_into() {
                Ok(bytes) => row.push(Value::Float(f32::from_be_bytes(bytes).into())),
                Err(_) => return false,
            },
            Kind::Bool => match value {
                [byte] => row.push(Value::Bool(*byte != 0)),
                _ => return false,
            },
        }
        true
    }

    /// Writes a value that is not null as a parameter of this kind. True: in binary; false: as text, which the server
    /// reads, and may refuse (a number that is too large, for instance).
    #[inline]
    pub fn write(self, param: &Value<'_>, out: &mut impl BufMut) -> bool {
        match (*param, self) {
            (Value::Null, _) => return false,
            (Value::Text(value) | Value::Bytes(value), _) => {
                out.put_slice(value);
                return self == Kind::Bytea;
            }
            (Value::Int(value), Kind::Int8) => out.put_i64(value),
            (Value::Int(value), Kind::Int4) => match i32::try_from(value) {
                Ok(value) => out.put_i32(value),
                Err(_) => return as_text(format_args!("{value}"), out),
            },
            (Value::Int(value), Kind::Int2) => match i16::try_from(value) {
                Ok(value) => out.put_i16(value),
                Err(_) => return as_text(format_args!("{value}"), out),
            },
            (Value::Decimal(value), Kind::Numeric) => numeric::write(value, out),
            (Value::Int(units), Kind::Numeric) => numeric::write(Decimal { units, scale: 0 }, out),
            (Value::Int(value), Kind::Float8) => out.put_f64(value as f64),
            (Value::Float(value), Kind::Float8) => out.put_f64(value),
            (Value::Float(value), Kind::Float4) => out.put_f32(value as f32),
            (Value::Bool(value), Kind::Bool) => out.put_u8(value.into()),
            (Value::Timestamp(value), Kind::Timestamp) => out.put_i64(value.us - EPOCH_US),
            (Value::Uuid(value), Kind::Uuid) => out.put_slice(&value),
            // With an exponent, else 1e300 has three hundred digits.
            (Value::Float(value), _) => return as_text(format_args!("{value:e}"), out),
            (other, _) => return as_text(format_args!("{other}"), out),
        }
        true
    }
}

/// The server's moments count from 2000-01-01.
const EPOCH_US: i64 = 946_684_800_000_000;
const DAY_US: i64 = 86_400_000_000;

/// `us` after that. The ends of its range are no moments, but before and after all others.
fn push_moment(us: i64, row: &mut RowBuf) {
    row.push(match us.checked_add(EPOCH_US) {
        Some(us) if us != i64::MIN + EPOCH_US => Value::Timestamp(Timestamp { us }),
        Some(_) => Value::Text(b"-infinity"),
        None => Value::Text(b"infinity"),
    });
}

/// A number that a decimal does not hold, in its digits; false: it is none.
#[cold]
fn push_long(value: &[u8], row: &mut RowBuf) -> bool {
    let text = numeric::text(value);
    if let Some(text) = &text {
        row.push(Value::Text(text.as_bytes()));
    }
    text.is_some()
}

#[cold]
fn as_text(value: std::fmt::Arguments<'_>, out: &mut impl BufMut) -> bool {
    // Memory does not fail to be written to.
    let _ = out.writer().write_fmt(value);
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Value<'_> = Value::Decimal(Decimal {
        units: -1230,
        scale: 2,
    });
    const LEAP_DAY: Value<'_> = Value::Timestamp(Timestamp {
        us: 951_782_400_000_001,
    });

    fn written(kind: Kind, param: Value<'_>) -> (bool, Vec<u8>) {
        let mut out = Vec::new();
        (kind.write(&param, &mut out), out)
    }

    #[test]
    fn what_is_written_in_binary_is_read_back() {
        for (kind, param, cell) in [
            (Kind::Int2, Value::Int(-2), Value::Int(-2)),
            (
                Kind::Int4,
                Value::Int(i32::MIN.into()),
                Value::Int(i32::MIN.into()),
            ),
            (Kind::Int8, Value::Int(i64::MIN), Value::Int(i64::MIN)),
            (Kind::Float8, Value::Float(0.1), Value::Float(0.1)),
            (Kind::Float8, Value::Int(3), Value::Float(3.0)),
            (Kind::Float4, Value::Float(0.5), Value::Float(0.5)),
            (Kind::Bytea, Value::Bytes(b"\0\xff"), Value::Bytes(b"\0\xff")),
            (Kind::Bool, Value::Bool(true), Value::Bool(true)),
            (Kind::Timestamp, LEAP_DAY, LEAP_DAY),
            (Kind::Uuid, Value::Uuid([7; 16]), Value::Uuid([7; 16])),
            (Kind::Numeric, PRICE, PRICE),
        ] {
            let (binary, out) = written(kind, param);
            let mut row = RowBuf::default();
            assert!(binary && kind.push(&out, &mut row), "{kind:?}");
            assert_eq!(row.cell(0), Some(cell), "{kind:?}");
            assert!(
                matches!(kind, Kind::Bytea) || !kind.push(&out[1..], &mut row),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn dates_decimals_and_infinities_have_a_meaning() {
        let read = |kind: Kind, value: &[u8]| {
            let mut row = RowBuf::default();
            assert!(kind.push(value, &mut row));
            row.cell(0).map(|cell| cell.to_string()).unwrap_or_default()
        };
        assert_eq!(
            read(Kind::Date, &59i32.to_be_bytes()),
            "2000-02-29 00:00:00.000000"
        );
        assert_eq!(read(Kind::Date, &i32::MAX.to_be_bytes()), "infinity");
        assert_eq!(read(Kind::Timestamp, &i64::MIN.to_be_bytes()), "-infinity");
        assert_eq!(read(Kind::Numeric, &[0, 0, 0, 0, 0xC0, 0, 0, 0]), "NaN");
    }

    #[test]
    fn what_does_not_fit_goes_as_text_for_the_server_to_refuse() {
        for (kind, param, text) in [
            (Kind::Int4, Value::Int(1 << 31), "2147483648"),
            (Kind::Int2, Value::Int(-40_000), "-40000"),
            (Kind::Other, Value::Int(7), "7"),
            (Kind::Other, PRICE, "-12.30"),
            (Kind::Numeric, Value::Float(0.5), "5e-1"),
            (Kind::Date, LEAP_DAY, "2000-02-29 00:00:00.000001"),
            (Kind::Text, Value::Int(7), "7"),
            (Kind::Other, Value::Float(1e300), "1e300"),
            (Kind::Int4, Value::Text(b"12"), "12"),
            (Kind::Text, Value::Text(b"abc"), "abc"),
        ] {
            assert_eq!(
                written(kind, param),
                (false, text.as_bytes().to_vec()),
                "{kind:?}"
            );
        }
    }
}
