//! What a session is asked to be: its isolation, which is read back, and its variables. A variable's value is either
//! taken or refused by the server, which clamps none; read back it is written in other units (`64MB` for `65536kB`).
use super::options::DRIVER;
use bakeoff_model::outcome::{FailClass, OpError, Trouble, TroubleKind};
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::transaction::Access;
use std::collections::BTreeMap;

pub struct Settings {
    /// As the server writes it: `read committed`.
    isolation: Option<&'static str>,
    set_variables: Option<String>,
}

impl Settings {
    pub fn new(variables: &BTreeMap<String, String>, isolation: Option<Isolation>) -> Result<Self, Trouble> {
        let set = |(name, value): (&String, &String)| {
            format!("set_config({}, {}, false)", literal(name), literal(value))
        };
        let all: Vec<String> = variables.iter().map(set).collect();
        Ok(Self {
            isolation: isolation
                .map(|level| isolation_name(level).ok_or_else(no_such_level))
                .transpose()?,
            set_variables: (!all.is_empty()).then(|| format!("SELECT {}", all.join(", "))),
        })
    }

    /// Sets them, and reads back the isolation.
    pub async fn apply(&self, session: &mut impl SqlSession) -> Result<(), OpError> {
        if let Some(sql) = &self.set_variables {
            session.query_text(sql, &mut |_| {}).await?;
        }
        let Some(asked) = self.isolation else {
            return Ok(());
        };
        let set = format!(
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {}",
            asked.to_uppercase()
        );
        session.execute_text(&set).await?;
        let mut level = String::new();
        let mut each = |row: &bakeoff_model::row::RowBuf| {
            level = row.cell(0).map(|level| level.to_string()).unwrap_or_default();
        };
        session
            .query_text("SHOW transaction_isolation", &mut each)
            .await?;
        if level != asked {
            let what = format!("isolation did not take effect: asked for {asked}, the server says {level}");
            return Err(OpError::fail(FailClass::Refused, "SETTING", what));
        }
        Ok(())
    }
}

/// Begins a transaction. That it will only read is not said, as pgbench and sysbench do not.
pub async fn begin(session: &mut impl SqlSession, access: Access) -> Result<(), OpError> {
    let begin = match access.isolation {
        None => "BEGIN".to_owned(),
        Some(level) => {
            let name = isolation_name(level)
                .ok_or_else(|| OpError::fail(FailClass::Refused, "ISOLATION", NO_SUCH_LEVEL))?;
            format!("BEGIN ISOLATION LEVEL {}", name.to_uppercase())
        }
    };
    session.execute_text(&begin).await.map(drop)
}

const NO_SUCH_LEVEL: &str =
    "PostgreSQL has no isolation level read-uncommitted: it takes the name, and gives read-committed";

fn no_such_level() -> Trouble {
    Trouble::new(
        TroubleKind::Usage,
        NO_SUCH_LEVEL,
        DRIVER,
        "name read-committed, repeatable-read, snapshot or serializable",
    )
}

fn isolation_name(level: Isolation) -> Option<&'static str> {
    match level {
        Isolation::ReadCommitted => Some("read committed"),
        // By whichever name: a snapshot is what the server gives, which allows no phantom, but write skew.
        Isolation::RepeatableRead | Isolation::Snapshot => Some("repeatable read"),
        Isolation::Serializable => Some("serializable"),
        Isolation::ReadUncommitted => None,
    }
}

/// Whatever `standard_conforming_strings` is.
fn literal(value: &str) -> String {
    format!("E'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_and_levels_that_do_not_exist_refused() {
        assert_eq!(literal("a'b\\"), "E'a''b\\\\'");
        assert!(Settings::new(&BTreeMap::new(), Some(Isolation::ReadUncommitted)).is_err());
        assert!(Settings::new(&BTreeMap::new(), Some(Isolation::Snapshot)).is_ok());
    }
}
