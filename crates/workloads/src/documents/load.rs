//! The load phase: this client's slice of the documents, in batches.
use super::draw::Thread;
use super::values::{Origin, write_document};
use super::{COLLECTION, Documents};
use crate::prelude::*;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::document::{DocumentSession, Keyed};

impl Documents {
    /// First number of this client's slice, and how many it has.
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
        session: &mut AnyDocuments,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        let (slice_first, _) = self.load_slice();
        let (mut keys, mut json, mut ends) = (vec![], vec![], vec![]);
        for number in slice_first + first..slice_first + first + count {
            self.key_text.write(number, &mut thread.key);
            keys.extend_from_slice(&thread.key);
            write_document(&self.template, Origin::first(self.seed, number), &mut json);
            ends.push((keys.len(), json.len()));
        }
        let starts = std::iter::once((0, 0)).chain(ends.iter().copied());
        let documents: Vec<Keyed<'_>> = starts
            .zip(&ends)
            .map(|(from, to)| Keyed {
                key: &keys[from.0..to.0],
                json: &json[from.1..to.1],
            })
            .collect();
        let account = &thread.account.own;
        account.inserts_begun.add(count);
        let stored = session.put_batch(COLLECTION, &documents).await?;
        account.inserts_acknowledged.add(stored);
        account.writes_acknowledged.add(stored);
        if stored == count {
            account.bytes_written.add((keys.len() + json.len()) as u64);
        }
        Ok(stored)
    }
}
