//! What the engine answers: one JSON line per event on stdout, in this order: `ready`, then `interval` once a second
//! (run) or `progress` (load), `warning` at any time, and `result` or `error` last.
use crate::capacity::CapacityUnits;
use crate::outcome::{Outcome, Trouble};
use crate::run::{ClientSpec, IoKind, Phase, RunnerKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Ready(Ready),
    Progress(Progress),
    Interval(Interval),
    Mark(Mark),
    Warning(Warning),
    Result(Box<RunResult>),
    Error(Trouble),
}

/// All sessions are open; the engine waits for `start_at`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    pub format: u32,
    pub engine_version: String,
    pub pid: u32,
    pub runner: RunnerKind,
    /// How the reactor talks to the kernel; absent on other runners.
    pub io: Option<IoKind>,
    /// The client library that speaks to the system (`wire`, `scylla`, ...).
    pub client: String,
    pub workers: u32,
    pub sessions: u32,
    /// From the first connection attempt to the last session open.
    pub connect_s: f64,
}

/// Load: rows, about once a second, but only when something has gone on since the last one: silence means that nothing
/// did. Run: workers that have ended, while the last operations are waited for after the window; or schedules whose due
/// operations have been counted. Warm-up and check: signs that the system is alive (sessions that it opened for somebody else,
/// or its time of the processor where it is embedded), and `total` is 0.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    pub elapsed_s: f64,
    pub done: u64,
    pub total: u64,
}

/// One second of the run's time axis, `[second, second + 1)` since the epoch; operations by when they ended.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    pub second: u64,
    /// Shorter than 1 for the last one.
    pub length_s: f64,
    pub warm_up: bool,
    /// Operations that fell due in it. Only where the plan changes the rate.
    pub due: Option<u64>,
    /// Service times of whole operations that ended ok; as `due`, and absent where none did.
    pub service: Option<Histogram>,
    pub series: Vec<IntervalSeries>,
    pub queries: QueryCounts,
    pub retries: u64,
    /// Those of them that followed a conflict.
    pub retries_after_conflict: u64,
    pub reconnects: u64,
    pub tenths: Tenths,
    /// Where a system has several, in the order of its endpoints; else empty, for all is of the one.
    pub nodes: Vec<IntervalNode>,
}

/// Whole operations that ended ok in each tenth of a second; ten of each, of a shorter second too.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(deny_unknown_fields)]
pub struct Tenths {
    pub ok: Vec<u64>,
    /// Those of them that write, or may.
    pub writes: Vec<u64>,
}

/// What came from one node in one second.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct IntervalNode {
    pub name: String,
    /// Operations that ended there, by outcome; what did not occur is left out.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Of those that ended ok.
    pub response: Histogram,
    /// Sessions opened there again.
    pub reconnects: u64,
}

/// Statements that the server carried out, by what they did; zeros where the workload does not say.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(deny_unknown_fields)]
pub struct QueryCounts {
    pub read: u64,
    pub write: u64,
    /// Begin, commit, rollback, and writes that touched no row.
    pub other: u64,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct IntervalSeries {
    pub operation: String,
    pub part: bool,
    pub outcome: Outcome,
    pub response: Histogram,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    pub id: u32,
    /// Seconds since the epoch.
    pub at_s: f64,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    pub what: String,
    pub at_s: f64,
}

/// A histogram of times: unit ns, range 1 ns to 1 h, 3 significant digits.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    pub count: u64,
    /// Values above the range: counted in `count` and recorded at its end.
    pub out_of_range: u64,
    pub min_ns: u64,
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    /// Exact.
    pub max_ns: u64,
    /// The standard compressed encoding (HdrHistogram V2 + DEFLATE), base64.
    pub hdr: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    pub format: u32,
    pub phase: Phase,
    pub client: ClientSpec,
    pub seed: u64,
    /// Load, warm: rows done and the time taken.
    pub rows: u64,
    pub elapsed_s: f64,
    /// Run: measured part, seconds since the epoch. (0, 0) in other phases.
    pub window_start_s: f64,
    pub window_end_s: f64,
    pub epoch_unix_ns: u64,
    /// Ended by `stop`, by end of input or by a signal before its limit.
    pub interrupted: bool,
    pub series: Vec<Series>,
    /// Begun, and not finished when the window ended: their age then. In an open loop those due in the window.
    pub unfinished: Histogram,
    /// The same by operation, where there are any.
    #[serde(default)]
    pub unfinished_by_operation: Vec<OperationTimes>,
    /// Due, and no session was free to begin them: their age at the window's end. In an open loop those due in it. Which
    /// operations they would have been was never drawn, so they are not split by operation.
    pub backlog: Histogram,
    /// Open loop: how many fell due in the window, and by how much the generator itself was late for those that had
    /// a free session (begin - intended).
    pub due: u64,
    pub lateness: Histogram,
    /// Operations that ended in the window, of whatever outcome and whenever they fell due: where they stay behind `due`,
    /// the queue has grown.
    pub completed: u64,
    /// Those of them that ended ok and had fallen due before the window of an open loop, and so are in no series.
    pub ok_from_warm_up: u64,
    /// Pool of fewer sessions than threads: time waited for one.
    pub pool_wait: Histogram,
    /// Of operations counted in the window.
    pub queries: QueryCounts,
    /// In the window.
    pub retries: u64,
    /// Those of them that followed a conflict.
    pub retries_after_conflict: u64,
    pub reconnects: u64,
    /// In the warm-up, too.
    pub connections_lost: u64,
    /// Operations counted `ok` in `series` whose transaction did not commit afterwards: to be subtracted.
    pub revoked: u64,
    /// Share of operations in the window that did not end `ok`, and whether that exceeds the run's budget.
    pub error_ratio: f64,
    pub error_budget_exceeded: bool,
    /// The first few of each operation and outcome, whole.
    pub errors: Vec<ErrorSample>,
    pub stream_hashes: Vec<String>,
    /// Of a system that has nodes, in the order of its endpoints.
    pub nodes: Vec<NodeResult>,
    pub cost: ClientCost,
    /// Consumed in the window, by what the service said with each answer. Absent: this system has no such units.
    #[serde(default)]
    pub capacity_units: Option<CapacityUnits>,
    pub latency_probe: Option<LatencyProbe>,
    /// Absent: none was asked for.
    #[serde(default)]
    pub staleness_probe: Option<StalenessProbe>,
    /// Of a run: what it did to the data, for the checks that follow: a document of the workload's own, which others only
    /// carry. Null in other phases.
    pub evidence: serde_json::Value,
    /// User bytes (keys and values) in acknowledged writes; 0 where the workload does not say.
    pub user_bytes_written: u64,
    pub checks: Vec<Check>,
    /// Of the file with a row for each operation, where one was asked for.
    #[serde(default)]
    pub event_log: Option<LoggedEvents>,
}

