//! SQLite's result codes as outcomes.
use bakeoff_model::outcome::{FailClass, OpError};

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

/// Whether a write was applied cannot be told after it, and the connection is not to be trusted.
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
