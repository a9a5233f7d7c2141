//! Bulk loads: many INSERTs on their way at once, each to the node that keeps its row.
use super::DIALECT;
use super::errors::execution;
use super::session::CassandraSession;
use super::values::Given;
use crate::server::statement::start;
use bakeoff_model::outcome::{OpError, Outcome};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::Ask;
use bakeoff_model::value::Value;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

/// Of one session, on their way.
const REQUESTS_MAX: usize = 64;

impl CassandraSession {
    /// Rows stored. After an error any of the rows may be there, because nothing undoes them; none where all that were sent
    /// failed for certain.
    pub(super) async fn load(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let cql = insert(table, columns);
        let ask = Ask::write(&cql).idempotent();
        let statement = self.cluster.prepare(&ask, &self.choice).await?;
        let store = |row: RowBuf| {
            let (statement, library) = (&statement, &self.cluster.library);
            async move {
                let values: Vec<Value<'_>> = row.cells().collect();
                library.execute_unpaged(statement, Given(&values)).await
            }
        };
        let (mut sent, mut stored, mut more) = (FuturesUnordered::new(), 0, true);
        let mut failed: Option<OpError> = None;
        loop {
            while more && failed.is_none() && sent.len() < REQUESTS_MAX {
                let mut row = RowBuf::default();
                more = next(&mut row);
                if more {
                    sent.push(store(row));
                }
            }
            match sent.next().await {
                Some(Ok(_)) => stored += 1,
                Some(Err(error)) => {
                    let error = execution(&error, false).with_statement(start(&cql));
                    failed = match failed {
                        Some(first) if error.outcome != Outcome::Unknown => Some(first),
                        _ => Some(error),
                    };
                }
                None => break,
            }
        }
        let Some(mut error) = failed else {
            return Ok(stored);
        };
        if stored > 0 {
            error.outcome = Outcome::Unknown;
        }
        Err(error)
    }
}

fn insert(table: &str, columns: &[&str]) -> String {
    let names: Vec<String> = columns.iter().map(|column| DIALECT.quoted(column)).collect();
    let places = vec!["?"; columns.len()];
    format!(
        "INSERT INTO {} ({}) VALUES ({})",
        DIALECT.quoted(table),
        names.join(", "),
        places.join(", ")
    )
}
