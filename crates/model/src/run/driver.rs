//! What a driver needs. Fields marked `system` are known to the control plane alone, once the system is there: where it
//! is, who asks, what was made for it. All others are options of a plan, whose only list is here: type, default, bounds and
//! meaning (`bakeoff-engine resolve` decides them).
use crate::endpoint::Endpoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The driver and what it needs. A kind's name is the driver's file name.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DriverSpec {
    Null(NullSpec),
    Sqlite(SqliteSpec),
    Mysql(MysqlSpec),
    Postgresql(PostgresqlSpec),
    Cassandra(CassandraSpec),
}

impl DriverSpec {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null(_) => "null",
            Self::Sqlite(_) => "sqlite",
            Self::Mysql(_) => "mysql",
            Self::Postgresql(_) => "postgresql",
            Self::Cassandra(_) => "cassandra",
        }
    }

    /// None where the system lives in the engine's process.
    pub fn endpoints(&self) -> &[Endpoint] {
        match self {
            Self::Null(_) | Self::Sqlite(_) => &[],
            Self::Mysql(spec) => &spec.endpoints,
            Self::Postgresql(spec) => &spec.endpoints,
            Self::Cassandra(spec) => &spec.endpoints,
        }
    }

    /// The client library that is asked for, by its name in a plan.
    pub fn client(&self) -> Option<&'static str> {
        match self {
            Self::Null(_) | Self::Sqlite(_) | Self::Cassandra(_) => None,
            Self::Mysql(spec) => spec.client.map(|client| match client {
                MysqlClient::Wire => "wire",
                MysqlClient::MysqlAsync => "mysql_async",
            }),
            Self::Postgresql(spec) => spec.client.map(|client| match client {
                PostgresqlClient::Wire => "wire",
                PostgresqlClient::TokioPostgres => "tokio_postgres",
            }),
        }
    }

    pub fn tls(&self) -> bool {
        match self {
            Self::Null(_) | Self::Sqlite(_) | Self::Cassandra(_) => false,
            Self::Mysql(spec) => spec.tls.is_some(),
            Self::Postgresql(spec) => spec.tls.is_some(),
        }
    }
}

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

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct SqliteSpec {
    /// The database file.
    #[schemars(extend("system" = true))]
    pub path: String,
    /// Pragmas of every connection, by their own names (`journal_mode`, `synchronous`, ...); set and read back.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub pragmas: BTreeMap<String, String>,
    /// How a transaction that may write begins.
    #[serde(default)]
    pub begin: SqliteBegin,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum SqliteBegin {
    /// With the write lock, for which it waits.
    #[default]
    Immediate,
    /// Without a lock: of two that have read and then write, one fails at once, as a conflict.
    Deferred,
    /// With all locks: outside WAL nobody reads meanwhile.
    Exclusive,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct MysqlSpec {
    /// At least one. `host:port`, or `/path` for a unix socket.
    #[schemars(extend("system" = true))]
    pub endpoints: Vec<Endpoint>,
    #[schemars(extend("system" = true))]
    pub user: String,
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub password: Option<Secret>,
    /// The database (schema) everything happens in.
    #[schemars(extend("system" = true))]
    pub schema: String,
    /// Encryption of the connections; absent: none.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// Session variables of the load's connections by their own names, set on every one and read back.
    #[serde(default, rename = "session")]
    #[schemars(title = "a table of variables")]
    pub session_variables: BTreeMap<String, String>,
    /// Which client library makes the load. Default: our own, or mysql_async where there is TLS.
    #[serde(default)]
    pub client: Option<MysqlClient>,
    /// PEM file with an existing server's RSA public key, to which the password may be encrypted over plain TCP. Absent: a
    /// server that asks for the password itself there is refused.
    #[serde(default)]
    pub server_public_key_file: Option<String>,
    /// The password was made for this server and ends with it, so that nothing is lost with it.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub throwaway_password: bool,
    /// Appended to every CREATE TABLE: `PAGE_COMPRESSED=1`, `ENGINE=ROCKSDB`.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub table_options: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum MysqlClient {
    /// Our own, on the reactor; no TLS.
    Wire,
    /// The library mysql_async, on tokio.
    MysqlAsync,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct PostgresqlSpec {
    /// At least one. `host:port`, or `/path/.s.PGSQL.port` for a unix socket.
    #[schemars(extend("system" = true))]
    pub endpoints: Vec<Endpoint>,
    #[schemars(extend("system" = true))]
    pub user: String,
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub password: Option<Secret>,
    /// The database everything happens in; the schema in it is the first of the account's `search_path`.
    #[schemars(extend("system" = true))]
    pub database: String,
    /// Encryption of the connections; absent: none.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// Run-time parameters of the load's connections by their own names (`search_path`), set on every one.
    #[serde(default, rename = "session")]
    #[schemars(title = "a table of variables")]
    pub session_variables: BTreeMap<String, String>,
    /// Which client library makes the load. Default: our own, or tokio-postgres where there is TLS.
    #[serde(default)]
    pub client: Option<PostgresqlClient>,
    /// The password was made for this server and ends with it, so that nothing is lost with it.
    #[serde(default)]
    #[schemars(extend("system" = true))]
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
            keyspace: String::new(),
            replication_factor: None,
            consistency: Consistency::default(),
            read_consistency: None,
            serial_consistency: SerialConsistency::default(),
            page_size: page_size_default(),
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
#[schemars(title = "`true`, `false`, or `{ ca_file, verify }`")]
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
