//! The SQL shape of a database: prepared statements with typed parameters, rows, transactions.
use crate::outcome::OpError;
use crate::row::RowBuf;

/// A prepared statement of one session: an index, `Copy`, never looked up by text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement(pub u32);

#[derive(Clone, Copy, Debug)]
pub enum Param<'a> {
    Null,
    Int(i64),
    Float(f64),
    Text(&'a [u8]),
    Bytes(&'a [u8]),
}

/// What differs between SQL systems, as values. Whatever is not here is the same everywhere or does not belong in a
/// workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialect {
    pub name: &'static str,
    /// Opening and closing quote of an identifier.
    pub quote: (char, char),
    /// A key column's type, `{}` standing for its length.
    pub key_type: &'static str,
    pub text_type: &'static str,
    pub varchar_type: &'static str,
    /// Type of an integer primary key that the system numbers where nobody else does.
    pub auto_key: &'static str,
    /// What an INSERT gives such a key to have it numbered; `None`: null.
    pub auto_value: Option<i64>,
    /// CREATE TABLE may list plain indexes (`KEY name (column)`).
    pub keys_in_create_table: bool,
    /// Appended to CREATE TABLE (`ENGINE=InnoDB`, ` WITHOUT ROWID`), or empty.
    pub table_suffix: &'static str,
    /// Placeholder style: `?` everywhere, or `$1`, `$2`, ...
    pub numbered_placeholders: bool,
    /// Most parameters that one statement may have.
    pub max_params: usize,
    /// Rows of one INSERT that suit the client library in a batch (1: a prepared row at a time, in one transaction).
    pub rows_per_insert: usize,
    /// A query with one text parameter, answering one row when a table of that name exists in the current schema.
    pub table_exists: &'static str,
}

pub trait SqlSession {
    fn dialect(&self) -> &'static Dialect;
    /// A session's statements are numbered from 0 in the order they were prepared, so that sessions which prepared the
    /// same have the same numbers.
    async fn prepare(&mut self, sql: &str) -> Result<Statement, OpError>;
    /// Rows affected, counted as *found* for updates.
    async fn execute(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<u64, OpError>;
    /// Calls `each` per row through one reusable buffer; returns the number of rows.
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Param<'_>],
        each: &mut impl FnMut(&RowBuf),
    ) -> Result<u64, OpError>;
    /// At most one row, left in the session's buffer.
    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Param<'_>],
    ) -> Result<Option<&RowBuf>, OpError>;
    /// Unprepared, no rows wanted (DDL, SET, or a write with its values in the text). Rows affected, counted as *found*.
    async fn execute_text(&mut self, sql: &str) -> Result<u64, OpError>;
    /// Unprepared, with rows; what a cell's type is depends on the system (MySQL's text protocol knows only bytes).
    async fn query_text(&mut self, sql: &str, each: &mut impl FnMut(&RowBuf)) -> Result<u64, OpError>;
    /// Loads rows by the fastest way that the system has. `next` fills the next row, one cell per column, into the
    /// cleared buffer; false: there are no more. Returns rows stored, which is how many `next` gave.
    ///
    /// Outside a transaction all rows are stored or none. Inside one they are part of it, and after an error it has to
    /// be rolled back: some of the rows may be there. A row that would be stored other than it was given (a duplicate
    /// key, a value cut off or converted with a warning) is an error. `Bytes` cells are any bytes in a column of bytes,
    /// UTF-8 in a column of text. Not for the measured loop: it allocates.
    async fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut impl FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError>;
    async fn begin(&mut self) -> Result<(), OpError>;
    async fn commit(&mut self) -> Result<(), OpError>;
    async fn rollback(&mut self) -> Result<(), OpError>;
}

/// A session beneath which SQL is spoken: where a workload that asks in SQL finds it, whatever adapter lies above.
pub trait SpeaksSql {
    type Sql: SqlSession;
    fn sql(&mut self) -> &mut Self::Sql;
}
