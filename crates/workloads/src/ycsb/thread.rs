//! One user: the random stream, the operation drawn last and its bytes, and the open transaction.
use super::ahead::Ahead;
use super::key_text::Key;
use crate::account::Account;
use crate::rng::{Stream, StreamHash};
use std::sync::Arc;

#[derive(Debug)]
pub struct Thread {
    pub(super) stream: Stream,
    pub(super) latency_probe: bool,
    /// The operation drawn last.
    pub(super) drawn: Ahead,
    /// For keys of the load.
    pub(super) key: Key,
    /// Values to write, end to end, and where each ends.
    pub(super) values: Vec<u8>,
    pub(super) ends: Vec<u32>,
    /// For values computed while verifying.
    pub(super) scratch: Vec<u8>,
    pub(super) transaction: Transaction,
    pub(super) account: Arc<Account>,
    pub(super) hash: StreamHash,
}

impl Thread {
    /// Reserves what the largest operation needs, so that none allocates.
    pub(super) fn new(
        stream: Stream,
        latency_probe: bool,
        account: Arc<Account>,
        key: Key,
        sizes: Sizes,
    ) -> Self {
        Self {
            stream,
            latency_probe,
            drawn: Ahead::new(&key),
            key,
            values: Vec::with_capacity(sizes.record + sizes.slack),
            ends: Vec::with_capacity(sizes.fields),
            scratch: Vec::with_capacity(sizes.field + sizes.slack),
            transaction: Transaction::with_capacity(sizes.transaction),
            account,
            hash: StreamHash::default(),
        }
    }
}

/// Largest sizes, bytes or entries.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub field: usize,
    pub record: usize,
    pub fields: usize,
    /// What an integrity value overshoots before it is cut.
    pub slack: usize,
    pub transaction: usize,
}

// What a user holds of the transaction that is open: counts of what it has done, which wait for the commit.

#[derive(Debug, Default)]
pub struct Transaction {
    pub(super) open: bool,
    /// A commit was sent and has not been answered.
    pub(super) committing: bool,
    /// Operations that have ended in it, and how many of them were counted `ok`.
    pub(super) operations: u32,
    pub(super) ok: u64,
    /// Insert indices that wait for the commit.
    pub(super) inserts: Vec<u64>,
    pub(super) writes: u64,
    pub(super) bytes: u64,
}

impl Transaction {
    pub(super) fn with_capacity(inserts: usize) -> Self {
        Self {
            inserts: Vec::with_capacity(inserts),
            ..Self::default()
        }
    }

    pub(super) fn clear(&mut self) {
        let mut inserts = std::mem::take(&mut self.inserts);
        inserts.clear();
        *self = Self {
            inserts,
            ..Self::default()
        };
    }
}
