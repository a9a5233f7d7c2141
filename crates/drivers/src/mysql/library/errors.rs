//! The client library's errors as outcomes.
use crate::mysql::errors::server_error;
use crate::server::errors::{TLS, code_of_io};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use mysql_async::{DriverError, Error, IoError};

#[cold]
pub fn op_error(error: &Error) -> OpError {
    match error {
        Error::Server(server) => server_error(server.code, &server.message),
        Error::Driver(DriverError::StmtParamsMismatch { .. } | DriverError::PacketTooLarge) => {
            // Nothing was sent; but the client library has closed the connection.
            let refused = Outcome::Fail(FailClass::Refused);
            OpError::new(refused, true, "CLIENT", error.to_string())
        }
        Error::Driver(DriverError::NoClientSslFlagFromServer) => OpError::lost(
            TLS,
            "the server has no TLS, which is what SSL is called in its settings",
        ),
        // The library puts "Input/output error" before its own error, and before what that one says.
        Error::Io(inner) => OpError::lost(code_of(inner), inner.to_string()),
        _ => OpError::lost("CLIENT", error.to_string()),
    }
}

fn code_of(error: &IoError) -> &'static str {
    match error {
        IoError::Tls(_) => TLS,
        IoError::Io(error) if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => TLS,
        IoError::Io(error) => code_of_io(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_output_error_is_called_one_at_most_once() {
        let gone = std::io::Error::new(std::io::ErrorKind::BrokenPipe, "broken pipe");
        let error = op_error(&Error::from(gone));
        assert_eq!(
            (&*error.code, &*error.message),
            ("IO", "Input/output error: broken pipe")
        );
        assert!(error.connection_lost);
    }
}
