//! What comes of a statement: it is counted, held against what is expected, and made variables of.
use super::advance::told;
use super::expected::Expected;
use super::scripts::Compiled;
use super::user::User;
use crate::prelude::*;
use crate::script::{Counted, Statement};

/// What has been seen of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    rows: u64,
    /// The first row has the value that was expected.
    pub right: bool,
}

impl Seen {
    pub const NOTHING: Self = Self { rows: 0, right: true };

    /// `kept`: for the row that `\gset` takes.
    #[inline]
    pub fn row(
        &mut self,
        row: &RowBuf,
        statement: &Statement,
        expected: Option<&Expected>,
        kept: &mut RowBuf,
    ) {
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
        return Err(OpError::fail(FailClass::Other, "GSET", message).with_statement(told(script, statement)));
    }
    if rows > 0 {
        for (variable, cell) in sets.variables.iter().zip(user.rooms.row.cells()) {
            user.variables.take(*variable, cell);
        }
    }
    Ok(())
}
