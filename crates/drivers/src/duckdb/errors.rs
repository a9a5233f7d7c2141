//! DuckDB's errors as outcomes. Source: duckdb.h, `duckdb_error_type`; a message begins with the name of its kind.
use bakeoff_model::outcome::{FailClass, OpError, Outcome};

/// A kind's number, how its messages begin, and what it means for the operation.
const KINDS: &[(i32, &str, FailClass)] = &[
    (1, "Out of Range", FailClass::Constraint),
    (2, "Conversion", FailClass::Constraint),
    (10, "TransactionContext", FailClass::Conflict),
    (11, "Not implemented", FailClass::Refused),
    (14, "Catalog", FailClass::Refused),
    (15, "Parser", FailClass::Refused),
    (18, "Constraint", FailClass::Constraint),
    (23, "Syntax", FailClass::Refused),
    (25, "Binder", FailClass::Refused),
    (28, IO, FailClass::Other),
    (29, "INTERRUPT", FailClass::Other),
    (30, FATAL, FailClass::Other),
    (31, INTERNAL, FailClass::Other),
    (32, "Invalid Input", FailClass::Refused),
    (33, "Out of Memory", FailClass::Overload),
    (34, "Permission", FailClass::Refused),
];
const IO: &str = "IO";
const FATAL: &str = "FATAL";
const INTERNAL: &str = "INTERNAL";
const NONE: &str = "DUCKDB";

/// kind: where the library gives its number.
#[cold]
pub fn op_error(said: &str, kind: Option<i32>) -> OpError {
    let (_, name, class) = KINDS
        .iter()
        .find(|(number, name, _)| kind.map_or(said.starts_with(name), |kind| kind == *number))
        .unwrap_or(&(0, NONE, FailClass::Other));
    // Of two transactions that change a row, or insert a key, the second fails by the version of the first.
    let conflict = said.contains("write-write conflict") || said.contains("Conflict on");
    // An appender's messages have no kind.
    let constraint = said.contains("constraint violation");
    let refused = said.contains("could not be found");
    match *name {
        _ if conflict => OpError::fail(FailClass::Conflict, "CONFLICT", said),
        NONE if constraint => OpError::fail(FailClass::Constraint, NONE, said),
        NONE if refused => OpError::fail(FailClass::Refused, NONE, said),
        // Afterwards nobody knows what was written.
        IO | FATAL | INTERNAL => OpError::lost(*name, said),
        _ => OpError::fail(*class, *name, said),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_meaning() {
        let outcome = |said: &str| op_error(said, None).outcome;
        assert_eq!(
            outcome("TransactionContext Error: Conflict on update!"),
            Outcome::Fail(FailClass::Conflict)
        );
        assert_eq!(
            outcome("Constraint Error: Duplicate key \"id: 1\" violates primary key constraint"),
            Outcome::Fail(FailClass::Constraint)
        );
        assert_eq!(outcome("IO Error: No space left on device"), Outcome::Unknown);
        assert_eq!(op_error("x", Some(14)).outcome, Outcome::Fail(FailClass::Refused));
    }
}
