//! Which statements of a log are sent: those that ask, that change rows of tables in the plan's schema, or that concern their own
//! session. What else a server did once, such as to drop a table, another does not do by the way.
use crate::statement_kind::Kind;

/// Of a session alone.
const OWN: [&str; 6] = [
    "begin ",
    "start transaction",
    "savepoint ",
    "release savepoint ",
    "rollback to ",
    "set ",
];
/// What a `SET` says of a server, a user or a file.
const NOT_OWN: [&str; 6] = [
    "global",
    "persist",
    "persist_only",
    "password",
    "role",
    "resource",
];
/// Before the names of tables.
const BEFORE_TABLES: [&str; 5] = ["from", "join", "into", "update", "using"];

/// `form`: of the statement, without its values.
pub fn is_sent(form: &str, kind: Kind) -> bool {
    let form = form.to_ascii_lowercase();
    // What follows is another statement.
    if form.trim_end_matches([';', ' ']).contains(';') {
        return false;
    }
    let words = || form.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '`' | '"')));
    match kind {
        Kind::Begin | Kind::Commit | Kind::Rollback => true,
        Kind::Read => {
            !words().any(|word| matches!(word, "outfile" | "dumpfile" | "analyze" | "optimize" | "repair"))
        }
        // A name with a point is of a schema that the plan does not say.
        Kind::Write => {
            let mut after = false;
            !words().filter(|word| !word.is_empty()).any(|word| {
                let is_of_another = after && word.contains('.');
                after = BEFORE_TABLES.contains(&word);
                is_of_another
            })
        }
        Kind::Other => {
            let is_own = OWN.iter().any(|own| form.starts_with(own)) || form == "start transaction";
            is_own && !words().any(|word| NOT_OWN.contains(&word) || word.contains("global."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_session_may_do_to_rows_is_sent() {
        for (sql, sent) in [
            ("SELECT c FROM t", true),
            ("SELECT ?; DROP TABLE t", false),
            ("SELECT c FROM t INTO OUTFILE ?", false),
            ("INSERT INTO t SELECT * FROM u", true),
            ("DELETE FROM mysql.user", false),
            ("UPDATE `other`.`t` SET a = ?", false),
            ("UPDATE t SET a = t.b", true),
            ("BEGIN", true),
            ("START TRANSACTION READ ONLY", true),
            ("SET autocommit=?", true),
            ("SET GLOBAL read_only=?", false),
            ("SET @@global.read_only=?", false),
            ("SET PASSWORD = ?", false),
            ("DROP TABLE t", false),
            ("CREATE TABLE t (a int)", false),
            ("ANALYZE TABLE t", false),
            ("LOAD DATA LOCAL INFILE ? INTO TABLE t", false),
            ("GRANT ALL ON t TO u", false),
            ("KILL ?", false),
        ] {
            assert_eq!(is_sent(sql, Kind::of(sql)), sent, "{sql}");
        }
    }
}
