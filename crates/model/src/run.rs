//! What the engine is asked: one run, fully resolved. Nothing here has a hidden default that changes a number: the
//! control plane writes every field, and a person writing by hand may leave out what has a stated default.
pub mod sysbench;
mod ycsb;

use crate::endpoint::Endpoint;
use crate::outcome::FailClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use ycsb::{FieldLength, InsertOrder, Payload, RequestDistribution, ScanLength, YcsbSpec};

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
    /// Users, each with at most one operation in flight.
    #[serde(default = "one")]
    pub threads: u32,
    /// Connections; fewer than `threads` makes a pool with a fair queue. Default: as many as threads.
    #[serde(default)]
    pub sessions: Option<u32>,
    /// OS threads of the engine (ignored by the `thread` runner, which has one per session). 0: one per core.
    #[serde(default)]
    pub workers: u32,
    /// Default: the driver's preferred runner.
    #[serde(default)]
    pub runner: Option<RunnerKind>,
    /// How the reactor talks to the kernel. Default: io_uring where it is allowed and a worker has more than 4 sessions,
    /// else epoll.
    #[serde(default)]
    pub io: Option<IoKind>,
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
    /// One blocking session at this rate beside the load; absent: none.
    #[serde(default)]
    pub witness_rate_ops_per_s: Option<f64>,
    /// Asked of every session and read back.
    #[serde(default)]
    pub isolation: Option<Isolation>,
    /// `create`/`load`: drop the workload's tables first. Without it existing tables are an error.
    #[serde(default)]
    pub drop_existing: bool,
    /// `check`: what must hold.
    #[serde(default)]
    pub check: Option<CheckSpec>,
    /// Cores this process may use; empty: wherever the kernel puts it.
    #[serde(default)]
    pub cores: Vec<u32>,
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

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Default)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pacing {
    /// The next operation starts when the last one has been answered.
    #[default]
    Closed,
    /// Operations fall due by the clock, whatever the system does. The rate is of this process.
    Open { rate_ops_per_s: f64, arrival: Arrival },
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
    /// The system's own codes, beside `on`, as an error's `code` gives them (`1213`); `all`: every failure.
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
    /// Rows that must be there: initial rows plus acknowledged inserts.
    pub rows_min: u64,
    /// `rows_min` plus inserts of unknown outcome.
    pub rows_max: u64,
    /// Rows to read back one by one and verify, drawn evenly over the key space. 0: none.
    #[serde(default)]
    pub sample: u64,
    /// Values may have been changed by a run, so only their presence and shape can be verified.
    #[serde(default)]
    pub after_run: bool,
}

/// The driver and what it needs. A kind's name is the driver's file name.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DriverSpec {
    Null(NullSpec),
    Sqlite(SqliteSpec),
    Mysql(MysqlSpec),
    Postgresql(PostgresqlSpec),
}

impl DriverSpec {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null(_) => "null",
            Self::Sqlite(_) => "sqlite",
            Self::Mysql(_) => "mysql",
            Self::Postgresql(_) => "postgresql",
        }
    }
}

/// The test bench of the instrument: a system with known behaviour.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct NullSpec {
    /// Mean service time; 0: answers at once.
    #[serde(default)]
    pub latency_ns: u64,
    #[serde(default)]
    pub latency: NullLatency,
    /// In the run phase: share of operations that fail with class `other`.
    #[serde(default)]
    pub error_ratio: f64,
    /// In the run phase: share of operations acknowledged with a wrong answer (row missing).
    #[serde(default)]
    pub wrong_ratio: f64,
    /// Spans in which nothing is answered, in seconds since the first session was opened or, in a run, since the
    /// epoch (start of the warm-up).
    #[serde(default)]
    pub stalls: Vec<NullStall>,
    /// Keep rows in memory (one store per process), so that integrity checks mean something.
    #[serde(default)]
    pub store: bool,
    /// With `store`: the folder in which the rows outlive the process. Absent: they end with it.
    #[serde(default)]
    pub store_path: Option<String>,
    /// With `store`, in the run phase: share of acknowledged writes that are not stored.
    #[serde(default)]
    pub lost_write_ratio: f64,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum NullLatency {
    #[default]
    Constant,
    Exponential,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct NullStall {
    pub at_s: f64,
    pub for_s: f64,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SqliteSpec {
    /// The database file.
    pub path: String,
    /// Pragmas of every connection, by their own names (`journal_mode`, `synchronous`, ...); set and read back.
    #[serde(default)]
    pub pragmas: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MysqlSpec {
    /// At least one. `host:port`, or `/path` for a unix socket.
    pub endpoints: Vec<Endpoint>,
    pub user: String,
    #[serde(default)]
    pub password: Option<Secret>,
    /// The database (schema) everything happens in.
    pub schema: String,
    /// Absent: no TLS.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// Session variables by their own names, set on every connection and read back.
    #[serde(default)]
    pub session_variables: BTreeMap<String, String>,
    /// Which client library speaks to the server. Default: our own wire client, or mysql_async where there is TLS.
    #[serde(default)]
    pub client: Option<MysqlClient>,
    /// PEM file with the server's RSA public key, to which a password may be encrypted over plain TCP. Absent: a server
    /// that asks for the password itself there is refused.
    #[serde(default)]
    pub server_public_key_file: Option<String>,
    /// The password was made for this server and ends with it, so that nothing is lost with it.
    #[serde(default)]
    pub throwaway_password: bool,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum MysqlClient {
    /// Our own, on the reactor; no TLS.
    Wire,
    /// The library mysql_async, on tokio.
    MysqlAsync,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PostgresqlSpec {
    /// At least one. `host:port`, or `/path/.s.PGSQL.port` for a unix socket.
    pub endpoints: Vec<Endpoint>,
    pub user: String,
    #[serde(default)]
    pub password: Option<Secret>,
    /// The database everything happens in; the schema in it is the first of the account's `search_path`.
    pub database: String,
    /// Absent: no TLS.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// Run-time parameters by their own names (`search_path`, `synchronous_commit`), set on every connection.
    #[serde(default)]
    pub session_variables: BTreeMap<String, String>,
    /// Which client library speaks to the server. Default: our own wire client, or tokio-postgres where there is TLS.
    #[serde(default)]
    pub client: Option<PostgresqlClient>,
    /// The password was made for this server and ends with it, so that nothing is lost with it.
    #[serde(default)]
    pub throwaway_password: bool,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PostgresqlClient {
    /// Our own, on the reactor; no TLS.
    Wire,
    /// The library tokio-postgres, on tokio.
    TokioPostgres,
}

/// Where a secret comes from. The secret itself is never in a document.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Secret {
    /// Name of an environment variable.
    Env(String),
    /// Path of a file; trailing newline removed.
    File(String),
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// PEM file with the authority to trust; absent: the system's.
    #[serde(default)]
    pub ca_file: Option<String>,
    /// false: encrypt, but accept any certificate.
    #[serde(default = "yes")]
    pub verify: bool,
}

fn yes() -> bool {
    true
}

/// The workload and its options. A kind's name is the workload's file name.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadSpec {
    Ycsb(YcsbSpec),
    Sysbench(sysbench::SysbenchSpec),
}

impl WorkloadSpec {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ycsb(_) => "ycsb",
            Self::Sysbench(_) => "sysbench",
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
