//! What the engine is asked: one run, fully resolved. Nothing here has a hidden default that changes a number: the
//! control plane writes every field, and a person writing by hand may leave out what has a stated default.
pub mod documents;
mod driver;
mod experiment;
pub mod hatshop;
pub mod linkbench;
pub mod lua;
pub mod replay;
pub mod sql;
pub mod sysbench;
pub mod tpcc;
mod ycsb;

use crate::endpoint::Routing;
use crate::outcome::FailClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub use driver::DriverSpec;
pub use experiment::{
    ExperimentSpec, IsolationEvidence, ScheduleEvidence, ScheduleTry, StalenessProbeSpec, StepAnswer,
    StepEvidence,
};
pub use ycsb::{FieldLength, Form, InsertOrder, Payload, RequestDistribution, ScanLength, YcsbSpec};

/// One document, one run of one client process.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    pub format: u32,
    pub phase: Phase,
    pub driver: DriverSpec,
    pub workload: WorkloadSpec,
    #[serde(default)]
    pub client: ClientSpec,
    #[serde(default)]
    pub seed: u64,
    /// Of Poisson arrivals, so that repetitions of one run may differ in them alone. Default: `seed`.
    #[serde(default)]
    pub arrival_seed: Option<u64>,
    /// Users, each with at most one operation in flight.
    #[serde(default = "one")]
    pub threads: u32,
    /// Connections; fewer than `threads` makes a pool with a fair queue. Default: as many as threads.
    #[serde(default)]
    pub sessions: Option<u32>,
    /// Which of the system's nodes they go to.
    #[serde(default)]
    pub routing: Routing,
    /// OS threads of the engine (ignored by the `thread` runner, which has one per session). 0: one per core.
    #[serde(default)]
    pub workers: u32,
    /// Default: the driver's preferred runner.
    #[serde(default)]
    pub runner: Option<RunnerKind>,
    /// How the reactor talks to the kernel. Default: io_uring where it is allowed and a worker has more than 4 sessions
    /// in the plan's largest run, else epoll.
    #[serde(default)]
    pub io: Option<IoKind>,
    /// Sessions of the largest run of the same plan, so that all its runs ask the kernel in the same way. Fewer than this
    /// run's: counted as this run's.
    #[serde(default)]
    pub sessions_of_largest_run: u32,
    /// Nothing of the system runs on this client's cores: a worker may stay awake shortly before a deadline, which is then
    /// met to some microseconds. Elsewhere that would be taken from the system.
    #[serde(default)]
    pub spin: bool,
    #[serde(default)]
    pub pacing: Pacing,
    #[serde(default)]
    pub limit: Limit,
    /// Not counted, before the window.
    #[serde(default)]
    pub warm_up_s: f64,
    /// An attempt that takes longer is `unknown` and its session is replaced. Resolution 10 ms.
    #[serde(default = "ten_seconds")]
    pub timeout_s: f64,
    #[serde(default)]
    pub retry: Retry,
    /// Share of operations that may end other than `ok` before the run is called invalid.
    #[serde(default)]
    pub error_budget_ratio: f64,
    /// One blocking session at this rate next to the load; absent: none.
    #[serde(default, alias = "witness_rate_ops_per_s")]
    pub latency_probe_rate_ops_per_s: Option<f64>,
    /// `run`: sessions next to the load that watch for old reads; absent: none.
    #[serde(default)]
    pub staleness_probe: Option<StalenessProbeSpec>,
    /// Asked of every session and read back.
    #[serde(default)]
    pub isolation: Option<Isolation>,
    /// `create`/`load`: drop the workload's tables first; of experiments and probes, their own. Without it existing tables
    /// are an error.
    #[serde(default)]
    pub drop_existing: bool,
    /// `check`: what must hold.
    #[serde(default)]
    pub check: Option<CheckSpec>,
    /// `verify`: what is done to see what the system promises.
    #[serde(default)]
    pub experiment: Option<ExperimentSpec>,
    /// Cores this process may use; empty: wherever the kernel puts it.
    #[serde(default)]
    pub cores: Vec<u32>,
    /// Where every operation of the window is written down; absent: nowhere.
    #[serde(default)]
    pub event_log: Option<EventLogSpec>,
}

impl RunSpec {
    pub fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_s)
    }
}

/// A CSV file with a row for each operation.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct EventLogSpec {
    /// Created, or overwritten.
    pub path: String,
    /// What its rows call the run, and the system.
    pub test_id: String,
    pub database: String,
}

fn one() -> u32 {
    1
}
fn ten_seconds() -> f64 {
    10.0
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Make the tables, then load all rows.
    Load,
    /// Read everything once (the same full scan on every system).
    Warm,
    /// The measured phase.
    Run,
    /// Invariants.
    Check,
    /// An experiment on what the system promises, without load.
    Verify,
    /// Remove the workload's tables.
    Drop,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RunnerKind {
    Tokio,
    Thread,
    Reactor,
}

impl RunnerKind {
    /// As a plan has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tokio => "tokio",
            Self::Thread => "thread",
            Self::Reactor => "reactor",
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum IoKind {
    IoUring,
    Epoll,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Snapshot,
    Serializable,
}

impl Isolation {
    /// As a plan has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read-uncommitted",
            Self::ReadCommitted => "read-committed",
            Self::RepeatableRead => "repeatable-read",
            Self::Snapshot => "snapshot",
            Self::Serializable => "serializable",
        }
    }
}

