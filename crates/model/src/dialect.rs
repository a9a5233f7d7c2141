//! What differs between SQL systems, as values, and what not all of them can do, by its name.
use crate::value::Value;
pub use json::{Json, JsonIndex};

mod json;

/// A system's own are those that differ from [`Dialect::STANDARD`]. Whatever is not here is the same everywhere (`BIGINT`)
/// or does not belong in a workload.
#[derive(Clone, Debug)]
pub struct Dialect {
    pub name: &'static str,
    /// Opening and closing quote of an identifier.
    pub quote: (char, char),
    /// A name that is not quoted is lower-case: so are ours, or they would not meet the tables of tools that do not quote.
    pub lower_case_names: bool,
    /// A key column's type, `{}` standing for its length.
    pub key_type: &'static str,
    pub text_type: &'static str,
    pub varchar_type: &'static str,
    pub bytes_type: &'static str,
    /// Of bytes that an index may hold, `{}` standing for the most of them.
    pub varbytes_type: &'static str,
    /// A number from -128 to 127, or as small as there is.
    pub byte_type: &'static str,
    /// Of 32 bits.
    pub int_type: &'static str,
    /// `{}` standing for its digits, those behind the point after a comma.
    pub decimal_type: &'static str,
    /// Of microseconds, without a time zone.
    pub timestamp_type: &'static str,
    /// Type of an integer primary key that the system numbers where nobody else does.
    pub auto_key: &'static str,
    /// The same of 64 bits.
    pub auto_key_big: &'static str,
    /// What an INSERT gives such a key to have it numbered; `None`: the column is left out.
    pub auto_value: Option<i64>,
    /// Where rows are numbered regardless of keys that were given: has `{table}` number its `{column}` from `{last}` on.
    pub number_after: Option<&'static str>,
    /// Appended to CREATE TABLE (`ENGINE=InnoDB`, ` WITHOUT ROWID`), or empty.
    pub table_suffix: &'static str,
    /// Placeholder style: `?` everywhere, or `$1`, `$2`, ...
    pub numbered_placeholders: bool,
    /// Appended to a SELECT whose rows are to be locked until the transaction ends.
    pub for_update: &'static str,
    /// How an INSERT says what becomes of a row whose key is there already.
    pub upsert: Upsert,
    /// How the statement that takes a number ([`Self::take_number`]) tells it.
    pub number_taken: NumberTaken,
    /// A column's or a parameter's bytes (`{}`) as they are stored, where texts are converted between the session's
    /// characters and the column's, and other tools store bytes in columns of text.
    pub stored_bytes: &'static str,
    /// Behind a table's name in a SELECT that is to go by the index `{}`, or empty.
    pub force_index: &'static str,
    pub partitioning: Partitioning,
    /// Most parameters that one statement may have.
    pub max_params: usize,
    /// Rows of one INSERT that suit the client library in a batch (1: a prepared row at a time, in one transaction).
    pub rows_per_insert: usize,
    /// A statement that has a session leave foreign keys unchecked; empty: there is none.
    pub foreign_keys_off: &'static str,
    /// A query with one text parameter, answering one row when a table of that name exists in the current schema.
    pub table_exists: &'static str,
    /// Statements between which a session writes nothing; empty: there are none.
    pub only_reads: [&'static str; 2],
    /// A query for names and values of the settings by which a session's work could be made faster than the plan says:
    /// how durable commits are, how isolated, what is checked. Empty: there is none.
    pub settings: &'static str,
    /// Appended to an UPDATE that is to make no row where it finds none. Empty: no UPDATE makes a row.
    pub if_there: &'static str,
    /// Several statements can be made one transaction.
    pub transactions: bool,
    /// Writes can be sent as one batch that is kept together, and questions at once ([`crate::sql::SqlSession::run_batch`],
    /// `query_all`).
    pub batches: bool,
    /// Columns can be forbidden to be empty, and tables refer to each other.
    pub constraints: bool,
    /// Foreign keys can be added to existing tables; otherwise only CREATE TABLE declares them.
    pub adds_foreign_keys: bool,
    /// The count of an INSERT that updates the row that it finds tells of it: 1, there was none; 2, it was changed; 0, it was
    /// so already.
    pub upsert_tells: bool,
    /// The columns of `*` come in the order in which CREATE TABLE named them.
    pub star_as_declared: bool,
    /// Rows are found by the first of their key and by nothing else, and lie in the order of a hash of it.
    pub token_ranges: Option<TokenRanges>,
    /// A column may hold a list of texts.
    pub lists: Option<&'static Lists>,
    /// A column may hold documents of JSON.
    pub json: Option<&'static Json>,
}

/// How an INSERT says what becomes of a row whose key is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upsert {
    /// `ON DUPLICATE KEY UPDATE c=VALUES(c)`
    OnDuplicateKey,
    /// `ON CONFLICT (key) DO UPDATE SET c=excluded.c`
    OnConflict,
    /// Nothing: every INSERT does it, and ignores the existing row.
    Insert,
}

