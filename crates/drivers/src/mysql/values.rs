//! Parameters and rows between our types and the client library's.
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::Param;
use mysql_async::{Row, Value};

#[inline]
pub fn param(param: &Param<'_>) -> Value {
    match *param {
        Param::Null => Value::NULL,
        Param::Int(value) => Value::Int(value),
        Param::Float(value) => Value::Double(value),
        Param::Text(value) | Param::Bytes(value) => Value::Bytes(value.to_vec()),
    }
}

/// Copies every cell, so that every byte the server sent has been touched.
#[inline]
pub fn fill(found: Row, row: &mut RowBuf) {
    row.clear();
    row.reserve(
        found.len(),
        (0..found.len())
            .map(|i| found.as_ref(i).map_or(0, size_bytes))
            .sum(),
    );
    for value in found.unwrap_raw() {
        match value {
            Some(Value::Bytes(bytes)) => row.push_bytes(&bytes),
            Some(Value::Int(number)) => row.push_int(number),
            Some(Value::UInt(number)) => push_unsigned(number, row),
            Some(Value::Float(number)) => row.push_float(number.into()),
            Some(Value::Double(number)) => row.push_float(number),
            Some(Value::NULL) | None => row.push_null(),
            // Dates and times as the server would write them.
            Some(date_or_time) => row.push_bytes(date_or_time.as_sql(true).trim_matches('\'').as_bytes()),
        }
    }
}

#[inline]
fn size_bytes(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

/// A number beyond the signed range keeps its digits.
pub fn push_unsigned(number: u64, row: &mut RowBuf) {
    match i64::try_from(number) {
        Ok(number) => row.push_int(number),
        Err(_) => row.push_bytes(number.to_string().as_bytes()),
    }
}
