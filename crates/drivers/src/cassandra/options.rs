//! Options of the Cassandra driver: a plan's, and those that the control plane sets (`system`).
use crate::server::account::{Secret, TlsSpec};
use bakeoff_model::endpoint::Endpoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Apache Cassandra and what else speaks its protocol (CQL).
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CassandraSpec {
    /// At least one, `host:port`, as the nodes name themselves to clients (`rpc_address`). No other node is spoken to.
    #[schemars(extend("system" = true))]
    pub endpoints: Vec<Endpoint>,
    /// Absent: the cluster asks nobody who they are.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub user: Option<String>,
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub password: Option<Secret>,
    /// Encryption of the connections; absent: none.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// The keyspace everything happens in.
    #[schemars(extend("system" = true))]
    pub keyspace: String,
    /// Copies of every row, in a keyspace that is made where there is none. Absent: it has to be there.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub replication_factor: Option<u32>,
    /// How many copies have to answer before an operation is acknowledged. With one copy `local_quorum` is `one`.
    #[serde(default)]
    pub consistency: Consistency,
    /// The same of what only reads. Absent: as `consistency`.
    #[serde(default)]
    pub read_consistency: Option<Consistency>,
    /// Of the agreement that a conditional write (`IF`) needs before it is applied.
    #[serde(default)]
    pub serial_consistency: SerialConsistency,
    /// Rows of one answer; longer results come in pages, each a round trip.
    #[serde(default = "page_size_default")]
    #[schemars(range(min = 1, max = 100_000))]
    pub page_size: u32,
    /// Where the rows of a record table (YCSB) lie.
    #[serde(default)]
    pub layout: CassandraLayout,
    /// How statements that are sent together are kept together.
    #[serde(default)]
    pub batch: CassandraBatch,
}

fn page_size_default() -> u32 {
    5000
}

impl Default for CassandraSpec {
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            user: None,
            password: None,
            tls: None,
            keyspace: String::new(),
            replication_factor: None,
            consistency: Consistency::default(),
            read_consistency: None,
            serial_consistency: SerialConsistency::default(),
            page_size: page_size_default(),
            layout: CassandraLayout::default(),
            batch: CassandraBatch::default(),
        }
    }
}

/// Copies that have to answer.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum Consistency {
    One,
    Two,
    Three,
    Quorum,
    All,
    /// More than half of the copies in the data centre that is spoken to.
    #[default]
    LocalQuorum,
    EachQuorum,
    LocalOne,
}

/// Copies that have to agree on a conditional write.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum SerialConsistency {
    /// More than half of all.
    #[default]
    Serial,
    /// More than half of those in the data centre that is spoken to.
    LocalSerial,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum CassandraBatch {
    /// Written to a log first, so that in the end all of them are applied or none.
    #[default]
    Logged,
    /// Without the log: where it fails, any part of them may have been applied.
    Unlogged,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum CassandraLayout {
    /// Each in a partition of its own, spread over all nodes by a hash of its key. There are no scans.
    #[default]
    Hashed,
    /// All in one partition, in the order of their keys: scans, on as many nodes as there are copies.
    Clustered,
}
