//! Carrying a script out in a session.
//!
//! A transaction that fails is undone, and another attempt begins where the last one ended: at the script's
//! beginning, or after what is committed. It draws the same random numbers from the same variables.
use super::advance::{Next, advance, answered, bind, failed, line_of};
use super::expected::Seen;
use super::scripts::{Compiled, Scripts};
use super::user::User;
use crate::prelude::*;
use bakeoff_model::pipeline::Part;
use bakeoff_model::time;

impl Scripts {
    /// Every session prepares the same statements in the same order, so their numbers are known.
    pub async fn prepare(&self, session: &mut AnySql) -> Result<(), OpError> {
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
    pub async fn carry_out(
        &self,
        script: usize,
        seed: u64,
        again: bool,
        user: &mut User,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        let script = &self.all[script];
        match again {
            false => user.begin(&script.program, seed),
            true => user.retry(&script.program),
        }
        let mut queries = Queries::default();
        let done = match steps(script, user, session, &mut queries).await {
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

async fn steps(
    script: &Compiled,
    user: &mut User,
    session: &mut AnySql,
    queries: &mut Queries,
) -> Result<(), OpError> {
    loop {
        match advance(script, user)? {
            Next::Statement(place) => statement(script, place, user, session, queries).await?,
            Next::Begin(access) => {
                session.begin(access).await?;
                user.open = true;
                queries.other += 1;
            }
            Next::Commit => {
                session.commit().await?;
                ended(script, user, queries);
            }
            Next::Rollback => {
                session.rollback().await?;
                ended(script, user, queries);
            }
            Next::Sleep(duration) => time::sleep(duration).await,
            Next::Send => send(script, user, session, queries).await?,
            Next::End => return Ok(()),
        }
    }
}

fn ended(script: &Compiled, user: &mut User, queries: &mut Queries) {
    queries.other += 1;
    user.open = false;
    user.keep(&script.program);
}

async fn statement(
    script: &Compiled,
    place: usize,
    user: &mut User,
    session: &mut AnySql,
    queries: &mut Queries,
) -> Result<(), OpError> {
    let own = &script.program.statements[place];
    let expected = script.ready.expected[place].as_ref();
    let User { variables, rooms, .. } = user;
    let mut seen = Seen::NOTHING;
    let affected = if own.prepared {
        let mut parameters = rooms.parameters();
        bind(script, own, variables, &mut parameters)?;
        let handle = script.ready.handles[place];
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
        written.map_err(|fault| failed(fault, &line_of(script, own)))?;
        if own.rows {
            let mut each = |row: &RowBuf| seen.row(row, own, expected, &mut rooms.row);
            session.query_text(&rooms.text, &mut each).await.map(Some)?
        } else {
            session.execute_text(&rooms.text).await?.affected
        }
    };
    answered(script, place, user, affected, seen.right, queries)?;
    if !user.open && !own.reads {
        user.keep(&script.program);
    }
    Ok(())
}

/// Sends what was gathered, and takes the answers.
async fn send(
    script: &Compiled,
    user: &mut User,
    session: &mut AnySql,
    queries: &mut Queries,
) -> Result<(), OpError> {
    let pipeline = std::mem::take(&mut user.rooms.pipeline);
    let gathered = std::mem::take(&mut user.rooms.gathered);
    let (mut seen, mut judged) = (Seen::NOTHING, Ok(()));
    let mut each = |at: usize, part: Part<'_>| {
        let place = gathered.get(at).copied().flatten();
        match (part, place) {
            (Part::Row(row), Some(place)) => {
                let expected = script.ready.expected[place].as_ref();
                seen.row(
                    row,
                    &script.program.statements[place],
                    expected,
                    &mut user.rooms.row,
                );
            }
            (Part::End(rows, Done { affected, .. }), Some(place)) => {
                let rows = if script.program.statements[place].rows {
                    Some(rows)
                } else {
                    affected
                };
                let right = std::mem::replace(&mut seen, Seen::NOTHING).right;
                let last = answered(script, place, user, rows, right, queries);
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
        user.keep(&script.program);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
