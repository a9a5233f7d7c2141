//! One terminal: the random stream, the transaction drawn last, and buffers that grow once.
use super::account::Account;
use super::buffers::Buffers;
use super::deck::Deck;
use super::input::Input;
use super::terminal::Terminal;
use super::transaction::Transaction;
use crate::rng::Stream;
use crate::stream_hash::StreamHash;
use std::sync::Arc;

#[derive(Debug)]
pub struct Thread {
    pub(super) stream: Stream,
    pub(super) terminal: Terminal,
    /// It only reads.
    pub(super) witness: bool,
    pub(super) deck: Deck,
    /// The transaction drawn last; `None`: none was.
    pub(super) drawn: Option<Drawn>,
    pub(super) pause_ns: u64,
    pub(super) attempted: Attempted,
    pub(super) buffers: Buffers,
    pub account: Arc<Account>,
    pub(super) hash: StreamHash,
}

/// A transaction and what its user entered: the same for each attempt.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    pub transaction: Transaction,
    pub input: Input,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempted {
    pub begun: bool,
    /// By the last attempt.
    pub committed: bool,
    /// Orders that a delivery has delivered.
    pub delivered: u64,
}
