//! Rows for COPY ... FROM STDIN (PostgreSQL documentation, "COPY", "File Formats"). A plain writer, without a connection.
//!
//! In binary every value has to be of its column's type, and the server need not look for its end. A row that does not
//! suit begins the text, which takes any.
use super::DIALECT;
use super::kind::Kind;
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::Value;
use std::io::Write;

/// Held and sent at a time; a row more fits.
pub const PIECE_BYTES: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Binary,
    Text,
}

/// A table that is loaded, and the columns that rows are given for.
#[derive(Clone, Debug)]
pub struct Table {
    name: String,
    columns: Vec<String>,
    pub kinds: Box<[Kind]>,
}

impl Table {
    pub fn new(name: &str, columns: &[&str]) -> Self {
        Self {
            name: DIALECT.quoted(name),
            columns: columns.iter().map(|name| DIALECT.quoted(name)).collect(),
            kinds: Box::default(),
        }
    }

    pub fn is(&self, other: &Table) -> bool {
        self.name == other.name && self.columns == other.columns
    }

    /// A query whose columns are the table's.
    pub fn probe(&self) -> String {
        format!("SELECT {} FROM {}", self.columns.join(", "), self.name)
    }

    pub fn statement(&self, format: Format) -> String {
        let format = match format {
            Format::Binary => "BINARY",
            Format::Text => "TEXT",
        };
        format!(
            "COPY {} ({}) FROM STDIN (FORMAT {format})",
            self.name,
            self.columns.join(", ")
        )
    }
}

/// A load was cut short or stored something else than it was given.
pub fn verify(sent: u64, stored: u64, statement: &str) -> Result<u64, OpError> {
    if sent == stored {
        return Ok(stored);
    }
    let what = format!("{sent} rows were sent and {stored} stored");
    Err(OpError::fail(FailClass::Constraint, "ROWS", what).with_statement(statement))
}

/// Rows as one stream of bytes after the other.
pub struct Rows<'a> {
    table: &'a Table,
    format: Format,
    /// The row in the buffer has not been written.
    left: bool,
    /// There are no more rows.
    ended: bool,
}

impl<'a> Rows<'a> {
    pub fn new(table: &'a Table) -> Self {
        Self {
            table,
            format: Format::Binary,
            left: false,
            ended: false,
        }
    }

    /// Of the stream that comes next.
    pub fn format(&self) -> Format {
        self.format
    }

    /// There is no stream after this one.
    pub fn ended(&self) -> bool {
        self.ended
    }

    pub fn begin(&self, out: &mut Vec<u8>) {
        if self.format == Format::Binary {
            // The signature, no flags, no more of a header.
            out.extend_from_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
        }
    }

    /// Adds rows until there is a piece, and tells how many. False: the stream is at its end, and the next format is
    /// that of what follows. `row` is not to be changed between two calls.
    pub fn fill(
        &mut self,
        out: &mut Vec<u8>,
        row: &mut RowBuf,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
        rows: &mut u64,
    ) -> bool {
        while out.len() < PIECE_BYTES {
            if !std::mem::take(&mut self.left) {
                row.clear();
                self.ended = !next(row);
            }
            if self.ended {
                self.end(out);
                return false;
            }
            match self.format {
                Format::Text => push_text(row, &self.table.kinds, out),
                Format::Binary if push_binary(row, &self.table.kinds, out) => {}
                Format::Binary => {
                    self.end(out);
                    (self.left, self.format) = (true, Format::Text);
                    return false;
                }
            }
            *rows += 1;
        }
        true
    }

    fn end(&self, out: &mut Vec<u8>) {
        if self.format == Format::Binary {
            out.extend_from_slice(&[0xFF, 0xFF]);
        }
    }
}

