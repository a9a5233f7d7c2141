//! One user: the random stream, the operation drawn last and its bytes, and the open transaction.
use super::ahead::Ahead;
use super::key_text::Key;
use super::transaction::Transaction;
use crate::account::Account;
use crate::rng::{Random, Stream, mix};
use crate::stream_hash::StreamHash;
use std::sync::Arc;

#[derive(Debug)]
pub struct Thread {
    pub(super) stream: Stream,
    pub(super) witness: bool,
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

/// An operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drawn {
    /// Index into the operations.
    pub kind: usize,
    /// What all else of it follows from.
    pub seed: u64,
    pub keynum: u64,
    /// Of an insert: its place in the insert sequence.
    pub insert: u64,
    pub limit: Option<u32>,
    /// Of a scan: rows that must come at least.
    pub rows_min: u64,
    /// User bytes it writes.
    pub bytes: u64,
    /// It was sent at least once.
    pub begun: bool,
}

/// What one seed is drawn from, in this order: the kind, the field, the key and what belongs to it. A step that is not
/// needed is not computed (a read of all fields never asks for its field).
impl Drawn {
    #[inline]
    pub fn unit_for_kind(&self) -> f64 {
        Random::new(self.seed).unit()
    }

    /// Of 0..`field_count`: the field that an operation on one field names.
    #[inline]
    pub fn field(&self, field_count: u32) -> u32 {
        let mut rng = Random::new(self.seed);
        rng.bits();
        rng.below(u64::from(field_count)) as u32
    }

    #[inline]
    pub fn rng_for_key(&self) -> Random {
        let mut rng = Random::new(self.seed);
        rng.bits();
        rng.bits();
        rng
    }

    #[inline]
    pub fn value_seed(&self) -> u64 {
        mix(self.seed, 1)
    }
}

impl Thread {
    /// Reserves what the largest operation needs, so that none allocates.
    pub(super) fn new(stream: Stream, witness: bool, account: Arc<Account>, key: Key, sizes: Sizes) -> Self {
        Self {
            stream,
            witness,
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
