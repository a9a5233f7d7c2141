//! A history in memory: 48 bytes per transaction, 24 per operation and 32 per list that was read.

use std::collections::HashMap;
use std::io::BufRead;

use crate::error::Error;
use crate::lists::{ListId, Lists};
use crate::record::{Answer, MicroOp, Outcome, Phase, Record};

/// Position of a key in [`History::keys`].
pub type Key = u32;

/// Position in [`History::transactions`].
pub type TransactionId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Append {
        key: Key,
        value: i64,
    },
    Write {
        key: Key,
        value: i64,
    },
    Add {
        key: Key,
        amount: i64,
    },
    ReadList {
        key: Key,
        list: ListId,
    },
    /// `None`: nothing was found.
    Read {
        key: Key,
        value: Option<i64>,
    },
    /// A read without an answer.
    Unanswered {
        key: Key,
    },
}

#[derive(Clone, Debug)]
pub struct Transaction {
    pub index: u64,
    pub call_ns: i64,
    pub return_ns: i64,
    pub session: u32,
    pub node: u32,
    pub outcome: Outcome,
    pub phase: Phase,
    first_op: u32,
}

impl Transaction {
    pub fn is_ok(&self) -> bool {
        self.outcome == Outcome::Ok
    }

    /// What is unknown may take effect long after the client gave up.
    pub fn end_ns(&self) -> i64 {
        if self.outcome == Outcome::Unknown {
            i64::MAX
        } else {
            self.return_ns
        }
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.call_ns <= other.end_ns() && other.call_ns <= self.end_ns()
    }
}

#[derive(Clone, Debug, Default)]
pub struct History {
    pub transactions: Vec<Transaction>,
    pub lists: Lists,
    /// What each key is called in the file.
    pub keys: Vec<u64>,
    ops: Vec<Op>,
    numbers: HashMap<u64, Key>,
    empty_lists: Vec<ListId>,
}

const TOO_LARGE: &str = "the history has more than 2^32 operations or lists: judge a part of it";

impl History {
    /// Reads a file line by line. Empty lines are skipped; the first malformed one is an error with its number.
    pub fn read(mut lines: impl BufRead) -> Result<Self, Error> {
        let mut history = Self::default();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if lines.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let malformed = |what| Error::Malformed { line: number, what };
            let record = serde_json::from_slice(&line).map_err(|error| malformed(error.to_string()))?;
            history.push(&record).map_err(|what| malformed(what.to_owned()))?;
        }
        history.transactions.shrink_to_fit();
        history.ops.shrink_to_fit();
        history.lists.shrink();
        Ok(history)
    }

    pub fn push(&mut self, record: &Record) -> Result<(), &'static str> {
        if record.call_ns < 0 || record.return_ns < record.call_ns {
            return Err("0 <= call_ns <= return_ns must hold");
        }
        let first_op = u32::try_from(self.ops.len()).map_err(|_| TOO_LARGE)?;
        for op in &record.ops {
            let op = self.op(op)?;
            self.ops.push(op);
        }
        self.transactions.push(Transaction {
            index: record.index,
            call_ns: record.call_ns,
            return_ns: record.return_ns,
            session: record.session,
            node: record.node,
            outcome: record.outcome,
            phase: record.phase,
            first_op,
        });
        Ok(())
    }

    fn op(&mut self, op: &MicroOp) -> Result<Op, &'static str> {
        Ok(match *op {
            MicroOp::Append(key, value) => Op::Append {
                key: self.key(key)?,
                value,
            },
            MicroOp::Write(key, value) => Op::Write {
                key: self.key(key)?,
                value,
            },
            MicroOp::Add(key, amount) => Op::Add {
                key: self.key(key)?,
                amount,
            },
            MicroOp::Unanswered(key) => Op::Unanswered { key: self.key(key)? },
            MicroOp::Read(key, Answer::Nothing) => Op::Read {
                key: self.key(key)?,
                value: None,
            },
            MicroOp::Read(key, Answer::Value(value)) => Op::Read {
                key: self.key(key)?,
                value: Some(value),
            },
            MicroOp::Read(key, Answer::List(ref values)) => {
                let key = self.key(key)?;
                let empty = self.empty_list(key);
                Op::ReadList {
                    key,
                    list: self.lists.add_list(empty, values).ok_or(TOO_LARGE)?,
                }
            }
        })
    }

    fn key(&mut self, name: u64) -> Result<Key, &'static str> {
        if let Some(key) = self.numbers.get(&name) {
            return Ok(*key);
        }
        // A graph's edge keeps a key in 30 bits.
        let key = u32::try_from(self.keys.len())
            .ok()
            .filter(|key| *key < 1 << 30)
            .ok_or(TOO_LARGE)?;
        let empty = self.lists.add_empty(key).ok_or(TOO_LARGE)?;
        self.empty_lists.push(empty);
        self.keys.push(name);
        self.numbers.insert(name, key);
        Ok(key)
    }

    pub fn empty_list(&self, key: Key) -> ListId {
        self.empty_lists[key as usize]
    }

    pub fn transaction(&self, id: TransactionId) -> &Transaction {
        &self.transactions[id as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (TransactionId, &Transaction)> {
        (0u32..).zip(&self.transactions)
    }

    pub fn ops(&self, id: TransactionId) -> &[Op] {
        let end = self
            .transactions
            .get(id as usize + 1)
            .map_or(self.ops.len(), |next| next.first_op as usize);
        &self.ops[self.transaction(id).first_op as usize..end]
    }

    /// All transactions, session by session in its own order.
    pub fn by_session(&self) -> Vec<TransactionId> {
        let mut ids: Vec<TransactionId> = self.iter().map(|(id, _)| id).collect();
        ids.sort_by_key(|id| {
            let transaction = self.transaction(*id);
            (transaction.session, transaction.index)
        });
        ids
    }
}