/// Times of one kind of operation.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OperationTimes {
    pub operation: String,
    pub times: Histogram,
}

/// Operations that were written down one by one.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct LoggedEvents {
    pub rows: u64,
    /// Not written, because the log could not keep up or the disk would not take it.
    pub lost: u64,
    /// CPU time of the thread that wrote them, which the client's cost holds too.
    #[serde(default)]
    pub cpu_ns: u64,
}

/// One operation x outcome in the window.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Series {
    pub operation: String,
    /// Part of this other operation: not in totals.
    pub part_of: Option<String>,
    pub outcome: Outcome,
    /// Closed loop: ended in the window, wherever they began. Open loop: due and ended in it.
    pub count: u64,
    /// From intended start, over all attempts.
    pub response: Histogram,
    /// From actual start of the last attempt.
    pub service: Histogram,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ErrorSample {
    pub operation: String,
    pub outcome: Outcome,
    pub code: String,
    pub message: String,
    pub statement: Option<String>,
    pub endpoint: u32,
    pub at_s: f64,
}

/// What came from one node of a system.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct NodeResult {
    pub name: String,
    pub role: String,
    /// Operations ended there that the series count, of whatever outcome.
    pub operations: u64,
    /// The same by outcome; what did not occur is left out.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Of those that ended ok.
    pub response: Histogram,
    /// Sessions opened there again in the window.
    pub reconnects: u64,
}

/// What the client itself cost, over the window.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct ClientCost {
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    pub memory_peak_bytes: u64,
    pub context_switches_voluntary: u64,
    pub context_switches_involuntary: u64,
    pub workers: Vec<WorkerCost>,
    /// Of the whole machine over the window.
    pub steal_ratio: f64,
    /// Mean of the cores' frequencies at the end, where the kernel tells.
    pub cpu_mhz: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct WorkerCost {
    /// Share of the window this OS thread was working, waiting and pacing spins excluded.
    pub busy_ratio: f64,
    /// Time it was runnable but had no core (schedstat), as a share of the window.
    pub run_queue_delay_ratio: f64,
}

/// The blocking session next to the load.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct LatencyProbe {
    pub operation: String,
    pub service: Histogram,
    /// Median service time of the same operation under load, over the latency probe's.
    pub median_ratio: Option<f64>,
}

/// What sessions next to the load saw of the versions that they wrote.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct StalenessProbe {
    /// At most one on each node.
    pub sessions: u32,
    /// Begun in the window.
    pub writes: u64,
    pub reads: u64,
    /// As the judge reports (docs/method/histories.md); null: nothing was seen.
    pub report: serde_json::Value,
    /// What kept it from seeing more, in words; empty: nothing.
    pub troubles: Vec<String>,
}

/// One invariant and what was found.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub name: String,
    pub ok: bool,
    pub expected: String,
    pub actual: String,
    /// Keys or rows that show it, at most ten.
    pub evidence: Vec<String>,
}
