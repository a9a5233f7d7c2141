//! One user: the random stream, the operation drawn last and its bytes, and the open transaction.
use super::ahead::Ahead;
use super::key_text::Key;
use super::transaction::Transaction;
use crate::account::Account;
use crate::rng::Stream;
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
