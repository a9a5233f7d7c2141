//! Addresses as a document writes them.
use super::whereabouts::Whereabouts;
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::outcome::{Trouble, TroubleKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp { host: String, port: u16 },
    Socket(String),
}

impl Address {
    /// Errors: neither a host with a port or without, nor the path of a socket.
    pub fn of(endpoint: &Endpoint, default_port: u16) -> Result<Self, Trouble> {
        let text = endpoint.address.as_str();
        if text.starts_with('/') {
            return Ok(Address::Socket(text.to_owned()));
        }
        let (host, port) = host_and_port(text, default_port).ok_or_else(|| {
            Trouble::new(
                TroubleKind::Usage,
                "not an address",
                place(endpoint),
                "write `host:port`, or the path of a unix socket",
            )
        })?;
        Ok(Address::Tcp {
            host: host.to_owned(),
            port,
        })
    }

    pub fn is_socket(&self) -> bool {
        matches!(self, Address::Socket(_))
    }

    /// Empty: a socket's.
    #[cfg(feature = "redis")]
    pub fn host(&self) -> &str {
        match self {
            Address::Tcp { host, .. } => host,
            Address::Socket(_) => "",
        }
    }

    #[cfg(feature = "redis")]
    pub fn is_at(&self, host: &str, port: u16) -> bool {
        matches!(self, Address::Tcp { host: own, port: own_port } if own == host && *own_port == port)
    }

    /// Looks a name up, which may block. `place` and `driver` are for messages.
    pub fn locate(&self, place: &str, driver: &str) -> Result<Whereabouts, Trouble> {
        match self {
            Address::Socket(path) => Ok(Whereabouts::socket(path)),
            Address::Tcp { host, port } => Whereabouts::host(host, *port).map_err(|error| {
                Trouble::new(
                    TroubleKind::Server,
                    format!("the host of {place} is not known: {error}"),
                    driver,
                    "is the address right, and the name known to this machine?",
                )
            }),
        }
    }
}

/// `name at host:port`, for messages.
pub fn place(endpoint: &Endpoint) -> String {
    format!("{} at {}", endpoint.name, endpoint.address)
}

/// `host`, `host:port`, `[v6]` or `[v6]:port`.
fn host_and_port(address: &str, default_port: u16) -> Option<(&str, u16)> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => match address.find(':') {
            Some(colon) => address.split_at(colon),
            None => (address, ""),
        },
    };
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok()?,
        None if port.is_empty() => default_port,
        None => return None,
    };
    (!host.is_empty()).then_some((host, port))
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
            assert_eq!(host_and_port(text, 3306), parsed, "{text}");
        }
    }
}
