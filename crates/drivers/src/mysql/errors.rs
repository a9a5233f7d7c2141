//! The server's error numbers as outcomes.
use bakeoff_model::outcome::{FailClass, OpError, Outcome};

/// Numbers of mysqld_error.h and errmsg.h, MySQL and MariaDB.
const CONFLICT: &[u16] = &[
    1020, // record has changed since last read
    1205, // lock wait timeout
    1213, // deadlock
    1412, // table definition has changed, retry
    1614, // XA: deadlock
    3058, // user lock deadlock
    3101, // rolled back by group replication's certification
    3572, // NOWAIT: lock not free
    4024, // MariaDB: lock not free (SKIP LOCKED / NOWAIT)
];
const CONSTRAINT: &[u16] = &[
    1022, 1048, 1062, 1169, 1216, 1217, 1264, 1265, 1292, 1300, 1364, 1366, 1406, 1451, 1452, 1557, 1586,
    1761, 1762, 3819, 4025,
];
const OVERLOAD: &[u16] = &[
    1021, // disk full
    1037, // out of memory
    1038, // out of sort memory
    1040, // too many connections
    1041, // out of resources
    1114, // table is full
    1135, // cannot create a thread
    1203, // user has too many connections
    1206, // lock table is full
    1226, // user's resource limit
    1461, // too many prepared statements
];
const REFUSED: &[u16] = &[
    1044, 1045, // access denied
    1046, 1049, // no database
    1047, // the node is not ready (Galera)
    1050, 1051, 1054, // table exists, unknown table, unknown column
    1064, // syntax
    1109, // no such table is open (HANDLER)
    1095, 1130, 1133, 1141, 1142, 1143, 1147, // rights
    1146, // no such table
    1153, // packet too large
    1193, 1210, 1227, 1231, 1232, 1238, // variables
    1251, 1275, 1290, 1295, // server options, unsupported
    1396, 1410, 1419, 1524, // users
    1568, // isolation cannot change within a transaction
    1698, 1792, 1820, 1836, 1873, 1862, 3118, 3159, 3948, 4151,
    6413, // parameters in a statement that takes none
];
/// The server has given the statement up, says so, and has rolled it back; the transaction it belongs to is still open.
const CANCELLED: &[u16] = &[
    1317, // query interrupted: KILL QUERY
    1969, // MariaDB: max_statement_time
    3024, // MySQL: max_execution_time
];
/// The connection is gone, and with it the knowledge of what was done.
const LOST: &[u16] = &[
    1053, // server shutdown
    1077, // normal shutdown
    1080, // forced close
    1152, 1158, 1159, 1160, 1161, // aborted, network
    1184, // aborted
    1927, // MariaDB: connection was killed
    2006, 2013, // client's words for the same
    3169, // killed
    4031, // disconnected for inactivity
];

/// The node says that it will not serve: not ready (Galera), shutting down, read-only.
const LEAVE: &[u16] = &[1047, 1053, 1290, 1836];

/// A commit, perhaps that of a single statement, was begun and not brought to its end.
const DURING_COMMIT: u16 = 1180;
/// A node of a Galera cluster, whose group lost its majority while the write set was on its way: the others may have it.
const CUT_OFF: &str = "Not connected to Primary Component";
/// And one that found more in a transaction than it sends, at a statement or at COMMIT: it is rolled back.
const TOO_LARGE: &str = "Maximum writeset size exceeded";
/// Errors of COMMIT after which the transaction is known to have been rolled back. What has a class of its own above may
/// say at COMMIT that the log could not be written, a replica not reached, a wait not ended: by then the storage engine
/// may have committed.
const ROLLED_BACK: &[&str] = &[
    "1213", // deadlock; Galera's certification
    "1290", "1836", // the server is read-only
    "3100", "3101", // group replication: refused before the commit, or by certification
];

/// What an error of COMMIT means: the transaction is undone for certain, or nobody knows.
#[cold]
pub fn at_commit(mut error: OpError) -> OpError {
    if !ROLLED_BACK.contains(&&*error.code) && !error.message.contains(TOO_LARGE) {
        error.outcome = Outcome::Unknown;
    }
    error
}

