//! The SQL shape of a database: prepared statements with typed parameters, and rows.
use crate::outcome::{FailClass, OpError};
use crate::pipeline::{Part, Pipeline};
use crate::row::RowBuf;
pub use crate::statement::{Done, Statement};
use crate::transaction::Transactional;
use crate::value::Value;

/// What is prepared, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask<'a> {
    pub sql: &'a str,
    /// It changes nothing: any replica may answer it.
    pub reads: bool,
    /// Carried out twice it leaves what it leaves once: a client library may send it again.
    pub idempotent: bool,
}

impl<'a> Ask<'a> {
    pub fn read(sql: &'a str) -> Self {
        Self {
            sql,
            reads: true,
            idempotent: true,
        }
    }

    pub fn write(sql: &'a str) -> Self {
        Self {
            sql,
            reads: false,
            idempotent: false,
        }
    }

    pub fn idempotent(self) -> Self {
        Self {
            idempotent: true,
            ..self
        }
    }
}

/// What differs between SQL systems, as values. Whatever is not here is the same everywhere (`BIGINT`, `DECIMAL(p, s)`)
/// or does not belong in a workload.
#[derive(Clone, Debug, PartialEq)]
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
    /// A number from -128 to 127, or as small as there is.
    pub byte_type: &'static str,
    /// Appended to CREATE TABLE (`ENGINE=InnoDB`, ` WITHOUT ROWID`), or empty.
    pub table_suffix: &'static str,
    /// Placeholder style: `?` everywhere, or `$1`, `$2`, ...
    pub numbered_placeholders: bool,
    /// Appended to a SELECT whose rows are to be locked until the transaction ends.
    pub for_update: &'static str,
    pub upsert: Upsert,
    /// Behind a table's name in a SELECT that is to go by the index `{}`, or empty.
    pub force_index: &'static str,
    pub partitioning: Partitioning,
    /// Most parameters that one statement may have.
    pub max_params: usize,
    /// Rows of one INSERT that suit the client library in a batch (1: a prepared row at a time, in one transaction).
    pub rows_per_insert: usize,
    /// Foreign keys can be added to tables that are there; otherwise only CREATE TABLE declares them.
    pub adds_foreign_keys: bool,
    /// A statement that has a session leave foreign keys unchecked; empty: there is none.
    pub foreign_keys_off: &'static str,
    /// A query with one text parameter, answering one row when a table of that name exists in the current schema.
    pub table_exists: &'static str,
    /// Statements between which a session writes nothing; empty: there are none.
    pub only_reads: [&'static str; 2],
    /// A query for names and values of the settings by which a session's work could be made faster than the plan says:
    /// how durable commits are, how isolated, what is checked. Empty: there is none.
    pub settings: &'static str,
    /// Several statements can be made one transaction.
    pub transactions: bool,
    /// The columns of `*` come in the order in which CREATE TABLE named them.
    pub star_as_declared: bool,
    /// Rows lie in the order of a hash of their keys (`token`), a number of 64 bits: a whole table is read in pieces by it.
    pub by_token: bool,
}

