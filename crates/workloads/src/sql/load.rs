//! The load phase: rows of all tables, in the plan's order, the same whoever loads them.
use super::rows::{Successive, Table, bytes};
use super::{Sql, Thread};
use crate::prelude::*;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::time::sleep;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Rows of one chunk, and of one transaction.
pub const CHUNK_ROWS: u64 = 10_000;

/// Successive rows of one table.
struct Stretch<'a> {
    table: &'a Table,
    /// From 0.
    first: u64,
    rows: u64,
}

impl Sql {
    /// First row of this client's share, counted over all tables, and how many it has.
    pub(super) fn load_share(&self) -> (u64, u64) {
        let total: u128 = self.rows.iter().map(|table| u128::from(table.rows)).sum();
        let share = |index: u32| (total * u128::from(index) / u128::from(self.client.count)) as u64;
        let first = share(self.client.index);
        (first, share(self.client.index + 1) - first)
    }

    /// At most `most` rows that lie together, from row `unit` of all tables on.
    fn stretch(&self, unit: u64, most: u64) -> Option<Stretch<'_>> {
        let mut first = unit;
        for table in &self.rows {
            if first < table.rows {
                return Some(Stretch {
                    table,
                    first,
                    rows: most.min(table.rows - first),
                });
            }
            first -= table.rows;
        }
        None
    }

    pub(super) async fn load(
        &self,
        thread: &Thread,
        session: &mut AnySql,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        if !self.order.wait(self.chunks_before(first, count)).await {
            return Ok(0); // another loader has failed, and says why
        }
        let stored = match session.begin(Access::default()).await {
            Ok(()) => {
                let stored = self.load_units(session, first, count).await;
                session.end(stored).await
            }
            Err(error) => Err(error),
        };
        self.order.note(first / CHUNK_ROWS, stored.as_ref().err());
        let (rows, bytes) = stored?;
        thread.account.bytes_written.add(bytes);
        Ok(rows)
    }

    /// Chunks of this client that must be stored before this one: those with rows of tables before its last one.
    fn chunks_before(&self, first: u64, count: u64) -> u64 {
        let (share, _) = self.load_share();
        let (mut start, last) = (0, share + first + count.max(1) - 1);
        for table in &self.rows {
            if last < start + table.rows {
                break;
            }
            start += table.rows;
        }
        start
            .saturating_sub(share)
            .div_ceil(CHUNK_ROWS)
            .min(first / CHUNK_ROWS)
    }

    /// Rows and user bytes.
    async fn load_units(&self, session: &mut AnySql, first: u64, count: u64) -> Result<(u64, u64), OpError> {
        let (share, _) = self.load_share();
        let (mut unit, end) = (share + first, share + first + count);
        let (mut rows, mut written) = (0, 0);
        while let Some(stretch) = self.stretch(unit, end - unit).filter(|stretch| stretch.rows > 0) {
            let mut source = Successive::new(stretch.table, stretch.first, self.values(0))?;
            let (mut left, mut failure) = (stretch.rows, None);
            let mut next = |row: &mut RowBuf| {
                if left == 0 {
                    return false;
                }
                left -= 1;
                failure = source.fill(row).err();
                written += bytes(row);
                failure.is_none()
            };
            let columns: Vec<&str> = stretch.table.columns.iter().map(String::as_str).collect();
            let stored = session
                .bulk_insert(&stretch.table.name, &columns, &mut next)
                .await;
            rows += match (failure, stored) {
                (None, Ok(stored)) => stored,
                (Some(error), _) | (None, Err(error)) => return Err(placed(error, &stretch, &source)),
            };
            unit += stretch.rows;
        }
        Ok((rows, written))
    }
}

/// Which rows they were.
fn placed(mut error: OpError, stretch: &Stretch<'_>, source: &Successive<'_>) -> OpError {
    let (first, last) = (stretch.first + 1, stretch.first + stretch.rows);
    let mut place = format!("rows {first} to {last} of {}", stretch.table.name);
    if let Some((file, line)) = source.line() {
        place += &format!(", of {file} up to line {line}");
    }
    error.message = format!("{} ({place})", error.message);
    error
}

// Tables are loaded one after the other, each by all loaders at once: a row whose table refers to another finds that one's
// rows stored. Chunks are handed out in their order, so whoever waits, waits for chunks that others have in hand.

const LOOK: Duration = Duration::from_millis(2);

#[derive(Debug, Default)]
pub struct Order(Mutex<Stored>);

