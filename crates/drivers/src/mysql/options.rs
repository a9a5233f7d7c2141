//! Where to connect and as whom: addresses, the password, certificates. Nothing here may tell a password.
use super::errors;
use super::server_key::ServerKey;
use bakeoff_model::driver::Endpoint;
use bakeoff_model::outcome::{FailClass, OpError, Trouble, TroubleKind};
use bakeoff_model::run::{MysqlSpec, Secret, TlsSpec};
use mysql_async::{Opts, OptsBuilder, SslOpts};
use std::sync::Arc;
use std::time::Duration;

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

#[derive(Clone)]
pub enum Address {
    Tcp { host: String, port: u16 },
    Socket(String),
}

impl Target {
    /// All endpoints of a spec; connects to nothing.
    pub fn all(spec: &MysqlSpec) -> Result<Vec<Target>, Trouble> {
        if spec.endpoints.is_empty() {
            return Err(usage(
                "no endpoint to connect to",
                "mysql driver",
                "give `endpoints` at least one address",
            ));
        }
        let password = spec.password.as_ref().map(reveal).transpose()?;
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
        matches!(self.address, Address::Tcp { .. }) && self.tls.is_none() && self.password.is_some()
    }

    fn new(
        endpoint: &Endpoint,
        spec: &MysqlSpec,
        password: Option<String>,
        tls: Option<SslOpts>,
        key: Option<Arc<ServerKey>>,
    ) -> Result<Target, Trouble> {
        let address = endpoint.address.as_str();
        let place = format!("{} at {address}", endpoint.name);
        let address = if address.starts_with('/') {
            if tls.is_some() {
                let hint = "leave `tls` out, or connect over TCP";
                return Err(usage("a unix socket cannot be encrypted", &place, hint));
            }
            Address::Socket(address.to_owned())
        } else {
            let (host, port) = host_and_port(address).ok_or_else(|| {
                usage(
                    "not an address",
                    &place,
                    "write `host:port`, or the path of a unix socket",
                )
            })?;
            Address::Tcp {
                host: host.to_owned(),
                port,
            }
        };
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
    pub fn opts(&self) -> Opts {
        let builder = OptsBuilder::default()
            .user(Some(&self.user))
            .pass(self.password.as_deref())
            .db_name(Some(&self.schema))
            .client_found_rows(true)
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

/// `host`, `host:port`, `[v6]` or `[v6]:port`.
fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => match address.find(':') {
            Some(colon) => address.split_at(colon),
            None => (address, ""),
        },
    };
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok()?,
        None if port.is_empty() => DEFAULT_PORT,
        None => return None,
    };
    (!host.is_empty()).then_some((host, port))
}

fn reveal(secret: &Secret) -> Result<String, Trouble> {
    match secret {
        Secret::Env(name) => std::env::var(name).map_err(|_| {
            usage(
                &format!("the password's environment variable {name} is not set"),
                "mysql driver",
                "export it before the run, or name another source",
            )
        }),
        Secret::File(path) => match std::fs::read_to_string(path) {
            Ok(text) => Ok(text.trim_end_matches(['\n', '\r']).to_owned()),
            Err(error) => Err(usage(
                &format!("the password file cannot be read: {error}"),
                path,
                "name a file that this user may read",
            )),
        },
    }
}

fn tls_options(spec: &TlsSpec) -> Result<SslOpts, Trouble> {
    if !spec.verify {
        return Ok(SslOpts::default()
            .with_danger_accept_invalid_certs(true)
            .with_danger_skip_domain_validation(true));
    }
    let roots = match &spec.ca_file {
        Some(path) => vec![read_authority(path)?],
        None => system_roots()?,
    };
    Ok(SslOpts::default()
        .with_disable_built_in_roots(true)
        .with_root_certs(roots.into_iter().map(Into::into).collect()))
}

fn read_authority(path: &str) -> Result<Vec<u8>, Trouble> {
    std::fs::read(path).map_err(|error| {
        let what = format!("the certificate authority's file cannot be read: {error}");
        usage(&what, path, "name a PEM file that this user may read")
    })
}

/// The authorities that this machine trusts, without those that the TLS library cannot use.
fn system_roots() -> Result<Vec<Vec<u8>>, Trouble> {
    let usable = |cert: &rustls::pki_types::CertificateDer<'static>| {
        rustls::RootCertStore::empty().add(cert.clone()).is_ok()
    };
    let found = rustls_native_certs::load_native_certs()
        .certs
        .into_iter()
        .filter(usable);
    let roots: Vec<Vec<u8>> = found.map(|cert| cert.to_vec()).collect();
    if roots.is_empty() {
        return Err(Trouble::new(
            TroubleKind::Environment,
            "this machine trusts no certificate authority",
            "mysql driver",
            "install the ca-certificates package, or name the server's authority in `tls.ca_file`",
        ));
    }
    Ok(roots)
}

fn usage(what: &str, place: &str, hint: &str) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, place, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, parsed) in [
            ("db1:3307", Some(("db1", 3307))),
            ("db1", Some(("db1", 3306))),
            ("[::1]:5", Some(("::1", 5))),
            ("[::1]", Some(("::1", 3306))),
            ("db1:x", None),
            (":5", None),
            ("[::1]x", None),
        ] {
            assert_eq!(host_and_port(text), parsed, "{text}");
        }
    }

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
    fn a_missing_source_of_the_password_is_named() {
        let env = MysqlSpec {
            password: Some(Secret::Env("BAKEOFF_NO_SUCH".into())),
            ..spec("h:1")
        };
        assert!(trouble(&env).what.contains("BAKEOFF_NO_SUCH"));
        let file = MysqlSpec {
            password: Some(Secret::File("/no/such".into())),
            ..spec("h:1")
        };
        assert_eq!(trouble(&file).place, "/no/such");
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
