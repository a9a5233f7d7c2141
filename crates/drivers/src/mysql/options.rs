//! Where to connect and as whom: addresses, the password, certificates. Nothing here may tell a password.
use super::server_key::ServerKey;
use crate::server::account::reveal;
use crate::server::address::{Address, place};
use crate::server::authority;
use crate::server::errors;
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::needs::Affected;
use bakeoff_model::outcome::{FailClass, OpError, Trouble, TroubleKind};
use bakeoff_model::run::{MysqlSpec, TlsSpec};
use mysql_async::{Opts, OptsBuilder, SslOpts};
use std::sync::Arc;
use std::time::Duration;

/// Where troubles lie that no endpoint has.
pub const DRIVER: &str = "mysql driver";
const DEFAULT_PORT: u16 = 3306;
/// The client's own limit on a packet, so that the server's decides (its default is 16 MiB or more).
pub const PACKET_BYTES_MAX: usize = 1 << 30;
/// Long enough to be no limit; given so that it is not asked from the server on each connection.
const WAIT_TIMEOUT_S: usize = 31_536_000;

/// One endpoint and one account, as either client library needs them.
pub struct Target {
    /// `name at host:port` for messages.
    pub place: String,
    pub address: Address,
    pub user: String,
    pub password: Option<String>,
    pub schema: String,
    tls: Option<SslOpts>,
    pub key: Option<Arc<ServerKey>>,
}

impl Target {
    /// All endpoints of a spec; connects to nothing.
    pub fn all(spec: &MysqlSpec) -> Result<Vec<Target>, Trouble> {
        if spec.endpoints.is_empty() {
            return Err(usage(
                "no endpoint to connect to",
                DRIVER,
                "give `endpoints` at least one address",
            ));
        }
        let password = spec.password.as_ref().map(|secret| reveal(secret, DRIVER));
        let password = password.transpose()?;
        let tls = spec.tls.as_ref().map(tls_options).transpose()?;
        let key = spec.server_public_key_file.as_deref().map(ServerKey::read);
        let key = key.transpose()?.map(Arc::new);
        spec.endpoints
            .iter()
            .map(|endpoint| Target::new(endpoint, spec, password.clone(), tls.clone(), key.clone()))
            .collect()
    }

    /// Whether a server may have the password only by answering: neither certificate nor key is asked of it, and it is
    /// reached over TCP.
    pub fn is_open(&self) -> bool {
        !self.address.is_socket() && self.tls.is_none() && self.password.is_some()
    }

    fn new(
        endpoint: &Endpoint,
        spec: &MysqlSpec,
        password: Option<String>,
        tls: Option<SslOpts>,
        key: Option<Arc<ServerKey>>,
    ) -> Result<Target, Trouble> {
        let place = place(endpoint);
        let address = Address::of(endpoint, DEFAULT_PORT)?;
        if address.is_socket() && tls.is_some() {
            let hint = "leave `tls` out, or connect over TCP";
            return Err(usage("a unix socket cannot be encrypted", &place, hint));
        }
        Ok(Target {
            place,
            address,
            user: spec.user.clone(),
            password,
            schema: spec.schema.clone(),
            tls,
            key,
        })
    }

    /// What mysql_async wants to know.
    pub fn opts(&self, affected: Affected) -> Opts {
        let builder = OptsBuilder::default()
            .user(Some(&self.user))
            .pass(self.password.as_deref())
            .db_name(Some(&self.schema))
            .client_found_rows(affected == Affected::Found)
            .tcp_nodelay(true)
            // Otherwise the library changes over to the unix socket behind our back.
            .prefer_socket(false)
            .stmt_cache_size(0)
            .max_allowed_packet(Some(PACKET_BYTES_MAX))
            .wait_timeout(Some(WAIT_TIMEOUT_S))
            .ssl_opts(self.tls.clone());
        let builder = match &self.address {
            Address::Tcp { host, port } => builder.ip_or_hostname(host).tcp_port(*port),
            Address::Socket(path) => builder.socket(Some(path)),
        };
        builder.into()
    }

    pub fn named(&self, mut error: OpError) -> OpError {
        error.message = format!("{}: {}", self.place, error.message);
        error
    }

    pub fn timed_out(&self, after: Duration) -> OpError {
        let message = format!("could not connect to {}: no answer within {after:?}", self.place);
        OpError::fail(FailClass::Other, "CONNECT_TIMEOUT", message)
    }
}

/// An error of connecting or logging in, for a person.
pub fn connect_failed(target: &Target, error: OpError) -> OpError {
    // Nothing was asked of the server yet, so nothing can have been applied.
    let lost = error.connection_lost;
    let mut error = if lost {
        OpError::fail(FailClass::Other, &*error.code, &*error.message)
    } else {
        error
    };
    let advice = match error.code.as_str() {
        errors::TLS => {
            " (`tls.ca_file` names the authority that signed the server's certificate; `tls = { verify = false }` takes \
             any; without `tls` nothing is encrypted)"
        }
        // The server takes encrypted connections only.
        "3159" => " (set `tls`, and in `tls.ca_file` the authority that signed the server's certificate)",
        errors::UNREACHED => "",
        _ if lost => {
            " (is this the address of a MariaDB or MySQL server, or of a proxy that cannot reach one?)"
        }
        _ => "",
    };
    let denied = matches!(error.code.as_str(), "1045" | "1698" | "1044" | "1130" | "1524");
    let failed = if denied {
        format!("could not log in to {} as {:?}", target.place, target.user)
    } else {
        format!("could not connect to {}", target.place)
    };
    error.message = format!("{failed}: {}{advice}", error.message);
    error
}

fn tls_options(spec: &TlsSpec) -> Result<SslOpts, Trouble> {
    if !spec.verify {
        return Ok(SslOpts::default()
            .with_danger_accept_invalid_certs(true)
            .with_danger_skip_domain_validation(true));
    }
    let roots = match &spec.ca_file {
        Some(path) => vec![authority::read(path)?],
        None => authority::of_the_system(DRIVER)?
            .iter()
            .map(|cert| cert.to_vec())
            .collect(),
    };
    Ok(SslOpts::default()
        .with_disable_built_in_roots(true)
        .with_root_certs(roots.into_iter().map(Into::into).collect()))
}

fn usage(what: &str, place: &str, hint: &str) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, place, hint)
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
            throwaway_password: false,
        }
    }

    fn trouble(spec: &MysqlSpec) -> Trouble {
        Target::all(spec).err().unwrap()
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

    #[test]
    fn a_missing_authority_is_named() {
        let tls = Some(TlsSpec {
            ca_file: Some("/no/ca.pem".into()),
            verify: true,
        });
        assert_eq!(trouble(&MysqlSpec { tls, ..spec("h:1") }).place, "/no/ca.pem");
    }
}
