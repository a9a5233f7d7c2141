//! One attempt at an event: its statements one after the other, in a transaction or each on its own.
//!
//! | statement | wrong when |
//! |---|---|
//! | point select | another column or shape of c; where rows stay: not exactly one row |
//! | simple, order range | a c of another shape; more rows than the range; where rows stay: fewer than there are |
//! | distinct range | as above, but at least one row is enough |
//! | sum range | not exactly one row; where rows stay: null |
//! | updates | more than one row found; where rows stay: none |
//! | insert | not exactly one row stored |
//! | select_random_points, select_random_ranges | a row without its columns |
//!
//! Rows stay where no statement of the script deletes.
use super::Sysbench;
use super::script::Kind;
use super::steps::{Step, Steps};
use super::text::{C_BYTES, PAD_BYTES, looks_like_c};
use super::thread::{Buffers, Thread, Written};
use crate::rng::Random;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::{Cell, RowBuf};
use bakeoff_model::sql::{Param, SqlSession};
use bakeoff_model::workload::{Answer, Probe, Queries};

/// User bytes of an integer column.
const INT_BYTES: u64 = 4;
pub const ROW_BYTES: u64 = 2 * INT_BYTES + (C_BYTES + PAD_BYTES) as u64;

/// What an attempt has done so far.
#[derive(Default)]
struct Done {
    queries: Queries,
    written: Written,
}

impl Done {
    /// A write that touched no row is no write, as in the original's statistics.
    #[inline]
    fn write(&mut self, rows: u64, bytes: u64) {
        if rows == 0 {
            self.queries.other += 1;
        } else {
            self.queries.write += 1;
            self.written.statements += 1;
            self.written.bytes += bytes;
        }
    }
}

impl Sysbench {
    #[inline]
    pub(super) async fn event<S: SqlSession, P: Probe>(
        &self,
        thread: &mut Thread,
        session: &mut S,
        probe: &mut P,
    ) -> Result<Answer, OpError> {
        let mut steps = Steps::new(thread.attempt_seed());
        let mut done = Done::default();
        let answer = if self.draws.script.transaction {
            self.transaction(&mut steps, thread, session, &mut done).await
        } else {
            self.statements(&mut steps, thread, session, &mut done).await
        };
        thread.written = done.written;
        probe.queries(done.queries);
        answer
    }

    async fn transaction<S: SqlSession>(
        &self,
        steps: &mut Steps,
        thread: &mut Thread,
        session: &mut S,
        done: &mut Done,
    ) -> Result<Answer, OpError> {
        session.begin().await?;
        done.queries.other += 1;
        let mut error = match self.statements(steps, thread, session, done).await {
            Ok(answer) => match session.commit().await {
                Ok(()) => {
                    done.queries.other += 1;
                    return Ok(answer);
                }
                Err(error) => error,
            },
            Err(error) => error,
        };
        if !error.connection_lost {
            match session.rollback().await {
                Ok(()) => done.queries.other += 1,
                // Nobody knows what is still open in this session: it must go.
                Err(_) => error.connection_lost = true,
            }
        }
        Err(error)
    }

    /// To the end, even where an answer is wrong.
    #[inline]
    async fn statements<S: SqlSession>(
        &self,
        steps: &mut Steps,
        thread: &mut Thread,
        session: &mut S,
        done: &mut Done,
    ) -> Result<Answer, OpError> {
        let mut answer = Answer::Right;
        while let Some(step) = steps.next(&self.draws) {
            let found = match step.kind {
                Kind::PointSelect => self.point_select(&step, thread, session).await?,
                Kind::SimpleRange | Kind::OrderRange | Kind::DistinctRange => {
                    self.range(&step, thread, session).await?
                }
                Kind::SumRange => self.sum_range(&step, thread, session).await?,
                Kind::RandomPoints | Kind::RandomRanges => self.random_select(&step, thread, session).await?,
                _ => self.write(&step, thread, session, done).await?,
            };
            done.queries.read += u32::from(!step.kind.writes());
            if answer == Answer::Right {
                answer = found;
            }
        }
        Ok(answer)
    }

    #[inline]
    async fn point_select<S: SqlSession>(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut S,
    ) -> Result<Answer, OpError> {
        let mut shaped = true;
        let rows = self
            .statements
            .query(
                session,
                &mut thread.buffers.text,
                (step.kind, step.table),
                &[Param::Int(step.id as i64)],
                &mut |row| shaped &= looks_like_c(row.cell(0)),
            )
            .await?;
        Ok(match rows {
            _ if !shaped => Answer::Wrong("c is not what it must look like"),
            0 if self.draws.script.rows_stay => Answer::Wrong("row missing"),
            0 | 1 => Answer::Right,
            _ => Answer::Wrong("more than one row with the same id"),
        })
    }

