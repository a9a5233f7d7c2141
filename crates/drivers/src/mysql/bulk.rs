//! Rows as the text of a bulk load, for every client of this protocol: LOAD DATA's format, and INSERTs of many rows.
//! Plain functions on bytes, without a connection.
//!
//! Cells arrive as they are, whatever the session's `sql_mode`: byte columns take any bytes, text columns take UTF-8
//! (converted by the server if the column has another character set). Both forms turn some errors into warnings
//! (LOAD DATA LOCAL even duplicate keys), so whoever uses them has to look at [`lost_rows`] before it commits.
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::Value;
use std::io::Write;

/// Text handed over at a time, and the most that is held beyond one row.
pub const PIECE_BYTES: usize = 256 * 1024;
/// Text of one INSERT: below the smallest max_allowed_packet in the field (1 MiB).
pub const INSERT_BYTES: usize = 512 * 1024;

/// Where rows go.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Quoted.
    pub table: String,
    pub columns: Vec<Column>,
    /// In all its text columns ASCII means the same, by [`charsets_statement`].
    pub plain_ascii: bool,
}

/// As what the server is told to read the text of a LOAD DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Bytes, stored as they come: the cheapest, and right where text is ASCII (see docs/method/loading.md).
    Ascii,
    /// Text is UTF-8, and converted to its column's character set.
    Utf8,
}

impl Target {
    /// How to read the first rows. [`Reading::Ascii`] is good up to the first row that does not [`suit`](Self::suits) it.
    pub fn reading(&self) -> Reading {
        if self.plain_ascii {
            Reading::Ascii
        } else {
            Reading::Utf8
        }
    }

    /// Whether the row is stored as it is, read in this way.
    pub fn suits(&self, reading: Reading, row: &RowBuf) -> bool {
        let same = |(cell, column): (Value<'_>, &Column)| {
            let ascii = || cell.bytes().is_none_or(<[u8]>::is_ascii);
            column.bytes || ascii()
        };
        reading == Reading::Utf8 || row.cells().zip(&self.columns).all(same)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Quoted.
    pub name: String,
    /// BLOB, BINARY, VARBINARY: not text in any character set.
    pub bytes: bool,
}

/// A query whose result has the columns' types and no rows. `columns`: quoted.
pub fn probe_statement(table: &str, columns: &[String]) -> String {
    format!("SELECT {} FROM {table} LIMIT 0", columns.join(","))
}

/// A query that answers in how many of these columns ASCII means the same as in ASCII. Names: not quoted.
pub fn charsets_statement(table: &str, columns: &[&str]) -> String {
    let text = |name: &str| {
        let digits: String = name.bytes().map(|byte| format!("{byte:02X}")).collect();
        format!("CONVERT(X'{digits}' USING utf8)")
    };
    let columns: Vec<String> = columns.iter().map(|name| text(name)).collect();
    format!(
        "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() \
         AND table_name = {} AND column_name IN ({}) AND (character_set_name IS NULL \
         OR character_set_name IN ('ascii', 'latin1', 'utf8', 'utf8mb3', 'utf8mb4'))",
        text(table),
        columns.join(",")
    )
}

/// The statement that asks for [`push_line`]s. Its separators are numbers, because `sql_mode` decides what a
/// backslash in quotes is.
pub fn load_statement(target: &Target, reading: Reading) -> String {
    let utf8 = reading == Reading::Utf8;
    let has_bytes = target.columns.iter().any(|column| column.bytes);
    let has_text = target.columns.iter().any(|column| !column.bytes);
    // Read as UTF-8, broken sequences of a byte column could swallow a separator; read as bytes, text has to be
    // declared to be UTF-8 again.
    let charset = if utf8 && !has_bytes { "utf8mb4" } else { "binary" };
    let (mut places, mut texts) = (Vec::new(), Vec::new());
    for (i, column) in target.columns.iter().enumerate() {
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
        target.table,
        places.join(","),
    )
}

/// One row as LOAD DATA reads it.
pub fn push_line(row: &RowBuf, text: &mut Vec<u8>) {
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
pub fn insert_statement(target: &Target) -> String {
    let places = vec!["?"; target.columns.len()].join(",");
    format!("{}({places})", insert_head(target))
}

fn insert_head(target: &Target) -> String {
    let names: Vec<&str> = target.columns.iter().map(|column| &*column.name).collect();
    format!("INSERT INTO {}({})VALUES", target.table, names.join(","))
}

/// INSERTs of many rows, one after the other in one buffer.
pub struct Inserts<'a> {
    target: &'a Target,
    text: Vec<u8>,
    head_len: usize,
}

impl<'a> Inserts<'a> {
    pub fn new(target: &'a Target) -> Self {
        let text = insert_head(target).into_bytes();
        Self {
            target,
            head_len: text.len(),
            text,
        }
    }

