//! Options of the SQLite driver: a plan's, and those that the control plane sets (`system`).
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
