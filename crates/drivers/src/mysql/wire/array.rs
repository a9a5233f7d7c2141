//! Many rows as the parameters of one prepared INSERT: COM_STMT_BULK_EXECUTE (MariaDB Client/Server Protocol). A plain
//! writer of the request, without a connection.
//!
//! One request has one type for each parameter, and bytes and text that has to be converted are two types. So a row
//! may not fit a request that already has rows; every row fits an empty one.
use super::request::text;
use crate::mysql::bulk::INSERT_BYTES;
use crate::mysql::table::{Column, Table};
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::Value;
use mysql_common::constants::ColumnType;

const COM_STMT_BULK_EXECUTE: u8 = 0xFA;
/// The types of the parameters stand before the rows.
const SENDS_TYPES: u16 = 128;
const VALUE_FOLLOWS: u8 = 0;
const IS_NULL: u8 = 1;
/// Command, statement, flags.
const HEAD_BYTES: usize = 1 + 4 + 2;

/// Stored as it comes, as bytes.
const BYTES: u8 = ColumnType::MYSQL_TYPE_BLOB as u8;
/// UTF-8, converted to the column's character set. What is not known yet is called this, too: NULLs are of any type.
const TEXT: u8 = ColumnType::MYSQL_TYPE_VAR_STRING as u8;
const INT: u8 = ColumnType::MYSQL_TYPE_LONGLONG as u8;
const FLOAT: u8 = ColumnType::MYSQL_TYPE_DOUBLE as u8;

/// The rows of a load, as one request after the other.
pub struct Array<'a> {
    table: &'a Table,
    statement_id: u32,
    /// Of the request's parameters; `None` before the first value that is not NULL.
    types: Vec<Option<u8>>,
    /// There are no more rows.
    ended: bool,
    /// The row in the buffer did not fit the last request.
    left: bool,
}

impl<'a> Array<'a> {
    pub fn new(table: &'a Table, statement_id: u32) -> Self {
        Self {
            table,
            statement_id,
            types: vec![None; table.columns.len()],
            ended: false,
            left: false,
        }
    }

