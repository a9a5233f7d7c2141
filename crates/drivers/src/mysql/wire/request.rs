//! Requests, written straight into the connection's buffer.
use bakeoff_model::value::{Civil, Decimal, Value};
use mysql_common::constants::ColumnType;
use std::io::Write;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

/// A whole packet.
pub const QUIT: [u8; 5] = [1, 0, 0, 0, COM_QUIT];

pub fn query(request: &mut Vec<u8>, sql: &str) {
    query_bytes(request, sql.as_bytes());
}

/// A statement whose literals may be any bytes.
pub fn query_bytes(request: &mut Vec<u8>, sql: &[u8]) {
    request.push(COM_QUERY);
    request.extend_from_slice(sql);
}

pub fn prepare(request: &mut Vec<u8>, sql: &str) {
    request.push(COM_STMT_PREPARE);
    request.extend_from_slice(sql.as_bytes());
}

/// Has no answer.
pub fn close(request: &mut Vec<u8>, statement_id: u32) {
    request.push(COM_STMT_CLOSE);
    request.extend_from_slice(&statement_id.to_le_bytes());
}

/// `types`: the parameter types that this statement last sent (one byte each, 0 before the first time). They are sent
/// again only when they change. `params`: the values, each time from the first.
#[inline]
pub fn execute<'a, I: ExactSizeIterator<Item = Value<'a>>>(
    request: &mut Vec<u8>,
    statement_id: u32,
    types: &mut [u8],
    params: impl Fn() -> I,
) {
    request.push(COM_STMT_EXECUTE);
    request.extend_from_slice(&statement_id.to_le_bytes());
    // No cursor; executed once.
    request.extend_from_slice(&[0, 1, 0, 0, 0]);
    let count = params().len();
    if count == 0 {
        return;
    }
    let nulls_at = request.len();
    request.resize(nulls_at + count.div_ceil(8), 0);
    let mut changed = false;
    for (index, (param, known)) in params().zip(types.iter_mut()).enumerate() {
        let wanted = match param {
            Value::Null => {
                request[nulls_at + index / 8] |= 1 << (index % 8);
                if *known != 0 {
                    continue; // any type will do
                }
                ColumnType::MYSQL_TYPE_NULL
            }
            Value::Bool(_) => ColumnType::MYSQL_TYPE_TINY,
            Value::Int(_) => ColumnType::MYSQL_TYPE_LONGLONG,
            Value::Float(_) => ColumnType::MYSQL_TYPE_DOUBLE,
            Value::Decimal(_) => ColumnType::MYSQL_TYPE_NEWDECIMAL,
            Value::Text(_) | Value::Bytes(_) | Value::Uuid(_) => ColumnType::MYSQL_TYPE_VAR_STRING,
            Value::Timestamp(_) => ColumnType::MYSQL_TYPE_DATETIME,
        } as u8;
        changed |= *known != wanted;
        *known = wanted;
    }
    request.push(changed.into());
    if changed {
        for known in types.iter() {
            request.extend_from_slice(&[*known, 0]);
        }
    }
    for param in params() {
        match param {
            Value::Null => {}
            Value::Bool(value) => request.push(value.into()),
            Value::Int(value) => request.extend_from_slice(&value.to_le_bytes()),
            Value::Float(value) => request.extend_from_slice(&value.to_le_bytes()),
            Value::Decimal(value) => decimal(request, value),
            Value::Text(value) | Value::Bytes(value) => text(request, value),
            Value::Timestamp(value) => date_time(request, value.civil()),
            Value::Uuid(value) => text(request, &value),
        }
    }
}

/// In digits, which fit in one byte's length.
fn decimal(request: &mut Vec<u8>, value: Decimal) {
    let length_at = request.len();
    request.push(0);
    let _ = write!(request, "{value}"); // to memory, so it does not fail
    request[length_at] = (request.len() - length_at - 1) as u8;
}

fn date_time(request: &mut Vec<u8>, civil: Civil) {
    request.push(11);
    request.extend_from_slice(&(civil.year as u16).to_le_bytes());
    request.extend_from_slice(&[civil.month, civil.day, civil.hour, civil.minute, civil.second]);
    request.extend_from_slice(&civil.us.to_le_bytes());
}

/// With its length before it.
#[inline]
pub fn text(request: &mut Vec<u8>, value: &[u8]) {
    let length = (value.len() as u64).to_le_bytes();
    match value.len() {
        0..=0xFA => request.push(length[0]),
        0xFB..=0xFFFF => {
            request.push(0xFC);
            request.extend_from_slice(&length[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            request.push(0xFD);
            request.extend_from_slice(&length[..3]);
        }
        _ => {
            request.push(0xFE);
            request.extend_from_slice(&length);
        }
    }
    request.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_sent_once_and_again_when_they_change() {
        let mut types = [0, 0];
        let mut written = |params: &[Value<'_>]| {
            let mut request = vec![];
            execute(&mut request, 7, &mut types, || params.iter().copied());
            request
        };
        let head = [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0];
        let first = written(&[Value::Int(1), Value::Text(b"ab")]);
        let told = [0, 1, 8, 0, 253, 0];
        assert_eq!(first, [&head[..], &told, &1i64.to_le_bytes(), b"\x02ab"].concat());
        let second = written(&[Value::Int(2), Value::Text(b"")]);
        assert_eq!(
            second,
            [&head[..], &[0, 0], &2i64.to_le_bytes(), b"\x00"].concat()
        );
        let null = written(&[Value::Null, Value::Text(b"")]);
        assert_eq!(null, [&head[..], &[1, 0], b"\x00"].concat());
        let changed = written(&[Value::Float(0.5), Value::Text(b"")]);
        let told = [0, 1, 5, 0, 253, 0];
        assert_eq!(
            changed,
            [&head[..], &told, &0.5f64.to_le_bytes(), b"\x00"].concat()
        );
    }

    #[test]
    fn lengths_are_written_as_wide_as_they_need_be() {
        for (bytes, head) in [(250, 1), (251, 3), (65_535, 3), (65_536, 4), (16_777_216, 9)] {
            let mut request = vec![];
            text(&mut request, &vec![0; bytes]);
            assert_eq!(request.len(), bytes + head, "{bytes}");
        }
    }
}
