//! The client library's errors as outcomes.
use crate::postgresql::errors::{Said, server_error};
use crate::server::errors::{TLS, code_of_io};
use bakeoff_model::outcome::OpError;
use std::error::Error as _;
use std::io;
use tokio_postgres::Error;
use tokio_postgres::error::Severity;

pub fn said(error: &Error) -> Option<Said<'_>> {
    let said = error.as_db_error()?;
    Some(Said {
        severity: match said.parsed_severity() {
            Some(Severity::Fatal | Severity::Panic) => "FATAL",
            _ => "ERROR",
        },
        state: said.code().code(),
        message: said.message(),
        detail: said.detail(),
    })
}

#[cold]
pub fn op_error(error: &Error) -> OpError {
    if let Some(said) = said(error) {
        return server_error(said);
    }
    let mut causes = vec![error.to_string()];
    let (mut code, mut cause) = ("CLIENT", error.source());
    while let Some(inner) = cause {
        if inner.is::<rustls::Error>() {
            code = TLS;
        } else if let Some(inner) = inner.downcast_ref::<io::Error>() {
            code = match inner.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
                true => TLS,
                false => code_of_io(inner),
            };
        }
        causes.push(inner.to_string());
        cause = inner.source();
    }
    // Without a source: the server does not speak TLS.
    if error.to_string().contains("TLS") {
        code = TLS;
    }
    OpError::lost(code, causes.join(": "))
}
