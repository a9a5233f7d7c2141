//! What a script does between two things that its session is asked: variables, conditions, what comes of an answer, and
//! what is gathered for a pipeline. It knows no session, so it is compiled once.
use super::scripts::Compiled;
use super::user::User;
use crate::prelude::*;
use crate::script::{Counted, Fault, Number, Statement, Step, Variables};
use std::time::Duration;

/// A deadline that is much later than any run is still a time; one that overflows is none.
const SLEEP_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// What a session is asked next.
#[derive(Clone, Copy, Debug)]
pub enum Next {
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

/// Up to the next thing that the session is asked.
pub fn advance(script: &Compiled, user: &mut User) -> Result<Next, OpError> {
    let program = &script.program;
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
                return Ok(Next::Sleep(Duration::from_nanos(ns).min(SLEEP_MAX)));
            }
            Step::Begin(_) if user.open => {
                return Err(unbalanced(script, "a transaction begins inside another"));
            }
            Step::Commit | Step::Rollback if !user.open => {
                return Err(unbalanced(script, "a transaction ends that never began"));
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
            Step::Statement(place) if user.gathering => gather(script, place as usize, user)?,
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
        true => Err(unbalanced(script, "the script ends inside a transaction")),
        false => Ok(Next::End),
    }
}

fn gather(script: &Compiled, place: usize, user: &mut User) -> Result<(), OpError> {
    let User { variables, rooms, .. } = user;
    let mut parameters = rooms.parameters();
    bind(
        script,
        &script.program.statements[place],
        variables,
        &mut parameters,
    )?;
    rooms.pipeline.push(script.ready.handles[place], &parameters);
    rooms.gathered.push(Some(place));
    rooms.give_back(parameters);
    Ok(())
}

#[inline]
pub fn bind<'v>(
    script: &Compiled,
    statement: &Statement,
    variables: &'v Variables,
    parameters: &mut Vec<Value<'v>>,
) -> Result<(), OpError> {
    for variable in &statement.variables {
        let value = variables.parameter(*variable);
        parameters.push(value.map_err(|fault| failed(fault, &line_of(script, statement)))?);
    }
    Ok(())
}

/// A statement was carried out: it is counted, judged, and its row taken. `rows`: answered, or changed as far as that is known.
pub fn answered(
    script: &Compiled,
    place: usize,
    user: &mut User,
    rows: Option<u64>,
    right: bool,
    queries: &mut Queries,
) -> Result<(), OpError> {
    let statement = &script.program.statements[place];
    match statement.counted {
        Counted::Read => queries.read += 1,
        Counted::Write if rows != Some(0) => queries.write += 1,
        // As in the other workloads, a write that touched no row is no write.
        Counted::Write | Counted::Other => queries.other += 1,
    }
    if let Some(expected) = &script.ready.expected[place]
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
        return Err(
            OpError::fail(FailClass::Other, "GSET", message).with_statement(line_of(script, statement))
        );
    }
    if rows > 0 {
        for (variable, cell) in sets.variables.iter().zip(user.rooms.row.cells()) {
            user.variables.take(*variable, cell);
        }
    }
    Ok(())
}

#[cold]
pub fn failed(fault: Fault, at: &str) -> OpError {
    OpError::fail(FailClass::Other, "SCRIPT", fault.words()).with_statement(at)
}

#[cold]
fn unbalanced(script: &Compiled, what: &str) -> OpError {
    OpError::fail(FailClass::Other, "SCRIPT", what).with_statement(&*script.program.name)
}

pub fn line_of(script: &Compiled, statement: &Statement) -> String {
    format!("{}, line {}", script.program.name, statement.line)
}
