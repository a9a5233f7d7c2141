//! SQLite's result codes as outcomes.
use bakeoff_model::outcome::{FailClass, OpError, Outcome};

/// Primary result code, its name, and what it means for the operation. Source: sqlite.org/rescode.html.
const CODES: &[(i32, &str, FailClass)] = &[
    // A statement that cannot be (unknown table, syntax, COMMIT without BEGIN).
    (1, "SQLITE_ERROR", FailClass::Refused),
    (2, "SQLITE_INTERNAL", FailClass::Other),
    (3, "SQLITE_PERM", FailClass::Refused),
    (4, "SQLITE_ABORT", FailClass::Other),
    (5, "SQLITE_BUSY", FailClass::Conflict),
    (6, "SQLITE_LOCKED", FailClass::Conflict),
    (7, "SQLITE_NOMEM", FailClass::Overload),
    (8, "SQLITE_READONLY", FailClass::Refused),
    (9, "SQLITE_INTERRUPT", FailClass::Other),
    (IO_ERROR, "SQLITE_IOERR", FailClass::Other),
    (11, "SQLITE_CORRUPT", FailClass::Other),
    (12, "SQLITE_NOTFOUND", FailClass::Other),
    (13, "SQLITE_FULL", FailClass::Overload),
    (14, "SQLITE_CANTOPEN", FailClass::Refused),
    (15, "SQLITE_PROTOCOL", FailClass::Conflict),
    (17, "SQLITE_SCHEMA", FailClass::Refused),
    (18, "SQLITE_TOOBIG", FailClass::Constraint),
    (19, "SQLITE_CONSTRAINT", FailClass::Constraint),
    (20, "SQLITE_MISMATCH", FailClass::Constraint),
    (21, "SQLITE_MISUSE", FailClass::Other),
    (22, "SQLITE_NOLFS", FailClass::Refused),
    (23, "SQLITE_AUTH", FailClass::Refused),
    (25, "SQLITE_RANGE", FailClass::Refused),
    (26, "SQLITE_NOTADB", FailClass::Refused),
];

/// Afterwards nobody knows whether a write was applied, and the connection is not to be trusted.
const IO_ERROR: i32 = 10;

pub fn op_error(error: &rusqlite::Error) -> OpError {
    let Some(failure) = error.sqlite_error() else {
        return OpError::fail(FailClass::Other, "SQLITE_CLIENT", error.to_string());
    };
    let extended = failure.extended_code;
    let primary = extended & 0xff;
    let known = CODES.iter().find(|(code, _, _)| *code == primary);
    let (name, class) = known.map_or(("SQLITE_UNKNOWN", FailClass::Other), |(_, name, class)| {
        (*name, *class)
    });
    let code = if extended == primary {
        name.to_owned()
    } else {
        format!("{name} ({extended})")
    };
    if primary == IO_ERROR {
        OpError::lost(code, error.to_string())
    } else {
        OpError::fail(class, code, error.to_string())
    }
}

/// What an error of COMMIT means. Before anything is written it is refused for a lock or a constraint, and the transaction
/// stays open; whatever else fails, fails while it is written, and the part that makes it last may have been.
#[cold]
pub fn at_commit(mut error: OpError) -> OpError {
    let untouched = [FailClass::Conflict, FailClass::Constraint].map(Outcome::Fail);
    if !untouched.contains(&error.outcome) {
        error.outcome = Outcome::Unknown;
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_failed_while_it_was_written_is_unknown() {
        let outcome = |code| {
            let failure = rusqlite::ffi::Error::new(code);
            at_commit(op_error(&rusqlite::Error::SqliteFailure(failure, None))).outcome
        };
        assert_eq!(outcome(5), Outcome::Fail(FailClass::Conflict));
        assert_eq!(outcome(787), Outcome::Fail(FailClass::Constraint)); // a deferred foreign key
        for code in [7, IO_ERROR, 11, 13] {
            assert_eq!(outcome(code), Outcome::Unknown, "{code}");
        }
    }
}