/// How the statement that takes a number ([`Dialect::take_number`]) tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberTaken {
    /// As the id of an insert: the statement has no rows.
    InsertId,
    /// As its only row.
    Row,
}

/// How a table is divided by a hash of one of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitioning {
    None,
    /// Its parts are its own: `PARTITION BY KEY (c) PARTITIONS n`.
    Inside,
    /// Its parts are tables: `PARTITION BY HASH (c)`, then each with `PARTITION OF`.
    Tables,
}

impl Dialect {
    pub const STANDARD: Self = Self {
        name: "",
        quote: ('"', '"'),
        lower_case_names: false,
        key_type: "VARCHAR({})",
        text_type: "TEXT",
        varchar_type: "VARCHAR({})",
        bytes_type: "BLOB",
        varbytes_type: "BLOB",
        byte_type: "SMALLINT",
        int_type: "INTEGER",
        decimal_type: "DECIMAL({})",
        timestamp_type: "TIMESTAMP",
        auto_key: "INTEGER NOT NULL",
        auto_key_big: "BIGINT NOT NULL",
        auto_value: None,
        number_after: None,
        table_suffix: "",
        numbered_placeholders: false,
        for_update: "",
        upsert: Upsert::OnConflict,
        number_taken: NumberTaken::Row,
        stored_bytes: "{}",
        force_index: "",
        partitioning: Partitioning::None,
        max_params: 65_535,
        rows_per_insert: 1,
        foreign_keys_off: "",
        table_exists: "SELECT 1",
        only_reads: ["", ""],
        settings: "",
        if_there: "",
        transactions: true,
        batches: false,
        constraints: true,
        adds_foreign_keys: false,
        upsert_tells: false,
        star_as_declared: true,
        token_ranges: None,
        lists: None,
        json: None,
    };

    /// Quoted, and a quote inside doubled: names come from plans.
    pub fn quoted(&self, identifier: &str) -> String {
        let (open, close) = self.quote;
        let name = match self.lower_case_names {
            true => identifier.to_ascii_lowercase(),
            false => identifier.to_owned(),
        };
        let doubled = name.replace(close, &format!("{close}{close}"));
        format!("{open}{doubled}{close}")
    }

    /// The place of a statement's parameter, from 1.
    pub fn placeholder(&self, number: usize) -> String {
        match self.numbered_placeholders {
            true => format!("${number}"),
            false => "?".to_owned(),
        }
    }

    /// Takes the next of the numbers that a row counts, in one statement: it tells the number and leaves the row one ahead.
    pub fn take_number(&self, table: &str, counter: &str, row: &str) -> String {
        match self.number_taken {
            NumberTaken::InsertId => {
                format!("UPDATE {table} SET {counter}=LAST_INSERT_ID({counter})+1 WHERE {row}")
            }
            NumberTaken::Row => {
                format!("UPDATE {table} SET {counter}={counter}+1 WHERE {row} RETURNING {counter}-1")
            }
        }
    }