/// How an INSERT says what becomes of a row whose key is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upsert {
    /// `ON DUPLICATE KEY UPDATE c=VALUES(c)`
    OnDuplicateKey,
    /// `ON CONFLICT (key) DO UPDATE SET c=excluded.c`
    OnConflict,
    /// Nothing: every INSERT does it, and sees nothing of the row that was there.
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

    /// A column's or a parameter's bytes as they are stored. MySQL's family converts texts between the session's characters
    /// and the column's, and other tools store bytes in columns of text.
    pub fn stored_bytes(&self, value: &str) -> String {
        match self.upsert {
            Upsert::OnDuplicateKey => format!("CAST({value} AS BINARY)"),
            Upsert::OnConflict | Upsert::Insert => value.to_owned(),
        }
    }

    /// The place of a statement's parameter, from 1.
    pub fn placeholder(&self, number: usize) -> String {
        match self.numbered_placeholders {
            true => format!("${number}"),
            false => "?".to_owned(),
        }
    }

    /// Behind a table that is read by token ([`Self::by_token`]), whose parameters are those of each of [`pieces`].
    /// `key`: what rows lie by, quoted where it needs it.
    pub fn piece(&self, key: &str) -> String {
        let (first, last) = (self.placeholder(1), self.placeholder(2));
        format!(" WHERE token({key})>={first} AND token({key})<={last}")
    }

    /// Takes the next of the numbers that a row counts, in one statement: it tells the number and leaves the row one ahead.
    pub fn take_number(&self, table: &str, counter: &str, row: &str) -> String {
        match self.number_taken() {
            NumberTaken::InsertId => {
                format!("UPDATE {table} SET {counter}=LAST_INSERT_ID({counter})+1 WHERE {row}")
            }
            NumberTaken::Row => {
                format!("UPDATE {table} SET {counter}={counter}+1 WHERE {row} RETURNING {counter}-1")
            }
        }
    }

    /// MySQL's family is known by its upsert: it has no RETURNING for an UPDATE.
    pub fn number_taken(&self) -> NumberTaken {
        match self.upsert {
            Upsert::OnDuplicateKey => NumberTaken::InsertId,
            Upsert::OnConflict | Upsert::Insert => NumberTaken::Row,
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
}

/// Pieces of a table that is read by token: each small enough to be answered in the time that servers give a statement.
const PIECES: u64 = 256;

/// First and last token of every piece; together they are all that there are.
pub fn pieces() -> impl Iterator<Item = [Value<'static>; 2]> {
    const WIDTH: u64 = u64::MAX / PIECES;
    (0..PIECES).map(|piece| {
        let first = i64::MIN.wrapping_add((piece * (WIDTH + 1)) as i64);
        [Value::Int(first), Value::Int(first + WIDTH as i64)]
    })
}

pub trait SqlSession {
    fn dialect(&self) -> &'static Dialect;
    /// A session's statements are numbered from 0 in the order they were prepared, so that sessions which prepared the
    /// same have the same numbers.
    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError>;
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError>;
    /// Calls `each` per row through one reusable buffer; returns the number of rows.
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut impl FnMut(&RowBuf),
    ) -> Result<u64, OpError>;
    /// At most one row, left in the session's buffer.
    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError>;
    /// Unprepared, no rows wanted (DDL, SET, or a write with its values in the text).
    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError>;
    /// Unprepared, with rows; what a cell's type is depends on the system (MySQL's text protocol knows only text).
    async fn query_text(&mut self, sql: &str, each: &mut impl FnMut(&RowBuf)) -> Result<u64, OpError>;
    /// Loads rows by the fastest way that the system has. `next` fills the next row, one cell per column, into the
    /// cleared buffer; false: there are no more. Returns rows stored, which is how many `next` gave.
    ///
    /// Outside a transaction all rows are stored or none (where there are no transactions: any of them). Inside one they are part of it, and after an error it has to
    /// be rolled back: some of the rows may be there. A row that would be stored other than it was given (a duplicate
    /// key, a value cut off or converted with a warning) is an error. Whether `Text` and `Bytes`
    /// are bytes or have to be UTF-8 is for the column to say. Not for the measured loop: it allocates.
    async fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut impl FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError>;
    /// Carries out writes in one request, kept together as the driver's options say; an error may leave any of them. Only
    /// asked where there are no transactions ([`Dialect::transactions`]).
    async fn run_batch(&mut self, _batch: &Pipeline) -> Result<(), OpError> {
        let words = "this system has transactions in place of batches";
        Err(OpError::fail(FailClass::Refused, "BATCH", words))
    }
    /// Asks for the rows of several statements that only read, all at once. `each` gets the rows, those of one statement
    /// after those of another, in their order; returns how many came. Only asked where there are no transactions.
    async fn query_all(
        &mut self,
        _reads: &Pipeline,
        _each: &mut impl FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let words = "this system takes one question at a time";
        Err(OpError::fail(FailClass::Refused, "BATCH", words))
    }
    /// Sends the statements together and takes their answers in their order. `each` gets a statement's place, from 0,
    /// with each of its rows and then its end. The first statement that fails is the error: those before it have had
    /// their end told, those after it are not carried out. Statements outside a transaction are one of their own.
    ///
    /// Only asked of sessions whose driver offers it (`Capabilities::pipeline`).
    async fn run_pipeline(
        &mut self,
        _pipeline: &Pipeline,
        _each: &mut impl FnMut(usize, Part<'_>),
    ) -> Result<(), OpError> {
        let words = "this system takes one statement at a time";
        Err(OpError::fail(FailClass::Refused, "PIPELINE", words))
    }
}

/// A session beneath which SQL is spoken: where a workload that asks in SQL finds it, whatever adapter lies above.
pub trait SpeaksSql {
    type Sql: SqlSession + Transactional;
    fn sql(&mut self) -> &mut Self::Sql;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_table_hold_every_token_once() {
        let number = |value: Value<'_>| value.whole_number().map(i128::from);
        let mut next = i128::from(i64::MIN);
        for [first, last] in pieces() {
            assert_eq!(number(first), Some(next));
            next = number(last).map_or(next, |last| last + 1);
        }
        assert_eq!(next, i128::from(i64::MAX) + 1);
    }
}
