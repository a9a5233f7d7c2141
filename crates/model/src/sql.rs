//! The SQL shape of a database: prepared statements with typed parameters, and rows.
pub use crate::dialect::{Dialect, Json, JsonIndex, Lists, NumberTaken, Partitioning, TokenRanges, Upsert};
use crate::outcome::{FailClass, OpError};
use crate::pipeline::{Part, Pipeline};
use crate::row::RowBuf;
pub use crate::statement::{Done, Statement};
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

pub trait SqlSession {
    fn dialect(&self) -> &'static Dialect;
    /// As [`crate::endpoint::Asked::asked`].
    fn asked(&self) -> Option<u32> {
        None
    }
    /// A session's statements are numbered from 0 in the order they were prepared, so that sessions which prepared the
    /// same have the same numbers.
    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError>;
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError>;
    /// Calls `each` per row through one reusable buffer; returns the number of rows.
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
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
    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError>;
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
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError>;
    /// Carries out writes in one request, kept together as the driver's options say; an error may leave any of them. Only
    /// asked where there are such ([`Dialect::batches`]).
    async fn run_batch(&mut self, _batch: &Pipeline) -> Result<(), OpError> {
        let words = "this system has transactions in place of batches";
        Err(OpError::fail(FailClass::Refused, "BATCH", words))
    }
    /// Asks for the rows of several statements that only read, all at once. `each` gets the rows, those of one statement
    /// after those of another, in their order; returns how many came. Only asked where there are batches.
    async fn query_all(&mut self, _reads: &Pipeline, _each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        let words = "this system takes one question at a time";
        Err(OpError::fail(FailClass::Refused, "BATCH", words))
    }
    /// Sends the statements together and takes their answers in their order. `each` gets a statement's place, from 0,
    /// with each of its rows and then its end. The first statement that fails is the error: those before it have had
    /// their end told, those after it are not carried out. Statements outside a transaction are one of their own.
    ///
    /// Only asked of sessions whose driver offers it (`Offer::Pipeline`).
    async fn run_pipeline(
        &mut self,
        _pipeline: &Pipeline,
        _each: &mut dyn FnMut(usize, Part<'_>),
    ) -> Result<(), OpError> {
        let words = "this system takes one statement at a time";
        Err(OpError::fail(FailClass::Refused, "PIPELINE", words))
    }
}
