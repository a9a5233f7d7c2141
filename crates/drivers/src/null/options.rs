//! Options of the null driver: a plan's, and those that the control plane sets (`system`).
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The test bench of the instrument: a system with known behaviour.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct NullSpec {
    /// Mean service time; 0: answers at once. No longer time than an hour could be recorded.
    #[serde(default)]
    #[schemars(range(max = 3_600_000_000_000u64))]
    pub latency_ns: u64,
    /// How service times are distributed.
    #[serde(default)]
    pub latency: NullLatency,
    /// In the run phase: share of operations that fail with class `other`.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub error_ratio: f64,
    /// In the run phase: share of operations acknowledged with a wrong answer (row missing).
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub wrong_ratio: f64,
    /// Spans in which nothing is answered, in seconds since the first session was opened or, in a run, since the
    /// epoch (start of the warm-up).
    #[serde(default)]
    #[schemars(title = "a list of `{ at_s, for_s }`")]
    pub stalls: Vec<NullStall>,
    /// Keep rows in memory (one store per process), so that warming and integrity checks mean something.
    #[serde(default)]
    pub store: bool,
    /// With `store`: the folder in which the rows outlive the process. Absent: they end with it.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub store_path: Option<String>,
    /// With `store`, in the run phase: share of acknowledged writes that are not stored.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub lost_write_ratio: f64,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum NullLatency {
    #[default]
    Constant,
    Exponential,
}

/// Further away than eleven days it is a typing error, and its ns must stay within 64 bits.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct NullStall {
    #[schemars(range(min = 0, max = 1_000_000))]
    pub at_s: f64,
    #[schemars(range(max = 1_000_000), extend("exclusiveMinimum" = 0))]
    pub for_s: f64,
}
