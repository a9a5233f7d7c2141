//! A violation as people check it by hand: the fewest transactions that show it, as columns of statements.

use std::fmt;

use serde::Serialize;

use crate::history::{History, Op, TransactionId};
use crate::record::Outcome;

#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    pub title: String,
    /// The first is T1.
    pub transactions: Vec<Column>,
    /// Why they cannot all be as they should be.
    pub reasons: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Column {
    pub session: u32,
    pub node: u32,
    pub index: u64,
    pub outcome: Outcome,
    pub call_ns: i64,
    pub return_ns: i64,
    pub statements: Vec<String>,
}

/// Columns next to each other; more begin below.
const COLUMNS_MAX: usize = 3;

/// Elements of a long list that are printed: its last ones decide.
const ELEMENTS_MAX: usize = 6;

impl Proof {
    pub fn new(
        history: &History,
        title: String,
        transactions: &[TransactionId],
        reasons: Vec<String>,
    ) -> Self {
        let transactions = transactions.iter().map(|id| Column::new(history, *id)).collect();
        Self {
            title,
            transactions,
            reasons,
        }
    }
}

impl Column {
    fn new(history: &History, id: TransactionId) -> Self {
        let transaction = history.transaction(id);
        Self {
            session: transaction.session,
            node: transaction.node,
            index: transaction.index,
            outcome: transaction.outcome,
            call_ns: transaction.call_ns,
            return_ns: transaction.return_ns,
            statements: history.ops(id).iter().map(|op| statement(history, op)).collect(),
        }
    }

    fn cells(&self, name: usize, zero_ns: i64) -> Vec<String> {
        let since = |time_ns: i64| (time_ns - zero_ns) as f64 / 1e6;
        let head = [
            format!(
                "T{name}: session {}, node {}, #{}",
                self.session, self.node, self.index
            ),
            format!("{:.3} to {:.3} ms", since(self.call_ns), since(self.return_ns)),
            String::new(),
        ];
        let end = match self.outcome {
            Outcome::Ok => "committed",
            Outcome::Fail => "aborted",
            Outcome::Unknown => "outcome unknown",
        };
        head.into_iter()
            .chain(self.statements.iter().cloned())
            .chain([end.to_owned()])
            .collect()
    }
}

pub fn statement(history: &History, op: &Op) -> String {
    let name = |key: u32| history.keys[key as usize];
    match *op {
        Op::Append { key, value } => format!("append {value} to key {}", name(key)),
        Op::Write { key, value } => format!("write {value} to key {}", name(key)),
        Op::Add { key, amount } => format!("add {amount} to key {}", name(key)),
        Op::ReadList { key, list } => {
            format!("read key {}: {}", name(key), shown(&history.lists.values(list)))
        }
        Op::Read {
            key,
            value: Some(value),
        } => format!("read key {}: {value}", name(key)),
        Op::Read { key, value: None } => format!("read key {}: nothing", name(key)),
        Op::Unanswered { key } => format!("read key {}: no answer", name(key)),
    }
}

/// `[1 2 3]`, or of a long one its length and end: `[(40) … 38 39 40]`.
pub fn shown(values: &[i64]) -> String {
    let last = &values[values.len().saturating_sub(ELEMENTS_MAX)..];
    let last = last.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
    if values.len() > ELEMENTS_MAX {
        format!("[({}) … {last}]", values.len())
    } else {
        format!("[{last}]")
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let zero_ns = self
            .transactions
            .iter()
            .map(|column| column.call_ns)
            .min()
            .unwrap_or_default();
        let columns: Vec<Vec<String>> = self
            .transactions
            .iter()
            .zip(1..)
            .map(|(column, name)| column.cells(name, zero_ns))
            .collect();
        for band in columns.chunks(COLUMNS_MAX) {
            let width = band
                .iter()
                .flatten()
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
                + 3;
            let height = band.iter().map(Vec::len).max().unwrap_or_default();
            writeln!(f)?;
            for row in 0..height {
                let line: String = band
                    .iter()
                    .map(|column| format!("{:width$}", column.get(row).map_or("", String::as_str)))
                    .collect();
                writeln!(f, "{}", line.trim_end())?;
            }
        }
        writeln!(f)?;
        self.reasons.iter().try_for_each(|reason| writeln!(f, "{reason}"))
    }
}
