//! Invariants of the data: after a load the rows of each table, and whatever the plan says must hold.
use super::Sql;
use super::expected::same;
use crate::faults::check_no_rows;
use crate::prelude::*;
use crate::script::{check_query, statements};
use crate::trouble::refuse;
use bakeoff_model::run::sql::{CheckTime, SqlCheck, SqlSpec};

pub fn validate(spec: &SqlSpec) -> Result<(), Trouble> {
    for check in &spec.checks {
        if check.empty.is_some() == check.equal.is_some() {
            let what = format!("`checks` {:?} must say either `empty` or `equal`", check.name);
            let hint = "empty = \"a query that must return nothing\", or equal = [\"a query\", \"another\"]";
            return Err(refuse("checks", what, hint));
        }
        for query in check.empty.iter().chain(check.equal.iter().flatten()) {
            check_query(&format!("the check {:?}", check.name), query)
                .map_err(|error| refuse("checks", error.to_string(), error.hint.clone()))?;
        }
    }
    Ok(())
}

impl Sql {
    pub(super) async fn checks(&self, session: &mut AnySql, spec: &CheckSpec) -> Result<Vec<Check>, OpError> {
        let mut checks = vec![];
        if !spec.after_run {
            for (table, rows) in &self.counts {
                checks.push(check_rows(session, table, *rows).await?);
            }
        }
        let due: Vec<&SqlCheck> = self
            .spec
            .checks
            .iter()
            .filter(|check| is_due(check, spec.after_run))
            .collect();
        if due.is_empty() {
            return Ok(checks);
        }
        let [begin, end] = session.dialect().only_reads;
        // Servers before MySQL 5.6 do not know the words.
        let holds = !begin.is_empty() && session.execute_text(begin).await.is_ok();
        let mut done = Ok(());
        for check in due {
            match carried_out(session, check).await {
                Ok(check) => checks.push(check),
                Err(error) => {
                    done = Err(error);
                    break;
                }
            }
        }
        if holds {
            let ended = session.execute_text(end).await.map(drop);
            done = done.and(ended);
        }
        done.map(|()| checks)
    }
}

fn is_due(check: &SqlCheck, after_run: bool) -> bool {
    match check.when {
        CheckTime::Always => true,
        CheckTime::AfterLoad => !after_run,
        CheckTime::AfterRun => after_run,
    }
}

async fn check_rows(session: &mut AnySql, table: &str, rows: u64) -> Result<Check, OpError> {
    let found = first_row(session, &format!("SELECT COUNT(*) FROM {table}")).await?;
    let count = found.cell(0).and_then(Value::whole_number).unwrap_or(-1);
    Ok(Check {
        name: format!("rows of {table}"),
        ok: u64::try_from(count) == Ok(rows),
        expected: format!("{rows} rows"),
        actual: format!("{count} rows"),
        evidence: vec![],
    })
}

async fn carried_out(session: &mut AnySql, check: &SqlCheck) -> Result<Check, OpError> {
    let done = match (&check.empty, check.equal.as_deref()) {
        (Some(query), _) => check_no_rows(session, &check.name, &plain(query), &[]).await,
        (None, Some([one, other])) => agree(session, &check.name, one, other).await,
        _ => Err(OpError::fail(FailClass::Other, "CHECK", "it has no query")),
    };
    done.map_err(|mut error| {
        error.message = format!("the check {:?} cannot be asked: {}", check.name, error.message);
        error
    })
}

/// The first rows of two queries, value by value; where there is none, nothing agrees.
async fn agree(session: &mut AnySql, name: &str, one: &str, other: &str) -> Result<Check, OpError> {
    let (first, second) = (first_row(session, one).await?, first_row(session, other).await?);
    let ok = !first.is_empty()
        && first.len() == second.len()
        && first.cells().zip(second.cells()).all(|(a, b)| same(a, b));
    let differ = || {
        vec![
            format!("{one}: {}", describe(&first)),
            format!("{other}: {}", describe(&second)),
        ]
    };
    Ok(Check {
        name: name.into(),
        ok,
        expected: match first.is_empty() && second.is_empty() {
            true => "a row each".into(),
            false => describe(&first),
        },
        actual: describe(&second),
        evidence: if ok { vec![] } else { differ() },
    })
}

/// As it was checked: what follows -- is a comment to some systems only.
fn plain(query: &str) -> String {
    match statements("", query).as_deref() {
        Ok([one]) => one.sql.clone(),
        _ => query.to_owned(),
    }
}

async fn first_row(session: &mut AnySql, query: &str) -> Result<RowBuf, OpError> {
    let (mut found, mut rows) = (RowBuf::default(), 0);
    let mut each = |row: &RowBuf| {
        if rows == 0 {
            row.cells().for_each(|cell| found.push(cell));
        }
        rows += 1;
    };
    session.query_text(&plain(query), &mut each).await?;
    Ok(found)
}

fn describe(row: &RowBuf) -> String {
    match row.is_empty() {
        true => "no row".into(),
        false => row
            .cells()
            .map(|cell| cell.to_string())
            .collect::<Vec<_>>()
            .join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysbench::fake::{Fake, now};

    #[test]
    fn queries_agree_where_both_answer_with_the_same_row() {
        let mut session = Fake::new();
        assert!(
            now(agree(session.any(), "a check", "SELECT a", "SELECT b"))
                .unwrap()
                .ok
        );
        session.empty = true;
        let nothing = now(agree(session.any(), "a check", "SELECT a", "SELECT b")).unwrap();
        assert!(!nothing.ok);
        assert_eq!((&*nothing.expected, &*nothing.actual), ("a row each", "no row"));
        assert_eq!(nothing.evidence, ["SELECT a: no row", "SELECT b: no row"]);
    }
}