/// An error as the server numbers it.
#[cold]
pub fn server_error(number: u16, message: &str) -> OpError {
    let mut error = classed(number, message);
    error.leave_node = LEAVE.contains(&number) || message.contains(CUT_OFF);
    error
}

fn classed(number: u16, message: &str) -> OpError {
    let code = number.to_string();
    if LOST.contains(&number) {
        return OpError::lost(code, message);
    }
    if number == DURING_COMMIT {
        return OpError::new(Outcome::Unknown, false, code, message);
    }
    let class = [
        (CONFLICT, FailClass::Conflict),
        (CONSTRAINT, FailClass::Constraint),
        (OVERLOAD, FailClass::Overload),
        (REFUSED, FailClass::Refused),
        (CANCELLED, FailClass::Other),
    ]
    .into_iter()
    .find(|(numbers, _)| numbers.contains(&number))
    .map_or(FailClass::Other, |(_, class)| class);
    OpError::fail(class, code, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::outcome::Outcome;

    #[test]
    fn numbers_have_the_classes_of_the_design() {
        for (number, outcome) in [
            (1213, Outcome::Fail(FailClass::Conflict)),
            (1205, Outcome::Fail(FailClass::Conflict)),
            (1020, Outcome::Fail(FailClass::Conflict)),
            (3101, Outcome::Fail(FailClass::Conflict)),
            (1062, Outcome::Fail(FailClass::Constraint)),
            (1406, Outcome::Fail(FailClass::Constraint)),
            (1040, Outcome::Fail(FailClass::Overload)),
            (1114, Outcome::Fail(FailClass::Overload)),
            (1045, Outcome::Fail(FailClass::Refused)),
            (1146, Outcome::Fail(FailClass::Refused)),
            (1290, Outcome::Fail(FailClass::Refused)),
            (1927, Outcome::Unknown),
            (1053, Outcome::Unknown),
            (1317, Outcome::Fail(FailClass::Other)),
            (1969, Outcome::Fail(FailClass::Other)),
            (3024, Outcome::Fail(FailClass::Other)),
            (9999, Outcome::Fail(FailClass::Other)),
        ] {
            let error = server_error(number, "m");
            assert_eq!(error.outcome, outcome, "{number}");
            assert_eq!(error.connection_lost, outcome == Outcome::Unknown, "{number}");
        }
    }

    #[test]
    fn a_commit_that_failed_is_unknown_unless_it_is_known_to_be_undone() {
        for number in [1213, 1290, 3101] {
            let error = at_commit(server_error(number, "m"));
            assert!(matches!(error.outcome, Outcome::Fail(_)), "{number}");
        }
        // A semi-synchronous replica, a disk, a timeout, a lock that was waited for, rights, and what is not known at all.
        for number in [1180, 1026, 1317, 1969, 3024, 1205, 1227, 1105, 1047, 9999] {
            let error = at_commit(server_error(number, "m"));
            assert_eq!(error.outcome, Outcome::Unknown, "{number}");
        }
        let single = server_error(DURING_COMMIT, "m");
        assert_eq!(
            (single.outcome, single.connection_lost),
            (Outcome::Unknown, false)
        );
    }

    #[test]
    fn a_node_that_will_not_serve_is_left() {
        for number in LEAVE {
            assert!(server_error(*number, "m").leave_node, "{number}");
        }
        assert!(!server_error(1213, "m").leave_node && !server_error(1927, "m").leave_node);
        assert_eq!(server_error(1047, "m").outcome, Outcome::Fail(FailClass::Refused));
    }

    #[test]
    fn a_node_of_galera_says_by_words_what_its_numbers_do_not() {
        let said =
            format!("Error while appending streaming replication fragment(provider status: {CUT_OFF})");
        let cut_off = server_error(DURING_COMMIT, &said);
        assert_eq!((cut_off.outcome, cut_off.leave_node), (Outcome::Unknown, true));
        let too_large = at_commit(server_error(1105, TOO_LARGE));
        assert_eq!(
            (too_large.outcome, too_large.leave_node),
            (Outcome::Fail(FailClass::Other), false)
        );
    }

    #[test]
    fn no_number_has_two_classes() {
        let mut all = [CONFLICT, CONSTRAINT, OVERLOAD, REFUSED, CANCELLED, LOST].concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
