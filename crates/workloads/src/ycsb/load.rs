//! The load phase: this client's slice of the records, in batches.
use super::thread::Thread;
use super::{TABLE, Ycsb};
use crate::prelude::*;
use bakeoff_model::record::Record;
use bakeoff_model::time;
use std::time::Duration;

/// One batch, laid out end to end.
#[derive(Default)]
struct Batch {
    keys: Vec<u8>,
    values: Vec<u8>,
    /// Per record: where its key, values and field ends end.
    marks: Vec<(usize, usize, usize)>,
    ends: Vec<u32>,
}

impl Batch {
    fn records(&self) -> Vec<Record<'_>> {
        let mut from = (0, 0, 0);
        self.marks
            .iter()
            .map(|&to| {
                let record = Record {
                    key: &self.keys[from.0..to.0],
                    bytes: &self.values[from.1..to.1],
                    ends: &self.ends[from.2..to.2],
                };
                from = to;
                record
            })
            .collect()
    }

    fn bytes(&self) -> u64 {
        (self.keys.len() + self.values.len()) as u64
    }
}

impl Ycsb {
    /// First record number of this client's slice, and how many it has.
    pub(super) fn load_slice(&self) -> (u64, u64) {
        let share = |index: u32| {
            let part = u128::from(self.space.base()) * u128::from(index) / u128::from(self.client.count);
            part as u64
        };
        let first = share(self.client.index);
        (first, share(self.client.index + 1) - first)
    }

    pub(super) async fn load(
        &self,
        thread: &mut Thread,
        session: &mut AnyRecords,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        let batch = self.batch(thread, first, count);
        let records = batch.records();
        thread.account.inserts_begun.add(count);
        let mut retries_left = self.spec.insertion_retry_limit;
        let stored = loop {
            let error = match self.store(session, &records).await {
                Ok(stored) => break stored,
                Err(error) => error,
            };
            // Only what was certainly not stored is sent again; a second copy of the rest would be a duplicate.
            let again = matches!(error.outcome, Outcome::Fail(_)) && !error.connection_lost;
            if !again || retries_left == 0 {
                if again {
                    thread.account.inserts_failed.add(count);
                }
                return Err(error);
            }
            retries_left -= 1;
            time::sleep(self.retry_pause(thread)).await;
        };
        thread.account.inserts_acknowledged.add(stored);
        thread.account.writes_acknowledged.add(stored);
        if stored == count {
            thread.account.bytes_written.add(batch.bytes());
        }
        Ok(stored)
    }

    fn batch(&self, thread: &mut Thread, first: u64, count: u64) -> Batch {
        let (slice_first, _) = self.load_slice();
        let mut batch = Batch::default();
        for unit in first..first + count {
            let keynum = self.space.keynum(slice_first + unit);
            self.key_text.write(keynum, &mut thread.key);
            batch.keys.extend_from_slice(&thread.key);
            self.fields
                .loaded_record(keynum, &thread.key, &mut batch.values, &mut batch.ends);
            batch
                .marks
                .push((batch.keys.len(), batch.values.len(), batch.ends.len()));
        }
        batch
    }

    async fn store(&self, session: &mut AnyRecords, records: &[Record<'_>]) -> Result<u64, OpError> {
        match records {
            // Acknowledged, and not counted: stored.
            [record] => Ok(session.insert(TABLE, *record).await?.unwrap_or(1)),
            records => session.insert_batch(TABLE, records).await,
        }
    }

    /// The interval times U[0.8, 1.2).
    fn retry_pause(&self, thread: &mut Thread) -> Duration {
        let factor = 0.8 + 0.4 * crate::rng::Random::new(thread.stream.next_seed()).unit();
        Duration::from_secs_f64(self.spec.insertion_retry_interval_s * factor)
    }

    pub(super) fn chunk_units(&self) -> u64 {
        u64::from(self.spec.batch_size.max(1))
    }
}
