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
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use bakeoff_model::workload::{Answer, Probe, Queries};

/// User bytes of an integer column.
const INT_BYTES: u64 = 4;
pub const ROW_BYTES: u64 = 2 * INT_BYTES + (C_BYTES + PAD_BYTES) as u64;

/// What was wrong with an answer, if anything: one byte, handed through the loop in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Right,
    Shape,
    RowMissing,
    RowsMissing,
    RowTwice,
    RowsTooMany,
    NullSum,
    NotOne,
    CellMissing,
    NotStored,
}

impl Found {
    #[cold]
    fn words(self) -> &'static str {
        match self {
            Found::Right => "nothing",
            Found::Shape => "c is not what it must look like",
            Found::RowMissing => "row missing",
            Found::RowsMissing => "rows missing",
            Found::RowTwice => "more than one row with the same id",
            Found::RowsTooMany => "more rows than the range has",
            Found::NullSum => "sum is null",
            Found::NotOne => "not exactly one sum or count",
            Found::CellMissing => "a column is missing",
            Found::NotStored => "row not stored",
        }
    }
}

impl From<Found> for Answer<'static> {
    #[inline]
    fn from(found: Found) -> Self {
        match found {
            Found::Right => Answer::Right,
            wrong => Answer::Wrong(wrong.words()),
        }
    }
}

impl Sysbench {
    #[inline]
    pub(super) async fn event<S: SqlSession + Transactional, P: Probe>(
        &self,
        thread: &mut Thread,
        session: &mut S,
        probe: &mut P,
    ) -> Result<Answer<'static>, OpError> {
        let mut steps = Steps::new(thread.attempt_seed());
        let mut queries = Queries::default();
        thread.written = Written::default();
        let found = if self.draws.script.transaction {
            self.transaction(&mut steps, thread, session, &mut queries).await
        } else {
            self.statements(&mut steps, thread, session, &mut queries).await
        };
        probe.queries(queries);
        found.map(Answer::from)
    }

    async fn transaction<S: SqlSession + Transactional>(
        &self,
        steps: &mut Steps,
        thread: &mut Thread,
        session: &mut S,
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

    /// To the end, even where an answer is wrong; the first wrong one counts.
    #[inline]
    async fn statements<S: SqlSession>(
        &self,
        steps: &mut Steps,
        thread: &mut Thread,
        session: &mut S,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let mut first = Found::Right;
        while let Some(step) = steps.next(&self.draws) {
            let found = match step.kind {
                Kind::PointSelect => self.point_select(step, thread, session).await?,
                Kind::SimpleRange | Kind::OrderRange | Kind::DistinctRange => {
                    self.range(step, thread, session).await?
                }
                Kind::SumRange => self.sum_range(step, thread, session).await?,
                Kind::RandomPoints | Kind::RandomRanges => self.random_select(step, thread, session).await?,
                Kind::IndexUpdate
                | Kind::NonIndexUpdate
                | Kind::Delete
                | Kind::Insert
                | Kind::InsertWithoutId => self.write(step, thread, session, queries).await?,
            };
            queries.read += u32::from(!step.kind.writes());
            if first == Found::Right {
                first = found;
            }
        }
        Ok(first)
    }

    #[inline]
    async fn point_select<S: SqlSession>(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut S,
    ) -> Result<Found, OpError> {
        let mut shaped = true;
        let rows = self
            .statements
            .query(
                session,
                &mut thread.buffers.text,
                (step.kind, step.table),
                &[Value::Int(step.id as i64)],
                &mut |row| shaped &= looks_like_c(row.cell(0)),
            )
            .await?;
        Ok(match rows {
            _ if !shaped => Found::Shape,
            0 if self.draws.script.rows_stay => Found::RowMissing,
            0 | 1 => Found::Right,
            _ => Found::RowTwice,
        })
    }

    async fn range<S: SqlSession>(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut S,
    ) -> Result<Found, OpError> {
        let mut shaped = true;
        let rows = self
            .statements
            .query(
                session,
                &mut thread.buffers.text,
                (step.kind, step.table),
                &[Value::Int(step.id as i64), Value::Int(step.other as i64)],
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
            _ if !shaped => Found::Shape,
            _ if rows < least => Found::RowsMissing,
            _ if rows > most => Found::RowsTooMany,
            _ => Found::Right,
        })
    }

    async fn sum_range<S: SqlSession>(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut S,
    ) -> Result<Found, OpError> {
        let mut null = false;
        let rows = self
            .statements
            .query(
                session,
                &mut thread.buffers.text,
                (step.kind, step.table),
                &[Value::Int(step.id as i64), Value::Int(step.other as i64)],
                &mut |row| null |= matches!(row.cell(0), None | Some(Value::Null)),
            )
            .await?;
        Ok(match rows {
            1 if null && self.draws.script.rows_stay => Found::NullSum,
            1 => Found::Right,
            _ => Found::NotOne,
        })
    }

    /// select_random_points and select_random_ranges: many values of k, all from this user's part of the table.
    async fn random_select<S: SqlSession>(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut S,
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

    async fn write<S: SqlSession>(
        &self,
        step: &Step,
        thread: &mut Thread,
        session: &mut S,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let id = Value::Int(step.id as i64);
        let Buffers { text, texts, .. } = &mut thread.buffers;
        let asked = (step.kind, step.table);
        let statements = &self.statements;
        let (done, bytes) = match step.kind {
            Kind::NonIndexUpdate => {
                let c = Value::Text(texts.draw_c(&mut Random::new(step.seed)));
                (
                    statements.execute(session, text, asked, &[c, id]).await?,
                    C_BYTES as u64,
                )
            }
            Kind::Insert => {
                let (c, pad) = texts.draw(&mut Random::new(step.seed));
                let row = [
                    id,
                    Value::Int(step.other as i64),
                    Value::Text(c),
                    Value::Text(pad),
                ];
                (statements.execute(session, text, asked, &row).await?, ROW_BYTES)
            }
            _ => (statements.execute(session, text, asked, &[id]).await?, INT_BYTES),
        };
        // A write that touched no row is no write, as in the original's statistics.
        let touched = done.affected != Some(0);
        queries.write += u32::from(touched);
        queries.other += u32::from(!touched);
        if touched {
            thread.written.statements += 1;
            thread.written.bytes += bytes;
        }
        Ok(match (step.kind, done.affected) {
            (_, Some(1) | None) | (Kind::Delete, Some(0)) => Found::Right,
            (Kind::Insert, _) => Found::NotStored,
            (_, Some(0)) if self.draws.script.rows_stay => Found::RowMissing,
            (_, Some(0)) => Found::Right,
            _ => Found::RowTwice,
        })
    }

    /// First and last k that this user asks for: users do not overlap, but for one value at each end.
    fn part_of(&self, user: u64) -> (u64, u64) {
        let part = self.draws.table_size as f64 / self.users as f64;
        let from = part * (user % self.users) as f64;
        (from as u64, (from + part) as u64)
    }
}
