//! The server's errors as outcomes, by their first word (Redis documentation, "Redis serialization protocol specification",
//! "Simple errors"; the words are those of `server.c` and `scripting`).
use bakeoff_model::outcome::{FailClass, OpError};

/// Said by our own scripts.
pub const DUPLICATE: &str = "DUPLICATE";
pub const NO_TABLE: &str = "NOTABLE";

const CLASSES: &[(&str, FailClass)] = &[
    (DUPLICATE, FailClass::Constraint),
    (NO_TABLE, FailClass::Refused),
    ("ASK", FailClass::Conflict), // after too many redirections
    ("MOVED", FailClass::Conflict),
    ("BUSY", FailClass::Overload),       // a script runs for too long
    ("LOADING", FailClass::Overload),    // it reads its data, after a start
    ("MASTERDOWN", FailClass::Overload), // a replica without its primary
    ("MISCONF", FailClass::Overload),    // it cannot write its snapshot
    ("NOREPLICAS", FailClass::Overload), // fewer than min-replicas-to-write
    ("OOM", FailClass::Overload),        // maxmemory
    ("TRYAGAIN", FailClass::Conflict),
    ("NOSCRIPT", FailClass::Other), // SCRIPT FLUSH: the session loads it again when it is replaced
];

/// The node says that it will not serve; others may.
const LEAVE: &[&str] = &["CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY"];

/// `said`: an error of the server's, without the sign before it and the line's end.
#[cold]
pub fn server_error(said: &[u8]) -> OpError {
    let said = String::from_utf8_lossy(said);
    let code = said.split(' ').next().unwrap_or_default();
    let of = CLASSES.iter().find(|(known, _)| *known == code);
    let class = match of {
        Some((_, class)) => *class,
        None if said.contains("max number of clients") => FailClass::Overload,
        None => FailClass::Refused,
    };
    let mut error = OpError::fail(class, code, &*said);
    error.leave_node = LEAVE.contains(&code);
    // The scripts of this connection are gone: another loads them.
    error.connection_lost = code == "NOSCRIPT";
    error
}

#[cold]
pub fn no_table(name: &[u8]) -> OpError {
    let what = format!("there is no table {}", String::from_utf8_lossy(name));
    OpError::fail(FailClass::Refused, NO_TABLE, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::outcome::Outcome;

    #[test]
    fn what_a_server_refuses_was_not_applied() {
        for (said, class, leaves) in [
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                FailClass::Overload,
                false,
            ),
            (
                "LOADING Redis is loading the dataset in memory",
                FailClass::Overload,
                true,
            ),
            (
                "READONLY You can't write against a read only replica.",
                FailClass::Refused,
                true,
            ),
            (
                "WRONGTYPE Operation against a key holding the wrong kind of value",
                FailClass::Refused,
                false,
            ),
            ("ERR max number of clients reached", FailClass::Overload, false),
            ("DUPLICATE the key exists", FailClass::Constraint, false),
        ] {
            let error = server_error(said.as_bytes());
            assert_eq!(
                (error.outcome, error.leave_node),
                (Outcome::Fail(class), leaves),
                "{said}"
            );
            assert!(!error.connection_lost);
        }
        assert!(server_error(b"NOSCRIPT No matching script.").connection_lost);
    }
}
