//! The server's and the library's errors as outcomes (CQL binary protocol v4, section 9 "Error codes"). Codes are the
//! errors' names.
use crate::server::errors::{IO, TLS, UNREACHED, malformed};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use scylla::errors::{
    ConnectionError, ConnectionPoolError, DbError, ExecutionError, MetadataError, NewSessionError,
    PrepareError, RequestAttemptError,
};
use std::error::Error;

const UNAVAILABLE: &str = "Unavailable";
/// Of a connection that ended while it was set up.
pub const BROKEN: &str = IO;

/// `reads`: the statement changes nothing.
#[cold]
pub fn execution(error: &ExecutionError, reads: bool) -> OpError {
    match error {
        ExecutionError::LastAttemptError(attempt) => attempted(attempt, reads),
        ExecutionError::BadQuery(_) => refused("CLIENT", error),
        ExecutionError::PrepareError(error) => prepare(error),
        ExecutionError::ConnectionPoolError(_) | ExecutionError::EmptyPlan => unreached(error),
        _ => OpError::new(Outcome::Unknown, false, "CLIENT", whole(error)),
    }
}

/// Of a batch: the coordinator finds out one statement after the other whether enough copies live, and may have sent some.
#[cold]
pub fn in_batch(mut error: OpError) -> OpError {
    if error.code == UNAVAILABLE {
        error.outcome = Outcome::Unknown;
    }
    error
}

/// Preparing changes nothing.
#[cold]
pub fn prepare(error: &PrepareError) -> OpError {
    match error {
        PrepareError::AllAttemptsFailed { first_attempt } => attempted(first_attempt, true),
        PrepareError::ConnectionPoolError(_) => unreached(error),
        _ => refused("CLIENT", error),
    }
}

/// Of connecting, before anything was asked.
#[cold]
pub fn not_opened(error: &NewSessionError) -> OpError {
    match error {
        NewSessionError::MetadataError(MetadataError::ConnectionPoolError(pool)) => {
            let told = whole(error);
            let code = match told.contains("authentication") || told.contains("credentials") {
                true => "AuthenticationError",
                false => of_connection(pool),
            };
            OpError::fail(FailClass::Refused, code, told)
        }
        _ => OpError::fail(FailClass::Other, UNREACHED, whole(error)),
    }
}

fn attempted(error: &RequestAttemptError, reads: bool) -> OpError {
    match error {
        RequestAttemptError::DbError(said, words) => server_error(said, words, reads),
        RequestAttemptError::BrokenConnectionError(_) => OpError::lost(IO, whole(error)),
        // Nothing was sent.
        RequestAttemptError::SerializationError(_)
        | RequestAttemptError::CqlRequestSerialization(_)
        | RequestAttemptError::RepreparedIdChanged { .. } => refused("CLIENT", error),
        RequestAttemptError::UnableToAllocStreamId => {
            OpError::fail(FailClass::Overload, "CLIENT", whole(error))
        }
        _ => OpError::lost("PROTOCOL", whole(error)),
    }
}

fn server_error(said: &DbError, words: &str, reads: bool) -> OpError {
    let (code, outcome) = meaning(said, reads);
    let message = match said {
        // The parts tell more than the words.
        DbError::Unavailable { .. }
        | DbError::ReadTimeout { .. }
        | DbError::WriteTimeout { .. }
        | DbError::ReadFailure { .. }
        | DbError::WriteFailure { .. } => said.to_string(),
        _ if words.is_empty() => said.to_string(),
        _ => words.to_owned(),
    };
    let mut error = OpError::new(outcome, false, code, message);
    error.leave_node = matches!(said, DbError::IsBootstrapping);
    error
}

/// What becomes of a write whose copies did not answer in time nobody knows, a logged batch included: its log may be carried
/// out later.
fn meaning(said: &DbError, reads: bool) -> (&'static str, Outcome) {
    let uncertain = |class| {
        if reads {
            Outcome::Fail(class)
        } else {
            Outcome::Unknown
        }
    };
    match said {
        DbError::Unavailable { .. } => (UNAVAILABLE, Outcome::Fail(FailClass::Refused)),
        DbError::Overloaded => ("Overloaded", Outcome::Fail(FailClass::Overload)),
        DbError::IsBootstrapping => ("IsBootstrapping", Outcome::Fail(FailClass::Overload)),
        DbError::RateLimitReached { .. } => ("RateLimitReached", Outcome::Fail(FailClass::Overload)),
        // Also of the read with which a conditional write begins, after others may have been agreed upon.
        DbError::ReadTimeout { .. } => ("ReadTimeout", uncertain(FailClass::Other)),
        DbError::ReadFailure { .. } => ("ReadFailure", uncertain(FailClass::Other)),
        DbError::WriteTimeout { .. } => ("WriteTimeout", uncertain(FailClass::Other)),
        DbError::WriteFailure { .. } => ("WriteFailure", uncertain(FailClass::Other)),
        DbError::TruncateError => ("TruncateError", uncertain(FailClass::Other)),
        DbError::ServerError => ("ServerError", uncertain(FailClass::Other)),
        DbError::FunctionFailure { .. } => ("FunctionFailure", Outcome::Fail(FailClass::Other)),
        DbError::SyntaxError => ("SyntaxError", Outcome::Fail(FailClass::Refused)),
        DbError::Invalid => ("Invalid", Outcome::Fail(FailClass::Refused)),
        DbError::AlreadyExists { .. } => ("AlreadyExists", Outcome::Fail(FailClass::Refused)),
        DbError::AuthenticationError => ("AuthenticationError", Outcome::Fail(FailClass::Refused)),
        DbError::Unauthorized => ("Unauthorized", Outcome::Fail(FailClass::Refused)),
        DbError::ConfigError => ("ConfigError", Outcome::Fail(FailClass::Refused)),
        DbError::Unprepared { .. } => ("Unprepared", Outcome::Fail(FailClass::Refused)),
        DbError::ProtocolError => ("ProtocolError", Outcome::Fail(FailClass::Refused)),
        // A conditional write of which the coordinator does not know what became.
        DbError::Other(0x1700) => ("CasWriteUnknown", Outcome::Unknown),
        _ => ("Other", uncertain(FailClass::Other)),
    }
}

