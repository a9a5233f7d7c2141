//! Histories in few words, and random numbers.

use bakeoff_histories::History;
use bakeoff_histories::record::MicroOp::{Append, Read, Write};
use bakeoff_histories::record::{Answer, MicroOp, Outcome, Phase, Record};

/// Of `session`, from `call_ns` to `return_ns`, acknowledged.
pub fn ok(session: u32, (call_ns, return_ns): (i64, i64), ops: Vec<MicroOp>) -> Record {
    let outcome = Outcome::Ok;
    Record {
        session,
        node: 0,
        index: call_ns as u64,
        phase: Phase::Load,
        outcome,
        call_ns,
        return_ns,
        ops,
    }
}

/// All at the same time, each of its own session.
pub fn concurrent(transactions: Vec<Vec<MicroOp>>) -> Vec<Record> {
    (0..)
        .zip(transactions)
        .map(|(session, ops)| ok(session, (0, 100), ops))
        .collect()
}

pub fn append(key: u64, value: i64) -> MicroOp {
    Append(key, value)
}

pub fn list(key: u64, values: &[i64]) -> MicroOp {
    Read(key, Answer::List(values.to_vec()))
}

pub fn write(key: u64, value: i64) -> MicroOp {
    Write(key, value)
}

pub fn read(key: u64, value: i64) -> MicroOp {
    Read(key, Answer::Value(value))
}

pub fn history(records: &[Record]) -> History {
    let mut history = History::default();
    records.iter().for_each(|record| history.push(record).unwrap());
    history
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    pub fn one_in(&mut self, chance: u64) -> bool {
        self.below(chance) == 0
    }
}
