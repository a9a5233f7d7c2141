//! What checks of the data find wrong.
use crate::prelude::*;
use bakeoff_model::workload::Answer;

const MOST_EVIDENCE: usize = 10;

/// Counts all, keeps the first few.
#[derive(Default)]
pub struct Faults {
    pub count: u64,
    pub kept: Vec<String>,
}

impl Faults {
    pub fn add(&mut self, text: impl FnOnce() -> String) {
        self.count += 1;
        if self.kept.len() < MOST_EVIDENCE {
            self.kept.push(text());
        }
    }
}

/// A query that answers with what violates an invariant. `columns` names its cells in the evidence.
pub async fn check_no_rows(
    session: &mut AnySql,
    name: &str,
    sql: &str,
    columns: &[&str],
) -> Result<Check, OpError> {
    let mut faults = Faults::default();
    let mut each = |row: &RowBuf| faults.add(|| describe(row, columns));
    session.query_text(sql, &mut each).await?;
    Ok(Check {
        name: name.into(),
        ok: faults.count == 0,
        expected: "no row violates it".into(),
        actual: match faults.count {
            0 => "none".into(),
            1 => "1 row".into(),
            count => format!("{count} rows"),
        },
        evidence: faults.kept,
    })
}

/// "w_id 1, d_id 2"
fn describe(row: &RowBuf, columns: &[&str]) -> String {
    let cells: Vec<String> = row
        .cells()
        .enumerate()
        .map(|(place, cell)| match columns.get(place) {
            Some(column) => format!("{column} {cell}"),
            None => cell.to_string(),
        })
        .collect();
    cells.join(", ")
}

// Whether an answer is what it must be.

/// The first thing wrong with an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found(Option<&'static str>);

impl Found {
    pub const RIGHT: Found = Found(None);

    pub fn wrong(why: &'static str) -> Self {
        Self(Some(why))
    }

    #[inline]
    pub fn check(&mut self, right: bool, why: &'static str) {
        if !right && self.0.is_none() {
            self.0 = Some(why);
        }
    }
}

impl From<Found> for Answer<'static> {
    fn from(found: Found) -> Self {
        found.0.map_or(Answer::Right, Answer::Wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_are_kept_and_all_are_counted() {
        let mut faults = Faults::default();
        (0..25).for_each(|number| faults.add(|| number.to_string()));
        assert_eq!((faults.count, faults.kept.len()), (25, MOST_EVIDENCE));
        assert_eq!(faults.kept[0], "0");
    }

    #[test]
    fn a_row_is_reported_by_its_columns() {
        let mut row = RowBuf::default();
        row.push(Value::Int(1));
        row.push(Value::Null);
        row.push(Value::Int(3));
        assert_eq!(describe(&row, &["w_id", "d_id"]), "w_id 1, d_id NULL, 3");
    }
}
