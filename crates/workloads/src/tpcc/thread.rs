//! One terminal: the random stream, the transaction drawn last, and buffers that grow once.
use super::account::Account;
use super::transaction::Transaction;
use crate::rng::Stream;
use crate::stream_hash::StreamHash;
use std::sync::Arc;

#[derive(Debug)]
pub struct Thread {
    pub(super) stream: Stream,
    /// Among all terminals of all clients; the witness has a place beyond them.
    pub number: u64,
    /// Of the transaction drawn last: its input is drawn from it, for each attempt anew and always the same.
    pub(super) seed: u64,
    pub(super) transaction: Transaction,
    pub account: Arc<Account>,
    pub(super) hash: StreamHash,
}
