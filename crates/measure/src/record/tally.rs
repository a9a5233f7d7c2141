//! Plain counts besides the histograms, of the run and of each of its seconds.
use crate::record::times::add;
use bakeoff_model::event::QueryCounts;
use bakeoff_model::workload::Queries;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Written by exactly one thread, read by any.
#[derive(Default)]
pub struct Tally {
    pub retries: AtomicU64,
    pub retries_after_conflict: AtomicU64,
    pub reconnects: AtomicU64,
    read: AtomicU64,
    write: AtomicU64,
    other: AtomicU64,
}

/// The same as a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    pub retries: u64,
    /// Those of them that followed a conflict.
    pub retries_after_conflict: u64,
    pub reconnects: u64,
    pub queries: QueryCounts,
}

impl Tally {
    pub fn add_queries(&self, queries: Queries) {
        add(&self.read, queries.read.into());
        add(&self.write, queries.write.into());
        add(&self.other, queries.other.into());
    }

    pub fn add_to(&self, total: &mut Totals) {
        total.retries += self.retries.load(Relaxed);
        total.retries_after_conflict += self.retries_after_conflict.load(Relaxed);
        total.reconnects += self.reconnects.load(Relaxed);
        total.queries.read += self.read.load(Relaxed);
        total.queries.write += self.write.load(Relaxed);
        total.queries.other += self.other.load(Relaxed);
    }

    /// Only while the writer is known not to write.
    pub fn clear(&self) {
        for counter in [
            &self.retries,
            &self.retries_after_conflict,
            &self.reconnects,
            &self.read,
            &self.write,
            &self.other,
        ] {
            counter.store(0, Relaxed);
        }
    }
}
