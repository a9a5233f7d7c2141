//! What came from each of several nodes. [`NodeSet`] is written by exactly one thread and read by any, [`NodeTotals`] is
//! what it is merged into.
use crate::record::times::{Times, TimesSet, add};
use bakeoff_model::outcome::Outcome;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// One counter for each outcome, and the last for sessions opened again.
const COUNTERS: usize = Outcome::COUNT + 1;
const RECONNECTS: usize = Outcome::COUNT;

/// By the place of a node's endpoint.
pub struct NodeSet {
    counts: Box<[AtomicU64]>,
    /// Response of what ended ok.
    times: TimesSet,
}

/// One node's as a value.
#[derive(Clone, Default)]
pub struct NodeTotals {
    counts: [u64; COUNTERS],
    pub response: Times,
}

impl NodeSet {
    /// `None`: there is but one node, or none, so all is of it.
    pub fn of_several(endpoints: usize) -> Option<Self> {
        (endpoints > 1).then(|| Self {
            counts: (0..endpoints * COUNTERS).map(|_| AtomicU64::new(0)).collect(),
            times: TimesSet::new(endpoints),
        })
    }

    /// An operation that ended there; `bucket` is that of its response time. Not part of its caller, which most often has
    /// one node.
    #[inline(never)]
    pub fn operation(&self, endpoint: u32, outcome: usize, response_ns: u64, bucket: usize) {
        let endpoint = endpoint as usize;
        add(&self.counts[endpoint * COUNTERS + outcome], 1);
        if outcome == Outcome::Ok.index() {
            self.times.record_in(endpoint, response_ns, bucket);
        }
    }

    pub fn reconnect(&self, endpoint: u32) {
        add(&self.counts[endpoint as usize * COUNTERS + RECONNECTS], 1);
    }

    /// `totals`: one for each node.
    pub fn add_to(&self, totals: &mut [NodeTotals]) {
        for (endpoint, (total, counts)) in totals.iter_mut().zip(self.counts.chunks(COUNTERS)).enumerate() {
            for (sum, count) in total.counts.iter_mut().zip(counts) {
                *sum += count.load(Relaxed);
            }
            self.times.add_to(endpoint, &mut total.response);
        }
    }

    /// Only while the writer is known not to write.
    pub fn clear(&self) {
        self.counts.iter().for_each(|count| count.store(0, Relaxed));
        self.times.clear();
    }
}

impl NodeTotals {
    /// As many as [`NodeSet::of_several`] counts: none of a single one.
    pub fn of_several(endpoints: usize) -> Vec<Self> {
        vec![Self::default(); if endpoints > 1 { endpoints } else { 0 }]
    }

    /// What did not occur is left out.
    pub fn outcomes(&self) -> BTreeMap<Outcome, u64> {
        let counted = Outcome::ALL.map(|outcome| (outcome, self.counts[outcome.index()]));
        counted.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    pub fn reconnects(&self) -> u64 {
        self.counts[RECONNECTS]
    }
}
