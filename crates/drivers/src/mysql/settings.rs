//! What a session is asked to be (isolation, variables): set in one statement each, and read back, because servers
//! clamp values and ignore some of them with a warning nobody sees.
use bakeoff_model::outcome::{FailClass, OpError, Trouble, TroubleKind};
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::transaction::Access;
use std::collections::{BTreeMap, BTreeSet};

pub struct Settings {
    /// As the server writes it: `READ-COMMITTED`.
    isolation: Option<&'static str>,
    set_isolation: Option<String>,
    variables: Vec<(String, String)>,
    set_variables: Option<String>,
    read_variables: Option<String>,
}

impl Settings {
    pub fn new(variables: &BTreeMap<String, String>, isolation: Option<Isolation>) -> Result<Self, Trouble> {
        let isolation = isolation
            .map(|level| isolation_name(level).ok_or_else(|| usage(NO_SNAPSHOT.into())))
            .transpose()?;
        for name in variables.keys() {
            let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !plain {
                return Err(usage(format!("{name:?} is not the name of a session variable")));
            }
        }
        let list = |each: &dyn Fn(&String, &String) -> String| {
            let all: Vec<String> = variables.iter().map(|(name, value)| each(name, value)).collect();
            (!all.is_empty()).then(|| all.join(", "))
        };
        Ok(Self {
            isolation,
            set_isolation: isolation.map(|level| set_isolation(" SESSION", level)),
            set_variables: list(&|name, value| format!("@@SESSION.{name} = {}", literal(value)))
                .map(|assignments| format!("SET {assignments}")),
            read_variables: list(&|name, _| format!("@@SESSION.{name}"))
                .map(|columns| format!("SELECT {columns}")),
            variables: variables
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        })
    }

    /// Sets them, and reads back what they are then.
    pub async fn apply(&self, session: &mut impl SqlSession) -> Result<(), OpError> {
        if let (Some(asked), Some(sql)) = (self.isolation, &self.set_isolation) {
            session.execute_text(sql).await?;
            let level = read_isolation(session).await?;
            if !level.eq_ignore_ascii_case(asked) {
                return Err(refused(format!(
                    "isolation did not take effect: asked for {asked}, the server says {level}"
                )));
            }
        }
        if let (Some(set), Some(read)) = (&self.set_variables, &self.read_variables) {
            session.execute_text(set).await?;
            self.check_variables(session, read).await?;
        }
        Ok(())
    }

    async fn check_variables(&self, session: &mut impl SqlSession, read: &str) -> Result<(), OpError> {
        let actual = first_row(session, read).await?;
        for ((name, asked), actual) in self.variables.iter().zip(&actual) {
            if !same(name, asked, actual) {
                return Err(refused(format!(
                    "session variable {name} did not take effect: asked for {asked}, the server says {actual}"
                )));
            }
        }
        Ok(())
    }
}

async fn first_row(session: &mut impl SqlSession, sql: &str) -> Result<Vec<String>, OpError> {
    let mut cells = Vec::new();
    session
        .query_text(sql, &mut |row| {
            cells = row.cells().map(|cell| cell.to_string()).collect()
        })
        .await?;
    Ok(cells)
}

/// Older servers and MariaDB below 11.1 know only `tx_isolation`, MySQL from 8.0 only `transaction_isolation`.
async fn read_isolation(session: &mut impl SqlSession) -> Result<String, OpError> {
    const UNKNOWN_VARIABLE: &str = "1193";
    let level = match first_row(session, "SELECT @@SESSION.transaction_isolation").await {
        Err(error) if error.code == UNKNOWN_VARIABLE => {
            first_row(session, "SELECT @@SESSION.tx_isolation").await?
        }
        level => level?,
    };
    Ok(level.into_iter().next().unwrap_or_default())
}

/// Begins a transaction. That it will only read is not said: it makes no difference here, and servers before 5.6 do not
/// know the words.
pub async fn begin(session: &mut impl SqlSession, access: Access) -> Result<(), OpError> {
    if let Some(level) = access.isolation {
        let name = isolation_name(level).ok_or_else(|| refused(NO_SNAPSHOT.into()))?;
        session.execute_text(&set_isolation("", name)).await?;
    }
    session.execute_text("START TRANSACTION").await.map(drop)
}

/// `scope`: ` SESSION`, or nothing for the transaction that follows.
fn set_isolation(scope: &str, level: &str) -> String {
    format!(
        "SET{scope} TRANSACTION ISOLATION LEVEL {}",
        level.replace('-', " ")
    )
}

const NO_SNAPSHOT: &str = "MariaDB and MySQL have no isolation level named snapshot";

/// As `@@transaction_isolation` has it.
fn isolation_name(level: Isolation) -> Option<&'static str> {
    match level {
        Isolation::ReadUncommitted => Some("READ-UNCOMMITTED"),
        Isolation::ReadCommitted => Some("READ-COMMITTED"),
        Isolation::RepeatableRead => Some("REPEATABLE-READ"),
        Isolation::Serializable => Some("SERIALIZABLE"),
        Isolation::Snapshot => None,
    }
}

fn usage(what: String) -> Trouble {
    Trouble::new(
        TroubleKind::Usage,
        what,
        "mysql driver",
        "name a session variable of the server, or one of the isolation levels read-uncommitted, read-committed, \
         repeatable-read, serializable",
    )
}

fn refused(message: String) -> OpError {
    OpError::fail(FailClass::Refused, "SETTING", message)
}

/// A number stays a number (a quoted one is refused), all else is text.
fn literal(value: &str) -> String {
    if value.parse::<i64>().is_ok() || value.parse::<f64>().is_ok_and(f64::is_finite) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

/// Whether the server's spelling of a value means what was asked for.
fn same(name: &str, asked: &str, actual: &str) -> bool {
    let boolean = |value: &str| match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" => "1".to_owned(),
        "off" | "false" | "no" => "0".to_owned(),
        other => other.to_owned(),
    };
    let (asked, actual) = (boolean(asked.trim()), boolean(actual.trim()));
    let numbers = (asked.parse::<f64>(), actual.parse::<f64>());
    if let (Ok(asked), Ok(actual)) = numbers {
        return asked == actual;
    }
    if name.eq_ignore_ascii_case("sql_mode") && !asked.is_empty() {
        // A set, to which some modes add others.
        let modes = |value: &str| {
            value
                .split(',')
                .map(|mode| mode.trim().to_owned())
                .collect::<BTreeSet<_>>()
        };
        return modes(&asked).is_subset(&modes(&actual));
    }
    asked == actual
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_writes_differently_is_the_same() {
        for (name, asked, actual) in [
            ("max_statement_time", "10", "10.000000"),
            ("autocommit", "ON", "1"),
            ("sql_mode", "STRICT_ALL_TABLES", "strict_all_tables,no_zero_date"),
            ("tx_isolation", "read-committed", "READ-COMMITTED"),
        ] {
            assert!(same(name, asked, actual), "{name}");
        }
        assert!(!same("sort_buffer_size", "100", "1024"));
        assert!(!same("sql_mode", "", "STRICT_ALL_TABLES"));
    }

    #[test]
    fn values_are_quoted_and_names_are_checked() {
        assert_eq!(literal("5"), "5");
        assert_eq!(literal("0.5"), "0.5");
        assert_eq!(literal("a'b\\"), "'a''b\\\\'");
        let name = BTreeMap::from([("a = 1, b".to_owned(), "1".to_owned())]);
        assert!(Settings::new(&name, None).is_err());
        assert!(Settings::new(&BTreeMap::new(), Some(Isolation::Snapshot)).is_err());
    }
}
