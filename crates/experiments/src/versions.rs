//! Versions of a few keys, as everybody who looks for old reads writes and reads them. The judge:
//! `bakeoff_histories::register`.
use crate::actor::{ended, open};
use crate::shared::{Table, found, history};
use crate::{Stage, defect};
use bakeoff_histories::record::{Answer, MicroOp, Outcome as Ended, Phase, Record};
use bakeoff_histories::register::{Claims, judge};
use bakeoff_measure::words;
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::sql::{Ask, SqlSession, Statement};
use bakeoff_model::time::now_ns;
use bakeoff_model::value::Value;

pub const TABLE: &str = "bakeoff_probe";
/// That any session reads.
pub const KEYS: u64 = 16;

/// Makes the table with this many keys, each with 0 as its value, on every node.
pub fn make<'a>(stage: &'a Stage, setup: &'a [String], keys: u64) -> Result<Table<'a>, Trouble> {
    let rows: Vec<String> = (0..keys).map(|id| format!("({id}, 0)")).collect();
    let insert = format!("INSERT INTO {TABLE} (id, value) VALUES {}", rows.join(", "));
    let table = Table {
        stage,
        setup,
        name: TABLE,
    };
    table.create("value BIGINT NOT NULL", &[insert], keys)?;
    Ok(table)
}

pub fn claims(claims: &serde_json::Value, key: &str) -> Result<Claims, Trouble> {
    serde_json::from_value(claims.clone())
        .map_err(|error| words::usage(error.to_string(), key, "see docs/method/histories.md"))
}

/// A session on one node: a place in the system's list of endpoints.
pub struct At {
    pub node: usize,
    pub is_lost: bool,
    session: AnySql,
    read: Statement,
    write: Statement,
}

impl At {
    pub async fn open(
        stage: &Stage,
        client: &dyn AnyClient<AnySql>,
        setup: &[String],
        node: usize,
    ) -> Result<Self, Trouble> {
        let mut session = open(stage, client, node, setup).await?;
        let (first, second) = (session.dialect().placeholder(1), session.dialect().placeholder(2));
        let read = format!("SELECT value FROM {TABLE} WHERE id = {first}");
        let write = format!("UPDATE {TABLE} SET value = {first} WHERE id = {second}");
        let refuse = |e: OpError| words::server_trouble(&e, &stage.spec.driver, "preparing a statement");
        Ok(Self {
            read: session.prepare(&Ask::read(&read)).await.map_err(refuse)?,
            write: session.prepare(&Ask::write(&write)).await.map_err(refuse)?,
            is_lost: false,
            node,
            session,
        })
    }

    pub async fn write(&mut self, key: u64, version: i64) -> Ended {
        let params = [Value::Int(version), Value::Int(key as i64)];
        match self.session.execute(self.write, &params).await.and_then(found) {
            Ok(()) => Ended::Ok,
            Err(error) => {
                self.is_lost |= error.connection_lost;
                ended(&error)
            }
        }
    }

    pub async fn read(&mut self, key: u64) -> (Ended, MicroOp) {
        let found = self.session.query_one(self.read, &[Value::Int(key as i64)]).await;
        let value = found.map(|row| row.and_then(|row| row.cell(0)).and_then(Value::whole_number));
        match value {
            // Version 0 is the row before any write.
            Ok(None | Some(0)) => (Ended::Ok, MicroOp::Read(key, Answer::Nothing)),
            Ok(Some(version)) => (Ended::Ok, MicroOp::Read(key, Answer::Value(version))),
            Err(error) => {
                self.is_lost |= error.connection_lost;
                (Ended::Fail, MicroOp::Unanswered(key))
            }
        }
    }
}

/// What one session did on one node, as of now; `index`: how much it had done before.
pub fn record(
    session: u32,
    node: usize,
    index: usize,
    call_ns: u64,
    (outcome, op): (Ended, MicroOp),
) -> Record {
    Record {
        session,
        node: node as u32,
        index: index as u64,
        phase: Phase::Load,
        outcome,
        call_ns: call_ns as i64,
        return_ns: now_ns() as i64,
        ops: vec![op],
    }
}

/// The judge's report.
pub fn judged(records: &[Record], claims: &Claims) -> Result<serde_json::Value, Trouble> {
    let place = "staleness";
    let report =
        judge(&history(records, place)?, claims).map_err(|error| defect(error.to_string(), place))?;
    serde_json::to_value(report).map_err(|error| defect(error.to_string(), place))
}
