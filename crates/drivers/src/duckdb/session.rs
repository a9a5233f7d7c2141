//! A connection: its prepared statements, its transaction, and bulk loads by DuckDB's appender.
use super::DIALECT;
use super::errors::{at_commit, rolled_back};
use super::library::{Answer, Api, Database, FAILED, Object, text};
use super::values::{BLOB, Column, Kind, append, bind};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::{Ask, Dialect, Done, SqlSession, Statement};
use bakeoff_model::time::{deadline_ns, now_ns};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::cell::Cell;
use std::ptr::{null, null_mut};
use std::rc::Rc;
use std::sync::Arc;

pub struct DuckdbSession {
    statements: Vec<Prepared>,
    connection: Object,
    /// Of the answer that is being read.
    kinds: Vec<Kind>,
    columns: Vec<Column>,
    row: RowBuf,
    in_transaction: bool,
    /// A statement of the transaction has failed.
    failed: Cell<bool>,
    database: Arc<Database>,
}

#[derive(Clone)]
struct Prepared {
    statement: Object,
    /// For errors.
    sql: Rc<str>,
}

impl Drop for DuckdbSession {
    fn drop(&mut self) {
        let api = &self.database.api;
        // SAFETY: all are ours, and are not used afterwards.
        unsafe {
            for prepared in &mut self.statements {
                (api.destroy_prepare)(&mut prepared.statement);
            }
            (api.disconnect)(&mut self.connection);
        }
    }
}

/// An answer that is destroyed with its reader.
struct Given<'a> {
    answer: Answer,
    api: &'a Api,
    database: &'a Database,
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        // SAFETY: the library has filled it in, and it is not used afterwards.
        unsafe { (self.api.destroy_result)(&mut self.answer) };
    }
}

impl Given<'_> {
    #[cold]
    fn error(&mut self) -> OpError {
        // SAFETY: the library has filled it in.
        let said = Api::said(unsafe { (self.api.result_error)(&mut self.answer) });
        self.database.error(&said)
    }

    fn done(&mut self) -> Done {
        Done {
            // SAFETY: the library has filled it in.
            affected: Some(unsafe { (self.api.rows_changed)(&mut self.answer) }),
            insert_id: None,
        }
    }
}

impl DuckdbSession {
    pub fn new(database: Arc<Database>) -> Result<Self, OpError> {
        Ok(Self {
            statements: Vec::new(),
            connection: database.connect()?,
            kinds: Vec::new(),
            columns: Vec::new(),
            row: RowBuf::default(),
            in_transaction: false,
            failed: Cell::new(false),
            database,
        })
    }

    fn prepared(&self, sql: &str) -> Result<Prepared, OpError> {
        let (api, words) = (&self.database.api, text(sql)?);
        let mut statement = null_mut();
        // SAFETY: the connection is open, and the text ends with a zero byte.
        if unsafe { (api.prepare)(self.connection, words.as_ptr(), &mut statement) } != FAILED {
            let sql = sql.into();
            return Ok(Prepared { statement, sql });
        }
        // SAFETY: a statement that could not be prepared is an object all the same, and not used afterwards.
        let said = unsafe {
            let said = Api::said((api.prepare_error)(statement));
            (api.destroy_prepare)(&mut statement);
            said
        };
        Err(self.database.error(&said).with_statement(sql))
    }

