//! Rows as the text of a bulk load: LOAD DATA's format, and INSERTs of many rows.
//! Plain functions on bytes, without a connection.
//!
//! Cells arrive as they are, whatever the session's `sql_mode`: byte columns take any bytes, text columns take UTF-8
//! (converted by the server if the column has another character set). Both forms turn some errors into warnings
//! (LOAD DATA LOCAL even duplicate keys), so whoever uses them has to look at [`lost_rows`] before it commits.
use super::table::Table;
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::Value;
use std::io::Write;

/// Text handed over at a time, and the most that is held beyond one row.
pub const PIECE_BYTES: usize = 256 * 1024;
/// Text of one INSERT: below the smallest max_allowed_packet in the field (1 MiB).
pub const INSERT_BYTES: usize = 512 * 1024;

/// How the server reads the text of a LOAD DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// Bytes, stored as they come: the cheapest, and right where text is ASCII (see docs/method/loading.md).
    Ascii,
    /// Text is UTF-8, and converted to its column's character set.
    Utf8,
}

/// The rows of a load as lines of LOAD DATA: one statement up to the first row that is not ASCII where that matters, a
/// second one from there.
pub struct Lines<'a> {
    table: &'a Table,
    reading: Reading,
    /// Of the statement, so far.
    rows: u64,
    /// The statement has all its rows.
    over: bool,
    /// A row is in the buffer that is to be read in another way.
    left: bool,
}

impl<'a> Lines<'a> {
    pub fn new(table: &'a Table) -> Self {
        Self {
            table,
            reading: if table.plain_ascii {
                Reading::Ascii
            } else {
                Reading::Utf8
            },
            rows: 0,
            over: false,
            left: false,
        }
    }

    /// The next statement; `None`: all rows are sent.
    pub fn statement(&mut self) -> Option<String> {
        if self.over && !self.left {
            return None;
        }
        if self.left {
            self.reading = Reading::Utf8;
        }
        (self.rows, self.over) = (0, false);
        Some(load_statement(self.table, self.reading))
    }

    /// Adds lines, as many as make a piece. `row` is not to be changed between two calls.
    pub fn fill(&mut self, text: &mut Vec<u8>, row: &mut RowBuf, next: &mut dyn FnMut(&mut RowBuf) -> bool) {
        while !self.over && text.len() < PIECE_BYTES {
            let more = std::mem::take(&mut self.left) || next_row(row, next);
            if more && (self.reading == Reading::Utf8 || self.table.is_plain(row)) {
                push_line(row, text);
                self.rows += 1;
            } else {
                (self.left, self.over) = (more, true);
            }
        }
    }

    /// The statement has all its rows.
    pub fn are_over(&self) -> bool {
        self.over
    }

    /// Rows of the statement.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

/// `false`: there are no more.
fn next_row(row: &mut RowBuf, next: &mut dyn FnMut(&mut RowBuf) -> bool) -> bool {
    row.clear();
    next(row)
}

/// The statement that asks for [`push_line`]s. Its separators are numbers, because `sql_mode` decides what a
/// backslash in quotes is.
fn load_statement(table: &Table, reading: Reading) -> String {
    let utf8 = reading == Reading::Utf8;
    let has_bytes = table.columns.iter().any(|column| column.bytes);
    let has_text = table.columns.iter().any(|column| !column.bytes);
    // Read as UTF-8, broken sequences of a byte column could swallow a separator; read as bytes, text has to be
    // declared to be UTF-8 again.
    let charset = if utf8 && !has_bytes { "utf8mb4" } else { "binary" };
    let (mut places, mut texts) = (Vec::new(), Vec::new());
    for (i, column) in table.columns.iter().enumerate() {
        if utf8 && has_bytes && has_text && !column.bytes {
            places.push(format!("@b{i}"));
            texts.push(format!("{}=CONVERT(@b{i} USING utf8mb4)", column.name));
        } else {
            places.push(column.name.clone());
        }
    }
    let set = if texts.is_empty() {
        String::new()
    } else {
        format!(" SET {}", texts.join(","))
    };
    format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET {charset} \
         FIELDS TERMINATED BY 0x09 ESCAPED BY 0x5C LINES TERMINATED BY 0x0A ({}){set}",
        table.name,
        places.join(","),
    )
}

