//! Where to connect to and as whom, as the client of a protocol needs it. Nothing here may tell a password.
use super::account::{Secret, reveal};
use super::address::{Address, place};
use super::errors;
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::outcome::{FailClass, OpError, Trouble, TroubleKind};
use std::time::Duration;

/// What is a protocol's own about connecting.
pub struct Protocol {
    /// Where troubles lie that no endpoint has.
    pub driver: &'static str,
    /// Who speaks it.
    pub server: &'static str,
    pub default_port: u16,
    /// Codes of errors by which an account is not let in.
    pub denied: &'static [&'static str],
    /// What a person may do about an error that this protocol's servers give.
    pub advice: fn(&OpError) -> Option<&'static str>,
}

/// One endpoint and one account.
pub struct Target {
    protocol: &'static Protocol,
    /// `name at host:port` for messages.
    pub place: String,
    pub address: Address,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
}

impl Target {
    /// All endpoints of a spec; connects to nothing.
    pub fn all(
        protocol: &'static Protocol,
        endpoints: &[Endpoint],
        user: &str,
        password: Option<&Secret>,
        database: &str,
        encrypted: bool,
    ) -> Result<Vec<Self>, Trouble> {
        if endpoints.is_empty() {
            let hint = "give `endpoints` at least one address";
            return Err(usage("no endpoint to connect to", protocol.driver, hint));
        }
        let password = password.map(|secret| reveal(secret, protocol.driver));
        let password = password.transpose()?;
        let target = |endpoint: &Endpoint| {
            let place = place(endpoint);
            let address = Address::of(endpoint, protocol.default_port)?;
            if address.is_socket() && encrypted {
                let hint = "leave `tls` out, or connect over TCP";
                return Err(usage("a unix socket cannot be encrypted", &place, hint));
            }
            Ok(Self {
                protocol,
                place,
                address,
                user: user.to_owned(),
                password: password.clone(),
                database: database.to_owned(),
            })
        };
        endpoints.iter().map(target).collect()
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
        let advice = self.advice(&error, lost);
        let failed = match self.protocol.denied.contains(&&*error.code) {
            true => format!("could not log in to {} as {:?}", self.place, self.user),
            false => format!("could not connect to {}", self.place),
        };
        error.message = format!("{failed}: {}{advice}", error.message);
        error
    }

    fn advice(&self, error: &OpError, lost: bool) -> String {
        match &*error.code {
            #[cfg(feature = "tls")]
            errors::TLS => " (`tls.ca_file` names the authority that signed the server's certificate; \
                            `tls = { verify = false }` takes any; without `tls` nothing is encrypted)"
                .to_owned(),
            errors::UNREACHED => String::new(),
            _ => match (self.protocol.advice)(error) {
                Some(advice) => format!(" ({advice})"),
                None if lost => format!(
                    " (is this the address of a {} server, or of a proxy that cannot reach one?)",
                    self.protocol.server
                ),
                None => String::new(),
            },
        }
    }
}

pub fn usage(what: &str, place: &str, hint: &str) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, place, hint)
}
