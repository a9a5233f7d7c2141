//! Statements that make tables, and those that follow when all rows are there: cut as scripts are, carried out one by one.
use super::long;
use crate::prelude::*;
use crate::script;
use crate::trouble::refuse;
use bakeoff_model::run::sql::{SqlSpec, TextFile};
use std::borrow::Cow;
use std::collections::HashSet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub sql: String,
    /// "shop.sql, line 3"
    pub place: String,
}

/// What is made before rows are loaded and after it, for systems of one dialect.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    pub make: Vec<Statement>,
    pub after_load: Vec<Statement>,
    /// In the order in which they are made.
    pub tables: Vec<String>,
}

impl Schema {
    pub fn new(spec: &SqlSpec, dialect: &str) -> Result<Self, Trouble> {
        let mut made = Self::default();
        let mut found: Vec<String> = vec![];
        if let Some(schema) = &spec.schema {
            let file = schema.of(dialect).ok_or_else(|| no_variant("schema", dialect))?;
            let all = statements("schema", file)?;
            for statement in &all {
                let made = created(&words(&statement.sql));
                found.extend(made.map_err(|what| refused("schema", statement, &what))?);
            }
            made.make = all;
            if found.is_empty() {
                let what = format!("{} makes no table", file.name);
                return Err(refuse(
                    "schema",
                    what,
                    "it has statements such as CREATE TABLE customers (...)",
                ));
            }
        }
        if let Some(after) = &spec.after_load {
            let file = after
                .of(dialect)
                .ok_or_else(|| no_variant("after_load", dialect))?;
            made.after_load = statements("after_load", file)?;
        }
        made.tables = tables(spec, found)?;
        Ok(made)
    }
}

/// Those that the schema makes, and those that the plan names; without either, those that are loaded.
fn tables(spec: &SqlSpec, found: Vec<String>) -> Result<Vec<String>, Trouble> {
    let loaded: Vec<&String> = spec.load.keys().collect();
    let mut tables = found;
    let mut known: HashSet<String> = tables.iter().cloned().collect();
    tables.extend(
        spec.tables
            .iter()
            .filter(|name| known.insert((*name).clone()))
            .cloned(),
    );
    if tables.is_empty() {
        tables = loaded.iter().map(|name| (*name).clone()).collect();
    }
    if tables.is_empty() {
        let what = "no table is named: neither `schema` nor `load` nor `tables` says one";
        return Err(refuse(
            "tables",
            what,
            "name those that the scripts use: tables = [\"customers\"]",
        ));
    }
    let known: HashSet<String> = tables.iter().map(|name| name.to_ascii_lowercase()).collect();
    for name in tables.iter().chain(loaded) {
        if !is_plain(name) {
            let what = format!("a table cannot have the name {name:?}");
            return Err(refuse(
                "tables",
                what,
                "a name has letters, digits and _, and needs no quotes",
            ));
        }
        if !known.contains(&name.to_ascii_lowercase()) {
            let what = format!("rows are loaded into `{name}`, which is not one of the tables");
            return Err(refuse("load", what, format!("those are {}", tables.join(", "))));
        }
    }
    Ok(tables)
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub fn no_variant(option: &str, dialect: &str) -> Trouble {
    let what = format!("`{option}` has no file for {dialect}");
    let hint = format!("add {dialect} = \"FILE\", or file = \"FILE\" for every other system");
    refuse(option, what, hint)
}

fn refused(option: &str, statement: &Statement, what: &str) -> Trouble {
    let hint = "a schema makes tables of its own: names of letters, digits and _ that need no quotes and stand alone";
    refuse(option, format!("{}: {what}", statement.place), hint)
}

fn statements(option: &str, file: &TextFile) -> Result<Vec<Statement>, Trouble> {
    long::check_bytes(option, file)?;
    let found = script::statements(&file.name, &file.text)
        .map_err(|error| refuse(option, error.to_string(), error.hint.clone()))?;
    long::check_statements(option, file, found.len())?;
    let placed = |plain: script::Plain| Statement {
        sql: plain.sql,
        place: format!("{}, line {}", file.name, plain.line),
    };
    Ok(found.into_iter().map(placed).collect())
}

/// Words and signs of a statement without comments, and names without their quotes.
fn words(sql: &str) -> Vec<&str> {
    let mut found = vec![];
    let mut rest = sql.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, rest)| rest.trim_start());
            continue;
        }
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            '"' | '`' | '\'' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            c if is_name(c) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        found.push(rest[..length].trim_matches(['"', '`']));
        rest = rest[length..].trim_start();
    }
    found
}