/// No node that is spoken to has a connection: nothing was sent, and the session is replaced, which waits.
fn unreached(error: &(impl Error + 'static)) -> OpError {
    OpError::new(Outcome::Fail(FailClass::Other), true, UNREACHED, whole(error))
}

/// The answer is not what the protocol says.
#[cold]
pub fn unreadable(error: impl Error) -> OpError {
    malformed(&error.to_string())
}

fn refused(code: &str, error: &(impl Error + 'static)) -> OpError {
    OpError::fail(FailClass::Refused, code, whole(error))
}

/// With its causes, unless the text names them already.
fn whole(error: &(impl Error + 'static)) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !told.contains(&words) {
            told = format!("{told}: {words}");
        }
        cause = inner.source();
    }
    told
}

/// What kept the last connection from being made.
fn of_connection(error: &ConnectionPoolError) -> &'static str {
    let ConnectionPoolError::Broken {
        last_connection_error: last,
    } = error
    else {
        return UNREACHED;
    };
    match last {
        ConnectionError::IoError(error)
            if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) =>
        {
            TLS
        }
        ConnectionError::ConnectionSetupRequestError(_) => BROKEN,
        _ => UNREACHED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scylla::errors::WriteType;
    use scylla::statement::Consistency;

    fn outcome(said: &DbError, reads: bool) -> Outcome {
        server_error(said, "m", reads).outcome
    }

    fn write_timeout(write_type: WriteType) -> DbError {
        DbError::WriteTimeout {
            consistency: Consistency::Quorum,
            received: 1,
            required: 2,
            write_type,
        }
    }

    #[test]
    fn a_write_that_timed_out_is_unknown_of_whatever_type() {
        for write_type in [
            WriteType::Simple,
            WriteType::Batch,
            WriteType::BatchLog,
            WriteType::UnloggedBatch,
            WriteType::Cas,
        ] {
            let error = server_error(&write_timeout(write_type), "m", false);
            assert_eq!((error.outcome, error.connection_lost), (Outcome::Unknown, false));
            assert!(
                error.message.contains("received: 1, required: 2"),
                "{}",
                error.message
            );
        }
        assert_eq!(outcome(&DbError::Other(0x1700), false), Outcome::Unknown);
        assert_eq!(outcome(&DbError::ServerError, false), Outcome::Unknown);
    }

    #[test]
    fn a_read_that_failed_changed_nothing_but_a_conditional_write_begins_with_one() {
        let timeout = DbError::ReadTimeout {
            consistency: Consistency::Quorum,
            received: 1,
            required: 2,
            data_present: true,
        };
        assert_eq!(outcome(&timeout, true), Outcome::Fail(FailClass::Other));
        assert_eq!(outcome(&timeout, false), Outcome::Unknown);
        assert_eq!(
            outcome(&DbError::ServerError, true),
            Outcome::Fail(FailClass::Other)
        );
    }

    #[test]
    fn what_the_coordinator_refuses_is_not_applied() {
        let unavailable = DbError::Unavailable {
            consistency: Consistency::Quorum,
            required: 2,
            alive: 1,
        };
        let refused = server_error(&unavailable, "m", false);
        assert_eq!(
            in_batch(refused).outcome,
            Outcome::Unknown,
            "some may have been sent"
        );
        for (said, class) in [
            (unavailable, FailClass::Refused),
            (DbError::Overloaded, FailClass::Overload),
            (DbError::IsBootstrapping, FailClass::Overload),
            (DbError::Unauthorized, FailClass::Refused),
            (DbError::SyntaxError, FailClass::Refused),
        ] {
            assert_eq!(outcome(&said, false), Outcome::Fail(class), "{said:?}");
        }
        assert!(server_error(&DbError::IsBootstrapping, "m", true).leave_node);
        assert!(!server_error(&DbError::Overloaded, "m", true).leave_node);
    }

    #[test]
    fn where_nothing_was_sent_nothing_was_applied_and_the_session_is_replaced() {
        let error = execution(&ExecutionError::EmptyPlan, false);
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Other));
        assert!(error.connection_lost);
        let full = ExecutionError::LastAttemptError(RequestAttemptError::UnableToAllocStreamId);
        assert_eq!(
            execution(&full, false).outcome,
            Outcome::Fail(FailClass::Overload)
        );
    }
}
