//! The server's errors as outcomes: by SQLSTATE where it tells one. Avatica's JDBC server tells none of a database's errors
//! (AbstractHandler.java), but the classes of the exceptions, which JDBC names after the states.
//!
//! Sources: ISO/IEC 9075-2, "SQLSTATE class and subclass values"; java.sql, `SQLException` and its subclasses; Calcite
//! Avatica, responses.proto (`ErrorResponse`).
use super::protobuf::next;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};

/// By the first two characters.
const CLASSES: &[(&str, FailClass)] = &[
    ("07", FailClass::Refused),
    ("0A", FailClass::Refused),    // not supported
    ("21", FailClass::Constraint), // more than one row where one is wanted
    ("22", FailClass::Constraint), // data: too long, out of range
    ("23", FailClass::Constraint),
    ("25", FailClass::Refused), // transaction state: read-only
    ("26", FailClass::Refused),
    ("28", FailClass::Refused), // authorisation
    ("3D", FailClass::Refused),
    ("3F", FailClass::Refused),
    ("40", FailClass::Conflict), // serialization failure, deadlock
    ("42", FailClass::Refused),  // syntax, rights, unknown table
    ("44", FailClass::Constraint),
    ("53", FailClass::Overload), // disk, memory, connections
];

/// A JDBC exception, and a state that it stands for. The first one that a message names is what happened.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("SQLIntegrityConstraintViolationException", "23000"),
    ("SQLTransactionRollbackException", "40000"),
    ("SQLDataException", "22000"),
    ("SQLSyntaxErrorException", "42000"),
    ("SQLFeatureNotSupportedException", "0A000"),
    ("SQLInvalidAuthorizationSpecException", "28000"),
    ("SQLException: statement is invalid", "07502"), // its table is gone
    ("SQLNonTransientConnectionException", "08000"),
    ("SQLTransientConnectionException", "08000"),
    // Of a batch, the words alone tell (HSQLDB, sql-state-messages).
    ("BatchUpdateException: integrity constraint violation", "23000"),
    ("BatchUpdateException: data exception", "22000"),
    ("BatchUpdateException: transaction rollback", "40000"),
];

/// Avatica's own number of an error: it does not know the connection, or does not any more.
const NO_CONNECTION: u64 = 1;

/// From an `ErrorResponse`.
#[cold]
pub fn server_error(mut message: &[u8]) -> OpError {
    let (mut code, mut state, mut words) = (0, "", "");
    while let Ok(Some((field, value))) = next(&mut message) {
        let text = value
            .bytes()
            .ok()
            .and_then(|bytes| std::str::from_utf8(bytes).ok());
        match field {
            2 => words = text.unwrap_or_default(),
            4 => code = value.number().unwrap_or_default(),
            5 => state = text.unwrap_or_default(),
            _ => {}
        }
    }
    if code == NO_CONNECTION {
        // Expired, or of a server that has been started since: what was open in it was undone.
        return gone("the server does not know the connection any more");
    }
    let known = EXCEPTIONS.iter().find(|(exception, _)| words.contains(exception));
    let state = match (state, known) {
        ("" | "00000", known) => known.map_or("", |(_, state)| state),
        (state, _) => state,
    };
    if state.starts_with("08") {
        return OpError::new(Outcome::Unknown, true, state, words);
    }
    let class = state.get(..2).unwrap_or_default();
    let class = CLASSES.iter().find(|(known, _)| *known == class);
    let class = class.map_or(FailClass::Other, |(_, class)| *class);
    OpError::fail(class, if state.is_empty() { "AVATICA" } else { state }, words)
}

/// What the session has at the server expired; nothing was carried out.
#[cold]
pub fn gone(what: &str) -> OpError {
    OpError::new(Outcome::Fail(FailClass::Other), true, "EXPIRED", what)
}

/// An answer that is no message of this protocol.
#[cold]
pub fn refused(status: u16, body: &[u8]) -> OpError {
    let said = String::from_utf8_lossy(&body[..body.len().min(500)]);
    let class = match status {
        401 | 403 | 404 | 405 => FailClass::Refused,
        429 | 503 => FailClass::Overload,
        _ => FailClass::Other,
    };
    // A server in trouble may have carried it out.
    let outcome = match status {
        500 | 502 | 504 => Outcome::Unknown,
        _ => Outcome::Fail(class),
    };
    OpError::new(outcome, true, format!("HTTP {status}"), said)
}

