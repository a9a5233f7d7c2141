//! Settings that would make work faster than the plan says, read from sessions of the load: when one is opened, when its user
//! ends, and from another one after the run. A statement, or a function that it calls, may have changed them.
use crate::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub type Values = BTreeMap<String, String>;

/// The most sessions that are read.
pub const SESSIONS_READ: u64 = 64;
/// Values that say which server it is: nodes of a cluster may have settings of their own.
const SERVER: [&str; 3] = ["hostname", "port", "server"];

#[derive(Debug, Default)]
pub struct Settings {
    opened: AtomicU64,
    /// By server, as a session had them when it was opened.
    first: Mutex<BTreeMap<String, Values>>,
    /// Names, and what they were at some user's end.
    changed: Mutex<Values>,
}

pub async fn read(session: &mut AnySql) -> Result<Values, OpError> {
    let query = session.dialect().settings;
    let mut found = Values::new();
    if query.is_empty() {
        return Ok(found);
    }
    let mut each = |row: &RowBuf| {
        if let (Some(name), Some(value)) = (row.cell(0), row.cell(1)) {
            found.insert(name.to_string(), value.to_string());
        }
    };
    session.query_text(query, &mut each).await?;
    Ok(found)
}

fn server(values: &Values) -> String {
    let all = SERVER.iter().filter_map(|name| values.get(*name));
    all.map(String::as_str).collect::<Vec<_>>().join(":")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Settings {
    pub async fn opened(&self, session: &mut AnySql) -> Result<(), OpError> {
        if self.opened.fetch_add(1, Relaxed) < SESSIONS_READ {
            let found = read(session).await?;
            locked(&self.first).entry(server(&found)).or_insert(found);
        }
        Ok(())
    }

    pub async fn ended(&self, session: &mut AnySql) -> Result<(), OpError> {
        let found = read(session).await?;
        let changed = changed(&locked(&self.first), &found);
        locked(&self.changed).extend(changed);
        Ok(())
    }

    /// When sessions were opened, and those that were others later.
    pub fn evidence(&self) -> (BTreeMap<String, Values>, Values) {
        (locked(&self.first).clone(), locked(&self.changed).clone())
    }
}

/// What is otherwise now, on the same server.
fn changed(first: &BTreeMap<String, Values>, now: &Values) -> Values {
    let Some(first) = first.get(&server(now)) else {
        return Values::new();
    };
    let other = |(name, value): &(&String, &String)| first.get(*name).is_some_and(|first| first != *value);
    let owned = |(name, value): (&String, &String)| (name.clone(), value.clone());
    now.iter().filter(other).map(owned).collect()
}

/// Names what has changed since the load's sessions were opened, if anything has; `now`: of a session that was opened after
/// the run.
pub fn fault(first: &BTreeMap<String, Values>, at_end: &Values, now: &Values) -> Option<Check> {
    let mut all = changed(first, now);
    all.extend(at_end.clone());
    let before = |name: &String| {
        first
            .values()
            .find_map(|values| values.get(name))
            .cloned()
            .unwrap_or_default()
    };
    let list = |value: &dyn Fn(&String) -> String| {
        let words: Vec<String> = all
            .keys()
            .map(|name| format!("{name} = {}", value(name)))
            .collect();
        words.join(", ")
    };
    (!all.is_empty()).then(|| Check {
        name: "settings of the load's sessions".into(),
        ok: false,
        expected: list(&before),
        actual: list(&|name| all.get(name).cloned().unwrap_or_default()),
        evidence: vec![],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(all: &[(&str, &str)]) -> Values {
        all.iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    #[test]
    fn a_setting_that_a_session_or_a_later_one_has_otherwise_is_named() {
        let of_server =
            |server, level| values(&[("server", server), ("fsync", "on"), ("synchronous_commit", level)]);
        let first = BTreeMap::from([
            ("a".to_owned(), of_server("a", "on")),
            ("b".to_owned(), of_server("b", "off")),
        ]);
        assert_eq!(fault(&first, &Values::new(), &of_server("a", "on")), None);
        assert_eq!(fault(&first, &Values::new(), &of_server("b", "off")), None);
        let off = values(&[("synchronous_commit", "off")]);
        for found in [
            fault(&first, &off, &of_server("a", "on")),
            fault(&first, &Values::new(), &of_server("a", "off")),
        ] {
            let found = found.unwrap();
            assert_eq!((found.ok, &*found.expected), (false, "synchronous_commit = on"));
            assert_eq!(found.actual, "synchronous_commit = off");
        }
    }
}
