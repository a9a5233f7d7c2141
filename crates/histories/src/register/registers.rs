//! The reads and writes of each key.

use crate::error::Error;
use crate::history::{History, Op, TransactionId};
use crate::record::Outcome;

#[derive(Clone, Copy, Debug)]
pub struct Write {
    pub value: i64,
    pub call_ns: i64,
    /// `i64::MAX` where the outcome is unknown.
    pub end_ns: i64,
    pub outcome: Outcome,
    pub id: TransactionId,
    /// Increases with its session's operations.
    pub place: u32,
    session: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// `None`: what the key had before all writes. A history says so by null or, where nobody wrote it, 0.
    pub value: Option<i64>,
    pub call_ns: i64,
    pub return_ns: i64,
    pub id: TransactionId,
}

impl Read {
    pub fn version(&self) -> i64 {
        self.value.unwrap_or(0)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Register {
    /// By value.
    pub writes: Vec<Write>,
    /// Of acknowledged transactions.
    pub reads: Vec<Read>,
    /// The session that writes versions here. `None`: values are not ordered.
    pub writer: Option<u32>,
}

impl Register {
    pub fn write(&self, value: i64) -> Option<&Write> {
        self.writes
            .binary_search_by_key(&value, |write| write.value)
            .ok()
            .map(|at| &self.writes[at])
    }

    fn only_writer(&self) -> Option<u32> {
        let first = self.writes.first()?;
        let one_session = self.writes.iter().all(|write| write.session == first.session);
        (first.value > 0 && one_session && self.writes.is_sorted_by_key(|write| write.place))
            .then_some(first.session)
    }
}

/// One to each key. What a transaction reads, it reads between its call and its return.
pub fn registers(history: &History) -> Result<Vec<Register>, Error> {
    let mut registers = vec![Register::default(); history.keys.len()];
    let mut place = 0;
    for id in history.by_session() {
        let transaction = history.transaction(id);
        for op in history.ops(id) {
            place += 1;
            match *op {
                Op::Write { key, value } => registers[key as usize].writes.push(Write {
                    value,
                    call_ns: transaction.call_ns,
                    end_ns: transaction.end_ns(),
                    outcome: transaction.outcome,
                    id,
                    place,
                    session: transaction.session,
                }),
                Op::Read { key, value } if transaction.is_ok() => registers[key as usize].reads.push(Read {
                    value,
                    call_ns: transaction.call_ns,
                    return_ns: transaction.return_ns,
                    id,
                }),
                _ => {}
            }
        }
    }
    for (register, key) in registers.iter_mut().zip(&history.keys) {
        register.writes.sort_by_key(|write| write.value);
        if let Some(twice) = register
            .writes
            .windows(2)
            .find(|pair| pair[0].value == pair[1].value)
        {
            return Err(Error::NotUnique {
                key: *key,
                value: twice[0].value,
            });
        }
        if register.write(0).is_none() {
            register
                .reads
                .iter_mut()
                .for_each(|read| read.value = read.value.filter(|value| *value != 0));
        }
        register.writer = register.only_writer();
    }
    Ok(registers)
}
