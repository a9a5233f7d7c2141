//! The load phase: rows of all tables, in the plan's order, the same whoever loads them.
use super::rows::{Successive, Table, bytes};
use super::{Sql, Thread};
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::transaction::{Access, Transactional};

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

    pub(super) async fn load<S: SqlSession + Transactional>(
        &self,
        thread: &Thread,
        session: &mut S,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        session.begin(Access::default()).await?;
        let stored = self.load_units(session, first, count).await;
        let (rows, bytes) = session.end(stored).await?;
        thread.account.bytes_written.add(bytes);
        Ok(rows)
    }

    /// Rows and user bytes.
    async fn load_units<S: SqlSession>(
        &self,
        session: &mut S,
        first: u64,
        count: u64,
    ) -> Result<(u64, u64), OpError> {
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