/// One row as LOAD DATA reads it.
fn push_line(row: &RowBuf, text: &mut Vec<u8>) {
    for (i, cell) in row.cells().enumerate() {
        if i > 0 {
            text.push(b'\t');
        }
        match cell {
            Value::Null => text.extend_from_slice(b"\\N"),
            Value::Text(bytes) | Value::Bytes(bytes) => push_field(bytes, text),
            Value::Uuid(bytes) => push_field(&bytes, text),
            other => push_plain(other, text),
        }
    }
    text.push(b'\n');
}

fn push_field(bytes: &[u8], text: &mut Vec<u8>) {
    let special = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\\' | 0);
    // Without a branch per byte, so that the compiler looks at many at once: nearly all values have none.
    if !bytes.iter().fold(false, |found, &byte| found | special(byte)) {
        return text.extend_from_slice(bytes);
    }
    for &byte in bytes {
        match byte {
            b'\t' => text.extend_from_slice(b"\\t"),
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\\' => text.extend_from_slice(b"\\\\"),
            0 => text.extend_from_slice(b"\\0"),
            _ => text.push(byte),
        }
    }
}

/// The INSERT of one row whose values are parameters.
pub fn insert_statement(table: &Table) -> String {
    let places = vec!["?"; table.columns.len()].join(",");
    format!("{}({places})", insert_head(table))
}

fn insert_head(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    format!("INSERT INTO {}({})VALUES", table.name, names.join(","))
}

/// INSERTs of many rows, one after the other in one buffer.
pub struct Inserts<'a> {
    table: &'a Table,
    text: Vec<u8>,
    head_len: usize,
    /// There are no more rows.
    ended: bool,
}

impl<'a> Inserts<'a> {
    pub fn new(table: &'a Table) -> Self {
        let text = insert_head(table).into_bytes();
        Self {
            table,
            head_len: text.len(),
            text,
            ended: false,
        }
    }

    /// Writes the next statement over the last one; the rows in it, 0 where there are none left.
    pub fn fill(&mut self, row: &mut RowBuf, next: &mut dyn FnMut(&mut RowBuf) -> bool) -> u64 {
        self.text.truncate(self.head_len);
        let (mut rows, mut full) = (0, false);
        while !self.ended && !full {
            self.ended = !next_row(row, next);
            if !self.ended {
                full = self.push(row);
                rows += 1;
            }
        }
        rows
    }

    /// What all statements begin with, for errors.
    pub fn head(&self) -> String {
        String::from_utf8_lossy(&self.text[..self.head_len]).into_owned()
    }

    /// Adds a row; whether the statement is now large enough to be sent.
    fn push(&mut self, row: &RowBuf) -> bool {
        let text = &mut self.text;
        text.extend_from_slice(if text.len() == self.head_len { b"(" } else { b",(" });
        for (i, cell) in row.cells().enumerate() {
            if i > 0 {
                text.push(b',');
            }
            match cell {
                Value::Null => text.extend_from_slice(b"NULL"),
                Value::Text(bytes) | Value::Bytes(bytes) => {
                    let is_bytes = self.table.columns.get(i).is_some_and(|column| column.bytes);
                    push_literal(bytes, is_bytes, text);
                }
                Value::Uuid(bytes) => push_literal(&bytes, true, text),
                Value::Timestamp(_) => {
                    text.push(b'\'');
                    push_plain(cell, text);
                    text.push(b'\'');
                }
                number => push_plain(number, text),
            }
        }
        text.push(b')');
        text.len() >= INSERT_BYTES
    }

    /// The statement.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// In quotes where that means the same in every `sql_mode`, else as hexadecimal digits.
fn push_literal(bytes: &[u8], is_bytes: bool, text: &mut Vec<u8>) {
    if bytes.contains(&b'\\') {
        text.extend_from_slice(if is_bytes { b"X'" } else { b"_utf8mb4 X'" });
        for byte in bytes {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            text.push(DIGITS[usize::from(byte >> 4)]);
            text.push(DIGITS[usize::from(byte & 15)]);
        }
    } else {
        text.extend_from_slice(if is_bytes { b"_binary'" } else { b"'" });
        for &byte in bytes {
            if byte == b'\'' {
                text.push(byte);
            }
            text.push(byte);
        }
    }
    text.push(b'\'');
}

/// A value whose characters need no care.
fn push_plain(cell: Value<'_>, text: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = match cell {
        Value::Bool(value) => write!(text, "{}", u8::from(value)),
        // With an exponent, a literal is a double and not a decimal; the digits are the fewest that give it back.
        Value::Float(number) => write!(text, "{number:e}"),
        other => write!(text, "{other}"),
    };
}

