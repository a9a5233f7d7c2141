//! Carrying out in a session what a script's coroutine asks.
use super::host::{Asked, Given, Host, Reply, Turn};
use super::prepared::Prepared;
use crate::prelude::*;
use crate::statement_kind::Kind;
use bakeoff_model::time::sleep;
use mlua::{BorrowedBytes, Table, Thread, Value as LuaValue};
use smallvec::SmallVec;
use std::time::Duration;

/// A script that sleeps longer than this waits for something that will not come.
const SLEEP_MAX_S: f64 = 600.0;

/// What a user's session is about, across the events of its script.
#[derive(Default)]
pub struct Course {
    /// A transaction may be open.
    pub open: bool,
    pub queries: Queries,
    /// Events that have ended since a statement was carried out: what they are about is not sent yet.
    pub unsent: u64,
    /// Something was asked in this event.
    asked: bool,
    /// The script wants another session.
    pub reconnects: bool,
    /// The first statement of this event that failed.
    failed: Option<OpError>,
}

/// How a coroutine came to rest.
pub enum Rest {
    /// An event has ended, or `thread_init`.
    Ended,
    /// An event has; the coroutine goes on with the next.
    Failed(OpError),
    Over,
}

/// Resumes a coroutine, again and again, until it rests. After an error it cannot be resumed.
#[inline]
pub async fn play(
    host: &Host,
    coroutine: &Thread,
    begin: Reply,
    turn: &Turn,
    prepared: &Prepared,
    course: &mut Course,
    session: &mut AnySql,
) -> Result<Rest, OpError> {
    (course.failed, course.asked) = (None, false);
    let mut reply = begin;
    loop {
        let asked = host.resume(coroutine, reply, turn);
        course.reconnects |= host.reconnects();
        course.asked |= matches!(asked, Ok(Asked::Text(_) | Asked::Prepared(..)));
        let answer = match asked {
            Ok(Asked::Text(sql)) => {
                let sql = sql.as_bytes();
                match std::str::from_utf8(&sql) {
                    Ok(sql) => text(host, sql, course, session).await,
                    Err(_) => Err(script("a statement is not UTF-8")),
                }
            }
            Ok(Asked::Prepared(place, values)) => execute(prepared, place, &values, course, session).await,
            Ok(Asked::Sleep(seconds)) => {
                sleep(Duration::from_secs_f64(seconds.clamp(0.0, SLEEP_MAX_S))).await;
                Ok(Reply::Go)
            }
            Ok(Asked::Ended) => {
                course.unsent = if course.asked { 0 } else { course.unsent + 1 };
                return Ok(Rest::Ended);
            }
            Ok(Asked::Over) => return Ok(Rest::Over),
            Ok(Asked::Failed(None)) => {
                return Ok(Rest::Failed(course.failed.take().unwrap_or_else(again)));
            }
            Ok(Asked::Failed(Some(message))) => return Ok(Rest::Failed(script(message))),
            // A statement that failed where nothing is tried again, or an error of the script.
            Err(message) => return Err(course.failure(&message)),
        };
        reply = match answer {
            Ok(reply) => reply,
            Err(error) if error.connection_lost => return Err(error),
            Err(error) => {
                course.failed.get_or_insert_with(|| error.clone());
                Reply::Failed(error)
            }
        };
    }
}

impl Course {
    #[cold]
    fn failure(&mut self, message: &str) -> OpError {
        self.failed.take().unwrap_or_else(|| script(message))
    }

    /// Rolls back what a failed event has left open.
    #[cold]
    pub async fn undo(&mut self, error: OpError, session: &mut AnySql) -> OpError {
        match std::mem::take(&mut self.open) {
            true => {
                self.queries.other += 1;
                session.undo(error).await
            }
            false => error,
        }
    }

    async fn transaction(&mut self, kind: Kind, session: &mut AnySql) -> Result<Reply, OpError> {
        match kind {
            Kind::Begin => session.begin(Access::default()).await?,
            Kind::Commit => session.commit().await?,
            _ => session.rollback().await?,
        }
        self.open = kind == Kind::Begin;
        self.queries.other += 1;
        Ok(Reply::Count(None))
    }
}

