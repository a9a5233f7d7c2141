//! What may be asked before a run: the options of a workload decided, and what follows from them. `bakeoff-engine
//! resolve` reads one [`Request`] a line and answers each with one [`Answer`] a line.
use crate::options::{Described, Said};
use crate::outcome::Trouble;
use crate::run::{Retry, WorkloadSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A workload as a plan says it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The workload's kind.
    pub kind: String,
    /// What the plan says, in its order. Goes before `file`, which goes before a preset, which goes before defaults.
    #[serde(default)]
    pub options: Said,
    /// Options that a file of the original tool's says.
    #[serde(default)]
    pub file: Option<OptionFile>,
    /// Kind of the driver that will be asked. Absent: any.
    #[serde(default)]
    pub driver: Option<String>,
    #[serde(default)]
    pub seed: u64,
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
    /// Its place is `workload`, `workload.OPTION` or `driver`.
    Refused(Trouble),
}

/// Every option decided, and what follows from them.
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
    /// Whether a run changes data.
    pub writes: bool,
    /// Operations share transactions, so each user needs a session of its own (no pool).
    pub keeps_session: bool,
    /// It asks for other sessions during a run, so a lost one is no sign of trouble.
    pub replaces_sessions: bool,
    /// Most users over all clients, where each needs a table of its own.
    pub users_max: Option<u32>,
    /// Which failures are tried again where the plan does not say it.
    pub retry: Option<Retry>,
    /// Where a run may begin on data that other runs have left: what to add to options of `spec` for each of those, so that
    /// it inserts keys of its own. Absent: it would insert the same rows again.
    pub continues_by: Option<BTreeMap<String, u64>>,
    /// What is allowed but will limit the answer, a sentence each.
    pub advice: Vec<String>,
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
