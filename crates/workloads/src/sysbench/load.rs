//! The load phase: rows 1..=table_size of every table, the same whoever loads them and in whatever order.
//!
//! Units are rows in the order of loading: a chunk of table 1, then the same ids of table 2, and so on, so that loaders
//! work on different tables while each table grows by ascending ids.
use super::Sysbench;
use super::random::Texts;
use super::tables::table_name;
use super::thread::{ROW_BYTES, Thread};
use crate::prelude::*;
use crate::rng::{Random, mix};
use bakeoff_model::run::sysbench::SysbenchScript;

/// Rows of one chunk, and of one transaction: about 2 MB.
pub const CHUNK_ROWS: u64 = 10_000;
const COLUMNS: [&str; 4] = ["id", "k", "c", "pad"];

/// Successive rows of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// From 1.
    pub table: u32,
    pub first_id: u64,
    pub rows: u64,
}

impl Sysbench {
    /// Rows that a loaded table begins with.
    pub(super) fn loaded_rows(&self) -> u64 {
        // Ids that clients make up may be anywhere, so the original begins with empty tables.
        let makes_ids = self.spec.script == SysbenchScript::OltpInsert && !self.spec.auto_inc;
        match makes_ids || self.spec.script == SysbenchScript::BulkInsert {
            true => 0,
            false => self.spec.table_size,
        }
    }

    /// First unit of this client's share, and how many it has.
    pub(super) fn load_share(&self) -> (u64, u64) {
        let total = u128::from(self.loaded_rows()) * u128::from(self.spec.tables);
        let share = |index: u32| (total * u128::from(index) / u128::from(self.client.count)) as u64;
        let first = share(self.client.index);
        (first, share(self.client.index + 1) - first)
    }

    /// Where unit `unit` lies, and at most `most` rows from there that lie together.
    pub(super) fn stretch(&self, unit: u64, most: u64) -> Stretch {
        let tables = u64::from(self.spec.tables);
        let round = unit / (CHUNK_ROWS * tables);
        let first_id = round * CHUNK_ROWS;
        // The last round has what is left of each table.
        let rows = CHUNK_ROWS.min(self.loaded_rows() - first_id);
        let in_round = unit - round * CHUNK_ROWS * tables;
        let (table, place) = (in_round / rows, in_round % rows);
        Stretch {
            table: 1 + table as u32,
            first_id: 1 + first_id + place,
            rows: most.min(rows - place),
        }
    }

    pub(super) async fn load(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        thread.account.inserts_begun.add(count);
        session.begin(Access::default()).await?;
        let stored = self.load_units(thread, session, first, count).await;
        let stored = session.end(stored).await;
        match &stored {
            Ok(stored) => {
                thread.account.inserts_acknowledged.add(*stored);
                thread.account.writes_acknowledged.add(*stored);
                thread.account.bytes_written.add(*stored * ROW_BYTES);
            }
            Err(error) if !error.connection_lost => thread.account.inserts_failed.add(count),
            Err(_) => {}
        }
        stored
    }

    async fn load_units(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        let (share, _) = self.load_share();
        let (mut unit, end) = (share + first, share + first + count);
        let mut stored = 0;
        while unit < end {
            let stretch = self.stretch(unit, end - unit);
            let mut ids = stretch.first_id..stretch.first_id + stretch.rows;
            let texts = &mut thread.buffers.texts;
            let mut next = |row: &mut RowBuf| match ids.next() {
                Some(id) => {
                    self.fill_row(stretch.table, id, texts, row);
                    true
                }
                None => false,
            };
            stored += session
                .bulk_insert(&table_name(stretch.table), &COLUMNS, &mut next)
                .await?;
            unit += stretch.rows;
        }
        Ok(stored)
    }

    fn fill_row(&self, table: u32, id: u64, texts: &mut Texts, row: &mut RowBuf) {
        let (k, c, pad) = self.row(table, id, texts);
        row.push(Value::Int(id as i64));
        row.push(Value::Int(k as i64));
        row.push(Value::Text(c));
        row.push(Value::Text(pad));
    }

    /// k, c and pad of a loaded row. About 120 ns.
    pub(super) fn row<'a>(&self, table: u32, id: u64, texts: &'a mut Texts) -> (u64, &'a [u8], &'a [u8]) {
        let mut rng = self.row_random(table, id);
        let k = self.draws.id(&mut rng);
        let (c, pad) = texts.draw(&mut rng);
        (k, c, pad)
    }

    /// k alone.
    pub(super) fn row_k(&self, table: u32, id: u64) -> u64 {
        self.draws.id(&mut self.row_random(table, id))
    }

    fn row_random(&self, table: u32, id: u64) -> Random {
        Random::new(mix(mix(self.seed, u64::from(table)), id))
    }
}
