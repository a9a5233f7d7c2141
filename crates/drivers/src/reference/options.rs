//! Options of the reference store: a plan's, and those that the control plane sets (`system`).
use bakeoff_model::endpoint::Endpoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ReferenceSpec {
    /// One for each node.
    #[schemars(extend("system" = true))]
    pub endpoints: Vec<Endpoint>,
    /// Nodes, each of which has all rows and takes writes.
    #[schemars(range(min = 1, max = 9))]
    pub nodes: u32,
    /// Nodes that have a write when it is acknowledged (W).
    #[schemars(range(min = 1, max = 9))]
    pub write_nodes: u32,
    /// Nodes that a read contacts, the session's own among them (R); the newest of their answers is taken.
    #[schemars(range(min = 1, max = 9))]
    pub read_nodes: u32,
    /// Mean time after which the other nodes have a write.
    #[schemars(range(max = 3_600_000_000_000u64))]
    pub delay_ns: u64,
    /// How these times are distributed.
    pub delay: ReferenceDelay,
    /// Time that each statement takes.
    #[schemars(range(max = 3_600_000_000_000u64))]
    pub latency_ns: u64,
    /// Spans in which a node has crashed or is cut off from the others, in seconds since the experiment began.
    /// Nodes are counted from 1.
    #[schemars(title = "a list of `{ kind, node, at_s, for_s }`")]
    pub faults: Vec<ReferenceFault>,
    /// What the store does wrong.
    pub bug: ReferenceBug,
}

impl Default for ReferenceSpec {
    fn default() -> Self {
        Self {
            endpoints: vec![],
            nodes: 3,
            write_nodes: 2,
            read_nodes: 2,
            delay_ns: 20_000_000,
            delay: ReferenceDelay::Constant,
            latency_ns: 200_000,
            faults: vec![],
            bug: ReferenceBug::None,
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceDelay {
    #[default]
    Constant,
    Exponential,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ReferenceFault {
    pub kind: ReferenceFaultKind,
    #[schemars(range(min = 1, max = 9))]
    pub node: u32,
    #[schemars(range(min = 0, max = 1_000_000))]
    pub at_s: f64,
    #[schemars(range(max = 1_000_000), extend("exclusiveMinimum" = 0))]
    pub for_s: f64,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceFaultKind {
    /// Its connections are lost and nobody can connect. It keeps what it had.
    Crash,
    /// It gets no writes of others and takes none, and answers only reads that need no other node.
    Partition,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceBug {
    #[default]
    None,
    /// One in 20 acknowledged updates is not applied.
    DropWrite,
    /// Reads see what others have written and not committed.
    AbortedRead,
    /// Of two transactions that change the same row, both commit.
    IgnoreConflict,
    /// What a transaction has read may have changed when it commits.
    WriteSkew,
    /// Each statement of a transaction sees a newer state.
    ReadSkew,
    /// One in 10 updates is applied in front of the one before it.
    Reorder,
    /// One in 20 updates that add or append is applied twice.
    Duplicate,
    /// One in 3 reads misses the transaction's own writes.
    ForgetOwn,
    /// One in 50 reads of a row shows a value that nobody has written.
    Phantom,
    /// The last node answers with what it had 100 ms before.
    StaleNode,
    /// Each node shows another one in 5 commits 50 ms late, after those that follow it.
    LateCommit,
}
