//! Statements that others have written, by their first words: how each is sent, and what it counts as.
use crate::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Begin,
    Commit,
    Rollback,
    /// It answers with rows.
    Read,
    Write,
    Other,
}

const ROWS: [&str; 14] = [
    "select", "show", "with", "values", "table", "explain", "describe", "desc", "analyze", "check",
    "optimize", "repair", "pragma", "fetch",
];
const WRITES: [&str; 5] = ["insert", "update", "delete", "replace", "merge"];

impl Kind {
    pub fn of(sql: &str) -> Self {
        let sql = code(sql);
        let whole = sql.trim_end_matches(|c: char| c.is_whitespace() || c == ';');
        let is = |words: &str| whole.eq_ignore_ascii_case(words);
        let begins = |words: &[&str]| begins_with(sql, words);
        match () {
            () if ["begin", "begin work", "begin transaction", "start transaction"]
                .iter()
                .any(|words| is(words)) =>
            {
                Self::Begin
            }
            () if ["commit", "commit work", "end"].iter().any(|words| is(words)) => Self::Commit,
            () if is("rollback") || is("rollback work") => Self::Rollback,
            () if begins(&ROWS) => Self::Read,
            () if begins(&WRITES) => Self::Write,
            () => Self::Other,
        }
    }

    /// After it a transaction may be open.
    pub fn opens(self, sql: &str) -> bool {
        let starts = || {
            let word = code(sql).get(..5);
            word.is_some_and(|word| word.eq_ignore_ascii_case("start") || word.eq_ignore_ascii_case("begin"))
        };
        self == Self::Begin || (self == Self::Other && starts())
    }

    /// Counts one that was carried out. `affected`: its rows, where the system tells.
    pub fn count(self, affected: Option<u64>, queries: &mut Queries) {
        match self {
            Self::Read => queries.read += 1,
            Self::Write if affected != Some(0) => queries.write += 1,
            _ => queries.other += 1,
        }
    }
}

/// Whether the first word is one of these.
pub fn begins_with(sql: &str, words: &[&str]) -> bool {
    let first = code(sql).split(|c: char| !c.is_ascii_alphabetic()).next();
    first.is_some_and(|first| words.iter().any(|word| first.eq_ignore_ascii_case(word)))
}

/// Without what may stand before the first word: blanks, parentheses, comments.
fn code(mut sql: &str) -> &str {
    loop {
        sql = sql.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        let rest = match sql.get(..2) {
            // `/*!` is MySQL's code.
            Some("/*") if !sql.starts_with("/*!") => sql.find("*/").map(|end| &sql[end + 2..]),
            Some("--") => sql.find('\n').map(|end| &sql[end..]),
            _ => return sql,
        };
        match rest {
            Some(rest) => sql = rest,
            None => return "",
        }
    }
}

/// Tables that a statement makes, as it names them.
pub fn creates(sql: &str) -> Option<&str> {
    let words: Vec<&str> = code(sql).split_whitespace().take(6).collect();
    let is = |at: usize, word: &str| {
        words
            .get(at)
            .is_some_and(|found| found.eq_ignore_ascii_case(word))
    };
    if !is(0, "create") || !is(1, "table") {
        return None;
    }
    let name = words.get(if is(2, "if") && is(3, "not") && is(4, "exists") {
        5
    } else {
        2
    })?;
    let name = name.split('(').next()?.trim_matches(['`', '"']);
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_known_by_its_first_words() {
        for (sql, kind) in [
            ("BEGIN", Kind::Begin),
            (" start transaction;", Kind::Begin),
            ("Commit", Kind::Commit),
            ("ROLLBACK ;", Kind::Rollback),
            ("SELECT c FROM sbtest1 WHERE id=?", Kind::Read),
            ("(select 1) union (select 2)", Kind::Read),
            ("/* a */ -- b\n UPDATE t SET a = 1", Kind::Write),
            ("START TRANSACTION READ ONLY", Kind::Other),
            ("SET autocommit=0", Kind::Other),
            ("/* never closed", Kind::Other),
            ("", Kind::Other),
        ] {
            assert_eq!(Kind::of(sql), kind, "{sql}");
        }
        assert!(Kind::Other.opens("START TRANSACTION READ ONLY"));
        assert!(!Kind::Other.opens("SET a = 1"));
    }

    #[test]
    fn tables_are_found_in_the_statements_that_make_them() {
        for (sql, name) in [
            ("\nCREATE TABLE sbtest1(\n id int)", Some("sbtest1")),
            ("create table IF NOT EXISTS `warehouse1` (", Some("warehouse1")),
            ("CREATE INDEX k_1 ON sbtest1(k)", None),
            ("CREATE TABLE", None),
        ] {
            assert_eq!(creates(sql), name, "{sql}");
        }
    }
}
