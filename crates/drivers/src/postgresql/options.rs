//! Options of the PostgreSQL driver: a plan's, and those that the control plane sets (`system`). Where they lead, and what a
//! server's refusals mean to a person.
use crate::server::account::{ClientName, Secret, TlsSpec};
use crate::server::address::Address;
use crate::server::target::{Protocol, Target, usage};
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::outcome::{OpError, Trouble};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Not needed: the load's client is bakeoff's own.
    #[serde(default)]
    pub client: Option<ClientName>,
}

/// Where troubles lie that no endpoint has.
pub const DRIVER: &str = "postgresql driver";

static PROTOCOL: Protocol = Protocol {
    driver: DRIVER,
    server: "PostgreSQL",
    default_port: 5432,
    denied: &["28000", "28P01", "AUTH"],
    advice,
};

fn advice(error: &OpError) -> Option<&'static str> {
    // "no pg_hba.conf entry for ..."; a server that takes encrypted connections only says so in it.
    let wants_tls = error.code == "28000" && error.message.contains("no encryption");
    wants_tls.then_some("perhaps the server wants `tls`")
}

/// All endpoints of a spec; connects to nothing.
pub fn targets(spec: &PostgresqlSpec) -> Result<Vec<Target>, Trouble> {
    let (password, encrypted) = (spec.password.as_ref(), spec.tls.is_some());
    let targets = Target::all(
        &PROTOCOL,
        &spec.endpoints,
        &spec.user,
        password,
        &spec.database,
        encrypted,
    )?;
    for target in &targets {
        if let Address::Socket(path) = &target.address
            && !is_socket(path)
        {
            let hint = "name the socket itself: `/run/postgresql/.s.PGSQL.5432`";
            return Err(usage("not a socket of PostgreSQL", &target.place, hint));
        }
    }
    Ok(targets)
}

/// Whether this path ends as one of PostgreSQL's sockets does.
fn is_socket(path: &str) -> bool {
    let port = path.split_once("/.s.PGSQL.").map(|(_, port)| port.parse::<u16>());
    matches!(port, Some(Ok(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(address: &str, tls: bool) -> Trouble {
        let endpoint = Endpoint {
            name: "n1".into(),
            role: "primary".into(),
            address: address.into(),
        };
        let tls = tls.then_some(TlsSpec {
            ca_file: None,
            verify: false,
        });
        let spec = PostgresqlSpec {
            endpoints: vec![endpoint],
            user: "u".into(),
            password: None,
            database: "d".into(),
            tls,
            session_variables: Default::default(),
            client: None,
        };
        targets(&spec)
            .err()
            .unwrap_or_else(|| panic!("{address} was taken"))
    }

    #[test]
    fn addresses_that_cannot_be_are_refused() {
        assert!(trouble("h:port", false).hint.contains("host:port"));
        assert!(trouble("/tmp/.s.PGSQL.1", true).what.contains("socket"));
        assert!(trouble("/run/postgresql", false).hint.contains(".s.PGSQL.5432"));
    }
}
