//! Carrying a script out in a session. All that lies between two things that the session is asked is [`advance`], which
//! knows no session, so it is compiled once.
//!
//! A transaction that fails is undone, and another attempt begins where the last one ended: at the script's
//! beginning, or after what is committed. It draws the same random numbers from the same variables.
use super::expected::Expected;
use super::ready::Ready;
use super::scripts::Scripts;
use super::user::User;
use crate::script::{Counted, Fault, Number, Program, Statement, Step, Variables};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::pipeline::Part;
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Done, SqlSession};
use bakeoff_model::time;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use bakeoff_model::workload::{Answer, Probe, Queries};
use std::time::Duration;

/// What a session is asked next.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// A statement's place in its program.
    Statement(usize),
    Begin(Access),
    Commit,
    Rollback,
    Sleep(Duration),
    /// What was gathered.
    Send,
    End,
}

impl Scripts {
    /// Every session prepares the same statements in the same order, so their numbers are known.
    pub async fn prepare<S: SqlSession>(&self, session: &mut S) -> Result<(), OpError> {
        for script in &self.all {
            for (statement, expected) in script.program.statements.iter().zip(&script.ready.handles) {
                if !statement.prepared {
                    continue;
                }
                let sql = statement.sql(session.dialect());
                let place = || format!("{}, line {}: {sql}", script.program.name, statement.line);
                let handle = session.prepare(&statement.ask(&sql)).await;
                if handle.map_err(|error| error.with_statement(place()))? != *expected {
                    let message =
                        "statements were prepared in this session before the workload attached to it";
                    return Err(OpError::fail(FailClass::Other, "ATTACH", message).with_statement(sql));
                }
            }
        }
        Ok(())
    }

    /// One attempt at an operation. `again`: not the first.
    #[inline]
    pub async fn carry_out<S: SqlSession + Transactional, P: Probe>(
        &self,
        script: usize,
        seed: u64,
        again: bool,
        user: &mut User,
        session: &mut S,
        probe: &mut P,
    ) -> Result<Answer<'_>, OpError> {
        let script = &self.all[script];
        match again {
            false => user.begin(&script.program, seed),
            true => user.retry(&script.program),
        }
        let mut queries = Queries::default();
        let done = match steps(&script.program, &script.ready, user, session, &mut queries).await {
            Err(error) if user.open => {
                let error = session.undo(error).await;
                queries.other += u32::from(!error.connection_lost);
                Err(error)
            }
            done => done,
        };
        probe.queries(queries);
        done?;
        Ok(match user.wrong {
            None => Answer::Right,
            Some((statement, fault)) => {
                let expected = script.ready.expected[statement].as_ref();
                Answer::Wrong(expected.map_or("", |expected| expected.words(fault)))
            }
        })
    }
}

async fn steps<S: SqlSession + Transactional>(
    program: &Program,
    ready: &Ready,
    user: &mut User,
    session: &mut S,
    queries: &mut Queries,
) -> Result<(), OpError> {
    loop {
        match advance(program, ready, user)? {
            Next::Statement(place) => statement(program, ready, place, user, session, queries).await?,
            Next::Begin(access) => {
                session.begin(access).await?;
                user.open = true;
                queries.other += 1;
            }
            Next::Commit => {
                session.commit().await?;
                ended(program, user, queries);
            }
            Next::Rollback => {
                session.rollback().await?;
                ended(program, user, queries);
            }
            Next::Sleep(duration) => time::sleep(duration).await,
            Next::Send => send(program, ready, user, session, queries).await?,
            Next::End => return Ok(()),
        }
    }
}

fn ended(program: &Program, user: &mut User, queries: &mut Queries) {
    queries.other += 1;
    user.open = false;
    user.keep(program);
}

