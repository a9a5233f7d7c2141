//! One user: the random stream, the event drawn last, and buffers that grow once.
use super::random::{C_BYTES, PAD_BYTES, Texts};
use super::statements::Statements;
use super::steps::{Kind, Step};
use crate::account::Account;
use crate::prelude::*;
use crate::rng::{Random, Stream, StreamHash, mix};
use bakeoff_model::run::sysbench::{SysbenchScript, SysbenchSpec};
use bakeoff_model::value::Value;
use std::ops::Deref;
use std::sync::Arc;

#[derive(Debug)]
pub struct Thread {
    pub(super) stream: Stream,
    /// Among all users of all clients; the latency probe has a place beyond them.
    pub(super) number: u64,
    /// Of the event drawn last.
    pub(super) seed: u64,
    /// Attempts at it so far.
    pub(super) attempts: u64,
    /// Events so far, for `reconnect`.
    pub(super) events: u64,
    pub(super) written: Written,
    /// Ids handed out by this user, where the client makes them.
    pub(super) ids: u64,
    pub(super) buffers: Buffers,
    pub(super) bulk: Option<Box<Bulk>>,
    pub(super) account: Arc<Account>,
    pub(super) hash: StreamHash,
}

/// What the last attempt wrote.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    pub statements: u64,
    pub bytes: u64,
}

#[derive(Debug)]
pub struct Buffers {
    /// A statement with its values.
    pub text: String,
    pub texts: Texts,
    /// Of statements with many values.
    pub params: Vec<Value<'static>>,
    /// A transaction that is sent together, and what was drawn for it.
    pub pipeline: Pipeline,
    pub drawn: Vec<Step>,
}

impl Buffers {
    /// With room for the script's longest statement.
    pub fn new(spec: &SysbenchSpec, statements: &Statements) -> Self {
        let values = match spec.script {
            SysbenchScript::SelectRandomPoints => spec.random_points as usize,
            SysbenchScript::SelectRandomRanges => 2 * spec.number_of_ranges as usize,
            _ => 0,
        };
        Self {
            text: String::with_capacity(statements.longest_text()),
            texts: Texts::default(),
            params: Vec::with_capacity(values),
            pipeline: Pipeline::default(),
            drawn: Vec::new(),
        }
    }
}

impl Thread {
    /// Each attempt at an event has a seed of its own, always the same for the same event and attempt.
    #[inline]
    pub fn attempt_seed(&mut self) -> u64 {
        let attempt = self.attempts;
        self.attempts += 1;
        if attempt == 0 {
            self.seed
        } else {
            mix(self.seed, attempt)
        }
    }
}

// The values that a statement is asked with.

/// User bytes of an integer column.
const INT_BYTES: u64 = 4;
pub const ROW_BYTES: u64 = 2 * INT_BYTES + (C_BYTES + PAD_BYTES) as u64;

/// Of every statement of a transaction: four at most.
pub struct Values<'a> {
    all: [Value<'a>; 4],
    count: usize,
}

impl<'a> Values<'a> {
    /// `texts`: where its texts are drawn.
    #[inline]
    pub fn of(step: &Step, texts: &'a mut Texts) -> Self {
        let (id, other) = (Value::Int(step.id as i64), Value::Int(step.other as i64));
        let (all, count) = match step.kind {
            Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => {
                ([id, other, Value::Null, Value::Null], 2)
            }
            Kind::NonIndexUpdate => {
                let c = Value::Text(texts.draw_c(&mut Random::new(step.seed)));
                ([c, id, Value::Null, Value::Null], 2)
            }
            Kind::Insert => {
                let (c, pad) = texts.draw(&mut Random::new(step.seed));
                ([id, other, Value::Text(c), Value::Text(pad)], 4)
            }
            _ => ([id, Value::Null, Value::Null, Value::Null], 1),
        };
        Self { all, count }
    }
}

impl<'a> Deref for Values<'a> {
    type Target = [Value<'a>];
    #[inline]
    fn deref(&self) -> &[Value<'a>] {
        &self.all[..self.count]
    }
}

/// User bytes that a statement writes into each row that it finds.
#[inline]
pub fn bytes_written(kind: Kind) -> u64 {
    match kind {
        Kind::NonIndexUpdate => C_BYTES as u64,
        Kind::Insert => ROW_BYTES,
        _ => INT_BYTES,
    }
}

// The statement that a user of bulk_insert fills with rows (n, n), n = 1, 2, ...

/// The original's buffer.
const STATEMENT_BYTES: usize = 512 * 1024;

#[derive(Debug)]
pub struct Bulk {
    pub(super) table: u64,
    /// The row added last; not known before the table has been asked.
    pub(super) last: Option<u64>,
    /// Rows in the statement.
    pub(super) rows: u64,
    /// The statement is on its way.
    pub(super) sent: bool,
    pub(super) sql: String,
}

impl Bulk {
    /// `user` from 0.
    pub fn new(user: u64) -> Self {
        Self {
            table: user + 1,
            last: None,
            rows: 0,
            sent: false,
            sql: String::with_capacity(STATEMENT_BYTES),
        }
    }

    pub fn add(&mut self, number: u64) {
        let mut digits = itoa::Buffer::new();
        if self.rows == 0 {
            self.sql.clear();
            self.sql.push_str("INSERT INTO sbtest");
            self.sql.push_str(digits.format(self.table));
            self.sql.push_str(" VALUES ");
        } else {
            self.sql.push(',');
        }
        for before in ['(', ','] {
            self.sql.push(before);
            self.sql.push_str(digits.format(number));
        }
        self.sql.push(')');
        self.rows += 1;
        self.last = Some(number);
    }

    /// No room for another row, whose number may have 20 digits.
    pub fn is_full(&self) -> bool {
        self.sql.len() + 2 * 20 + 4 > STATEMENT_BYTES
    }

    pub fn has_rows(&self) -> bool {
        self.rows > 0
    }

    /// Whether its rows are stored is not known: they are asked for, and not sent again.
    pub fn forget(&mut self) -> u64 {
        (self.last, self.sent) = (None, false);
        std::mem::take(&mut self.rows)
    }
}
