//! Values in DuckDB's vectors, and as parameters. Source: duckdb.h; DuckDB documentation, "C API: Vectors".
use super::library::{Answer, Api, FAILED, Huge, Number, Object};
use bakeoff_model::value::{Decimal, Timestamp, Value};
use std::ffi::c_void;

/// How the cells of a column lie in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// Microseconds.
    Timestamp,
    /// Days.
    Date,
    I128,
    Text,
    Bytes,
    Uuid,
    /// Its units, of one of the whole numbers above.
    Decimal {
        width: Width,
        scale: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Width {
    W16,
    W32,
    W64,
    W128,
}

pub const BLOB: i32 = 18;
/// Microseconds, too, in UTC.
const WITH_ZONE: i32 = 31;
/// Of a NULL that nothing gives a type.
const NULL: i32 = 36;

impl Kind {
    /// Of a column of an answer; `None`: [`Value`] has nothing for it.
    pub fn of(api: &Api, answer: &mut Answer, column: u64) -> Option<Self> {
        // SAFETY: the answer was given, and has this column.
        Some(match unsafe { (api.column_type)(answer, column) } {
            1 => Self::Bool,
            2 => Self::I8,
            3 => Self::I16,
            4 | NULL => Self::I32,
            5 => Self::I64,
            6 => Self::U8,
            7 => Self::U16,
            8 => Self::U32,
            9 => Self::U64,
            10 => Self::F32,
            11 => Self::F64,
            12 | WITH_ZONE => Self::Timestamp,
            13 => Self::Date,
            16 => Self::I128,
            17 => Self::Text,
            BLOB => Self::Bytes,
            19 => Self::decimal(api, answer, column),
            27 => Self::Uuid,
            _ => return None,
        })
    }

    fn decimal(api: &Api, answer: &mut Answer, column: u64) -> Self {
        // SAFETY: as above; the type is ours to destroy.
        let (scale, inside) = unsafe {
            let mut logical = (api.column_logical_type)(answer, column);
            let found = ((api.decimal_scale)(logical), (api.decimal_internal_type)(logical));
            (api.destroy_logical_type)(&mut logical);
            found
        };
        let width = match inside {
            3 => Width::W16,
            4 => Width::W32,
            5 => Width::W64,
            _ => Width::W128,
        };
        Self::Decimal { width, scale }
    }
}

/// A text or bytes: up to 12 of them lie in the vector itself.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bytes {
    length: u32,
    rest: [u8; 12],
}

/// A column of a chunk.
#[derive(Clone, Copy)]
pub struct Column {
    kind: Kind,
    data: *const c_void,
    /// A bit for each cell; null: none is NULL.
    validity: *const u64,
}

impl Column {
    /// # Safety
    /// The chunk has this column, and is kept as long as the column is read.
    pub unsafe fn of(api: &Api, chunk: Object, number: u64, kind: Kind) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            let vector = (api.data_chunk_get_vector)(chunk, number);
            Self {
                kind,
                data: (api.vector_get_data)(vector),
                validity: (api.vector_get_validity)(vector),
            }
        }
    }

    /// # Safety
    /// The row is one of the chunk's.
    #[inline]
    pub unsafe fn cell(&self, row: usize) -> Value<'_> {
        // SAFETY: as the caller promises; a vector's data are of the type that its kind says.
        unsafe {
            if !self.validity.is_null() && *self.validity.add(row / 64) >> (row % 64) & 1 == 0 {
                return Value::Null;
            }
            match self.kind {
                Kind::Bool => Value::Bool(self.at::<u8>(row) != 0),
                Kind::I8 => Value::Int(self.at::<i8>(row).into()),
                Kind::I16 => Value::Int(self.at::<i16>(row).into()),
                Kind::I32 => Value::Int(self.at::<i32>(row).into()),
                Kind::I64 => Value::Int(self.at(row)),
                Kind::U8 => Value::Int(self.at::<u8>(row).into()),
                Kind::U16 => Value::Int(self.at::<u16>(row).into()),
                Kind::U32 => Value::Int(self.at::<u32>(row).into()),
                Kind::U64 => whole(self.at::<u64>(row).into()),
                Kind::F32 => Value::Float(self.at::<f32>(row).into()),
                Kind::F64 => Value::Float(self.at(row)),
                Kind::Timestamp => Value::Timestamp(Timestamp { us: self.at(row) }),
                Kind::Date => Value::Timestamp(Timestamp {
                    us: i64::from(self.at::<i32>(row)) * 86_400_000_000,
                }),
                Kind::I128 => whole(huge(self.at(row))),
                Kind::Text => Value::Text(self.bytes(row)),
                Kind::Bytes => Value::Bytes(self.bytes(row)),
                Kind::Uuid => {
                    let found: Huge = self.at(row);
                    // Kept so that signed numbers have the order of UUIDs.
                    let number = huge(found) as u128 ^ (1 << 127);
                    Value::Uuid(number.to_be_bytes())
                }
                Kind::Decimal { width, scale } => {
                    let units = match width {
                        Width::W16 => self.at::<i16>(row).into(),
                        Width::W32 => self.at::<i32>(row).into(),
                        Width::W64 => self.at::<i64>(row).into(),
                        Width::W128 => huge(self.at(row)),
                    };
                    match i64::try_from(units) {
                        Ok(units) => Value::Decimal(Decimal { units, scale }),
                        Err(_) => Value::Float(units as f64 / 10f64.powi(scale.into())),
                    }
                }
            }
        }
    }

    #[inline]
    unsafe fn at<T: Copy>(&self, row: usize) -> T {
        // SAFETY: as `cell`'s.
        unsafe { *self.data.cast::<T>().add(row) }
    }

    #[inline]
    unsafe fn bytes(&self, row: usize) -> &[u8] {
        // SAFETY: as `cell`'s; a longer text has its address behind the first four of its bytes.
        unsafe {
            let place = &*self.data.cast::<Bytes>().add(row);
            let start = match place.length <= 12 {
                true => place.rest.as_ptr(),
                false => place.rest.as_ptr().add(4).cast::<*const u8>().read_unaligned(),
            };
            std::slice::from_raw_parts(start, place.length as usize)
        }
    }
}

