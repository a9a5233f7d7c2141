//! Versions in rows of SQL.
use super::{TABLE, Versions};
use crate::shared::{Own, Table, found};
use crate::{Stage, actor};
use bakeoff_measure::words;
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::needs::Needs;
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::sql::{Ask, SqlSession, Statement};
use bakeoff_model::value::Value;

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

pub fn make<'a>(stage: &'a Stage, setup: &'a [String], keys: u64) -> Result<Table<'a>, Trouble> {
    let rows: Vec<String> = (0..keys).map(|id| format!("({id}, 0)")).collect();
    let insert = format!("INSERT INTO {TABLE} (id, value) VALUES {}", rows.join(", "));
    let table = table(stage, setup);
    table.create("value BIGINT NOT NULL", &[insert], keys)?;
    Ok(table)
}

impl Versions for AnySql {
    type Prepared = Prepared;

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

    fn create_keys(stage: &Stage, setup: &[String], keys: u64) -> Result<(), Trouble> {
        make(stage, setup, keys).map(drop)
    }

    fn drop_keys(stage: &Stage, setup: &[String]) -> Result<(), Trouble> {
        table(stage, setup).drop()
    }
}