/// Of the statements of a file those that may change rows, for a name of what is in them: others only say how rows are
/// stored.
pub fn changes_of_rows(file: &TextFile) -> Result<String, Trouble> {
    let all = statements("after_load", file)?;
    let changing = all.iter().filter(|one| !is_form(&words(&one.sql)));
    Ok(changing
        .map(|one| one.sql.as_str())
        .collect::<Vec<_>>()
        .join(";\n"))
}

const KEYS: &[&str] = &[
    "index",
    "key",
    "unique",
    "primary",
    "foreign",
    "constraint",
    "fulltext",
    "spatial",
];

/// Whether a statement makes or drops an index or a key, or collects statistics, and does nothing else.
fn is_form(words: &[&str]) -> bool {
    let is = |word: &str, among: &[&str]| among.iter().any(|one| word.eq_ignore_ascii_case(one));
    match words {
        [first, ..] if is(first, &["analyze", "vacuum", "reindex", "optimize"]) => true,
        [first, rest @ ..] if is(first, &["create", "drop"]) => {
            let rest = &rest[rest
                .iter()
                .take_while(|word| is(word, &["unique", "fulltext", "spatial"]))
                .count()..];
            rest.first().is_some_and(|word| is(word, &["index"]))
        }
        [first, second, rest @ ..] if is(first, &["alter"]) && is(second, &["table"]) => {
            let begins = |word: &str| {
                is(
                    word,
                    &["add", "drop", "alter", "modify", "change", "rename", "set"],
                )
            };
            let clauses = rest.iter().enumerate().filter(|(_, word)| begins(word));
            let mut clauses = clauses.peekable();
            clauses.peek().is_some()
                && clauses.all(|(place, word)| {
                    is(word, &["add", "drop"]) && rest.get(place + 1).is_some_and(|next| is(next, KEYS))
                })
        }
        _ => false,
    }
}

/// What follows these keywords, if it begins with them.
fn after<'w, 't>(words: &'w [&'t str], keywords: &[&str]) -> Option<&'w [&'t str]> {
    let pairs = words.iter().zip(keywords);
    let begins = words.len() >= keywords.len() && pairs.into_iter().all(|(a, b)| a.eq_ignore_ascii_case(b));
    begins.then(|| &words[keywords.len()..])
}

/// The table that a statement makes, if it makes one that stays.
fn created(words: &[&str]) -> Result<Option<String>, String> {
    let Some(rest) = after(words, &["create"]) else {
        return Ok(None);
    };
    let rest = after(rest, &["unlogged"]).unwrap_or(rest);
    let Some(rest) = after(rest, &["table"]) else {
        return Ok(None);
    };
    match after(rest, &["if", "not", "exists"]).unwrap_or(rest) {
        [schema, ".", table, ..] => Err(format!(
            "the plan says in which schema tables lie, not {schema}.{table}"
        )),
        [table, ..] if is_plain(table) => Ok(Some((*table).to_owned())),
        [other, ..] => Err(format!("a table cannot have the name {other:?}")),
        [] => Err("a table has no name".into()),
    }
}

/// A failed statement, with where it stands.
pub fn failed(statement: &Statement, error: &OpError) -> Trouble {
    let what = format!("a statement of the schema failed: {error}");
    let hint = "see the server's message; the user needs the right to create tables in this schema";
    Trouble::new(TroubleKind::Server, what, statement.place.clone(), hint)
}

/// A table that is made gets what the system appends to all, on a line of its own: the statement may end in a comment.
fn with_suffix<'s>(sql: &'s str, suffix: &str) -> Cow<'s, str> {
    match created(&words(sql)) {
        Ok(Some(_)) if !suffix.is_empty() => Cow::Owned(format!("{sql}\n{suffix}")),
        _ => Cow::Borrowed(sql),
    }
}