/// This process among the run's clients.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    pub index: u32,
    pub count: u32,
}

impl Default for ClientSpec {
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pacing {
    /// The next operation starts when the last one has been answered.
    #[default]
    Closed,
    /// The same, and every user thinks before each operation.
    Thinking {
        mean_s: f64,
        #[serde(default)]
        distribution: Thought,
    },
    /// Operations fall due by the clock, whatever the system does. The rate is of this process.
    Open {
        /// With stages, on average over the window.
        rate_ops_per_s: f64,
        arrival: Arrival,
        /// One after the other from the start of the window; the warm-up has the rate at the first one's start.
        #[serde(default)]
        stages: Vec<Stage>,
    },
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum Thought {
    #[default]
    Exponential,
    Constant,
}

/// A stretch of time in which the rate goes evenly from one value to another.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    pub for_s: f64,
    pub from_ops_per_s: f64,
    pub to_ops_per_s: f64,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// Equal gaps, one schedule per worker; the next free session takes the oldest due operation.
    Constant,
    /// Exponential gaps, one schedule per worker.
    Poisson,
    /// Compat (YCSB, wrk2): a schedule of its own for every session, which inflates the tail.
    PerSession,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Limit {
    /// The window's length.
    Time { window_s: f64 },
    /// Operations of this process after the warm-up, divided evenly over threads; `max_s` ends it anyway.
    Operations { operations: u64, max_s: Option<f64> },
}

impl Default for Limit {
    fn default() -> Self {
        Limit::Time { window_s: 10.0 }
    }
}

/// Which failures are tried again, by the same user with the same operation. Response time spans all attempts.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Attempts beyond the first; 0: none.
    #[serde(default)]
    pub retries: u32,
    #[serde(default)]
    pub on: Vec<FailClass>,
    /// The system's own codes, besides `on`, as an error's `code` gives them (`1213`); `all`: every failure.
    #[serde(default)]
    pub on_codes: Vec<String>,
    /// Pause before the n-th retry is n times this.
    #[serde(default)]
    pub backoff_s: f64,
}

/// What must hold for the data after a load or a run.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// What was done to the data since they were loaded: `evidence` of each client's result of each run, in any order.
    /// Null stands for a run of which nobody knows what it did.
    #[serde(default)]
    pub evidence: Vec<serde_json::Value>,
    /// Rows to read back one by one and verify, drawn evenly over the key space. 0: none.
    #[serde(default)]
    pub sample: u64,
    /// Rows whose insert was acknowledged to read back by their keys, where the workload keeps these: the most, drawn
    /// evenly over all that it kept.
    #[serde(default)]
    pub acknowledged: u64,
    /// Values may have been changed by a run, so only their presence and shape can be verified.
    #[serde(default)]
    pub after_run: bool,
}

/// The workload and its options. A kind's name is the workload's file name.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadSpec {
    Ycsb(YcsbSpec),
    Sysbench(sysbench::SysbenchSpec),
    Sql(Box<sql::SqlSpec>),
    Lua(Box<lua::LuaSpec>),
    Replay(Box<replay::ReplaySpec>),
    Tpcc(tpcc::TpccSpec),
    Linkbench(linkbench::LinkbenchSpec),
    Hatshop(hatshop::HatshopSpec),
    Documents(Box<documents::DocumentsSpec>),
}

impl WorkloadSpec {
    /// What it keeps are documents, where it could as well be records or tables.
    pub fn stores_documents(&self) -> bool {
        match self {
            Self::Ycsb(spec) => spec.form == Form::Document,
            Self::Hatshop(spec) => spec.layout == hatshop::HatshopLayout::Documents,
            _ => false,
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ycsb(_) => "ycsb",
            Self::Sysbench(_) => "sysbench",
            Self::Sql(_) => "sql",
            Self::Lua(_) => "lua",
            Self::Replay(_) => "replay",
            Self::Tpcc(_) => "tpcc",
            Self::Linkbench(_) => "linkbench",
            Self::Hatshop(_) => "hatshop",
            Self::Documents(_) => "documents",
        }
    }
}

/// One line on the engine's stdin.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(tag = "control", rename_all = "snake_case", deny_unknown_fields)]
pub enum Control {
    /// Begin (the warm-up) at this time of the real-time clock; all clients of a run get the same.
    StartAt { unix_ns: u64 },
    /// A planned event (a fault) happens now: written back as an event, on the run's time axis.
    Mark { id: u32 },
    /// End now; what was measured is reported.
    Stop,
}