    /// Carries a statement out. This thread does DuckDB's work, a piece at a time, and looks at the clock in between.
    #[inline]
    fn carried_out(&self, prepared: &Prepared, params: &[Value<'_>]) -> Result<Given<'_>, OpError> {
        let api = &self.database.api;
        for (i, param) in params.iter().enumerate() {
            if !bind(api, prepared.statement, i as u64 + 1, *param) {
                let what = format!("DuckDB does not take parameter {} ({param})", i + 1);
                return Err(
                    OpError::fail(FailClass::Refused, "PARAMETER", what).with_statement(&*prepared.sql)
                );
            }
        }
        let mut pending = null_mut();
        let mut given = Given {
            answer: Answer::NONE,
            api,
            database: &self.database,
        };
        // SAFETY: the statement is prepared; what is pending is ours to destroy.
        unsafe {
            let began = (api.pending_prepared)(prepared.statement, &mut pending) != FAILED;
            let done = began && self.work(pending);
            let state = match done {
                true => (api.execute_pending)(pending, &mut given.answer),
                false => FAILED,
            };
            let failed = (state == FAILED).then(|| match done {
                true => given.error(),
                false => self.database.error(&Api::said((api.pending_error)(pending))),
            });
            (api.destroy_pending)(&mut pending);
            match failed {
                Some(error) => {
                    self.failed.set(true);
                    Err(error.with_statement(&*prepared.sql))
                }
                None => Ok(given),
            }
        }
    }

    /// Whether it came to an answer.
    ///
    /// # Safety
    /// It is pending.
    #[inline]
    unsafe fn work(&self, pending: Object) -> bool {
        const READY: i32 = 0;
        const NOT_READY: i32 = 1;
        const NO_TASKS: i32 = 3;
        let api = &self.database.api;
        loop {
            // SAFETY: as the caller promises.
            match unsafe { (api.pending_execute_task)(pending) } {
                NOT_READY => {}
                // DuckDB's own threads have the rest.
                NO_TASKS => std::thread::yield_now(),
                state => return state == READY,
            }
            if now_ns() > deadline_ns() {
                // SAFETY: the connection is open.
                unsafe { (api.interrupt)(self.connection) };
            }
        }
    }

    /// Calls `each` for at most `rows_max` rows, every value copied into the session's row.
    fn fetch(
        &mut self,
        prepared: &Prepared,
        params: &[Value<'_>],
        rows_max: u64,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let (mut kinds, mut columns) = (std::mem::take(&mut self.kinds), std::mem::take(&mut self.columns));
        let mut row = std::mem::take(&mut self.row);
        let seen = self.carried_out(prepared, params).and_then(|mut given| {
            kinds.clear();
            // SAFETY: the library has filled it in.
            let count = unsafe { (given.api.column_count)(&mut given.answer) };
            for column in 0..count {
                let kind = Kind::of(given.api, &mut given.answer, column);
                kinds.push(kind.ok_or_else(|| unread(column, prepared))?);
            }
            Ok(rows(&given, &kinds, &mut columns, rows_max, &mut row, each))
        });
        (self.kinds, self.columns, self.row) = (kinds, columns, row);
        seen
    }

    fn said(&self, sql: &str) -> Result<Done, OpError> {
        let (api, words) = (&self.database.api, text(sql)?);
        let mut given = Given {
            answer: Answer::NONE,
            api,
            database: &self.database,
        };
        // SAFETY: the connection is open, and the text ends with a zero byte.
        match unsafe { (api.query)(self.connection, words.as_ptr(), &mut given.answer) } {
            FAILED => Err(given.error().with_statement(sql)),
            _ => Ok(given.done()),
        }
    }
}

#[cold]
fn unread(column: u64, of: &Prepared) -> OpError {
    let what = format!(
        "column {} of the answer has a type that bakeoff does not read: cast it, for example to VARCHAR",
        column + 1
    );
    OpError::fail(FailClass::Refused, "TYPE", what).with_statement(&*of.sql)
}

fn rows(
    given: &Given<'_>,
    kinds: &[Kind],
    columns: &mut Vec<Column>,
    rows_max: u64,
    row: &mut RowBuf,
    each: &mut dyn FnMut(&RowBuf),
) -> u64 {
    let (api, mut seen) = (given.api, 0);
    while seen < rows_max {
        // SAFETY: the answer is there; the chunk is ours to destroy, and read before that.
        unsafe {
            let mut chunk = (api.fetch_chunk)(given.answer);
            if chunk.is_null() {
                break;
            }
            columns.clear();
            columns.extend((0..).zip(kinds).map(|(i, kind)| Column::of(api, chunk, i, *kind)));
            let size = (api.data_chunk_get_size)(chunk).min(rows_max - seen);
            for number in 0..size as usize {
                row.clear();
                for column in &*columns {
                    row.push(column.cell(number));
                }
                each(row);
            }
            seen += size;
            (api.destroy_data_chunk)(&mut chunk);
            if size == 0 {
                break;
            }
        }
    }
    seen
}

impl SqlSession for DuckdbSession {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        let prepared = self.prepared(ask.sql)?;
        self.statements.push(prepared);
        Ok(Statement(self.statements.len() as u32 - 1))
    }

    #[inline]
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        let prepared = &self.statements[statement.0 as usize];
        Ok(self.carried_out(prepared, params)?.done())
    }

    #[inline]
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        self.fetch_of(statement, params, u64::MAX, each)
    }

