//! Carrying out in a session what a script's coroutine asks.
use super::coroutine::{Asked, Cells, Coroutine, Given, Reply, Text};
use super::host::{Host, Turn};
use super::prepared::Prepared;
use crate::prelude::*;
use crate::statement_kind::Kind;
use bakeoff_model::time::sleep;
use smallvec::SmallVec;
use std::time::Duration;

/// A script that sleeps longer than this waits for something that will not come.
const SLEEP_MAX_S: f64 = 600.0;
/// Of one answer, which Lua keeps in memory.
const CELLS_MAX: usize = 10_000_000;

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
    coroutine: &mut Coroutine,
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
            Ok(Asked::Text(asked)) => text(&asked, course, session).await,
            Ok(Asked::Prepared(place, given)) => execute(prepared, place, given, course, session).await,
            Ok(Asked::Sleep(seconds)) => {
                sleep(pause(seconds)).await;
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

/// Of a script that may say anything, also what is no number.
fn pause(seconds: f64) -> Duration {
    match seconds > 0.0 {
        true => Duration::from_secs_f64(seconds.min(SLEEP_MAX_S)),
        false => Duration::ZERO,
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

async fn text(asked: &Text<'_>, course: &mut Course, session: &mut AnySql) -> Result<Reply, OpError> {
    let Ok(sql) = std::str::from_utf8(asked.sql()) else {
        return Err(script("a statement is not UTF-8"));
    };
    let kind = Kind::of(sql);
    match kind {
        Kind::Begin | Kind::Commit | Kind::Rollback => return course.transaction(kind, session).await,
        Kind::Read => {
            let (mut cells, mut fields, mut count) = (asked.cells(), 0, 0);
            let mut each = |row: &RowBuf| {
                fields = row.len();
                if count < CELLS_MAX {
                    keep(&mut cells, count, row);
                }
                count += fields;
            };
            let rows = session.query_text(sql, &mut each).await?;
            if count > CELLS_MAX {
                return Err(script(format!(
                    "an answer has {count} cells, and at most {CELLS_MAX} fit"
                )));
            }
            kind.count(None, &mut course.queries);
            return Ok(Reply::Rows(rows, fields as u64));
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
fn keep(cells: &mut Cells<'_>, before: usize, row: &RowBuf) {
    for place in 0..row.len() {
        match row.cell(place) {
            None | Some(Value::Null) => {}
            Some(Value::Text(text) | Value::Bytes(text)) => cells.set(before + place + 1, text),
            Some(other) => cells.set(before + place + 1, other.to_string().as_bytes()),
        }
    }
}

#[inline]
async fn execute(
    prepared: &Prepared,
    place: usize,
    given: Given<'_>,
    course: &mut Course,
    session: &mut AnySql,
) -> Result<Reply, OpError> {
    let Some((sql, kind)) = prepared.all.get(place) else {
        return Err(script("a statement that was never prepared"));
    };
    let statement = Statement(place as u32);
    let mut values: SmallVec<[Value<'_>; 4]> = SmallVec::new();
    for value in given.values() {
        values.push(value.ok_or_else(|| script("a parameter is neither a number nor a text"))?);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_a_pause() {
        let pauses = [f64::NAN, -1.0, 1.5, f64::INFINITY].map(|seconds| pause(seconds).as_secs_f64());
        assert_eq!(pauses, [0.0, 0.0, 1.5, SLEEP_MAX_S]);
    }
}