/// Up to the next thing that the session is asked.
fn advance(program: &Program, ready: &Ready, user: &mut User) -> Result<Next, OpError> {
    let value = |user: &mut User, expression: u32| {
        let made = &program.expressions[expression as usize];
        let found = made.evaluate(&user.variables, &mut user.random);
        found.map_err(|fault| failed(fault, &program.expressions_at[expression as usize]))
    };
    while let Some(step) = program.steps.get(user.at) {
        user.at += 1;
        match *step {
            Step::Set { variable, expression } => {
                let value = value(user, expression)?;
                user.variables.set(variable, value);
            }
            Step::Unless { expression, to } => {
                if !value(user, expression)?.holds() {
                    user.at = to as usize;
                }
            }
            Step::Jump { to } => user.at = to as usize,
            Step::Sleep { expression, unit_ns } => {
                let units = value(user, expression)?;
                let units = match units {
                    Number::Null => Err(Fault::NumberWanted),
                    units => units.int(),
                };
                let units =
                    units.map_err(|fault| failed(fault, &program.expressions_at[expression as usize]))?;
                let ns = u64::try_from(units).unwrap_or(0).saturating_mul(unit_ns);
                return Ok(Next::Sleep(Duration::from_nanos(ns)));
            }
            Step::Begin(_) if user.open => {
                return Err(unbalanced(program, "a transaction begins inside another"));
            }
            Step::Commit | Step::Rollback if !user.open => {
                return Err(unbalanced(program, "a transaction ends that never began"));
            }
            Step::Begin(_) if user.gathering => {
                user.rooms.pipeline.begin();
                user.rooms.gathered.push(None);
                user.open = true;
            }
            Step::Begin(access) => return Ok(Next::Begin(access)),
            Step::Commit if user.gathering => {
                user.rooms.pipeline.commit();
                user.rooms.gathered.push(None);
                user.open = false;
            }
            Step::Commit => return Ok(Next::Commit),
            Step::Rollback => return Ok(Next::Rollback),
            Step::Statement(place) if user.gathering => gather(program, ready, place as usize, user)?,
            Step::Statement(place) => return Ok(Next::Statement(place as usize)),
            Step::StartPipeline => user.gathering = true,
            Step::SyncPipeline | Step::EndPipeline => {
                user.gathering = matches!(step, Step::SyncPipeline);
                if !user.rooms.pipeline.is_empty() {
                    return Ok(Next::Send);
                }
            }
        }
    }
    match user.open {
        true => Err(unbalanced(program, "the script ends inside a transaction")),
        false => Ok(Next::End),
    }
}

fn gather(program: &Program, ready: &Ready, place: usize, user: &mut User) -> Result<(), OpError> {
    let User { variables, rooms, .. } = user;
    let mut parameters = rooms.parameters();
    bind(program, &program.statements[place], variables, &mut parameters)?;
    rooms.pipeline.push(ready.handles[place], &parameters);
    rooms.gathered.push(Some(place));
    rooms.give_back(parameters);
    Ok(())
}

#[inline]
fn bind<'v>(
    program: &Program,
    statement: &Statement,
    variables: &'v Variables,
    parameters: &mut Vec<Value<'v>>,
) -> Result<(), OpError> {
    for variable in &statement.variables {
        let value = variables.parameter(*variable);
        parameters.push(value.map_err(|fault| failed(fault, &told(program, statement)))?);
    }
    Ok(())
}

/// What has been seen of an answer.
#[derive(Clone, Copy, Debug)]
struct Seen {
    rows: u64,
    /// The first row has the value that was expected.
    right: bool,
}

impl Seen {
    const NOTHING: Self = Self { rows: 0, right: true };

    /// `kept`: for the row that `\gset` takes.
    #[inline]
    fn row(&mut self, row: &RowBuf, statement: &Statement, expected: Option<&Expected>, kept: &mut RowBuf) {
        if let (0, Some(expected)) = (self.rows, expected) {
            self.right = expected.has_value(row);
        }
        if let Some(sets) = &statement.sets
            && (self.rows == 0 || !sets.one_row)
        {
            kept.clear();
            row.cells().for_each(|cell| kept.push(cell));
        }
        self.rows += 1;
    }
}

