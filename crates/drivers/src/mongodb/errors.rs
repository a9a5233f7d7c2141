//! The server's errors as outcomes, by their codes (MongoDB documentation, "Error Codes"; names and categories are those of
//! the server's `error_codes.yml`).
//!
//! A write of one document is applied whole or not at all. It is *unknown* whether it was where the server had applied it
//! and could not have it acknowledged as the write concern asks (it may still be rolled back), and where the server was
//! interrupted by a change of its own role or by its end: the categories of `NotPrimaryError` and `ShutdownError` say
//! nothing of whether a write has happened.
use super::bson::{self, Bson};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};

pub const NAMESPACE_NOT_FOUND: &str = "26";
pub const COMMAND_NOT_FOUND: &str = "59";
pub const NO_SUCH_TRANSACTION: &str = "251";
pub const DUPLICATE_KEY: &str = "11000";

const CONFLICT: Outcome = Outcome::Fail(FailClass::Conflict);
const CONSTRAINT: Outcome = Outcome::Fail(FailClass::Constraint);
const REFUSED: Outcome = Outcome::Fail(FailClass::Refused);
const OVERLOAD: Outcome = Outcome::Fail(FailClass::Overload);
const OTHER: Outcome = Outcome::Fail(FailClass::Other);

/// Code, outcome, and whether the node says that it will not serve.
const CODES: &[(i64, Outcome, bool)] = &[
    (11000, CONSTRAINT, false),      // DuplicateKey
    (11001, CONSTRAINT, false),      // the same of an update, up to 3.6
    (121, CONSTRAINT, false),        // DocumentValidationFailure
    (10334, CONSTRAINT, false),      // BSONObjectTooLarge
    (17280, CONSTRAINT, false),      // KeyTooLong
    (17419, CONSTRAINT, false),      // the document would become too large
    (17420, CONSTRAINT, false),      // the same
    (112, CONFLICT, false),          // WriteConflict
    (24, CONFLICT, false),           // LockTimeout
    (46, CONFLICT, false),           // LockBusy
    (117, CONFLICT, false),          // ConflictingOperationInProgress
    (225, CONFLICT, false),          // TransactionTooOld
    (239, CONFLICT, false),          // SnapshotTooOld
    (246, CONFLICT, false),          // SnapshotUnavailable
    (250, CONFLICT, false),          // StaleChunkHistory
    (251, CONFLICT, false),          // NoSuchTransaction
    (267, CONFLICT, false),          // PreparedTransactionInProgress
    (272, CONFLICT, false),          // MigrationConflict
    (290, CONFLICT, false),          // TransactionExceededLifetimeLimitSeconds
    (10107, REFUSED, true),          // NotWritablePrimary
    (10058, REFUSED, true),          // the same, from older servers
    (13435, REFUSED, true),          // NotPrimaryNoSecondaryOk
    (13436, REFUSED, true),          // NotPrimaryOrSecondary: it recovers
    (211, REFUSED, false),           // KeyNotFound
    (91, Outcome::Unknown, true),    // ShutdownInProgress
    (189, Outcome::Unknown, true),   // PrimarySteppedDown
    (11600, Outcome::Unknown, true), // InterruptedAtShutdown
    (11602, Outcome::Unknown, true), // InterruptedDueToReplStateChange
    (281, Outcome::Unknown, false),  // TransactionCoordinatorSteppingDown
    (6, Outcome::Unknown, false),    // HostUnreachable: of the shard that was asked
    (7, Outcome::Unknown, false),    // HostNotFound
    (89, Outcome::Unknown, false),   // NetworkTimeout
    (202, Outcome::Unknown, false),  // NetworkInterfaceExceededTimeLimit
    (9001, Outcome::Unknown, false), // SocketException
    (64, Outcome::Unknown, false),   // WriteConcernTimeout
    (75, Outcome::Unknown, false),   // WriteConcernLegacyOK
    (79, Outcome::Unknown, false),   // UnknownReplWriteConcern
    (100, Outcome::Unknown, false),  // UnsatisfiableWriteConcern
    (134, OVERLOAD, false),          // ReadConcernMajorityNotAvailableYet
    (146, OVERLOAD, false),          // ExceededMemoryLimit
    (261, OVERLOAD, false),          // TooManyLogicalSessions
    (264, OVERLOAD, false),          // TooManyFilesOpen
    (365, OVERLOAD, false),          // TemporarilyUnavailable: the storage engine's cache is full
    (402, OVERLOAD, false),          // ResourceExhausted
    (433, OVERLOAD, false),          // AdmissionQueueOverflow
    (449, OVERLOAD, false),          // RateLimitExceeded
    (14031, OVERLOAD, false),        // OutOfDiskSpace
    (1, OTHER, false),               // InternalError
    (8, OTHER, false),               // UnknownError
    (43, OTHER, false),              // CursorNotFound
    (50, OTHER, false),              // MaxTimeMSExpired
    (96, OTHER, false),              // OperationFailed
    (175, OTHER, false),             // QueryPlanKilled
    (237, OTHER, false),             // CursorKilled
    (262, OTHER, false),             // ExceededTimeLimit
    (11601, OTHER, false),           // Interrupted: somebody has ended it
];

/// What of an answer says that something went wrong.
#[derive(Default)]
struct Said<'a> {
    code: i64,
    message: &'a [u8],
    is_transient: bool,
    /// The first of the documents that were not written.
    write: Option<&'a [u8]>,
    /// The write was applied, and not acknowledged as was asked.
    concern: Option<&'a [u8]>,
}

