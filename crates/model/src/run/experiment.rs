//! What a phase `verify` does: a few sessions carry out statements, and what comes of it is evidence. And what does the same
//! next to a load.
use crate::endpoint::Routing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One experiment and its options.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ExperimentSpec {
    /// Which anomalies the session's isolation level lets happen (docs/method/isolation.md).
    Isolation {
        /// Names of schedules; empty: all.
        #[serde(default)]
        schedules: Vec<String>,
        /// How often each is run. Outcomes that differ depend on timing.
        #[serde(default = "three")]
        tries: u32,
        /// A statement without an answer for this long is called blocked, and the other sessions go on; one that is no
        /// commit sooner, once the server has answered another session several times meanwhile.
        #[serde(default = "third_of_a_second")]
        blocked_after_s: f64,
        /// Statements that each session runs first, such as a limit for waiting on locks.
        #[serde(default)]
        session_setup: Vec<String>,
    },
    /// What random transactions of several sessions next to each other see: appends to lists, and transfers between
    /// accounts (docs/method/histories.md).
    Transactions {
        #[serde(default = "six")]
        sessions: u32,
        /// Of each kind of transaction.
        #[serde(default = "six_seconds")]
        seconds: f64,
        /// From then on a kind ends as soon as a verdict is possible, or out of reach; absent: at the end of `seconds`.
        #[serde(default)]
        enough_after_s: Option<f64>,
        /// `read-uncommitted`, `read-committed`, `snapshot` or `serializable`; absent: nothing is claimed.
        #[serde(default)]
        claim: Option<String>,
        #[serde(default)]
        session_setup: Vec<String>,
        /// Where histories are written, a file each; absent: nowhere.
        #[serde(default)]
        folder: Option<String>,
        /// Faults are carried out meanwhile: how long nodes may be away once the time is over. 0: none.
        #[serde(default)]
        nodes_back_within_s: f64,
    },
    /// How old is what is read on each node, and what a session may expect of its own past.
    Staleness {
        #[serde(default = "six_seconds")]
        seconds: f64,
        /// As of transactions.
        #[serde(default)]
        enough_after_s: Option<f64>,
        /// Of each session that writes.
        #[serde(default = "six_hundred")]
        writes_per_s: f64,
        /// Pairs of reads of the session that reads, one on each node.
        #[serde(default = "thousand")]
        reads_per_s: f64,
        /// As the judge reads them: `staleness`, `guarantees`, `linearizable`.
        #[serde(default = "nothing")]
        claims: serde_json::Value,
        #[serde(default)]
        session_setup: Vec<String>,
        #[serde(default)]
        folder: Option<String>,
    },
    /// Records are inserted, a transaction each, until the time is over or the system ends, and each session notes in a
    /// file of its own what it sent and what was acknowledged (docs/method/power-loss.md).
    Ledger {
        /// Where these files are, `0.ledger` and so on: not among the data.
        folder: String,
        /// Number of each session's first record: what an earlier ledger left has others.
        #[serde(default)]
        first: u64,
        #[serde(default = "four")]
        sessions: u32,
        #[serde(default = "six_seconds")]
        seconds: f64,
    },
    /// Writes the keys that exist afterwards into the file `found` of this folder.
    LedgerFound { folder: String },
    /// Whether all nodes hold the same once nobody writes any more: rounds in which sessions write a row at the same time.
    Convergence {
        /// No round begins later.
        #[serde(default = "six_seconds")]
        seconds: f64,
        /// As of transactions. The samples after the nodes have agreed take as long, and at most 5 s.
        #[serde(default)]
        enough_after_s: Option<f64>,
        /// After the last write, until all nodes must hold the same.
        #[serde(default = "ten_seconds")]
        deadline_s: f64,
        #[serde(default)]
        session_setup: Vec<String>,
    },
}

impl ExperimentSpec {
    /// On records instead of SQL. has_sql: the driver, for experiments.
    pub fn is_on_records(&self, has_sql: bool) -> bool {
        match self {
            Self::Ledger { .. } | Self::LedgerFound { .. } => true,
            Self::Staleness { .. } | Self::Convergence { .. } => !has_sql,
            _ => false,
        }
    }
}

/// One session on each node, next to the load of a run: it writes versions of a few keys and reads them, in a table of its
/// own, at 1 % of the load's throughput at most, or one operation per second (docs/method/histories.md).
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StalenessProbeSpec {
    /// The nodes that take its writes.
    #[serde(default)]
    pub writers: Routing,
    /// As the judge reads them: `staleness`, `guarantees`, `linearizable`.
    #[serde(default = "nothing")]
    pub claims: serde_json::Value,
    /// Statements that each session runs first.
    #[serde(default)]
    pub session_setup: Vec<String>,
}

fn three() -> u32 {
    3
}
fn four() -> u32 {
    4
}
fn six() -> u32 {
    6
}
fn six_seconds() -> f64 {
    6.0
}
fn ten_seconds() -> f64 {
    10.0
}
fn six_hundred() -> f64 {
    600.0
}
fn thousand() -> f64 {
    1000.0
}
fn nothing() -> serde_json::Value {
    serde_json::json!({})
}
fn third_of_a_second() -> f64 {
    0.35
}

/// What came of an isolation experiment: a run's `evidence`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct IsolationEvidence {
    pub schedules: Vec<ScheduleEvidence>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ScheduleEvidence {
    /// `G0`, `G1a`, ...: the anomaly that the schedule provokes.
    pub name: String,
    pub tries: Vec<ScheduleTry>,
}

/// One run of a schedule.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ScheduleTry {
    /// The anomaly happened.
    pub anomaly: bool,
    /// Transactions that committed, of how many.
    pub committed: u32,
    pub transactions: u32,
    pub steps: Vec<StepEvidence>,
    /// The table at the end: id, value.
    pub rows: Vec<(i64, i64)>,
}

/// A statement and its answer, in the order in which they were sent.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StepEvidence {
    /// From 1.
    pub session: u32,
    pub statement: String,
    /// It had no answer in time, and others went on.
    pub blocked: bool,
    pub answer: StepAnswer,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepAnswer {
    /// Rows that it changed, where the system counts them.
    Done { affected: Option<u64> },
    /// Rows that it read: id, value.
    Rows { rows: Vec<(i64, i64)> },
    /// The system refused it; its transaction was rolled back.
    Error { code: String, message: String },
    /// No answer came within the run's timeout.
    None,
    /// Not sent, because an earlier statement of its session failed.
    Skipped,
}