#[derive(Debug, Default)]
struct Stored {
    /// All chunks before it are stored.
    first_open: u64,
    /// Chunks that are stored beyond it.
    beyond: BTreeSet<u64>,
    /// A chunk will never be stored.
    failed: bool,
}

impl Order {
    /// Waits until the first `chunks` of them are stored; false: they never will be.
    pub async fn wait(&self, chunks: u64) -> bool {
        loop {
            let (reached, failed) = {
                let stored = self.stored();
                (stored.first_open >= chunks, stored.failed)
            };
            if reached || failed {
                return reached;
            }
            sleep(LOOK).await;
        }
    }

    /// What an attempt at a chunk came to. After a conflict there is another.
    pub fn note(&self, chunk: u64, error: Option<&OpError>) {
        let mut stored = self.stored();
        match error.map(|error| error.outcome) {
            None => {
                stored.beyond.insert(chunk);
                while let Some(next) = stored
                    .beyond
                    .first()
                    .copied()
                    .filter(|next| *next == stored.first_open)
                {
                    stored.beyond.remove(&next);
                    stored.first_open += 1;
                }
            }
            Some(Outcome::Fail(FailClass::Conflict | FailClass::Overload)) => {}
            Some(_) => stored.failed = true,
        }
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn loading(client: ClientSpec) -> Sql {
        let table = |rows: u64| json!({"rows": rows, "columns": {"id": "row"}});
        let spec = json!({
            "scripts": [{"file": {"name": "a.sql", "text": "SELECT 1;"}}],
            "load": {"a": table(25_000), "b": table(10), "c": table(20_000)}
        });
        Sql::new(&serde_json::from_value(spec).unwrap(), 1, client, "sqlite", true).unwrap()
    }

    #[test]
    fn a_tables_rows_come_after_all_of_those_before_it() {
        let alone = loading(ClientSpec::default());
        let before =
            |chunk: u64| alone.chunks_before(chunk * CHUNK_ROWS, CHUNK_ROWS.min(45_010 - chunk * CHUNK_ROWS));
        // The third chunk ends in c: it has the last rows of a and all of b itself.
        assert_eq!([0, 1, 2, 3, 4].map(before), [0, 0, 2, 3, 3]);
        let second = loading(ClientSpec { index: 1, count: 2 });
        assert_eq!(second.load_share(), (22_505, 22_505));
        assert_eq!(
            [0, 1].map(|chunk| second.chunks_before(chunk * CHUNK_ROWS, CHUNK_ROWS)),
            [0, 1]
        );
    }

    #[test]
    fn stretches_cover_every_row_once() {
        let loading = loading(ClientSpec::default());
        let (mut unit, mut found) = (0, vec![]);
        while let Some(stretch) = loading.stretch(unit, CHUNK_ROWS) {
            found.push((stretch.table.name.clone(), stretch.first, stretch.rows));
            unit += stretch.rows;
        }
        let expected = [
            ("a", 0, 10_000),
            ("a", 10_000, 10_000),
            ("a", 20_000, 5000),
            ("b", 0, 10),
            ("c", 0, 10_000),
            ("c", 10_000, 10_000),
        ];
        assert_eq!(
            found,
            expected.map(|(name, first, rows)| (name.to_owned(), first, rows))
        );
    }

    /// `None`: it would wait.
    fn waited(order: &Order, chunks: u64) -> Option<bool> {
        let stored = order.stored();
        let decided = stored.first_open >= chunks || stored.failed;
        drop(stored);
        decided.then(
            || match pin!(order.wait(chunks)).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(reached) => reached,
                Poll::Pending => panic!("it does not wait"),
            },
        )
    }

    #[test]
    fn a_chunk_waits_for_all_before_it_whoever_is_ready_first() {
        let order = Order::default();
        assert_eq!(waited(&order, 0), Some(true));
        order.note(1, None);
        assert_eq!(waited(&order, 1), None);
        order.note(0, Some(&OpError::fail(FailClass::Conflict, "1213", "deadlock")));
        assert_eq!(waited(&order, 1), None);
        order.note(0, None);
        assert_eq!(waited(&order, 2), Some(true));
        assert_eq!(waited(&order, 3), None);
    }

    #[test]
    fn nobody_waits_for_what_never_comes() {
        let order = Order::default();
        order.note(
            0,
            Some(&OpError::fail(FailClass::Constraint, "1452", "no such row")),
        );
        assert_eq!(waited(&order, 1), Some(false));
    }
}
