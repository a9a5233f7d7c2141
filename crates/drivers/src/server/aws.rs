//! What clients of Amazon's services share: whose keys sign a request, where the service is, and answers of somebody in between.
mod credentials;

pub use credentials::find;

use super::account::{Secret, TlsSpec};
use super::http::Route;
use super::target::Protocol;
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble};
use bakeoff_model::value::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Secret: it is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub key_id: String,
    pub secret: String,
    /// Of credentials that end after some hours.
    pub token: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({})", self.key_id)
    }
}

/// The keys that a spec names, or those of the environment.
pub fn credentials(
    user: &str,
    password: Option<&Secret>,
    profile: Option<&str>,
    driver: &str,
) -> Result<Credentials, Trouble> {
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    find(user, password, profile, driver, &environment)
}

/// All endpoints of a spec. One that begins with `https://` is encrypted, and so are the others. Looks names up, which may
/// block; connects to nothing.
pub fn routes(
    plain: &'static Protocol,
    encrypted: &'static Protocol,
    endpoints: &[Endpoint],
    user: &str,
    tls: Option<&TlsSpec>,
) -> Result<Vec<Arc<Route>>, Trouble> {
    const HTTPS: &str = "https://";
    let https = endpoints.iter().any(|place| place.address.starts_with(HTTPS));
    let tls = tls.cloned().or(https.then_some(TlsSpec {
        ca_file: None,
        verify: true,
    }));
    let bare = |place: &Endpoint| {
        let address = place
            .address
            .trim_start_matches(HTTPS)
            .trim_start_matches("http://");
        Endpoint {
            address: address.trim_end_matches('/').to_owned(),
            ..place.clone()
        }
    };
    let places: Vec<Endpoint> = endpoints.iter().map(bare).collect();
    let protocol = if tls.is_some() { encrypted } else { plain };
    Route::all(protocol, &places, user, None, tls.as_ref())
}

/// Of this machine's clock, since 1970: what signatures are dated by.
pub fn second() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs() as i64
}

/// A pattern, its fourteen zeros replaced by the digits of a moment (UTC) from the year to the second.
pub fn dated<const N: usize>(second: i64, mut pattern: [u8; N]) -> [u8; N] {
    let us = second * 1_000_000;
    let at = Timestamp { us }.civil();
    let small = [at.month, at.day, at.hour, at.minute, at.second].map(|part| (u32::from(part), 2));
    let mut places = pattern.iter_mut().filter(|sign| **sign == b'0');
    for (number, digits) in std::iter::once((at.year.unsigned_abs(), 4)).chain(small) {
        for (place, power) in places.by_ref().take(digits).zip((0..digits as u32).rev()) {
            *place = b'0' + (number / 10u32.pow(power) % 10) as u8;
        }
    }
    pattern
}

/// An answer of a proxy in between, or of another service.
#[cold]
pub fn not_the_services(status: u16, body: &[u8]) -> OpError {
    let said = String::from_utf8_lossy(&body[..body.len().min(500)]);
    let outcome = match status {
        413 => Outcome::Fail(FailClass::Constraint),
        429 | 503 => Outcome::Fail(FailClass::Overload),
        400..=499 => Outcome::Fail(FailClass::Refused),
        500.. => Outcome::Unknown,
        _ => Outcome::Fail(FailClass::Other),
    };
    OpError::new(outcome, false, format!("HTTP {status}"), said)
}
/// What an error means of this action: one that only reads is never perhaps carried out.
#[cold]
pub fn of_action(error: OpError, action: &'static str) -> OpError {
    const READS: &[&str] = &[
        "BatchGet",
        "Describe",
        "DomainMetadata",
        "Get",
        "List",
        "Query",
        "Scan",
        "Select",
        "TransactGet",
    ];
    let error = error.with_statement(action);
    match READS.iter().any(|word| action.starts_with(word)) {
        true => error.of_read(),
        false => error,
    }
}