    /// What follows an INSERT so that a row whose `key` is there already gets the new values of `columns`. Names: quoted.
    pub fn upsert(&self, key: &str, columns: &[&str]) -> String {
        let set = |each: &dyn Fn(&str) -> String| {
            let all: Vec<String> = columns.iter().map(|column| each(column)).collect();
            all.join(", ")
        };
        let set = match self.upsert {
            Upsert::OnDuplicateKey => set(&|column| format!("{column}=VALUES({column})")),
            Upsert::OnConflict => set(&|column| format!("{column}=excluded.{column}")),
            Upsert::Insert => String::new(),
        };
        self.update_if_there(key, &set)
    }

    /// What follows an INSERT so that a row whose `key` is there already is changed by the assignments of `set`, in which
    /// names of columns stand behind the table's.
    pub fn update_if_there(&self, key: &str, set: &str) -> String {
        match self.upsert {
            Upsert::OnDuplicateKey => format!(" ON DUPLICATE KEY UPDATE {set}"),
            Upsert::OnConflict => format!(" ON CONFLICT ({key}) DO UPDATE SET {set}"),
            Upsert::Insert => String::new(),
        }
    }

    /// What follows an INSERT so that a row whose `key` is there already stays as it is. Names: quoted.
    pub fn leave_if_there(&self, key: &[&str]) -> String {
        match self.upsert {
            Upsert::OnDuplicateKey => self.update_if_there("", &format!("{0}={0}", key[0])),
            Upsert::OnConflict => format!(" ON CONFLICT ({}) DO NOTHING", key.join(", ")),
            Upsert::Insert => " IF NOT EXISTS".to_owned(),
        }
    }
}

/// Reads a whole table in pieces, by the hash of what its rows are found by: a number of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct TokenRanges {
    /// That tells it: `token`.
    pub function: &'static str,
}

/// Pieces of a table: each small enough to be answered in the time that servers give a statement.
const PIECES: u64 = 256;

impl TokenRanges {
    /// What stands behind the table; its parameters are those of each of [`Self::all`]. `key`: quoted where it needs it.
    pub fn condition(self, dialect: &Dialect, key: &str) -> String {
        let Self { function } = self;
        let (first, last) = (dialect.placeholder(1), dialect.placeholder(2));
        format!(" WHERE {function}({key})>={first} AND {function}({key})<={last}")
    }

    /// First and last token of every piece; together they are all that there are.
    pub fn all(self) -> impl Iterator<Item = [Value<'static>; 2]> {
        const WIDTH: u64 = u64::MAX / PIECES;
        (0..PIECES).map(|piece| {
            let first = i64::MIN.wrapping_add((piece * (WIDTH + 1)) as i64);
            [Value::Int(first), Value::Int(first + WIDTH as i64)]
        })
    }
}

/// A list of texts in one column: given and got as the bytes ([`Value::Bytes`]) that the system has for it.
#[derive(Clone, Copy, Debug)]
pub struct Lists {
    /// Its type, `{}` standing for that of its elements.
    pub column_type: &'static str,
    /// Appends the list of these to the bytes.
    pub write: fn(&mut Elements<'_>, &mut Vec<u8>),
    pub each: fn(&[u8], &mut Element<'_>),
}

pub type Elements<'a> = dyn ExactSizeIterator<Item = &'a [u8]> + 'a;
/// Is given one after the other.
pub type Element<'a> = dyn FnMut(&[u8]) + 'a;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_table_hold_every_token_once() {
        let number = |value: Value<'_>| value.whole_number().map(i128::from);
        let mut next = i128::from(i64::MIN);
        for [first, last] in (TokenRanges { function: "token" }).all() {
            assert_eq!(number(first), Some(next));
            next = number(last).map_or(next, |last| last + 1);
        }
        assert_eq!(next, i128::from(i64::MAX) + 1);
    }
}
