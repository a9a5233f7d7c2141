//! DuckDB's errors as outcomes, by the words with which their messages begin: its own numbers for them differ between the
//! calls that fail. Source: DuckDB's source code, `Exception::ExceptionTypeToString`.
use bakeoff_model::outcome::{FailClass, OpError, Outcome};

/// How the messages of a kind begin, and what it means for the operation. Of a kind that is not here: `Other`.
const KINDS: &[(&str, FailClass)] = &[
    ("Out of Range", FailClass::Constraint),
    ("Conversion", FailClass::Constraint),
    (TRANSACTION, FailClass::Other),
    ("Not implemented", FailClass::Refused),
    ("Catalog", FailClass::Refused),
    ("Parser", FailClass::Refused),
    ("Constraint", FailClass::Constraint),
    ("Syntax", FailClass::Refused),
    ("Binder", FailClass::Refused),
    (IO, FailClass::Other),
    (INTERRUPT, FailClass::Other),
    (FATAL, FailClass::Other),
    (INTERNAL, FailClass::Other),
    ("Invalid Input", FailClass::Refused),
    ("Out of Memory", FailClass::Overload),
    ("Permission", FailClass::Refused),
];
const TRANSACTION: &str = "TransactionContext";
const IO: &str = "IO";
const INTERRUPT: &str = "INTERRUPT";
const FATAL: &str = "FATAL";
const INTERNAL: &str = "INTERNAL";
const NONE: &str = "DUCKDB";
/// Said by a database that does nothing any more, of what it has not done.
const INVALIDATED: &str = "database has been invalidated";

/// Two transactions have changed the same row, key or table. Of two that insert a key, the second to commit fails.
const CONFLICTS: &[&str] = &[
    "write-write conflict",
    "Conflict on",
    "Transaction conflict",
    "Failed to commit: PRIMARY KEY or UNIQUE",
];

#[cold]
pub fn op_error(said: &str) -> OpError {
    let known = KINDS.iter().find(|(name, _)| said.starts_with(name));
    let (name, class) = *known.unwrap_or(&(NONE, FailClass::Other));
    match name {
        _ if CONFLICTS.iter().any(|words| said.contains(words)) => {
            OpError::fail(FailClass::Conflict, "CONFLICT", said)
        }
        // The log could not be written, of a statement that is a transaction of its own.
        TRANSACTION if said.contains("Failed to commit") => {
            OpError::new(Outcome::Unknown, false, "COMMIT", said)
        }
        // An appender's messages have no kind.
        NONE if said.contains("constraint violation") => OpError::fail(FailClass::Constraint, NONE, said),
        NONE if said.contains("could not be found") => OpError::fail(FailClass::Refused, NONE, said),
        FATAL if said.contains(INVALIDATED) => {
            OpError::new(Outcome::Fail(FailClass::Other), true, FATAL, said)
        }
        // Afterwards nobody knows what was written.
        IO | FATAL | INTERNAL => OpError::lost(name, said),
        _ => OpError::fail(class, name, said),
    }
}

/// Whether the database has to be opened again: it refuses everything from here on.
pub fn is_final(error: &OpError) -> bool {
    [FATAL, INTERNAL].contains(&&*error.code)
}

/// What an error of COMMIT means. A conflict or a constraint is found before anything is written.
#[cold]
pub fn at_commit(mut error: OpError) -> OpError {
    let untouched = [FailClass::Conflict, FailClass::Constraint].map(Outcome::Fail);
    if !untouched.contains(&error.outcome) {
        error.outcome = Outcome::Unknown;
    }
    error
}

/// COMMIT of a transaction in which a statement has failed is no error to DuckDB: it undoes the transaction.
#[cold]
pub fn rolled_back() -> OpError {
    let words = "the transaction was undone, not committed: one of its statements had failed";
    OpError::fail(FailClass::Other, "ABORTED", words).with_statement("COMMIT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_meaning() {
        for (said, outcome) in [
            (
                "TransactionContext Error: Conflict on update!",
                Outcome::Fail(FailClass::Conflict),
            ),
            (
                "TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE constraint violation: duplicate key \"1\"",
                Outcome::Fail(FailClass::Conflict),
            ),
            (
                "TransactionContext Error: Failed to commit: Could not write file \"db.wal\": No space left on device",
                Outcome::Unknown,
            ),
            (
                "TransactionContext Error: Current transaction is aborted (please ROLLBACK)",
                Outcome::Fail(FailClass::Other),
            ),
            (
                "Constraint Error: Duplicate key \"id: 1\" violates primary key constraint.",
                Outcome::Fail(FailClass::Constraint),
            ),
            (
                "Catalog Error: Table with name t does not exist!",
                Outcome::Fail(FailClass::Refused),
            ),
            ("IO Error: No space left on device", Outcome::Unknown),
            ("FATAL Error: the autocheckpoint failed", Outcome::Unknown),
            (
                "FATAL Error: Failed: database has been invalidated because of a previous fatal error.",
                Outcome::Fail(FailClass::Other),
            ),
        ] {
            assert_eq!(op_error(said).outcome, outcome, "{said}");
        }
    }
}
