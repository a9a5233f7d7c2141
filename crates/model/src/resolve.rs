//! What may be asked before a run: the options of a driver or a workload decided, and what follows from them.
//! `bakeoff-engine resolve` reads one [`Request`] a line and answers each with one [`Answer`] a line.
use crate::needs::Offers;
use crate::options::{Described, Said};
use crate::outcome::Trouble;
use crate::run::{Isolation, Retry, RunnerKind, WorkloadSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Request {
    Workload(WorkloadRequest),
    Driver(DriverRequest),
    Preview(PreviewRequest),
    WriteEvents(WriteEventsRequest),
}

/// A workload as a plan says it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WorkloadRequest {
    /// The workload's kind.
    pub kind: String,
    /// What the plan says, in its order. Goes before `file`, which goes before a preset, which goes before defaults.
    #[serde(default)]
    pub options: Said,
    /// Options that a file of the original tool's says.
    #[serde(default)]
    pub file: Option<OptionFile>,
    /// The driver that will be asked. Absent: any.
    #[serde(default)]
    pub driver: Option<DriverRequest>,
    #[serde(default)]
    pub seed: u64,
}

/// A driver, with the options that a plan says of it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DriverRequest {
    pub kind: String,
    /// What the plan calls the kind of system that has this driver, for messages. Absent: as the driver.
    #[serde(default)]
    pub system: Option<String>,
    #[serde(default)]
    pub options: Said,
    #[serde(default)]
    pub runner: Option<RunnerKind>,
    #[serde(default)]
    pub isolation: Option<Isolation>,
}

impl DriverRequest {
    /// For messages.
    pub fn called(&self) -> &str {
        self.system.as_deref().unwrap_or(&self.kind)
    }
}

/// The first operations of the first user.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    /// As a run's document has it.
    pub workload: WorkloadSpec,
    #[serde(default)]
    pub seed: u64,
    pub count: u32,
}

/// The list of events that a run with this workload and seed begins with, into a file.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WriteEventsRequest {
    /// As a run's document has it.
    pub workload: WorkloadSpec,
    #[serde(default)]
    pub seed: u64,
    /// Created, or overwritten.
    pub path: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OptionFile {
    /// What a report calls it.
    pub name: String,
    pub options: Said,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Resolved(Box<Resolved>),
    Driver(ResolvedDriver),
    Preview(Preview),
    Written(Written),
    /// Its place is `workload`, `workload.OPTION`, `driver`, or `driver.OPTION`, where `runner` and `isolation` count as
    /// options.
    Refused(Trouble),
}

/// Every option of a plan decided, and what follows from them.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ResolvedDriver {
    /// As the driver of a run's document has them; the control plane adds where the system is and who asks.
    pub options: Said,
    /// The client library that is taken, by its name in a plan.
    pub client: String,
    /// Those that are left with these options, preferred one first.
    pub runners: Vec<RunnerKind>,
    /// Of this client.
    pub offers: Capabilities,
}

/// What a driver can do that not every driver can.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    pub offers: Offers,
    /// Isolation levels that can be asked for, in portable names.
    pub isolation: Vec<Isolation>,
}

/// Every option of a workload decided, and what follows from them.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// As a run's document has it.
    pub spec: WorkloadSpec,
    /// "YCSB A (records 10000)": what tells the workloads of one report apart.
    pub label: String,
    /// Rows that the load stores.
    pub loaded_rows: u64,
    /// User bytes after the load, without what a system adds.
    pub size_estimate_bytes: u64,
    /// Those it makes, at least one: of two data sets with the same ones, a schema holds one at a time.
    pub tables: Vec<String>,
    /// Equal for equal loaded data sets, which cells then share.
    pub dataset: String,
    /// Equal for the same rows however they are stored: such data sets are loaded apart, and compared.
    pub content: String,
    /// Names of those that a run of it has, parts of others included.
    pub operations: Vec<String>,
    /// Whether a run changes data.
    pub writes: bool,
    /// Operations share transactions, so each user needs a session of its own (no pool).
    pub keeps_session: bool,
    /// It asks for other sessions during a run, so a lost one is no sign of trouble.
    pub replaces_sessions: bool,
    /// Most users over all clients, where each needs a table or an order of its own.
    pub users_max: Option<u32>,
    /// Statements that every session prepares before a run, where the workload counts them: a server may bound their number.
    #[serde(default)]
    pub prepared_statements: Option<u32>,
    /// About how long a client takes to prepare before its run, besides connecting.
    pub prepares_s: f64,
    /// How long a run lasts at least that does all of its operations, where they are due at times of their own.
    #[serde(default)]
    pub lasts_s: f64,
    /// Which failures are tried again where the plan does not say it.
    pub retry: Option<Retry>,
    /// Where a run may begin on data that other runs have left: what to add to options of `spec` for each of those, so that
    /// it inserts keys of its own. Absent: it would insert the same rows again.
    pub continues_by: Option<BTreeMap<String, u64>>,
    /// Its own figures, besides those that every workload has.
    pub rates: Vec<Rate>,
    /// Response times that its rules ask for; a run that misses one is reported, and valid.
    pub limits: Vec<ResponseLimit>,
    /// What is allowed but will limit the answer, a sentence each.
    pub advice: Vec<String>,
}

/// How many operations ended right in a time: a metric under its name, of which more is better.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// As plans and options have it: `new_orders_per_minute`. Not that of a metric of all workloads.
    pub name: String,
    /// In a sentence: "number of new orders per minute".
    pub label: String,
    /// What it is, a sentence.
    pub about: String,
    pub per: Per,
    /// Those that it counts, at least one.
    pub operations: Vec<String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    Second,
    Minute,
}

/// A share of an operation is to end right within a time.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ResponseLimit {
    pub operation: String,
    /// The share: 0.9.
    pub percentile: f64,
    pub most_s: f64,
}

/// As many as were asked for; none of a workload that cannot tell.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Preview {
    pub operations: Vec<Previewed>,
}

/// A list of events that was written to a file.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Written {
    pub events: u64,
    /// Of the file.
    pub sha256: String,
}

/// An operation as a user would ask it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Previewed {
    pub operation: String,
    /// What is drawn for it: its statements with their values, its input. A line each.
    pub lines: Vec<String>,
}

/// A workload of this build, for `bakeoff-engine list`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    pub kind: String,
    pub summary: String,
    /// The option whose names are the workload's presets.
    pub preset: String,
    pub options: Vec<Described>,
}

/// A driver of this build, for `bakeoff-engine list`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ListedDriver {
    pub kind: String,
    /// Of all its clients, preferred one first.
    pub runners: Vec<RunnerKind>,
    /// With the preferred client.
    pub capabilities: Capabilities,
    /// Name and, where it tells, version of the client library or of the embedded database. Empty: our own code.
    pub library: String,
    /// Kinds of workloads that it can be asked.
    pub workloads: Vec<String>,
    /// `bakeoff verify` can try what it promises.
    pub experiments: bool,
    /// Those of a plan.
    pub options: Vec<Described>,
}
