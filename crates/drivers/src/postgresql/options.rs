//! Where to connect to and as whom. Nothing here may tell a password.
use crate::server::account::reveal;
use crate::server::address::{Address, place};
use crate::server::errors;
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::outcome::{FailClass, OpError, Trouble, TroubleKind};
use bakeoff_model::run::PostgresqlSpec;
use std::time::Duration;

/// Where troubles lie that no endpoint has.
pub const DRIVER: &str = "postgresql driver";
const DEFAULT_PORT: u16 = 5432;

/// One endpoint and one account, as either client needs them.
pub struct Target {
    /// `name at host:port` for messages.
    pub place: String,
    pub address: Address,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
}

impl Target {
    /// All endpoints of a spec; connects to nothing.
    pub fn all(spec: &PostgresqlSpec) -> Result<Vec<Target>, Trouble> {
        if spec.endpoints.is_empty() {
            let hint = "give `endpoints` at least one address";
            return Err(usage("no endpoint to connect to", DRIVER, hint));
        }
        let password = spec.password.as_ref().map(|secret| reveal(secret, DRIVER));
        let password = password.transpose()?;
        let target = |endpoint| Target::new(endpoint, spec, password.clone());
        spec.endpoints.iter().map(target).collect()
    }

    fn new(endpoint: &Endpoint, spec: &PostgresqlSpec, password: Option<String>) -> Result<Target, Trouble> {
        let place = place(endpoint);
        let address = Address::of(endpoint, DEFAULT_PORT)?;
        if address.is_socket() && spec.tls.is_some() {
            let hint = "leave `tls` out, or connect over TCP";
            return Err(usage("a unix socket cannot be encrypted", &place, hint));
        }
        if let Address::Socket(path) = &address
            && socket(path).is_none()
        {
            let hint = "name the socket itself: `/run/postgresql/.s.PGSQL.5432`";
            return Err(usage("not a socket of PostgreSQL", &place, hint));
        }
        Ok(Target {
            place,
            address,
            user: spec.user.clone(),
            password,
            database: spec.database.clone(),
        })
    }

    pub fn named(&self, mut error: OpError) -> OpError {
        error.message = format!("{}: {}", self.place, error.message);
        error
    }

    pub fn timed_out(&self, after: Duration) -> OpError {
        let message = format!("could not connect to {}: no answer within {after:?}", self.place);
        OpError::fail(FailClass::Other, "CONNECT_TIMEOUT", message)
    }

    /// An error of connecting or logging in, for a person.
    pub fn connect_failed(&self, error: OpError) -> OpError {
        // Nothing was asked of the server yet, so nothing can have been applied.
        let lost = error.connection_lost;
        let mut error = match lost {
            true => OpError::fail(FailClass::Other, &*error.code, &*error.message),
            false => error,
        };
        let advice = match &*error.code {
            #[cfg(feature = "tokio_postgres")]
            errors::TLS => {
                " (`tls.ca_file` names the authority that signed the server's certificate; `tls = { verify = false }` \
                 takes any; without `tls` nothing is encrypted)"
            }
            // "no pg_hba.conf entry for ..."; a server that takes encrypted connections only says so in it.
            "28000" if error.message.contains("no encryption") => " (perhaps the server wants `tls`)",
            errors::UNREACHED => "",
            _ if lost => {
                " (is this the address of a PostgreSQL server, or of a proxy that cannot reach one?)"
            }
            _ => "",
        };
        let denied = matches!(&*error.code, "28000" | "28P01" | "AUTH");
        let failed = match denied {
            true => format!("could not log in to {} as {:?}", self.place, self.user),
            false => format!("could not connect to {}", self.place),
        };
        error.message = format!("{failed}: {}{advice}", error.message);
        error
    }
}

/// Folder and port of a socket's path.
pub fn socket(path: &str) -> Option<(&str, u16)> {
    let (folder, port) = path.split_once("/.s.PGSQL.")?;
    Some((folder, port.parse().ok()?))
}

fn usage(what: &str, place: &str, hint: &str) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, place, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::TlsSpec;

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
            throwaway_password: false,
        };
        Target::all(&spec)
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
