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

    /// None where the system lives in the engine's process.
    pub fn endpoints(&self) -> &[Endpoint] {
        match self {
            Self::Null(_) | Self::Sqlite(_) => &[],
            Self::Mysql(spec) => &spec.endpoints,
            Self::Postgresql(spec) => &spec.endpoints,
        }
    }

    /// The client library that is asked for, by its name in a plan.
    pub fn client(&self) -> Option<&'static str> {
        match self {
            Self::Null(_) | Self::Sqlite(_) => None,
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
            Self::Null(_) | Self::Sqlite(_) => false,
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
