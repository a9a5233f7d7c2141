//! Parameters and rows between our types and the client library's.
use super::load::holds_bytes;
use crate::mysql::values::{push_date_time, push_decimal, push_unsigned};
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::{Civil, Value};
use mysql_async::Row;
use mysql_async::Value as Theirs;
use mysql_async::consts::ColumnType;

#[inline]
pub fn param(param: &Value<'_>) -> Theirs {
    match *param {
        Value::Null => Theirs::NULL,
        Value::Bool(value) => Theirs::Int(value.into()),
        Value::Int(value) => Theirs::Int(value),
        Value::Float(value) => Theirs::Double(value),
        Value::Decimal(value) => Theirs::Bytes(value.to_string().into_bytes()),
        Value::Text(value) | Value::Bytes(value) => Theirs::Bytes(value.to_vec()),
        Value::Timestamp(value) => {
            let at = value.civil();
            let year = at.year as u16;
            Theirs::Date(year, at.month, at.day, at.hour, at.minute, at.second, at.us)
        }
        Value::Uuid(value) => Theirs::Bytes(value.to_vec()),
    }
}

/// A row of a prepared statement. Copies every cell, so that every byte the server sent has been touched.
#[inline]
pub fn fill(found: &Row, row: &mut RowBuf) {
    row.clear();
    row.reserve(
        found.len(),
        (0..found.len())
            .map(|i| found.as_ref(i).map_or(0, size_bytes))
            .sum(),
    );
    for (i, column) in found.columns_ref().iter().enumerate() {
        match found.as_ref(i) {
            Some(Theirs::Bytes(bytes)) => match column.column_type() {
                ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => {
                    push_decimal(bytes, row)
                }
                _ if holds_bytes(column) => row.push(Value::Bytes(bytes)),
                _ => row.push(Value::Text(bytes)),
            },
            Some(&Theirs::Int(number)) => row.push(Value::Int(number)),
            Some(&Theirs::UInt(number)) => push_unsigned(number, row),
            Some(&Theirs::Float(number)) => row.push(Value::Float(number.into())),
            Some(&Theirs::Double(number)) => row.push(Value::Float(number)),
            Some(Theirs::NULL) | None => row.push(Value::Null),
            Some(&Theirs::Date(year, month, day, hour, minute, second, us)) => {
                let year = year.into();
                push_date_time(
                    Civil {
                        year,
                        month,
                        day,
                        hour,
                        minute,
                        second,
                        us,
                    },
                    row,
                );
            }
            // As the server would write it.
            Some(time) => row.push(Value::Text(time.as_sql(true).trim_matches('\'').as_bytes())),
        }
    }
}

/// A row of a statement in text.
pub fn fill_text(found: &Row, row: &mut RowBuf) {
    row.clear();
    for i in 0..found.len() {
        row.push(match found.as_ref(i) {
            Some(Theirs::Bytes(bytes)) => Value::Text(bytes),
            _ => Value::Null,
        });
    }
}

#[inline]
fn size_bytes(value: &Theirs) -> usize {
    match value {
        Theirs::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}
