//! Cells that answers in binary and in text put into a row alike.
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::{Civil, Decimal, Timestamp, Value};

/// A number beyond the signed range keeps its digits.
pub fn push_unsigned(number: u64, row: &mut RowBuf) {
    match i64::try_from(number) {
        Ok(number) => row.push(Value::Int(number)),
        Err(_) => row.push(Value::Text(number.to_string().as_bytes())),
    }
}

/// A decimal of more digits than ours keeps them.
pub fn push_decimal(digits: &[u8], row: &mut RowBuf) {
    match Decimal::parse(digits) {
        Some(decimal) => row.push(Value::Decimal(decimal)),
        None => row.push(Value::Text(digits)),
    }
}

/// What is no moment (0000-00-00 where `sql_mode` lets it be) is written as the server writes it.
pub fn push_date_time(civil: Civil, row: &mut RowBuf) {
    match Timestamp::from_civil(civil) {
        Some(moment) => row.push(Value::Timestamp(moment)),
        None => row.push(Value::Text(civil.to_string().as_bytes())),
    }
}
