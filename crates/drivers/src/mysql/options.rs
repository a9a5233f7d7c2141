//! Options of the MySQL driver: a plan's, and those that the control plane sets (`system`). Where they lead, and what a
//! server's refusals mean to a person.
use crate::server::account::{ClientName, Secret, TlsSpec};
use crate::server::target::{Protocol, Target};
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::outcome::{OpError, Trouble};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Not needed: the load's client is bakeoff's own.
    #[serde(default)]
    pub client: Option<ClientName>,
    /// PEM file with an existing server's RSA public key, to which the password may be encrypted over plain TCP. Absent: a
    /// server that asks for the password itself there is refused.
    #[serde(default)]
    pub server_public_key_file: Option<String>,
    /// How records (YCSB) are read. Writes go by SQL either way.
    #[serde(default)]
    pub access: AccessPath,
    /// Appended to every CREATE TABLE: `PAGE_COMPRESSED=1`, `ENGINE=ROCKSDB`.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub table_options: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum AccessPath {
    /// By prepared statements.
    #[default]
    Sql,
    /// Below SQL, by HANDLER.
    Direct,
}

/// Where troubles lie that no endpoint has.
pub const DRIVER: &str = "mysql driver";
/// The client's own limit on a packet, so that the server's decides (its default is 16 MiB or more).
pub const PACKET_BYTES_MAX: usize = 1 << 30;

static PROTOCOL: Protocol = Protocol {
    driver: DRIVER,
    server: "MariaDB or MySQL",
    default_port: 3306,
    denied: &["1045", "1698", "1044", "1130", "1524"],
    advice,
};

fn advice(error: &OpError) -> Option<&'static str> {
    // The server takes encrypted connections only.
    (error.code == "3159")
        .then_some("set `tls`, and in `tls.ca_file` the authority that signed the server's certificate")
}

/// All endpoints of a spec; connects to nothing.
pub fn targets(spec: &MysqlSpec) -> Result<Vec<Target>, Trouble> {
    let (password, encrypted) = (spec.password.as_ref(), spec.tls.is_some());
    Target::all(
        &PROTOCOL,
        &spec.endpoints,
        &spec.user,
        password,
        &spec.schema,
        encrypted,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(address: &str) -> MysqlSpec {
        let endpoint = Endpoint {
            name: "n1".into(),
            role: "primary".into(),
            address: address.into(),
        };
        MysqlSpec {
            endpoints: vec![endpoint],
            user: "u".into(),
            password: None,
            schema: "s".into(),
            tls: None,
            session_variables: Default::default(),
            client: None,
            server_public_key_file: None,
            access: AccessPath::default(),
            table_options: String::new(),
        }
    }

    fn trouble(spec: &MysqlSpec) -> Trouble {
        targets(spec).err().unwrap()
    }

    #[test]
    fn a_bad_address_and_tls_over_a_socket_are_refused() {
        assert!(trouble(&spec("h:port")).hint.contains("host:port"));
        let tls = MysqlSpec {
            tls: Some(TlsSpec {
                ca_file: None,
                verify: false,
            }),
            ..spec("/tmp/s.sock")
        };
        assert!(trouble(&tls).what.contains("socket"));
    }
}
