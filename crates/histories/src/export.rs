//! Histories for other checkers: Elle (list-append, EDN) and Porcupine (registers, the fields of its `Operation`).

use std::collections::HashMap;
use std::io::Write;

use serde::Serialize;

use crate::error::Error;
use crate::history::{History, Op, TransactionId};
use crate::record::Outcome;

/// One line per invocation and completion, by time: `{:index 0 :type :invoke :process 1 :time 5 :f :txn :value [...]}`.
pub fn write_elle(history: &History, mut out: impl Write) -> Result<(), Error> {
    let processes = processes(history);
    let mut ids: Vec<TransactionId> = history.iter().map(|(id, _)| id).collect();
    ids.sort_by_key(|id| (history.transaction(*id).call_ns, history.transaction(*id).index));
    let mut events: Vec<(i64, TransactionId, bool)> = Vec::new();
    for id in ids {
        let transaction = history.transaction(id);
        events.push((transaction.call_ns, id, false));
        events.push((transaction.return_ns, id, true));
    }
    // Stable: what happens at one time stays in the order of calls.
    events.sort_by_key(|(time_ns, _, _)| *time_ns);
    for (index, (time_ns, id, completed)) in events.into_iter().enumerate() {
        let outcome = history.transaction(id).outcome;
        let kind = match (completed, outcome) {
            (false, _) => "invoke",
            (true, Outcome::Ok) => "ok",
            (true, Outcome::Fail) => "fail",
            (true, Outcome::Unknown) => "info",
        };
        let ops: Vec<String> = history
            .ops(id)
            .iter()
            .map(|op| elle_op(history, op, completed && outcome == Outcome::Ok))
            .collect();
        writeln!(
            out,
            "{{:index {index} :type :{kind} :process {} :time {time_ns} :f :txn :value [{}]}}",
            processes[id as usize],
            ops.join(" ")
        )?;
    }
    Ok(())
}

fn elle_op(history: &History, op: &Op, answered: bool) -> String {
    let name = |key: u32| history.keys[key as usize];
    match *op {
        Op::Append { key, value } => format!("[:append {} {value}]", name(key)),
        Op::Write { key, value } => format!("[:w {} {value}]", name(key)),
        Op::Add { key, amount } => format!("[:add {} {amount}]", name(key)),
        Op::ReadList { key, list } if answered => {
            let values: Vec<String> = history.lists.values(list).iter().map(i64::to_string).collect();
            format!("[:r {} [{}]]", name(key), values.join(" "))
        }
        Op::Read {
            key,
            value: Some(value),
        } if answered => format!("[:r {} {value}]", name(key)),
        Op::ReadList { key, .. } | Op::Read { key, .. } | Op::Unanswered { key } => {
            format!("[:r {} nil]", name(key))
        }
    }
}

/// A session is another process after each unknown outcome: a process must not go on while its call may still run.
fn processes(history: &History) -> Vec<u64> {
    let mut processes = vec![0; history.transactions.len()];
    let sessions = history
        .transactions
        .iter()
        .map(|transaction| u64::from(transaction.session) + 1)
        .max();
    let mut lives: HashMap<u32, u64> = HashMap::new();
    for id in history.by_session() {
        let transaction = history.transaction(id);
        let lives = lives.entry(transaction.session).or_default();
        processes[id as usize] = u64::from(transaction.session) + *lives * sessions.unwrap_or(1);
        *lives += u64::from(transaction.outcome == Outcome::Unknown);
    }
    processes
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Operation {
    client_id: u64,
    input: Input,
    call: i64,
    output: Output,
    #[serde(rename = "Return")]
    end: i64,
}

#[derive(Serialize)]
struct Input {
    op: &'static str,
    key: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<i64>,
}

#[derive(Serialize)]
struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<i64>,
}

/// One line per operation. Failed operations and reads without an answer are left out; a write of unknown outcome never
/// returns.
pub fn write_porcupine(history: &History, mut out: impl Write) -> Result<(), Error> {
    let processes = processes(history);
    for (id, transaction) in history
        .iter()
        .filter(|(_, transaction)| transaction.outcome != Outcome::Fail)
    {
        for op in history.ops(id) {
            let (op, key, written, read) = match *op {
                Op::Write { key, value } => ("write", key, Some(value), None),
                Op::Read { key, value } if transaction.is_ok() => ("read", key, None, value),
                _ => continue,
            };
            let operation = Operation {
                client_id: processes[id as usize],
                input: Input {
                    op,
                    key: history.keys[key as usize],
                    value: written,
                },
                call: transaction.call_ns,
                output: Output { value: read },
                end: transaction.end_ns(),
            };
            serde_json::to_writer(&mut out, &operation)?;
            writeln!(out)?;
        }
    }
    Ok(())
}
