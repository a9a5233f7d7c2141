//! Pragmas of a connection: set, and read back, because SQLite ignores in silence what it does not know or cannot do.
use super::errors::op_error;
use bakeoff_model::outcome::{FailClass, OpError};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// These shape the file, so they come before those that write to it.
const FIRST: [&str; 3] = ["auto_vacuum", "encoding", "page_size"];

/// Sets every pragma that does not have its value yet. `patience`: how long to wait while another connection changes
/// the journal mode (the busy handler is not called for that).
pub fn apply(
    connection: &Connection,
    path: &str,
    pragmas: &BTreeMap<String, String>,
    patience: Duration,
) -> Result<(), OpError> {
    let early = |name: &&String| FIRST.contains(&name.as_str());
    let (first, rest): (Vec<_>, Vec<_>) = pragmas.keys().partition(early);
    for name in first.into_iter().chain(rest) {
        apply_one(connection, name, &pragmas[name], patience).map_err(|mut error| {
            error.message = format!("{path}: {}", error.message);
            error
        })?;
    }
    Ok(())
}

fn apply_one(connection: &Connection, name: &str, asked: &str, patience: Duration) -> Result<(), OpError> {
    let Some(before) = read(connection, name)? else {
        return Err(refused(format!(
            "pragma {name} is unknown to this SQLite, or cannot be read back"
        )));
    };
    if same(name, asked, &before) {
        return Ok(());
    }
    set(connection, name, asked, patience)?;
    let after = read(connection, name)?.unwrap_or_default();
    if same(name, asked, &after) {
        return Ok(());
    }
    Err(refused(format!(
        "pragma {name} did not take effect: asked for {asked}, the database says {after}"
    )))
}

fn refused(message: String) -> OpError {
    OpError::fail(FailClass::Refused, "PRAGMA", message)
}

fn set(connection: &Connection, name: &str, asked: &str, patience: Duration) -> Result<(), OpError> {
    let until = Instant::now() + patience;
    loop {
        let outcome = match asked.parse::<i64>() {
            Ok(number) => connection.pragma_update(None, name, number),
            Err(_) => connection.pragma_update(None, name, asked),
        };
        match outcome {
            Ok(()) => return Ok(()),
            Err(error) if is_busy(&error) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => {
                let mut error = op_error(&error);
                error.message = format!("pragma {name} = {asked} could not be set: {}", error.message);
                return Err(error);
            }
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

/// The pragma's value as text; `None` if it answers nothing.
fn read(connection: &Connection, name: &str) -> Result<Option<String>, OpError> {
    let mut value = None;
    connection
        .pragma_query(None, name, |row| {
            value = match row.get_ref(0)? {
                ValueRef::Null => None,
                ValueRef::Integer(number) => Some(number.to_string()),
                ValueRef::Real(number) => Some(number.to_string()),
                ValueRef::Text(text) | ValueRef::Blob(text) => {
                    Some(String::from_utf8_lossy(text).into_owned())
                }
            };
            Ok(())
        })
        .map_err(|error| op_error(&error))?;
    Ok(value)
}

/// Whether two spellings of a pragma's value mean the same (`2` and `FULL`, `on` and `1`, `wal` and `WAL`).
fn same(name: &str, a: &str, b: &str) -> bool {
    canonical(name, a) == canonical(name, b)
}

fn canonical(name: &str, value: &str) -> String {
    let value = value.trim().to_ascii_lowercase();
    let words: &[&str] = match name.to_ascii_lowercase().as_str() {
        "synchronous" => &["off", "normal", "full", "extra"],
        "temp_store" => &["default", "file", "memory"],
        "auto_vacuum" => &["none", "full", "incremental"],
        "secure_delete" => &["off", "on", "fast"],
        // Their words are their values.
        "journal_mode" | "locking_mode" | "encoding" => return value,
        _ => &[],
    };
    if let Some(number) = words.iter().position(|word| *word == value) {
        return number.to_string();
    }
    match value.as_str() {
        "on" | "yes" | "true" => "1".to_owned(),
        "off" | "no" | "false" => "0".to_owned(),
        _ => value.parse::<i64>().map_or(value, |number| number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_value_are_the_same() {
        for (name, a, b) in [
            ("synchronous", "FULL", "2"),
            ("synchronous", "off", "0"),
            ("journal_mode", "WAL", "wal"),
            ("foreign_keys", "ON", "1"),
            ("temp_store", "memory", "2"),
            ("cache_size", "-2000", "-2000"),
        ] {
            assert!(same(name, a, b), "{name}: {a} and {b}");
        }
        assert!(!same("synchronous", "FULL", "1"));
        assert!(!same("journal_mode", "WAL", "delete"));
    }

    #[test]
    fn a_pragma_that_did_not_take_effect_is_named() {
        let connection = Connection::open_in_memory().unwrap();
        let asked = BTreeMap::from([("journal_mode".to_owned(), "WAL".to_owned())]);
        let error = apply(&connection, ":memory:", &asked, Duration::ZERO).unwrap_err();
        assert!(
            error.message.contains("journal_mode") && error.message.contains("memory"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_pragma_is_an_error() {
        let connection = Connection::open_in_memory().unwrap();
        let asked = BTreeMap::from([("synchronouss".to_owned(), "FULL".to_owned())]);
        let error = apply(&connection, ":memory:", &asked, Duration::ZERO).unwrap_err();
        assert!(error.message.contains("synchronouss"), "{error}");
    }
}
