//! What a script does between two things that its session is asked: variables, conditions, and what is gathered for a
//! pipeline. It knows no session, so it is compiled once.
use super::scripts::Compiled;
use super::user::User;
use crate::prelude::*;
use crate::script::{Fault, Number, Statement, Step, Variables};
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
        parameters.push(value.map_err(|fault| failed(fault, &told(script, statement)))?);
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

pub fn told(script: &Compiled, statement: &Statement) -> String {
    format!("{}, line {}", script.program.name, statement.line)
}