fn huge(value: Huge) -> i128 {
    i128::from(value.upper) << 64 | i128::from(value.lower)
}

/// A whole number of more than 64 bits is near enough: no workload counts so far.
fn whole(value: i128) -> Value<'static> {
    i64::try_from(value).map_or(Value::Float(value as f64), Value::Int)
}

/// Binds the parameter of this place, from 1; false: DuckDB does not take it.
#[inline]
pub fn bind(api: &Api, statement: Object, place: u64, value: Value<'_>) -> bool {
    // SAFETY: the statement is prepared; bytes are copied.
    let state = unsafe {
        match value {
            Value::Null => (api.bind_null)(statement, place),
            Value::Bool(value) => (api.bind_boolean)(statement, place, value),
            Value::Int(value) => (api.bind_int64)(statement, place, value),
            Value::Float(value) => (api.bind_double)(statement, place, value),
            Value::Decimal(Decimal { units, scale }) => {
                let value = Huge {
                    lower: units as u64,
                    upper: if units < 0 { -1 } else { 0 },
                };
                let width = 18.max(scale);
                (api.bind_decimal)(statement, place, Number { width, scale, value })
            }
            Value::Text(text) => {
                (api.bind_varchar_length)(statement, place, text.as_ptr().cast(), text.len() as u64)
            }
            Value::Bytes(bytes) => {
                (api.bind_blob)(statement, place, bytes.as_ptr().cast(), bytes.len() as u64)
            }
            Value::Timestamp(value) => (api.bind_timestamp)(statement, place, value.us),
            Value::Uuid(value) => {
                let text = uuid_text(value);
                (api.bind_varchar_length)(statement, place, text.as_ptr().cast(), text.len() as u64)
            }
        }
    };
    state != FAILED
}

/// Appends a cell to the row that an appender is at. A column of bytes takes texts, too, as bytes, and the other way round.
pub fn append(api: &Api, appender: Object, value: Value<'_>, is_bytes: bool) -> bool {
    // SAFETY: the appender is open; bytes are copied.
    let state = unsafe {
        match value {
            Value::Null => (api.append_null)(appender),
            Value::Bool(value) => (api.append_bool)(appender, value),
            Value::Int(value) => (api.append_int64)(appender, value),
            Value::Float(value) => (api.append_double)(appender, value),
            Value::Timestamp(value) => (api.append_timestamp)(appender, value.us),
            Value::Text(bytes) | Value::Bytes(bytes) if is_bytes => {
                (api.append_blob)(appender, bytes.as_ptr().cast(), bytes.len() as u64)
            }
            Value::Text(text) | Value::Bytes(text) => {
                (api.append_varchar_length)(appender, text.as_ptr().cast(), text.len() as u64)
            }
            Value::Decimal(value) => {
                let text = value.to_string();
                (api.append_varchar_length)(appender, text.as_ptr().cast(), text.len() as u64)
            }
            Value::Uuid(value) => {
                let text = uuid_text(value);
                (api.append_varchar_length)(appender, text.as_ptr().cast(), text.len() as u64)
            }
        }
    };
    state != FAILED
}

/// 36 characters, without an allocation.
fn uuid_text(value: [u8; 16]) -> [u8; 36] {
    let (mut text, mut at) = ([b'-'; 36], 0);
    for (number, byte) in value.into_iter().enumerate() {
        at += usize::from(matches!(number, 4 | 6 | 8 | 10));
        for digit in [byte >> 4, byte & 15] {
            text[at] = b"0123456789abcdef"[usize::from(digit)];
            at += 1;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_as_people_do() {
        let value = Value::Uuid(std::array::from_fn(|i| i as u8 * 17));
        let Value::Uuid(bytes) = value else { unreachable!() };
        assert_eq!(uuid_text(bytes), value.to_string().as_bytes());
    }
}
