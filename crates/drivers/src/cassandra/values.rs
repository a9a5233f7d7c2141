//! Parameters and cells in the form that the protocol gives each type (CQL binary protocol v4, section 6 "Data Type
//! Serialization Formats").
use crate::server::errors::malformed;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::{self, Value};
use scylla::frame::response::result::{ColumnType, NativeType};
use scylla::serialize::SerializationError;
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::writers::RowWriter;
use smallvec::SmallVec;
use std::fmt;

const DAY_US: i64 = 86_400_000_000;
/// The number of 1970-01-01.
const DAY_ZERO: i64 = 1 << 31;

/// Of a value that is not text: numbers and UUIDs have room.
type Bytes = SmallVec<[u8; 16]>;

/// The parameters of one statement, as many as it has.
pub struct Given<'a>(pub &'a [Value<'a>]);

impl SerializeRow for Given<'_> {
    #[inline]
    fn serialize(
        &self,
        context: &RowSerializationContext<'_>,
        writer: &mut RowWriter<'_>,
    ) -> Result<(), SerializationError> {
        let columns = context.columns();
        if columns.len() != self.0.len() {
            return Err(unfit(format!(
                "{} values wanted, {} given",
                columns.len(),
                self.0.len()
            )));
        }
        for (value, column) in self.0.iter().zip(columns) {
            let cell = writer.make_cell_writer();
            let done = match (value, column.typ()) {
                (Value::Null, _) => Ok(cell.set_null()),
                (Value::Text(text), ColumnType::Native(NativeType::Text)) => cell.set_value(text),
                // As they are read: whoever gives it knows the form.
                (Value::Bytes(bytes), ColumnType::Collection { .. }) => cell.set_value(bytes),
                (value, kind) => {
                    let mut bytes = Bytes::default();
                    if !write(value, kind, &mut bytes) {
                        return Err(unfit(format!(
                            "{value} does not fit the column {} of type {kind:?}",
                            column.name()
                        )));
                    }
                    cell.set_value(&bytes)
                }
            };
            done.map_err(SerializationError::new)?;
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[derive(Debug)]
struct Unfit(String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Unfit {}

#[cold]
fn unfit(what: String) -> SerializationError {
    SerializationError::new(Unfit(what))
}

/// False: the value would be stored other than it is, or not at all.
fn write(value: &Value<'_>, kind: &ColumnType<'_>, out: &mut Bytes) -> bool {
    let ColumnType::Native(kind) = kind else {
        return false;
    };
    write_native(value, kind, out).is_some()
}

fn write_native(value: &Value<'_>, kind: &NativeType, out: &mut Bytes) -> Option<()> {
    use NativeType::*;
    match (*value, kind) {
        (Value::Bool(value), Boolean) => out.push(value.into()),
        (Value::Int(value), BigInt | Counter) => out.extend_from_slice(&value.to_be_bytes()),
        (Value::Int(value), Int) => out.extend_from_slice(&i32::try_from(value).ok()?.to_be_bytes()),
        (Value::Int(value), SmallInt) => out.extend_from_slice(&i16::try_from(value).ok()?.to_be_bytes()),
        (Value::Int(value), TinyInt) => out.extend_from_slice(&i8::try_from(value).ok()?.to_be_bytes()),
        (Value::Int(value), Varint) => out.extend_from_slice(shortest(&value.to_be_bytes())),
        (Value::Int(units), Decimal) => decimal(units, 0, out),
        (Value::Int(value), Double) => out.extend_from_slice(&(value as f64).to_be_bytes()),
        (Value::Float(value), Double) => out.extend_from_slice(&value.to_be_bytes()),
        (Value::Float(value), Float) => out.extend_from_slice(&(value as f32).to_be_bytes()),
        (Value::Decimal(value), Decimal) => decimal(value.units, value.scale, out),
        (Value::Text(text), Decimal) => {
            let value = value::Decimal::parse(text)?;
            decimal(value.units, value.scale, out);
        }
        (Value::Text(bytes) | Value::Bytes(bytes), Text | Ascii | Blob) => out.extend_from_slice(bytes),
        (Value::Uuid(bytes), Uuid | Timeuuid | Blob) => out.extend_from_slice(&bytes),
        (Value::Timestamp(moment), Timestamp) if moment.us % 1000 == 0 => {
            out.extend_from_slice(&(moment.us / 1000).to_be_bytes());
        }
        (Value::Timestamp(moment), Date) if moment.us % DAY_US == 0 => {
            let day = u32::try_from(moment.us / DAY_US + DAY_ZERO).ok()?;
            out.extend_from_slice(&day.to_be_bytes());
        }
        _ => return None,
    }
    Some(())
}

fn decimal(units: i64, scale: u8, out: &mut Bytes) {
    out.extend_from_slice(&i32::from(scale).to_be_bytes());
    out.extend_from_slice(shortest(&units.to_be_bytes()));
}

/// A number of any length without the bytes in front that only repeat its sign.
fn shortest(bytes: &[u8; 8]) -> &[u8] {
    let repeats = |pair: &&[u8]| {
        let negative = pair[1] & 0x80 != 0;
        pair[0] == if negative { 0xff } else { 0 }
    };
    let more = bytes.windows(2).take_while(repeats).count();
    &bytes[more..]
}

/// `None`: it has more than 64 bits.
fn number(bytes: &[u8]) -> Option<i64> {
    let negative = bytes.first()? & 0x80 != 0;
    let mut whole = [if negative { 0xff } else { 0 }; 8];
    let start = 8usize.checked_sub(bytes.len())?;
    whole[start..].copy_from_slice(bytes);
    Some(i64::from_be_bytes(whole))
}

/// Adds a cell to the row. What no value can hold (a collection, a number of more than 64 bits) comes as its bytes.
#[inline]
pub fn read(kind: &ColumnType<'_>, cell: Option<&[u8]>, row: &mut RowBuf) -> Result<(), OpError> {
    let Some(bytes) = cell else {
        row.push(Value::Null);
        return Ok(());
    };
    if let ColumnType::Native(NativeType::Text | NativeType::Ascii) = kind {
        row.push(Value::Text(bytes));
        return Ok(());
    }
    let value = match kind {
        ColumnType::Native(kind) => read_native(kind, bytes).ok_or_else(|| cut_off(kind))?,
        _ => Value::Bytes(bytes),
    };
    row.push(value);
    Ok(())
}

/// `None`: the bytes are not of this type.
fn read_native<'a>(kind: &NativeType, bytes: &'a [u8]) -> Option<Value<'a>> {
    use NativeType::*;
    Some(match kind {
        Boolean => Value::Bool(*bytes.first()? != 0),
        TinyInt | SmallInt | Int | BigInt | Counter => Value::Int(number(bytes)?),
        Varint => number(bytes).map_or(Value::Bytes(bytes), Value::Int),
        Double => Value::Float(f64::from_be_bytes(bytes.try_into().ok()?)),
        Float => Value::Float(f32::from_be_bytes(bytes.try_into().ok()?).into()),
        Decimal => {
            let (scale, units) = bytes.split_first_chunk::<4>()?;
            let scale = u8::try_from(i32::from_be_bytes(*scale)).ok();
            match (number(units), scale) {
                (Some(units), Some(scale)) => Value::Decimal(value::Decimal { units, scale }),
                _ => Value::Bytes(bytes),
            }
        }
        Timestamp => Value::Timestamp(value::Timestamp {
            us: i64::from_be_bytes(bytes.try_into().ok()?).checked_mul(1000)?,
        }),
        Date => Value::Timestamp(value::Timestamp {
            us: (i64::from(u32::from_be_bytes(bytes.try_into().ok()?)) - DAY_ZERO).checked_mul(DAY_US)?,
        }),
        Uuid | Timeuuid => Value::Uuid(bytes.try_into().ok()?),
        _ => Value::Bytes(bytes),
    })
}

#[cold]
fn cut_off(kind: &NativeType) -> OpError {
    malformed(&format!("a cell is no {kind:?}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use NativeType::*;

    fn back(value: Value<'_>, kind: NativeType) -> Option<Vec<u8>> {
        let mut bytes = Bytes::new();
        let kind = ColumnType::Native(kind);
        write(&value, &kind, &mut bytes).then_some(())?;
        let mut row = RowBuf::default();
        read(&kind, Some(&bytes), &mut row).unwrap();
        assert_eq!(row.cell(0), Some(value), "{kind:?}");
        Some(bytes.to_vec())
    }

    #[test]
    fn what_is_written_is_read_back_as_it_was() {
        for number in [0, 1, -1, 127, 128, -128, -129, 1 << 40, i64::MIN, i64::MAX] {
            back(Value::Int(number), BigInt).unwrap();
            back(Value::Int(number), Varint).unwrap();
            let decimal = value::Decimal {
                units: number,
                scale: 2,
            };
            back(Value::Decimal(decimal), Decimal).unwrap();
        }
        back(Value::Int(-5), TinyInt).unwrap();
        back(Value::Int(-300), SmallInt).unwrap();
        back(Value::Int(-70_000), Int).unwrap();
        back(Value::Bool(true), Boolean).unwrap();
        back(Value::Float(-0.5), Double).unwrap();
        back(Value::Float(0.5), Float).unwrap();
        back(Value::Text("Grün".as_bytes()), Text).unwrap();
        back(Value::Bytes(b"\xff\0"), Blob).unwrap();
        back(Value::Uuid([7; 16]), Uuid).unwrap();
        for us in [0, -1_000, 1_795_248_062_003_000] {
            back(Value::Timestamp(value::Timestamp { us }), Timestamp).unwrap();
        }
        for us in [0, -DAY_US, 20_000 * DAY_US] {
            back(Value::Timestamp(value::Timestamp { us }), Date).unwrap();
        }
    }

    #[test]
    fn numbers_of_any_length_are_as_short_as_they_can_be() {
        let bytes = |number| back(Value::Int(number), Varint).unwrap();
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(127), [0x7f]);
        assert_eq!(bytes(128), [0, 0x80]);
        assert_eq!(bytes(-128), [0x80]);
        assert_eq!(bytes(-129), [0xff, 0x7f]);
    }

    #[test]
    fn what_would_be_stored_otherwise_is_not_written() {
        let microsecond = value::Timestamp { us: 1 };
        for (value, kind) in [
            (Value::Int(128), TinyInt),
            (Value::Int(1 << 40), Int),
            (Value::Timestamp(microsecond), Timestamp),
            (Value::Timestamp(microsecond), Date),
            (Value::Text(b"1.2.3"), Decimal),
            (Value::Text(b"1"), BigInt),
            (Value::Bool(true), Int),
        ] {
            assert_eq!(back(value, kind.clone()), None, "{value:?} as {kind:?}");
        }
    }
}