fn read(document: &[u8]) -> Result<Said<'_>, OpError> {
    let mut said = Said::default();
    let mut all = bson::elements(document)?;
    while let Some((name, value)) = all.next()? {
        match (name, value) {
            (b"code", value) => said.code = value.whole_number().unwrap_or_default(),
            (b"errmsg", Bson::Text(text)) => said.message = text,
            (b"errorLabels", Bson::Array(labels)) => {
                let mut labels = bson::elements(labels)?;
                while let Some((_, label)) = labels.next()? {
                    said.is_transient |= label == Bson::Text(b"TransientTransactionError");
                }
            }
            (b"writeErrors", Bson::Array(errors)) => {
                let first = bson::elements(errors)?.next()?;
                if let Some((_, Bson::Document(first))) = first {
                    said.write = Some(first);
                }
            }
            (b"writeConcernError", Bson::Document(error)) => said.concern = Some(error),
            _ => {}
        }
    }
    Ok(said)
}

/// Of an answer that does not say that all was done.
#[cold]
pub fn server_error(answer: &[u8]) -> OpError {
    classified(answer).unwrap_or_else(|malformed| malformed)
}

fn classified(answer: &[u8]) -> Result<OpError, OpError> {
    let whole = read(answer)?;
    let within = match (whole.write, whole.concern) {
        (Some(write), _) => read(write)?,
        (None, Some(concern)) => read(concern)?,
        (None, None) => Said::default(),
    };
    let said = match within.code {
        0 => &whole,
        _ => &within,
    };
    let known = CODES.iter().find(|(code, ..)| *code == said.code);
    let (mut outcome, leaves) = known.map_or((REFUSED, false), |&(_, outcome, leaves)| (outcome, leaves));
    if whole.write.is_none() && whole.concern.is_some() {
        outcome = Outcome::Unknown;
    } else if whole.is_transient && outcome != Outcome::Fail(FailClass::Overload) {
        // Nothing of the transaction was applied, whatever ended it.
        outcome = CONFLICT;
    }
    let message = String::from_utf8_lossy(said.message);
    let mut error = OpError::new(outcome, false, said.code.to_string(), message);
    error.leave_node = leaves;
    Ok(error)
}

/// Of a commit: a time limit leaves open whether it was done, and so does whatever ended the node's work on it.
#[cold]
pub fn at_commit(mut error: OpError) -> OpError {
    if matches!(&*error.code, "50" | "262" | "11601") {
        error.outcome = Outcome::Unknown;
    }
    error
}

/// The document is not at the revision that was asked for, or no longer there.
#[cold]
pub fn changed() -> OpError {
    let what = "the document was changed or deleted since it was read";
    OpError::fail(FailClass::Conflict, "REVISION", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = vec![];
        let start = bson::open(&mut out);
        write(&mut out);
        bson::close(&mut out, start);
        out
    }

    fn failed(code: i32, label: Option<&str>) -> OpError {
        server_error(&document(|out| {
            bson::int32(out, b"ok\0", 0);
            bson::text(out, b"errmsg\0", b"words");
            bson::int32(out, b"code\0", code);
            if let Some(label) = label {
                let labels = bson::open_array(out, b"errorLabels\0");
                bson::text(out, b"0\0", label.as_bytes());
                bson::close(out, labels);
            }
        }))
    }

    fn within(list: bool, code: i32) -> OpError {
        server_error(&document(|out| {
            bson::int32(out, b"ok\0", 1);
            let outer = list.then(|| bson::open_array(out, b"writeErrors\0"));
            let name: &[u8] = if list { b"0\0" } else { b"writeConcernError\0" };
            let inner = bson::open_document(out, name);
            bson::int32(out, b"code\0", code);
            bson::close(out, inner);
            if let Some(outer) = outer {
                bson::close(out, outer);
            }
        }))
    }

    #[test]
    fn codes_are_classified_and_nodes_that_will_not_serve_are_left() {
        for (code, outcome, leaves) in [
            (11000, CONSTRAINT, false),
            (112, CONFLICT, false),
            (10107, REFUSED, true),
            (11600, Outcome::Unknown, true),
            (64, Outcome::Unknown, false),
            (13, REFUSED, false),
            (0, REFUSED, false),
            (987_654, REFUSED, false),
            (50, OTHER, false),
        ] {
            let error = failed(code, None);
            assert_eq!((error.outcome, error.leave_node), (outcome, leaves), "{code}");
            assert_eq!((&*error.code, &*error.message), (&*code.to_string(), "words"));
            assert!(!error.connection_lost);
        }
        assert_eq!(at_commit(failed(50, None)).outcome, Outcome::Unknown);
    }

    #[test]
    fn a_transaction_that_the_server_calls_transient_is_a_conflict() {
        assert_eq!(failed(263, Some("TransientTransactionError")).outcome, CONFLICT);
        let stepped_down = failed(189, Some("TransientTransactionError"));
        assert_eq!((stepped_down.outcome, stepped_down.leave_node), (CONFLICT, true));
        assert_eq!(failed(263, Some("RetryableWriteError")).outcome, REFUSED);
    }

    #[test]
    fn a_write_that_is_not_acknowledged_as_asked_is_unknown_and_one_that_failed_is_not() {
        for code in [64, 91, 100, 4242] {
            assert_eq!(within(false, code).outcome, Outcome::Unknown, "{code}");
        }
        assert!(within(false, 91).leave_node);
        assert_eq!(within(true, 11000).outcome, CONSTRAINT);
        assert_eq!(within(true, 4242).outcome, REFUSED);
    }

    #[test]
    fn what_cannot_be_read_is_no_outcome() {
        assert!(server_error(b"\x05\0\0\0").connection_lost);
    }
}