/// The script itself has its event begun again.
#[cold]
fn again() -> OpError {
    OpError::fail(
        FailClass::Conflict,
        "LUA",
        "the script asked for its event to be begun again",
    )
}

/// An error of the script's own.
#[cold]
pub fn script(message: impl Into<String>) -> OpError {
    OpError::fail(FailClass::Other, "LUA", message)
}

async fn text(host: &Host, sql: &str, course: &mut Course, session: &mut AnySql) -> Result<Reply, OpError> {
    let kind = Kind::of(sql);
    match kind {
        Kind::Begin | Kind::Commit | Kind::Rollback => return course.transaction(kind, session).await,
        Kind::Read => {
            let cells = host.cells().map_err(script)?;
            let (mut fields, mut count, mut failed) = (0, 0, None);
            let mut each = |row: &RowBuf| {
                fields = row.len();
                failed = failed.take().or_else(|| keep(host, &cells, count, row).err());
                count += fields;
            };
            let rows = session.query_text(sql, &mut each).await?;
            if let Some(message) = failed {
                return Err(script(message));
            }
            kind.count(None, &mut course.queries);
            return Ok(Reply::Rows(cells, rows, fields as u64));
        }
        Kind::Write | Kind::Other => {}
    }
    course.open |= kind.opens(sql);
    let done = session
        .execute_text(sql)
        .await
        .map_err(|error| error.with_statement(sql))?;
    kind.count(done.affected, &mut course.queries);
    Ok(Reply::Count(None))
}

/// Puts a row's cells behind the `before` that there are.
fn keep(host: &Host, cells: &Table, before: usize, row: &RowBuf) -> Result<(), String> {
    for place in 0..row.len() {
        let text = match row.cell(place) {
            None | Some(Value::Null) => continue,
            Some(Value::Text(text) | Value::Bytes(text)) => host.text(text)?,
            Some(other) => host.text(other.to_string().as_bytes())?,
        };
        cells
            .raw_set(before + place + 1, text)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[inline]
async fn execute(
    prepared: &Prepared,
    place: usize,
    given: &Given,
    course: &mut Course,
    session: &mut AnySql,
) -> Result<Reply, OpError> {
    let Some((sql, kind)) = prepared.all.get(place) else {
        return Err(script("a statement that was never prepared"));
    };
    let statement = Statement(place as u32);
    let texts: SmallVec<[Option<BorrowedBytes>; 4]> = given
        .iter()
        .map(|value| Some(value.as_string()?.as_bytes()))
        .collect();
    let mut values: SmallVec<[Value<'_>; 4]> = SmallVec::new();
    for (value, text) in given.iter().zip(&texts) {
        values.push(
            parameter(value, text.as_ref())
                .ok_or_else(|| script("a parameter is neither a number nor a text"))?,
        );
    }
    match kind {
        Kind::Begin | Kind::Commit | Kind::Rollback => course.transaction(*kind, session).await,
        Kind::Read => {
            let rows = session.query(statement, &values, &mut |_| {}).await?;
            course.queries.read += 1;
            Ok(Reply::Count(Some(rows)))
        }
        Kind::Write | Kind::Other => {
            course.open |= *kind == Kind::Other && kind.opens(sql);
            let done = session.execute(statement, &values).await?;
            kind.count(done.affected, &mut course.queries);
            Ok(Reply::Count(None))
        }
    }
}

#[inline]
fn parameter<'v>(value: &LuaValue, text: Option<&'v BorrowedBytes>) -> Option<Value<'v>> {
    Some(match (value, text) {
        (_, Some(text)) => Value::Text(text),
        (LuaValue::Nil, _) => Value::Null,
        (LuaValue::Boolean(value), _) => Value::Bool(*value),
        (LuaValue::Integer(value), _) => Value::Int(*value),
        (LuaValue::Number(value), _) if value.fract() == 0.0 && value.abs() < 9e15 => {
            Value::Int(*value as i64)
        }
        (LuaValue::Number(value), _) => Value::Float(*value),
        _ => return None,
    })
}