async fn statement<S: SqlSession>(
    program: &Program,
    ready: &Ready,
    place: usize,
    user: &mut User,
    session: &mut S,
    queries: &mut Queries,
) -> Result<(), OpError> {
    let (own, expected) = (&program.statements[place], ready.expected[place].as_ref());
    let User { variables, rooms, .. } = user;
    let mut seen = Seen::NOTHING;
    let affected = if own.prepared {
        let mut parameters = rooms.parameters();
        bind(program, own, variables, &mut parameters)?;
        let handle = ready.handles[place];
        let done = if own.rows {
            let mut each = |row: &RowBuf| seen.row(row, own, expected, &mut rooms.row);
            session.query(handle, &parameters, &mut each).await.map(Some)
        } else {
            session
                .execute(handle, &parameters)
                .await
                .map(|done| done.affected)
        };
        rooms.give_back(parameters);
        done?
    } else {
        let written = own.write(&mut rooms.text, variables);
        written.map_err(|fault| failed(fault, &told(program, own)))?;
        if own.rows {
            let mut each = |row: &RowBuf| seen.row(row, own, expected, &mut rooms.row);
            session.query_text(&rooms.text, &mut each).await.map(Some)?
        } else {
            session.execute_text(&rooms.text).await?.affected
        }
    };
    answered(program, ready, place, user, affected, seen.right, queries)?;
    if !user.open && !own.reads {
        user.keep(program);
    }
    Ok(())
}

/// A statement was carried out: it is counted, judged, and its row taken. `rows`: answered, or changed as far as that is known.
fn answered(
    program: &Program,
    ready: &Ready,
    place: usize,
    user: &mut User,
    rows: Option<u64>,
    right: bool,
    queries: &mut Queries,
) -> Result<(), OpError> {
    let statement = &program.statements[place];
    match statement.counted {
        Counted::Read => queries.read += 1,
        Counted::Write if rows != Some(0) => queries.write += 1,
        // As in the other workloads, a write that touched no row is no write.
        Counted::Write | Counted::Other => queries.other += 1,
    }
    if let Some(expected) = &ready.expected[place]
        && let Some(fault) = expected.fault(rows, right)
    {
        user.wrong = user.wrong.or(Some((place, fault)));
    }
    let Some(sets) = &statement.sets else {
        return Ok(());
    };
    let rows = rows.unwrap_or(0);
    if rows != 1 && sets.one_row {
        let message = format!("\\gset takes one row, and {rows} came");
        return Err(OpError::fail(FailClass::Other, "GSET", message).with_statement(told(program, statement)));
    }
    if rows > 0 {
        for (variable, cell) in sets.variables.iter().zip(user.rooms.row.cells()) {
            user.variables.take(*variable, cell);
        }
    }
    Ok(())
}

/// Sends what was gathered, and takes the answers.
async fn send<S: SqlSession + Transactional>(
    program: &Program,
    ready: &Ready,
    user: &mut User,
    session: &mut S,
    queries: &mut Queries,
) -> Result<(), OpError> {
    let pipeline = std::mem::take(&mut user.rooms.pipeline);
    let gathered = std::mem::take(&mut user.rooms.gathered);
    let (mut seen, mut judged) = (Seen::NOTHING, Ok(()));
    let mut each = |at: usize, part: Part<'_>| {
        let place = gathered.get(at).copied().flatten();
        match (part, place) {
            (Part::Row(row), Some(place)) => {
                let expected = ready.expected[place].as_ref();
                seen.row(row, &program.statements[place], expected, &mut user.rooms.row);
            }
            (Part::End(rows, Done { affected, .. }), Some(place)) => {
                let rows = if program.statements[place].rows {
                    Some(rows)
                } else {
                    affected
                };
                let right = std::mem::replace(&mut seen, Seen::NOTHING).right;
                let last = answered(program, ready, place, user, rows, right, queries);
                judged = std::mem::replace(&mut judged, Ok(())).and(last);
            }
            // Begin, commit.
            (_, None) => queries.other += 1,
        }
    };
    let sent = session.run_pipeline(&pipeline, &mut each).await;
    (user.rooms.pipeline, user.rooms.gathered) = (pipeline, gathered);
    user.rooms.pipeline.clear();
    user.rooms.gathered.clear();
    // What is open after an error nobody knows: it is undone.
    user.open |= sent.is_err();
    sent.and(judged)?;
    if !user.open {
        user.keep(program);
    }
    Ok(())
}

#[cold]
fn failed(fault: Fault, at: &str) -> OpError {
    OpError::fail(FailClass::Other, "SCRIPT", fault.words()).with_statement(at)
}

#[cold]
fn unbalanced(program: &Program, what: &str) -> OpError {
    OpError::fail(FailClass::Other, "SCRIPT", what).with_statement(&*program.name)
}

fn told(program: &Program, statement: &Statement) -> String {
    format!("{}, line {}", program.name, statement.line)
}

#[cfg(test)]
mod tests;
