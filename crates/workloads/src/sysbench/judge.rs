//! What an answer must be.
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
use super::random::looks_like_c;
use super::steps::{Kind, Step};
use super::thread::{Written, bytes_written};
use crate::prelude::*;

/// What was wrong with an answer, if anything: one byte, handed through the loop in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
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
    /// The first that is not right, counts.
    #[inline]
    pub fn or(self, later: Found) -> Found {
        match self {
            Found::Right => later,
            wrong => wrong,
        }
    }

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

/// Of a statement that reads, by itself.
#[inline]
pub fn row_looks_right(kind: Kind, row: &RowBuf) -> bool {
    match kind {
        Kind::SumRange => !matches!(row.cell(0), None | Some(Value::Null)),
        _ => looks_like_c(row.cell(0)),
    }
}

impl Sysbench {
    /// `right`: each of the rows looked so.
    #[inline]
    pub(super) fn judge_read(&self, step: &Step, rows: u64, right: bool) -> Found {
        let rows_stay = self.draws.script.rows_stay;
        match step.kind {
            Kind::PointSelect => match rows {
                _ if !right => Found::Shape,
                0 if rows_stay => Found::RowMissing,
                0 | 1 => Found::Right,
                _ => Found::RowTwice,
            },
            Kind::SumRange => match rows {
                1 if !right && rows_stay => Found::NullSum,
                1 => Found::Right,
                _ => Found::NotOne,
            },
            kind => {
                // The range may run past the last row; only there the table may also be larger than it was said to be.
                let most = step.other - step.id + 1;
                let least = match kind {
                    _ if !rows_stay => 0,
                    Kind::DistinctRange => 1,
                    _ => step.other.min(self.draws.table_size) - step.id + 1,
                };
                match rows {
                    _ if !right => Found::Shape,
                    _ if rows < least => Found::RowsMissing,
                    _ if rows > most => Found::RowsTooMany,
                    _ => Found::Right,
                }
            }
        }
    }

    /// Takes down what was written.
    #[inline]
    pub(super) fn judge_write(
        &self,
        kind: Kind,
        done: Done,
        written: &mut Written,
        queries: &mut Queries,
    ) -> Found {
        // A write that touched no row is no write, as in the original's statistics.
        let touched = done.affected != Some(0);
        queries.write += u32::from(touched);
        queries.other += u32::from(!touched);
        if touched {
            written.statements += 1;
            written.bytes += bytes_written(kind);
        }
        match (kind, done.affected) {
            (_, Some(1) | None) | (Kind::Delete, Some(0)) => Found::Right,
            (Kind::Insert, _) => Found::NotStored,
            (_, Some(0)) if self.draws.script.rows_stay => Found::RowMissing,
            (_, Some(0)) => Found::Right,
            _ => Found::RowTwice,
        }
    }
}