/// What an error of a commit means: the server undoes the transaction before it tells of these; of others nobody knows.
#[cold]
pub fn at_commit(mut error: OpError) -> OpError {
    let undone = ["23", "25", "40"].contains(&error.code.get(..2).unwrap_or_default());
    if !undone && error.code != "EXPIRED" {
        error.outcome = Outcome::Unknown;
    }
    error
}

#[cfg(test)]
mod tests {
    use super::super::protobuf::{number, text};
    use super::*;

    fn said(code: u64, state: &str) -> OpError {
        with_words(code, state, "words")
    }

    fn with_words(code: u64, state: &str, words: &str) -> OpError {
        let mut message = vec![];
        text(&mut message, 1, b"a stack trace");
        text(&mut message, 2, words.as_bytes());
        number(&mut message, 4, code);
        text(&mut message, 5, state.as_bytes());
        server_error(&message)
    }

    #[test]
    fn states_have_the_classes_of_the_design() {
        for (state, class) in [
            ("40001", FailClass::Conflict),
            ("23505", FailClass::Constraint),
            ("22001", FailClass::Constraint),
            ("42501", FailClass::Refused),
            ("28000", FailClass::Refused),
            ("0A000", FailClass::Refused),
            ("53200", FailClass::Overload),
            ("00000", FailClass::Other),
            ("", FailClass::Other),
            ("ä", FailClass::Other),
        ] {
            let error = said(0, state);
            assert_eq!(
                (error.outcome, error.connection_lost),
                (Outcome::Fail(class), false),
                "{state}"
            );
            assert_eq!(error.message, "words");
        }
        let lost = said(0, "08003");
        assert_eq!((lost.outcome, lost.connection_lost), (Outcome::Unknown, true));
        let gone = said(NO_CONNECTION, "00000");
        assert_eq!(
            (gone.outcome, gone.connection_lost),
            (Outcome::Fail(FailClass::Other), true)
        );
    }

    #[test]
    fn where_no_state_is_given_the_exception_says_what_happened() {
        for (words, class) in [
            (
                "RuntimeException: java.sql.SQLIntegrityConstraintViolationException: x -> ...",
                FailClass::Constraint,
            ),
            (
                "RuntimeException: java.sql.SQLTransactionRollbackException: x",
                FailClass::Conflict,
            ),
            (
                "RuntimeException: java.sql.SQLSyntaxErrorException: x",
                FailClass::Refused,
            ),
            (
                "RuntimeException: java.sql.BatchUpdateException: data exception: x",
                FailClass::Constraint,
            ),
            ("NullPointerException: (null exception message)", FailClass::Other),
        ] {
            let error = with_words(0, "00000", words);
            assert_eq!(error.outcome, Outcome::Fail(class), "{words}");
        }
        let lost = with_words(
            0,
            "00000",
            "RuntimeException: java.sql.SQLNonTransientConnectionException: x",
        );
        assert!(lost.connection_lost);
    }

    #[test]
    fn a_commit_that_failed_is_unknown_unless_it_is_known_to_be_undone() {
        assert_eq!(
            at_commit(said(0, "40001")).outcome,
            Outcome::Fail(FailClass::Conflict)
        );
        assert_eq!(
            at_commit(said(0, "23503")).outcome,
            Outcome::Fail(FailClass::Constraint)
        );
        assert_eq!(at_commit(said(0, "")).outcome, Outcome::Unknown);
        assert_eq!(at_commit(gone("")).outcome, Outcome::Fail(FailClass::Other));
    }

    #[test]
    fn an_answer_of_http_alone_may_hide_a_write() {
        assert_eq!(refused(503, b"busy").outcome, Outcome::Fail(FailClass::Overload));
        assert_eq!(refused(502, b"").outcome, Outcome::Unknown);
        assert_eq!(refused(401, b"").outcome, Outcome::Fail(FailClass::Refused));
    }
}
