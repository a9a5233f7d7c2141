//! Errors that no server has sent: of the connection, and of requests and answers that violate the protocol.
use bakeoff_model::outcome::{FailClass, OpError};
use std::io;

/// Codes: nobody could be reached, or the connection or its encryption failed.
pub const UNREACHED: &str = "CONNECT";
pub const IO: &str = "IO";
#[cfg(feature = "tls")]
pub const TLS: &str = "TLS";

pub fn code_of_io(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::TimedOut => UNREACHED,
        _ => IO,
    }
}

/// The connection, or its encryption, failed while it was in use.
#[cfg(feature = "tls")]
#[cold]
pub fn lost(error: io::Error) -> OpError {
    let encryption = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
    OpError::lost(if encryption { TLS } else { IO }, error.to_string())
}

/// The server said something that is not in the protocol, or that this client does not know.
#[cold]
pub fn malformed(what: &str) -> OpError {
    OpError::lost("PROTOCOL", format!("the server's answer cannot be read: {what}"))
}

/// Nothing was sent: the statement has another number of parameters.
#[cold]
pub fn wrong_count(wanted: usize, given: usize, sql: &str) -> OpError {
    let what = format!("{wanted} parameters wanted, {given} given");
    OpError::fail(FailClass::Refused, "CLIENT", what).with_statement(sql)
}

#[cold]
pub fn not_one(rows: u64, sql: &str) -> OpError {
    let what = format!("the server answered {rows} rows where one was asked for");
    OpError::fail(FailClass::Other, "ROWS", what).with_statement(sql)
}
