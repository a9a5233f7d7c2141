//! Versions in rows of SQL.
use super::{TABLE, Versions};
use crate::actor::rows_of;
use crate::shared::{Own, Table, found};
use crate::{Stage, actor};
use bakeoff_measure::words;
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::needs::Needs;
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::sql::{Ask, SqlSession, Statement};
use bakeoff_model::value::Value;
use std::collections::BTreeMap;
use std::ops::Range;

pub struct Prepared {
    read: Statement,
    write: Statement,
}

fn table<'a>(stage: &'a Stage, setup: &'a [String]) -> Table<'a> {
    Table {
        stage,
        setup,
        name: TABLE,
    }
}

impl Versions for AnySql {
    type Prepared = Prepared;
    const ADDS: bool = true;

    fn needs() -> Needs {
        actor::NEEDS
    }

    async fn open(
        stage: &Stage,
        client: &dyn AnyClient<Self>,
        setup: &[String],
        node: usize,
    ) -> Result<(Self, Prepared), Trouble> {
        let mut session = actor::open(stage, client, node, setup).await?;
        let (first, second) = (session.dialect().placeholder(1), session.dialect().placeholder(2));
        let read = format!("SELECT value FROM {TABLE} WHERE id = {first}");
        let write = format!("UPDATE {TABLE} SET value = {first} WHERE id = {second}");
        let refuse = |e: OpError| words::server_trouble(&e, &stage.spec.driver, "preparing a statement");
        let prepared = Prepared {
            read: session.prepare(&Ask::read(&read)).await.map_err(refuse)?,
            write: session.prepare(&Ask::write(&write)).await.map_err(refuse)?,
        };
        Ok((session, prepared))
    }

    async fn write_version(&mut self, prepared: &Prepared, key: u64, version: i64) -> Result<(), OpError> {
        let params = [Value::Int(version), Value::Int(key as i64)];
        let done = self.execute(prepared.write, &params).await?;
        found(done.affected)
    }

    async fn read_version(&mut self, prepared: &Prepared, key: u64) -> Result<Option<i64>, OpError> {
        let row = self.query_one(prepared.read, &[Value::Int(key as i64)]).await?;
        Ok(row.and_then(|row| row.cell(0)).and_then(Value::whole_number))
    }

    async fn add(&mut self, key: u64, amount: i64) -> Result<(), OpError> {
        let sql = format!("UPDATE {TABLE} SET value = value + {amount} WHERE id = {key}");
        found(self.execute_text(&sql).await?.affected)
    }

    async fn delete_key(&mut self, key: u64) -> Result<(), OpError> {
        let sql = format!("DELETE FROM {TABLE} WHERE id = {key}");
        found(self.execute_text(&sql).await?.affected)
    }

    async fn read_keys(&mut self, _: &Prepared, keys: Range<u64>) -> Result<BTreeMap<u64, i64>, OpError> {
        let Range { start, end } = keys;
        let sql = format!("SELECT id, value FROM {TABLE} WHERE id >= {start} AND id < {end} ORDER BY id");
        let mut rows = BTreeMap::new();
        for (id, value) in rows_of(self, &sql).await? {
            rows.insert(id as u64, value);
        }
        Ok(rows)
    }

    fn create_keys(stage: &Stage, setup: &[String], keys: u64) -> Result<(), Trouble> {
        let rows: Vec<String> = (0..keys).map(|id| format!("({id}, 0)")).collect();
        let insert = format!("INSERT INTO {TABLE} (id, value) VALUES {}", rows.join(", "));
        table(stage, setup).create("value BIGINT NOT NULL", &[insert], keys)
    }

    fn drop_keys(stage: &Stage, setup: &[String]) -> Result<(), Trouble> {
        table(stage, setup).drop()
    }
}
