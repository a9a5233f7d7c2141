//! One attempt at an event: its statements one after the other, in a transaction or each on its own, or all that is
//! between begin and commit together.
use super::Sysbench;
use super::judge::{Found, row_looks_right};
use super::steps::{Kind, Step, Steps};
use super::thread::{Buffers, Thread, Values, Written};
use crate::prelude::*;
use crate::rng::Random;
use bakeoff_model::pipeline::Part;

impl Sysbench {
    #[inline]
    pub(super) async fn event(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'static>, OpError> {
        let mut steps = Steps::new(thread.attempt_seed());
        let mut queries = Queries::default();
        thread.written = Written::default();
        let found = if self.spec.pipeline {
            self.pipelined(&mut steps, thread, session, &mut queries).await
        } else if self.draws.script.transaction {
            self.transaction(&mut steps, thread, session, &mut queries).await
        } else {
            self.statements(&mut steps, thread, session, &mut queries).await
        };
        probe.queries(queries);
        found.map(Answer::from)
    }

    async fn transaction(
        &self,
        steps: &mut Steps,
        thread: &mut Thread,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let access = Access {
            read_only: self.draws.script.reads_only,
            isolation: None,
        };
        session.begin(access).await?;
        queries.other += 1;
        let found = self.statements(steps, thread, session, queries).await;
        let ended = session.end(found).await;
        // The commit, or the rollback.
        queries.other += u32::from(!ended.as_ref().is_err_and(|error| error.connection_lost));
        ended
    }

    /// The whole transaction, because none of its statements depends on an answer. As in `transaction`, a wrong answer
    /// does not keep it from its commit, and an error undoes it.
    async fn pipelined(
        &self,
        steps: &mut Steps,
        thread: &mut Thread,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let Thread { buffers, written, .. } = thread;
        let Buffers {
            pipeline,
            drawn,
            texts,
            ..
        } = buffers;
        pipeline.clear();
        drawn.clear();
        pipeline.begin();
        while let Some(step) = steps.next(&self.draws) {
            let statement = self.statements.number(step.kind, step.table);
            pipeline.push(statement, &Values::of(step, texts));
            drawn.push(*step);
        }
        pipeline.commit();
        let (mut first, mut right) = (Found::Right, true);
        let mut each = |place: usize, part: Part<'_>| {
            let step = place.checked_sub(1).and_then(|index| drawn.get(index));
            match (part, step) {
                (Part::Row(row), Some(step)) => right &= row_looks_right(step.kind, row),
                (Part::End(rows, done), Some(step)) => {
                    let right = std::mem::replace(&mut right, true);
                    let found = if step.kind.writes() {
                        self.judge_write(step.kind, done, written, queries)
                    } else {
                        queries.read += 1;
                        self.judge_read(step, rows, right)
                    };
                    first = first.or(found);
                }
                // Begin, commit.
                (_, None) => queries.other += 1,
            }
        };
        let Err(error) = session.run_pipeline(pipeline, &mut each).await else {
            return Ok(first);
        };
        let error = session.undo(error).await;
        queries.other += u32::from(!error.connection_lost);
        Err(error)
    }

    /// To the end, even where an answer is wrong; the first wrong one counts.
    #[inline]
    async fn statements(
        &self,
        steps: &mut Steps,
        thread: &mut Thread,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let mut first = Found::Right;
        while let Some(step) = steps.next(&self.draws) {
            let found = match step.kind {
                Kind::RandomPoints | Kind::RandomRanges => self.random_select(step, thread, session).await?,
                kind if kind.writes() => self.write(step, thread, session, queries).await?,
                _ => self.read(step, thread, session).await?,
            };
            queries.read += u32::from(!step.kind.writes());
            first = first.or(found);
        }
        Ok(first)
    }

    #[inline]
    async fn read(&self, step: &Step, thread: &mut Thread, session: &mut AnySql) -> Result<Found, OpError> {
        let mut right = true;
        let Buffers { text, texts, .. } = &mut thread.buffers;
        let rows = self
            .statements
            .query(
                session,
                text,
                (step.kind, step.table),
                &Values::of(step, texts),
                &mut |row| right &= row_looks_right(step.kind, row),
            )
            .await?;
        Ok(self.judge_read(step, rows, right))
    }

    /// select_random_points and select_random_ranges: many values of k, all from this user's part of the table.
    async fn random_select(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut AnySql,
    ) -> Result<Found, OpError> {
        let (first, last) = self.part_of(thread.number);
        let Buffers { text, params, .. } = &mut thread.buffers;
        let mut rng = Random::new(step.seed);
        params.clear();
        let cells = if step.kind == Kind::RandomPoints {
            for _ in 0..self.spec.random_points {
                params.push(Value::Int(
                    self.draws.distribution.draw(&mut rng, first, last) as i64
                ));
            }
            4
        } else {
            for _ in 0..self.spec.number_of_ranges {
                let from = self.draws.distribution.draw(&mut rng, first, last) as i64;
                params.extend([Value::Int(from), Value::Int(from + i64::from(self.spec.delta))]);
            }
            1
        };
        let mut whole = true;
        let mut each = |row: &RowBuf| whole &= row.len() == cells && row.nulls() == 0;
        let asked = (step.kind, step.table);
        let rows = self
            .statements
            .query(session, text, asked, params, &mut each)
            .await?;
        Ok(match (step.kind, rows) {
            _ if !whole => Found::CellMissing,
            (Kind::RandomRanges, 0 | 2..) => Found::NotOne,
            _ => Found::Right,
        })
    }

    async fn write(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let Thread { buffers, written, .. } = thread;
        let Buffers { text, texts, .. } = buffers;
        let values = Values::of(step, texts);
        let done = self
            .statements
            .execute(session, text, (step.kind, step.table), &values)
            .await?;
        Ok(self.judge_write(step.kind, done, written, queries))
    }

    /// First and last k that this user asks for: users do not overlap, but for one value at each end.
    fn part_of(&self, user: u64) -> (u64, u64) {
        let part = self.draws.table_size as f64 / self.users as f64;
        let from = part * (user % self.users) as f64;
        (from as u64, (from + part) as u64)
    }
}