/// False, and nothing written: a value is of another type than its column.
fn push_binary(row: &RowBuf, kinds: &[Kind], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.extend_from_slice(&(kinds.len() as u16).to_be_bytes());
    for (cell, kind) in row.cells().zip(kinds) {
        if let Value::Null = cell {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            continue;
        }
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        let binary = kind.write(&cell, out);
        if !binary && (*kind, cell.bytes().is_some()) != (Kind::Text, true) {
            out.truncate(start);
            return false;
        }
        let length = ((out.len() - at - 4) as u32).to_be_bytes();
        out[at..at + 4].copy_from_slice(&length);
    }
    true
}

fn push_text(row: &RowBuf, kinds: &[Kind], out: &mut Vec<u8>) {
    for (index, (cell, kind)) in row.cells().zip(kinds).enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        // Memory does not fail to be written to.
        let _ = match cell {
            Value::Null => out.write_all(b"\\N"),
            Value::Float(value) => write!(out, "{value:e}"),
            Value::Text(value) | Value::Bytes(value) if *kind == Kind::Bytea => {
                out.extend_from_slice(b"\\\\x");
                value.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
            }
            Value::Text(value) | Value::Bytes(value) => {
                for &byte in value {
                    match byte {
                        b'\\' => out.extend_from_slice(b"\\\\"),
                        b'\t' => out.extend_from_slice(b"\\t"),
                        b'\n' => out.extend_from_slice(b"\\n"),
                        b'\r' => out.extend_from_slice(b"\\r"),
                        byte => out.push(byte),
                    }
                }
                Ok(())
            }
            other => write!(out, "{other}"),
        };
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            kinds: [Kind::Int4, Kind::Text, Kind::Bytea].into(),
            ..Table::new("T", &["a", "b\"", "c"])
        }
    }

    fn row(cells: [Value<'_>; 3]) -> RowBuf {
        let mut row = RowBuf::default();
        cells.iter().for_each(|cell| row.push(*cell));
        row
    }

    #[test]
    fn statements_quote_names() {
        let statement = table().statement(Format::Binary);
        assert_eq!(
            statement,
            r#"COPY "t" ("a", "b""", "c") FROM STDIN (FORMAT BINARY)"#
        );
        assert_eq!(table().probe(), r#"SELECT "a", "b""", "c" FROM "t""#);
    }

    #[test]
    fn a_row_in_text_escapes_what_would_end_a_value() {
        let mut out = Vec::new();
        let row = row([Value::Int(-5), Value::Text(b"a\tb\\\n"), Value::Text(b"\0\xff")]);
        push_text(&row, &table().kinds, &mut out);
        assert_eq!(out, b"-5\ta\\tb\\\\\\n\t\\\\x00ff\n");
    }

    #[test]
    fn a_row_that_does_not_suit_the_binary_form_begins_the_text() {
        let fits = || row([Value::Int(1), Value::Text(b"x"), Value::Null]);
        let odd = row([Value::Int(1 << 40), Value::Int(7), Value::Null]);
        let given = [fits(), odd, fits()];
        let mut rest = given.iter();
        let mut next = |row: &mut RowBuf| {
            let Some(given) = rest.next() else { return false };
            given.cells().for_each(|cell| row.push(cell));
            true
        };
        let table = table();
        let (mut rows, mut buffer) = (Rows::new(&table), RowBuf::default());
        let (mut out, mut count) = (Vec::new(), 0);
        rows.begin(&mut out);
        assert!(!rows.fill(&mut out, &mut buffer, &mut next, &mut count));
        let tuple = [&[0, 3, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1, b'x'][..], &[0xFF; 4]].concat();
        let head = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
        assert_eq!(out, [&head[..], &tuple, &[0xFF, 0xFF]].concat());
        assert_eq!((count, rows.ended(), rows.format()), (1, false, Format::Text));
        out.clear();
        rows.begin(&mut out);
        assert!(!rows.fill(&mut out, &mut buffer, &mut next, &mut count));
        assert_eq!(out, b"1099511627776\t7\t\\N\n1\tx\t\\N\n");
        assert_eq!((count, rows.ended()), (3, true));
    }
}
