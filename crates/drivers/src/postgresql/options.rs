//! What an account of PostgreSQL's is, and what its refusals mean to a person.
use crate::server::address::Address;
use crate::server::target::{Protocol, Target, usage};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::run::PostgresqlSpec;

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
            && socket(path).is_none()
        {
            let hint = "name the socket itself: `/run/postgresql/.s.PGSQL.5432`";
            return Err(usage("not a socket of PostgreSQL", &target.place, hint));
        }
    }
    Ok(targets)
}

/// Folder and port of a socket's path.
pub fn socket(path: &str) -> Option<(&str, u16)> {
    let (folder, port) = path.split_once("/.s.PGSQL.")?;
    Some((folder, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::endpoint::Endpoint;
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