    #[inline]
    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError> {
        let rows = self.fetch_of(statement, params, 1, &mut |_| {})?;
        Ok((rows > 0).then_some(&self.row))
    }

    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        let mut prepared = self.prepared(sql)?; // which takes one statement only
        let done = self.carried_out(&prepared, &[]).map(|mut given| given.done());
        // SAFETY: not used afterwards.
        unsafe { (self.database.api.destroy_prepare)(&mut prepared.statement) };
        done
    }

    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        let mut prepared = self.prepared(sql)?;
        let seen = self.fetch(&prepared, &[], u64::MAX, each);
        // SAFETY: not used afterwards.
        unsafe { (self.database.api.destroy_prepare)(&mut prepared.statement) };
        seen
    }

    async fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let whole = !self.in_transaction;
        if whole {
            self.begin(Access::default()).await?;
        }
        let rows = self.appended(table, columns, next);
        if whole { self.end(rows).await } else { rows }
    }
}

impl DuckdbSession {
    #[inline]
    fn fetch_of(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        rows_max: u64,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let place = statement.0 as usize;
        let prepared = self.statements[place].clone();
        self.fetch(&prepared, params, rows_max, each)
    }

    /// Rows stored, in the transaction that is open.
    fn appended(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let (api, name) = (&self.database.api, text(table)?);
        let mut appender = null_mut();
        // SAFETY: the connection is open, and texts end with a zero byte.
        let created = unsafe { (api.appender_create)(self.connection, null(), name.as_ptr(), &mut appender) };
        let row = &mut self.row;
        let mut append_all = || {
            let mut are_bytes = Vec::with_capacity(columns.len());
            for column in columns {
                let name = text(column)?;
                // SAFETY: the appender is open, and the text ends with a zero byte.
                if unsafe { (api.appender_add_column)(appender, name.as_ptr()) } == FAILED {
                    return Ok(None);
                }
            }
            for number in 0..columns.len() as u64 {
                // SAFETY: the appender is open and has this column; the type is ours to destroy.
                unsafe {
                    let mut of = (api.appender_column_type)(appender, number);
                    are_bytes.push((api.get_type_id)(of) == BLOB);
                    (api.destroy_logical_type)(&mut of);
                }
            }
            let mut rows = 0;
            loop {
                row.clear();
                if !next(row) {
                    // SAFETY: the appender is open.
                    let flushed = unsafe { (api.appender_flush)(appender) };
                    return Ok((flushed != FAILED).then_some(rows));
                }
                let mut cells = row.cells().zip(&are_bytes);
                if !cells.all(|(cell, is_bytes)| append(api, appender, cell, *is_bytes)) {
                    return Ok(None);
                }
                // SAFETY: the appender is open.
                if unsafe { (api.appender_end_row)(appender) } == FAILED {
                    return Ok(None);
                }
                rows += 1;
            }
        };
        let rows = if created == FAILED { Ok(None) } else { append_all() };
        // SAFETY: the appender says why it failed, and is not used afterwards.
        let said = unsafe {
            let said = matches!(rows, Ok(None)).then(|| Api::said((api.appender_error)(appender)));
            (api.appender_destroy)(&mut appender);
            said
        };
        match (rows, said) {
            (Ok(Some(rows)), _) => Ok(rows),
            (Err(error), _) => Err(error),
            (_, said) => {
                self.failed.set(true);
                Err(self
                    .database
                    .error(&said.unwrap_or_default())
                    .with_statement(format!("a load of {table}")))
            }
        }
    }
}

impl Transactional for DuckdbSession {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        // Who only reads, and asks for serializable, wants one state of all tables, which a snapshot is.
        let enough =
            |level| level == Isolation::Snapshot || (level == Isolation::Serializable && access.read_only);
        if access.isolation.is_some_and(|level| !enough(level)) {
            let what = "DuckDB has no isolation level but snapshot";
            return Err(OpError::fail(FailClass::Refused, "ISOLATION", what));
        }
        let begin = match access.read_only {
            true => "BEGIN TRANSACTION READ ONLY",
            false => "BEGIN TRANSACTION",
        };
        self.said(begin)?;
        self.in_transaction = true;
        self.failed.set(false);
        Ok(())
    }
    /// Whatever comes of it, DuckDB has ended the transaction.
    async fn commit(&mut self) -> Result<(), OpError> {
        self.in_transaction = false;
        // Not every failed statement ends its transaction: one that names no table does not.
        if self.failed.take() && self.said("SELECT 1").is_err() {
            self.said("ROLLBACK")?;
            return Err(rolled_back());
        }
        self.said("COMMIT").map(drop).map_err(at_commit)
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        if !std::mem::take(&mut self.in_transaction) {
            return Ok(());
        }
        self.said("ROLLBACK").map(drop)
    }
}
