//! What a session is asked to be: its isolation, which is read back, and its variables. A variable's value is either
//! taken or refused by the server, which clamps none; read back it is written in other units (`64MB` for `65536kB`).
use super::options::DRIVER;
use bakeoff_model::outcome::{FailClass, OpError, Trouble, TroubleKind};
use bakeoff_model::row::Cell;
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::SqlSession;
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
            isolation: isolation.map(isolation_name).transpose()?,
            set_variables: (!all.is_empty()).then(|| format!("SELECT {}", all.join(", "))),
        })
    }

    /// Over either client.
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
        let mut level = Vec::new();
        let mut each = |row: &bakeoff_model::row::RowBuf| {
            if let Some(Cell::Bytes(text)) = row.cell(0) {
                level = text.to_vec();
            }
        };
        session
            .query_text("SHOW transaction_isolation", &mut each)
            .await?;
        if level != asked.as_bytes() {
            let level = String::from_utf8_lossy(&level);
            let what = format!("isolation did not take effect: asked for {asked}, the server says {level}");
            return Err(OpError::fail(FailClass::Refused, "SETTING", what));
        }
        Ok(())
    }
}

fn isolation_name(level: Isolation) -> Result<&'static str, Trouble> {
    match level {
        Isolation::ReadCommitted => Ok("read committed"),
        // By whichever name: a snapshot is what the server gives, which allows no phantom, but write skew.
        Isolation::RepeatableRead | Isolation::Snapshot => Ok("repeatable read"),
        Isolation::Serializable => Ok("serializable"),
        Isolation::ReadUncommitted => Err(Trouble::new(
            TroubleKind::Usage,
            "PostgreSQL has no isolation level read-uncommitted: it takes the name, and gives read-committed",
            DRIVER,
            "name read-committed, repeatable-read, snapshot or serializable",
        )),
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