/// In their order; the first that fails ends it.
pub async fn make(session: &mut AnySql, statements: &[Statement]) -> Result<(), Trouble> {
    for statement in statements {
        let sql = with_suffix(&statement.sql, session.dialect().table_suffix);
        let done = session.execute_text(&sql).await;
        done.map_err(|error| failed(statement, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema(text: &str) -> Result<Schema, Trouble> {
        let spec = json!({
            "schema": {"file": {"name": "shop.sql", "text": text}},
            "after_load": {"file": {"name": "after.sql", "text": "CREATE INDEX i ON a (x);\n-- done\n"}}
        });
        Schema::new(&serde_json::from_value(spec).unwrap(), "sqlite")
    }

    #[test]
    fn only_tables_get_what_the_system_appends_to_them() {
        let table = "CREATE TABLE a (x int) -- the first";
        assert_eq!(with_suffix(table, " ENGINE=X"), format!("{table}\n ENGINE=X"));
        assert_eq!(with_suffix(table, ""), table);
        let index = "CREATE INDEX i ON a (x)";
        assert_eq!(with_suffix(index, " ENGINE=X"), index);
    }

    #[test]
    fn statements_are_cut_and_the_tables_that_they_make_are_known() {
        let made = schema(
            "-- the shop\nDROP TABLE IF EXISTS b, a;\nCREATE TABLE a (x int, t text DEFAULT ';');\n\
             create unlogged table if not exists `b`(y int);\nINSERT INTO a VALUES (1, 'CREATE TABLE d')",
        )
        .unwrap();
        assert_eq!(made.tables, ["a", "b"]);
        assert_eq!(made.make.len(), 4);
        assert_eq!(
            made.make[1],
            Statement {
                sql: "CREATE TABLE a (x int, t text DEFAULT ';')".into(),
                place: "shop.sql, line 3".into()
            }
        );
        assert_eq!(made.after_load[0].sql, "CREATE INDEX i ON a (x)");
        assert_eq!(made.after_load.len(), 1);
    }

    #[test]
    fn what_is_no_schema_is_refused_with_its_line() {
        for (text, what) in [
            ("SELECT 1;", "shop.sql makes no table"),
            (
                "CREATE TABLE public.a (x int)",
                "shop.sql, line 1: the plan says in which schema tables lie, not public.a",
            ),
            (
                "CREATE TABLE \"two words\" (x int)",
                "shop.sql, line 1: a table cannot have the name \"two words\"",
            ),
            (
                "CREATE TABLE a (x int);\n\\set x 1",
                "shop.sql, line 2, column 1 (\\set x 1): \\set is in a file of plain statements",
            ),
        ] {
            let refusal = schema(text).unwrap_err();
            assert_eq!(
                (refusal.what.as_str(), refusal.place.as_str()),
                (what, "workload.schema"),
                "{text}"
            );
        }
        let open = schema("CREATE TABLE a (x text DEFAULT 'no end);").unwrap_err();
        assert!(
            open.what.starts_with("shop.sql, line 1, column 32"),
            "{}",
            open.what
        );
    }

    #[test]
    fn tables_are_those_of_the_plan_or_of_the_load_where_no_schema_makes_them() {
        let named = |spec| Schema::new(&serde_json::from_value(spec).unwrap(), "mysql");
        let load = json!({"a": {"rows": 1, "columns": {"x": "row"}}});
        assert_eq!(named(json!({"load": load})).unwrap().tables, ["a"]);
        assert_eq!(
            named(json!({"tables": ["A", "b"], "load": load})).unwrap().tables,
            ["A", "b"]
        );
        let made = json!({"schema": {"file": {"name": "s.sql", "text": "CREATE TABLE a (x int)"}}, "tables": ["b", "a"]});
        assert_eq!(named(made).unwrap().tables, ["a", "b"]);
        let what = |spec| named(spec).unwrap_err().what;
        assert_eq!(
            what(json!({"tables": ["b"], "load": load})),
            "rows are loaded into `a`, which is not one of the tables"
        );
        assert_eq!(
            what(json!({"tables": ["x;"]})),
            "a table cannot have the name \"x;\""
        );
        assert_eq!(
            what(json!({})),
            "no table is named: neither `schema` nor `load` nor `tables` says one"
        );
        let postgresql =
            json!({"schema": {"postgresql": {"name": "p.sql", "text": "CREATE TABLE a (x int)"}}});
        assert_eq!(what(postgresql), "`schema` has no file for mysql");
    }
}