    /// Adds a row; whether the statement is now large enough to be sent.
    pub fn push(&mut self, row: &RowBuf) -> bool {
        let text = &mut self.text;
        text.extend_from_slice(if text.len() == self.head_len { b"(" } else { b",(" });
        for (i, cell) in row.cells().enumerate() {
            if i > 0 {
                text.push(b',');
            }
            match cell {
                Value::Null => text.extend_from_slice(b"NULL"),
                Value::Text(bytes) | Value::Bytes(bytes) => {
                    let is_bytes = self.target.columns.get(i).is_some_and(|column| column.bytes);
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

    /// Begins the next statement.
    pub fn clear(&mut self) {
        self.text.truncate(self.head_len);
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
    use crate::mysql::DIALECT;
    use bakeoff_model::value::{Decimal, Timestamp};

    const PRICE: Value<'_> = Value::Decimal(Decimal {
        units: -1230,
        scale: 2,
    });
    const NEW_YEAR: Value<'_> = Value::Timestamp(Timestamp { us: 0 });

    fn target(kinds: &[bool]) -> Target {
        let column = |(i, &bytes): (usize, &bool)| Column {
            name: DIALECT.quoted(&format!("c{i}")),
            bytes,
        };
        Target {
            table: DIALECT.quoted("t"),
            columns: kinds.iter().enumerate().map(column).collect(),
            plain_ascii: true,
        }
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
    fn text_is_declared_to_be_utf8_where_bytes_stand_beside_it() {
        let places = |kinds: &[bool]| {
            let sql = load_statement(&target(kinds), Reading::Utf8);
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

    #[test]
    fn ascii_is_read_as_bytes_and_the_rest_as_utf8() {
        let target = target(&[false, true]);
        let suits =
            |text, bytes| target.suits(Reading::Ascii, &row(&[Value::Text(text), Value::Text(bytes)]));
        assert!(suits(b"plain", b"\xff") && !suits("Gr\u{fc}n".as_bytes(), b""));
        assert!(target.suits(
            Reading::Utf8,
            &row(&[Value::Text("\u{fc}".as_bytes()), Value::Null])
        ));
        assert!(load_statement(&target, Reading::Ascii).ends_with(
            "CHARACTER SET binary FIELDS TERMINATED BY 0x09 \
             ESCAPED BY 0x5C LINES TERMINATED BY 0x0A (`c0`,`c1`)"
        ));
        let other = Target {
            plain_ascii: false,
            ..target
        };
        assert_eq!(other.reading(), Reading::Utf8);
    }

    #[test]
    fn an_insert_takes_rows_until_it_is_large_enough() {
        let target = target(&[false, true]);
        let mut inserts = Inserts::new(&target);
        assert!(!inserts.push(&row(&[Value::Text(b"it's"), Value::Text(b"\x01\xff")])));
        assert!(!inserts.push(&row(&[Value::Text(b"a\\"), Value::Null])));
        let sql = b"INSERT INTO `t`(`c0`,`c1`)VALUES('it''s',_binary'\x01\xff'),(_utf8mb4 X'615C',NULL)";
        assert_eq!(inserts.text(), sql);
        inserts.clear();
        inserts.push(&row(&[PRICE, NEW_YEAR]));
        let sql = b"INSERT INTO `t`(`c0`,`c1`)VALUES(-12.30,'1970-01-01 00:00:00.000000')";
        assert_eq!(inserts.text(), sql);
        inserts.clear();
        let long = vec![b'x'; 1000];
        let long = row(&[Value::Int(1), Value::Text(&long)]);
        while !inserts.push(&long) {}
        assert!((INSERT_BYTES..INSERT_BYTES + 1100).contains(&inserts.text().len()));
    }

    #[test]
    fn a_loss_is_told_and_a_word_about_the_log_is_not_one() {
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
