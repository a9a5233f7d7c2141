//! One terminal: the random stream, the transaction drawn last, and buffers that grow once.
use super::account::Account;
use super::input::Input;
use super::rules::{DISTRICTS, LINES_MAX};
use super::terminal::{Deck, Terminal};
use super::transaction::Transaction;
use crate::rng::{Stream, StreamHash};
use bakeoff_model::value::Value;
use std::sync::Arc;

#[derive(Debug)]
pub struct Thread {
    pub(super) stream: Stream,
    pub(super) terminal: Terminal,
    /// It only reads.
    pub(super) latency_probe: bool,
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

// What a terminal keeps between the statements of a transaction: made once, and grown to the largest answer.

const DIST_BYTES: usize = 24;
/// A line has nine values.
const PARAMS: usize = 9 * LINES_MAX as usize;
/// Of C_DATA.
pub const DATA_BYTES: usize = 500;
/// What is put before C_DATA at most.
const ENTRY_BYTES: usize = 60;
/// Customers of one name in a district: more are rare.
const NAMESAKES: usize = 64;

#[derive(Debug)]
pub struct Buffers {
    /// Empty between statements, with room for the longest.
    pub params: Vec<Value<'static>>,
    pub lines: [LineFound; LINES_MAX as usize],
    /// Ids, by first name.
    pub namesakes: Vec<i64>,
    pub history: Vec<u8>,
    pub data: Vec<u8>,
    pub delivered: [Delivered; DISTRICTS as usize],
}

/// What the data say of a line of an order.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineFound {
    /// 0: there is no such item.
    pub price_cents: i64,
    /// S_QUANTITY, before and then after the order.
    pub stock: Option<i64>,
    dist: [u8; DIST_BYTES],
    dist_length: u8,
}

impl LineFound {
    /// What does not fit is cut off.
    pub fn set_dist(&mut self, text: &[u8]) {
        let length = text.len().min(DIST_BYTES);
        self.dist[..length].copy_from_slice(&text[..length]);
        self.dist_length = length as u8;
    }

    pub fn dist(&self) -> &[u8] {
        &self.dist[..usize::from(self.dist_length)]
    }
}

/// The oldest new order of a district.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    pub district: i64,
    pub order: i64,
    pub customer: i64,
    pub sum_cents: i64,
}

impl Buffers {
    pub fn new() -> Self {
        Self {
            params: Vec::with_capacity(PARAMS),
            lines: Default::default(),
            namesakes: Vec::with_capacity(NAMESAKES),
            history: Vec::with_capacity(DIST_BYTES),
            data: Vec::with_capacity(ENTRY_BYTES + DATA_BYTES),
            delivered: Default::default(),
        }
    }
}