/// Whether the server says, before it takes any row, that it will not LOAD DATA LOCAL.
pub fn is_refused(code: &str) -> bool {
    matches!(
        code,
        "1064" // no such statement
        | "1148" // the command is not allowed
        | "1235" // not supported yet
        | "3948" | "3950" // local data is disabled
        | "4166" // MariaDB: the command is not allowed
    )
}

/// A warning of the last statement, as SHOW WARNINGS tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub code: String,
    pub message: String,
}

/// The one about the server's log rather than the rows: "unsafe statement" for replication by statement.
const UNSAFE_FOR_LOG: &str = "1592";

/// What a bulk statement did not store as it was given; if anything, it must not be committed.
/// `warnings`: as many as the server counted; `notices`: those it could name (at most `max_error_count`).
pub fn lost_rows(sent: u64, stored: u64, warnings: u64, notices: &[Notice]) -> Result<(), OpError> {
    let of_rows = notices.iter().find(|notice| notice.code != UNSAFE_FOR_LOG);
    let all_named = warnings <= notices.len() as u64;
    if stored == sent && of_rows.is_none() && all_named {
        return Ok(());
    }
    let counts =
        format!("{stored} of {sent} rows would have been stored, with {warnings} warnings; none were");
    Err(match of_rows {
        Some(first) => {
            let first_words = format!("{counts}; the first: {}", first.message);
            OpError::fail(FailClass::Constraint, first.code.clone(), first_words)
        }
        None => OpError::fail(FailClass::Other, "BULK", counts),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::value::{Decimal, Timestamp};

    const PRICE: Value<'_> = Value::Decimal(Decimal {
        units: -1230,
        scale: 2,
    });
    const NEW_YEAR: Value<'_> = Value::Timestamp(Timestamp { us: 0 });

    fn table(kinds: &[bool]) -> Table {
        let names: Vec<String> = (0..kinds.len()).map(|i| format!("c{i}")).collect();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let mut table = Table::new("t", &names);
        table.learn(kinds.iter().copied(), Some(kinds.len() as i64));
        table
    }

    fn row(cells: &[Value<'_>]) -> RowBuf {
        let mut row = RowBuf::default();
        for cell in cells {
            row.push(*cell);
        }
        row
    }

    #[test]
    fn separators_in_values_are_escaped() {
        let mut text = Vec::new();
        let bytes = Value::Text(b"a\tb\nc\\d\0e'f\r");
        push_line(
            &row(&[Value::Int(-7), Value::Null, bytes, Value::Text(b"")]),
            &mut text,
        );
        push_line(&row(&[Value::Float(0.1), PRICE, NEW_YEAR]), &mut text);
        let rest = "1e-1\t-12.30\t1970-01-01 00:00:00.000000\n";
        assert_eq!(
            text,
            [&b"-7\t\\N\ta\\tb\\nc\\\\d\\0e'f\r\t\n"[..], rest.as_bytes()].concat()
        );
    }

    #[test]
    fn text_is_declared_to_be_utf8_where_bytes_are_next_to_it() {
        let places = |kinds: &[bool]| {
            let sql = load_statement(&table(kinds), Reading::Utf8);
            (
                sql.contains("CHARACTER SET binary"),
                sql[sql.find('(').unwrap()..].to_owned(),
            )
        };
        assert_eq!(places(&[false, false]), (false, "(`c0`,`c1`)".to_owned()));
        assert_eq!(places(&[true]), (true, "(`c0`)".to_owned()));
        let mixed = "(@b0,`c1`) SET `c0`=CONVERT(@b0 USING utf8mb4)".to_owned();
        assert_eq!(places(&[false, true]), (true, mixed));
    }

    /// The statements of a load of these rows, each with its lines.
    fn statements(table: &Table, rows: &[RowBuf]) -> Vec<(String, String, u64)> {
        let mut source = rows.iter();
        let mut next = |row: &mut RowBuf| {
            source.next().is_some_and(|given| {
                given.cells().for_each(|cell| row.push(cell));
                true
            })
        };
        let (mut lines, mut buffer, mut all) = (Lines::new(table), RowBuf::default(), Vec::new());
        while let Some(statement) = lines.statement() {
            let mut text = Vec::new();
            while !lines.are_over() {
                lines.fill(&mut text, &mut buffer, &mut next);
            }
            all.push((
                statement,
                String::from_utf8_lossy(&text).into_owned(),
                lines.rows(),
            ));
        }
        all
    }

    #[test]
    fn ascii_is_read_as_bytes_and_the_rest_as_utf8() {
        let table = table(&[false, true]);
        let plain = || row(&[Value::Text(b"plain"), Value::Text(b"\xff")]);
        let green = row(&[Value::Text("Gr\u{fc}n".as_bytes()), Value::Null]);
        let [bytes, utf8] = &statements(&table, &[plain(), green, plain()])[..] else {
            panic!("two statements wanted");
        };
        assert!(bytes.0.ends_with(
            "CHARACTER SET binary FIELDS TERMINATED BY 0x09 \
             ESCAPED BY 0x5C LINES TERMINATED BY 0x0A (`c0`,`c1`)"
        ));
        assert_eq!((bytes.1.as_str(), bytes.2), ("plain\t\u{fffd}\n", 1));
        assert!(utf8.0.contains("CONVERT(@b0 USING utf8mb4)"));
        assert_eq!(
            (utf8.1.as_str(), utf8.2),
            ("Gr\u{fc}n\t\\N\nplain\t\u{fffd}\n", 2)
        );
        assert_eq!(
            statements(&table, &[])[0].2,
            0,
            "it is asked whether it would load"
        );
        let other = Table {
            plain_ascii: false,
            ..table
        };
        assert!(statements(&other, &[plain()])[0].0.contains("utf8mb4"));
    }

    #[test]
    fn an_insert_takes_rows_until_it_is_large_enough() {
        let table = table(&[false, true]);
        let mut inserts = Inserts::new(&table);
        let mut given = [
            row(&[Value::Text(b"it's"), Value::Text(b"\x01\xff")]),
            row(&[Value::Text(b"a\\"), Value::Null]),
            row(&[PRICE, NEW_YEAR]),
        ]
        .into_iter();
        let mut buffer = RowBuf::default();
        assert_eq!(
            inserts.fill(&mut buffer, &mut |row| given
                .next()
                .map(|next| *row = next)
                .is_some()),
            3
        );
        let sql = b"INSERT INTO `t`(`c0`,`c1`)VALUES('it''s',_binary'\x01\xff'),(_utf8mb4 X'615C',NULL),\
            (-12.30,'1970-01-01 00:00:00.000000')";
        assert_eq!(inserts.text(), sql);
        assert_eq!(
            inserts.fill(&mut buffer, &mut |_| unreachable!("it has ended")),
            0
        );
        let long = vec![b'x'; 1000];
        let mut rows_left = 1000;
        let mut next = |row: &mut RowBuf| {
            row.push(Value::Int(1));
            row.push(Value::Text(&long));
            rows_left -= 1;
            rows_left >= 0
        };
        let (mut inserts, mut sent) = (Inserts::new(&table), 0);
        loop {
            let rows = inserts.fill(&mut buffer, &mut next);
            sent += rows;
            if sent == 1000 {
                break;
            }
            assert!((INSERT_BYTES..INSERT_BYTES + 1100).contains(&inserts.text().len()));
        }
    }

    #[test]
    fn a_loss_is_reported_and_a_word_about_the_log_is_not_one() {
        let notice = |code: &str| Notice {
            code: code.into(),
            message: "words".into(),
        };
        assert!(lost_rows(3, 3, 0, &[]).is_ok());
        assert!(lost_rows(3, 3, 1, &[notice(UNSAFE_FOR_LOG)]).is_ok());
        let duplicate = lost_rows(3, 2, 1, &[notice("1062")]).unwrap_err();
        assert_eq!(duplicate.code, "1062");
        assert!(duplicate.message.contains("2 of 3") && duplicate.message.contains("words"));
        // Warnings that the server does not name (max_error_count = 0), and rows that are simply missing.
        assert!(lost_rows(3, 3, 2, &[notice(UNSAFE_FOR_LOG)]).is_err());
        assert!(lost_rows(3, 2, 0, &[]).is_err());
    }
}