    async fn range<S: SqlSession>(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut S,
    ) -> Result<Answer, OpError> {
        let mut shaped = true;
        let rows = self
            .statements
            .query(
                session,
                &mut thread.buffers.text,
                (step.kind, step.table),
                &[Param::Int(step.id as i64), Param::Int(step.other as i64)],
                &mut |row| shaped &= looks_like_c(row.cell(0)),
            )
            .await?;
        // The range may run past the last row; only there the table may also be larger than it was said to be.
        let most = step.other - step.id + 1;
        let least = match step.kind {
            _ if !self.draws.script.rows_stay => 0,
            Kind::DistinctRange => 1,
            _ => step.other.min(self.draws.table_size) - step.id + 1,
        };
        Ok(match rows {
            _ if !shaped => Answer::Wrong("c is not what it must look like"),
            _ if rows < least => Answer::Wrong("rows missing"),
            _ if rows > most => Answer::Wrong("more rows than the range has"),
            _ => Answer::Right,
        })
    }

    async fn sum_range<S: SqlSession>(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut S,
    ) -> Result<Answer, OpError> {
        let mut null = false;
        let rows = self
            .statements
            .query(
                session,
                &mut thread.buffers.text,
                (step.kind, step.table),
                &[Param::Int(step.id as i64), Param::Int(step.other as i64)],
                &mut |row| null |= matches!(row.cell(0), None | Some(Cell::Null)),
            )
            .await?;
        Ok(match rows {
            1 if null && self.draws.script.rows_stay => Answer::Wrong("sum is null"),
            1 => Answer::Right,
            _ => Answer::Wrong("not one sum"),
        })
    }

    /// select_random_points and select_random_ranges: many values of k, all from this user's part of the table.
    async fn random_select<S: SqlSession>(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut S,
    ) -> Result<Answer, OpError> {
        let (first, last) = self.part_of(thread.number);
        let Buffers { text, params, .. } = &mut thread.buffers;
        let mut rng = Random::new(step.seed);
        params.clear();
        let cells = if step.kind == Kind::RandomPoints {
            for _ in 0..self.spec.random_points {
                params.push(Param::Int(
                    self.draws.distribution.draw(&mut rng, first, last) as i64
                ));
            }
            4
        } else {
            for _ in 0..self.spec.number_of_ranges {
                let from = self.draws.distribution.draw(&mut rng, first, last) as i64;
                params.extend([Param::Int(from), Param::Int(from + i64::from(self.spec.delta))]);
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
            _ if !whole => Answer::Wrong("a column is missing"),
            (Kind::RandomRanges, 0 | 2..) => Answer::Wrong("not one count"),
            _ => Answer::Right,
        })
    }

    async fn write<S: SqlSession>(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut S,
        done: &mut Done,
    ) -> Result<Answer, OpError> {
        let id = Param::Int(step.id as i64);
        let Buffers { text, texts, .. } = &mut thread.buffers;
        let asked = (step.kind, step.table);
        let statements = &self.statements;
        let (rows, bytes) = match step.kind {
            Kind::NonIndexUpdate => {
                let c = Param::Text(texts.draw_c(&mut Random::new(step.seed)));
                (
                    statements.execute(session, text, asked, &[c, id]).await?,
                    C_BYTES as u64,
                )
            }
            Kind::Insert => {
                let (c, pad) = texts.draw(&mut Random::new(step.seed));
                let row = [
                    id,
                    Param::Int(step.other as i64),
                    Param::Text(c),
                    Param::Text(pad),
                ];
                (statements.execute(session, text, asked, &row).await?, ROW_BYTES)
            }
            _ => (statements.execute(session, text, asked, &[id]).await?, INT_BYTES),
        };
        done.write(rows, bytes);
        Ok(match (step.kind, rows) {
            (_, 1) | (Kind::Delete, 0) => Answer::Right,
            (Kind::Insert, _) => Answer::Wrong("row not stored"),
            (_, 0) if self.draws.script.rows_stay => Answer::Wrong("row missing"),
            (_, 0) => Answer::Right,
            _ => Answer::Wrong("more than one row with the same id"),
        })
    }

    /// First and last k that this user asks for: users do not overlap, but for one value at each end.
    fn part_of(&self, user: u64) -> (u64, u64) {
        let part = self.draws.table_size as f64 / self.users as f64;
        let from = part * (user % self.users) as f64;
        (from as u64, (from + part) as u64)
    }
}