    /// Writes the next request over the last one; the rows in it, 0 where there are none left. `row` is not to be
    /// changed between two calls.
    pub fn fill(
        &mut self,
        request: &mut Vec<u8>,
        row: &mut RowBuf,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> u64 {
        self.begin(request);
        let mut rows = 0;
        if std::mem::take(&mut self.left) && self.push(request, row) {
            rows = 1;
        }
        while !self.ended && !self.left && request.len() < INSERT_BYTES {
            row.clear();
            self.ended = !next(row);
            self.left = !self.ended && !self.push(request, row);
            rows += u64::from(!self.ended && !self.left);
        }
        rows
    }

    fn begin(&mut self, request: &mut Vec<u8>) {
        self.types.fill(None);
        request.clear();
        request.push(COM_STMT_BULK_EXECUTE);
        request.extend_from_slice(&self.statement_id.to_le_bytes());
        request.extend_from_slice(&SENDS_TYPES.to_le_bytes());
        for _ in &self.types {
            request.extend_from_slice(&[TEXT, 0]);
        }
    }

    /// Adds the row if its values' types fit; otherwise the request is as it was.
    fn push(&mut self, request: &mut Vec<u8>, row: &RowBuf) -> bool {
        let end = request.len();
        for (index, (cell, column)) in row.cells().zip(&self.table.columns).enumerate() {
            let Some(wanted) = type_of(cell, column, self.table.plain_ascii) else {
                request.push(IS_NULL);
                continue;
            };
            if !fits(wanted, self.types[index], column) {
                request.truncate(end);
                return false;
            }
            if self.types[index].is_none() {
                self.types[index] = Some(wanted);
                request[HEAD_BYTES + 2 * index] = wanted;
            }
            request.push(VALUE_FOLLOWS);
            match cell {
                Value::Null => {}
                Value::Bool(value) => request.extend_from_slice(&i64::from(value).to_le_bytes()),
                Value::Int(value) => request.extend_from_slice(&value.to_le_bytes()),
                Value::Float(value) => request.extend_from_slice(&value.to_le_bytes()),
                Value::Text(value) | Value::Bytes(value) => text(request, value),
                Value::Uuid(value) => text(request, &value),
                Value::Decimal(_) | Value::Timestamp(_) => text(request, cell.to_string().as_bytes()),
            }
        }
        true
    }
}

/// `None`: NULL. ASCII goes as bytes where that is the same, which spares the server a conversion.
fn type_of(cell: Value<'_>, column: &Column, plain_ascii: bool) -> Option<u8> {
    Some(match cell {
        Value::Null => return None,
        Value::Bool(_) | Value::Int(_) => INT,
        Value::Float(_) => FLOAT,
        Value::Text(value) | Value::Bytes(value) => {
            if column.bytes || plain_ascii && value.is_ascii() {
                BYTES
            } else {
                TEXT
            }
        }
        Value::Decimal(_) | Value::Timestamp(_) => TEXT,
        Value::Uuid(_) => BYTES,
    })
}

/// ASCII is UTF-8 all the same.
fn fits(wanted: u8, known: Option<u8>, column: &Column) -> bool {
    known.is_none_or(|known| known == wanted || known == TEXT && wanted == BYTES && !column.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(plain_ascii: bool) -> Table {
        let mut table = Table::new("t", &["t", "b"]);
        table.learn([false, true], plain_ascii.then_some(2));
        table
    }

    fn row(t: Value<'_>, b: Value<'_>) -> RowBuf {
        let mut row = RowBuf::default();
        row.push(t);
        row.push(b);
        row
    }

    /// The requests that take these rows, and the rows in each.
    fn requests(table: &Table, rows: &[RowBuf]) -> Vec<(Vec<u8>, u64)> {
        let mut rest = rows.iter();
        let mut next = |row: &mut RowBuf| {
            let found = rest.next();
            for cell in found.into_iter().flat_map(RowBuf::cells) {
                row.push(cell);
            }
            found.is_some()
        };
        let (mut array, mut buffer) = (Array::new(table, 7), RowBuf::default());
        let mut all = Vec::new();
        loop {
            let mut request = vec![9; 4];
            match array.fill(&mut request, &mut buffer, &mut next) {
                0 => return all,
                rows => all.push((request, rows)),
            }
        }
    }

    #[test]
    fn a_request_is_its_head_then_the_types_then_the_rows() {
        let rows = [
            row(Value::Null, Value::Int(-2)),
            row(Value::Text(b"ab"), Value::Int(3)),
        ];
        let head = [0xFA, 7, 0, 0, 0, 128, 0, 252, 0, 8, 0];
        let first = [&[1, 0][..], &(-2i64).to_le_bytes()].concat();
        let second = [&[0, 2, b'a', b'b', 0][..], &3i64.to_le_bytes()].concat();
        let whole = [&head[..], &first, &second].concat();
        assert_eq!(requests(&table(true), &rows), [(whole, 2)]);
        assert_eq!(requests(&table(true), &[]), []);
    }

    #[test]
    fn a_row_of_other_types_begins_the_next_request() {
        let ascii = || row(Value::Text(b"ascii"), Value::Text(b"\xff"));
        let text = || row(Value::Text("Grüße".as_bytes()), Value::Text(b""));
        let rows = [
            ascii(),
            ascii(),
            text(),
            ascii(),
            row(Value::Float(0.5), Value::Null),
            ascii(),
        ];
        let sent = requests(&table(true), &rows);
        let counts: Vec<u64> = sent.iter().map(|(_, rows)| *rows).collect();
        // In a request that began with text, ASCII fits.
        assert_eq!(counts, [2, 2, 1, 1]);
        let types: Vec<_> = sent.iter().map(|(request, _)| (request[7], request[9])).collect();
        assert_eq!(types, [(252, 252), (253, 252), (5, 253), (252, 252)]);
    }

    #[test]
    fn text_is_converted_where_ascii_is_not_the_same_in_all_columns() {
        let sent = requests(&table(false), &[row(Value::Text(b"ascii"), Value::Text(b"x"))]);
        assert_eq!(sent[0].0[7..11], [253, 0, 252, 0]);
    }

    #[test]
    fn a_request_takes_rows_until_it_is_large_enough() {
        let long = vec![b'x'; 1000];
        let rows: Vec<RowBuf> = (0..1000).map(|_| row(Value::Text(&long), Value::Null)).collect();
        let sent = requests(&table(true), &rows);
        assert_eq!(sent.iter().map(|(_, rows)| rows).sum::<u64>(), 1000);
        assert_eq!(sent.len(), 2);
        assert!((INSERT_BYTES..INSERT_BYTES + 1100).contains(&sent[0].0.len()));
    }
}
