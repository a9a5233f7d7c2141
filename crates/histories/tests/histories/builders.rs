//! Histories in few words, and a folder for those that another program judges.

use std::path::PathBuf;

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

/// Removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("bakeoff-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
