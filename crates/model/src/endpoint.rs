//! Where a system is reached.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name, role and address of one place to connect to. Every record carries the node it talked to.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub name: String,
    /// `primary`, `replica`, ...; free text of the system's own.
    pub role: String,
    /// `host:port`, or a path beginning with `/` for a unix socket.
    pub address: String,
}
