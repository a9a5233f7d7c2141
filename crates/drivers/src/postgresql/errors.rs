//! The server's errors as outcomes, by SQLSTATE (PostgreSQL documentation, appendix "Error Codes").
use bakeoff_model::outcome::{FailClass, OpError, Outcome};

/// Single conditions, which their class does not tell.
const CONDITIONS: &[(&str, FailClass)] = &[
    ("40002", FailClass::Constraint), // of integrity, found at commit
    ("55P03", FailClass::Conflict),   // lock not available
    ("57P03", FailClass::Overload),   // starting up, or shutting down
];

/// By the first two characters.
const CLASSES: &[(&str, FailClass)] = &[
    ("0A", FailClass::Refused),    // not supported
    ("22", FailClass::Constraint), // data: too long, out of range, not of the encoding
    ("23", FailClass::Constraint),
    ("25", FailClass::Refused), // transaction state: read-only, failed before
    ("26", FailClass::Refused),
    ("28", FailClass::Refused), // authorisation
    ("34", FailClass::Refused),
    ("3D", FailClass::Refused),
    ("3F", FailClass::Refused),
    ("40", FailClass::Conflict), // serialization failure, deadlock
    ("42", FailClass::Refused),  // syntax, rights, unknown table
    ("44", FailClass::Constraint),
    ("53", FailClass::Overload), // disk, memory, connections
    ("54", FailClass::Refused),  // too large a statement
    ("55", FailClass::Refused),
];

/// The node says that it will not serve: read-only, shutting down, starting up.
const LEAVE: &[&str] = &["25006", "57P01", "57P02", "57P03"];

/// Whether the statement took effect is not known.
const UNCERTAIN: &[&str] = &[
    "40003", // statement completion unknown
    "08007", // transaction resolution unknown
];

/// What an ErrorResponse says, as far as it is of use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    pub severity: &'a str,
    pub state: &'a str,
    pub message: &'a str,
    pub detail: Option<&'a str>,
}

#[cold]
pub fn server_error(said: Said<'_>) -> OpError {
    let message = match said.detail {
        Some(detail) => format!("{} ({detail})", said.message),
        None => said.message.to_owned(),
    };
    // After these the server ends the connection; a statement that was on its way may have committed.
    let ends = matches!(said.severity, "FATAL" | "PANIC") || said.state.starts_with("08");
    let mut error = if ends || UNCERTAIN.contains(&said.state) {
        OpError::new(Outcome::Unknown, ends, said.state, message)
    } else {
        OpError::fail(class(said.state), said.state, message)
    };
    error.leave_node = LEAVE.contains(&said.state);
    error
}

/// The same of a server that has not let us in yet: nothing was asked of it.
#[cold]
pub fn at_login(said: Said<'_>) -> OpError {
    let mut error = server_error(said);
    error.outcome = Outcome::Fail(class(said.state));
    error.connection_lost = false;
    error
}

fn class(state: &str) -> FailClass {
    let of = |known: &[(&str, FailClass)], code: &str| {
        known
            .iter()
            .find(|(known, _)| *known == code)
            .map(|(_, class)| *class)
    };
    of(CONDITIONS, state)
        .or_else(|| of(CLASSES, state.get(..2).unwrap_or_default()))
        .unwrap_or(FailClass::Other)
}

/// What an error of COMMIT means. The server undoes the transaction before it tells of these; of others nobody knows.
#[cold]
pub fn at_commit(mut error: OpError) -> OpError {
    let undone = matches!(error.outcome, Outcome::Fail(_))
        && ["23", "25", "40"].contains(&error.code.get(..2).unwrap_or_default());
    if !undone {
        error.outcome = Outcome::Unknown;
    }
    error
}

/// COMMIT of a transaction in which a statement has failed is no error to the server: it answers ROLLBACK.
#[cold]
pub fn rolled_back() -> OpError {
    let words = "COMMIT was answered with ROLLBACK: a statement of the transaction had failed";
    OpError::fail(FailClass::Other, "25P02", words).with_statement("COMMIT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<'a>(severity: &'a str, state: &'a str) -> Said<'a> {
        Said {
            severity,
            state,
            message: "m",
            detail: None,
        }
    }

    #[test]
    fn a_node_that_will_not_serve_is_left() {
        assert!(server_error(said("ERROR", "25006")).leave_node);
        assert!(
            server_error(said("FATAL", "57P02")).leave_node,
            "another process of its has crashed"
        );
        assert!(
            server_error(said("FATAL", "57P01")).leave_node && at_login(said("FATAL", "57P03")).leave_node
        );
        assert!(!server_error(said("ERROR", "40001")).leave_node);
    }

    #[test]
    fn states_have_the_classes_of_the_design() {
        for (state, class) in [
            ("40001", FailClass::Conflict),
            ("40P01", FailClass::Conflict),
            ("55P03", FailClass::Conflict),
            ("23505", FailClass::Constraint),
            ("22001", FailClass::Constraint),
            ("40002", FailClass::Constraint),
            ("53300", FailClass::Overload),
            ("57P03", FailClass::Overload),
            ("42P01", FailClass::Refused),
            ("28P01", FailClass::Refused),
            ("25006", FailClass::Refused),
            ("57014", FailClass::Other),
            ("XX000", FailClass::Other),
            ("", FailClass::Other),
            ("ä", FailClass::Other),
        ] {
            let error = server_error(said("ERROR", state));
            assert_eq!(error.outcome, Outcome::Fail(class), "{state}");
            assert!(!error.connection_lost, "{state}");
        }
    }

    #[test]
    fn what_ends_the_connection_leaves_the_outcome_open() {
        for (severity, state) in [
            ("FATAL", "57P01"),
            ("FATAL", "25P03"),
            ("PANIC", "XX000"),
            ("ERROR", "08006"),
        ] {
            let error = server_error(said(severity, state));
            assert_eq!(
                (error.outcome, error.connection_lost),
                (Outcome::Unknown, true),
                "{state}"
            );
        }
        let uncertain = server_error(said("ERROR", "40003"));
        assert_eq!(
            (uncertain.outcome, uncertain.connection_lost),
            (Outcome::Unknown, false)
        );
        let refused = at_login(said("FATAL", "53300"));
        assert_eq!(refused.outcome, Outcome::Fail(FailClass::Overload));
        assert!(!refused.connection_lost);
    }

    #[test]
    fn a_commit_that_failed_is_unknown_unless_it_is_known_to_be_undone() {
        for state in ["40001", "40P01", "23503", "25P02"] {
            let error = at_commit(server_error(said("ERROR", state)));
            assert!(matches!(error.outcome, Outcome::Fail(_)), "{state}");
        }
        for state in ["40003", "53100", "57014", "XX000", "58030"] {
            let error = at_commit(server_error(said("ERROR", state)));
            assert_eq!(error.outcome, Outcome::Unknown, "{state}");
        }
    }
}
