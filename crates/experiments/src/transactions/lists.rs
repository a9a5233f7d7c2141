//! Transactions that append unique values to lists and read them, so that each read tells what had been before it.
use super::{Kind, Level, Order, Sufficiency};
use crate::shared::found;
use bakeoff_histories::History;
use bakeoff_histories::list_append::judge;
use bakeoff_histories::record::{Answer, MicroOp};
use bakeoff_model::any::AnySql;
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::random::SplitMix64;
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, SqlSession, Statement};
use bakeoff_model::value::Value;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const TABLE: &str = "bakeoff_lists";
/// Keys that transactions use at the same time: few, so that they meet.
const ACTIVE: u64 = 6;
/// Appends to a key before another one takes its place: lists stay short, and their versions traceable.
const APPENDS_PER_KEY: u64 = 80;
/// Rows of the table; when all have been used the sessions end.
const ROWS: u64 = 12_000;
const ROWS_PER_INSERT: u64 = 1_000;

/// Numbers every append, and so chooses the keys in use and makes each value unique.
#[derive(Default)]
pub struct Lists {
    appended: AtomicU64,
}

pub struct Prepared {
    read: Statement,
    append: Statement,
}

impl Kind for Lists {
    type Prepared = Prepared;

    fn name(&self) -> &'static str {
        "list_append"
    }

    fn rows(&self) -> (&'static str, Vec<String>, u64) {
        let inserts = (0..ROWS).step_by(ROWS_PER_INSERT as usize).map(|first| {
            let rows: Vec<String> = (first..first + ROWS_PER_INSERT)
                .map(|id| format!("({id}, '')"))
                .collect();
            format!("INSERT INTO {TABLE} (id, value) VALUES {}", rows.join(", "))
        });
        ("value TEXT NOT NULL", inserts.collect(), ROWS)
    }

    fn table(&self) -> &'static str {
        TABLE
    }

    async fn prepare(&self, session: &mut AnySql) -> Result<Prepared, OpError> {
        let dialect = session.dialect();
        let (first, second) = (dialect.placeholder(1), dialect.placeholder(2));
        let longer = match dialect.quote {
            ('`', _) => format!("CONCAT(value, {first})"), // MySQL's `||` is a logical OR
            _ => format!("value || {first}"),
        };
        let read = format!("SELECT value FROM {TABLE} WHERE id = {first}");
        let append = format!("UPDATE {TABLE} SET value = {longer} WHERE id = {second}");
        Ok(Prepared {
            read: session.prepare(&Ask::read(&read)).await?,
            append: session.prepare(&Ask::write(&append)).await?,
        })
    }

    fn draw(&self, random: &mut SplitMix64) -> Option<Vec<MicroOp>> {
        let count = 2 + random.below(3);
        let op = |_| {
            let appends = random.one_in(2);
            let number = match appends {
                true => self.appended.fetch_add(1, Relaxed),
                false => self.appended.load(Relaxed),
            };
            let key = number / (ACTIVE * APPENDS_PER_KEY) * ACTIVE + random.below(ACTIVE);
            (key < ROWS).then_some(match appends {
                true => MicroOp::Append(key, number as i64),
                false => MicroOp::Unanswered(key),
            })
        };
        (0..count).map(op).collect()
    }

    async fn execute(
        &self,
        session: &mut AnySql,
        prepared: &Prepared,
        ops: &mut Vec<MicroOp>,
    ) -> Result<(), OpError> {
        for op in ops {
            match *op {
                MicroOp::Append(key, value) => {
                    let text = format!(",{value}");
                    let params = [Value::Text(text.as_bytes()), Value::Int(key as i64)];
                    found(session.execute(prepared.append, &params).await?.affected)?;
                }
                MicroOp::Unanswered(key) => {
                    let row = session
                        .query_one(prepared.read, &[Value::Int(key as i64)])
                        .await?;
                    let list = row.and_then(|row| row.cell(0)).and_then(Value::bytes);
                    *op = MicroOp::Read(key, Answer::List(numbers(list.unwrap_or_default())?));
                }
                _ => {}
            }
        }
        Ok(())
    }

    async fn read_all(&self, session: &mut AnySql) -> Result<Vec<MicroOp>, OpError> {
        let highest = self.appended.load(Relaxed) / (ACTIVE * APPENDS_PER_KEY) * ACTIVE + ACTIVE;
        let all = format!("SELECT id, value FROM {TABLE} WHERE id < {highest} ORDER BY id");
        let statement = session.prepare(&Ask::read(&all)).await?;
        let mut ops = vec![];
        let mut each = |row: &RowBuf| {
            let id = row.cell(0).and_then(Value::whole_number).unwrap_or(-1) as u64;
            let list = row.cell(1).and_then(Value::bytes).unwrap_or_default();
            ops.push(numbers(list).map(|list| MicroOp::Read(id, Answer::List(list))));
        };
        session.query(statement, &[], &mut each).await?;
        ops.into_iter().collect()
    }

    fn judge(&self, history: &History, claim: Option<Level>) -> Result<serde_json::Value, String> {
        let report = judge(history, claim, Order::None).map_err(|error| error.to_string())?;
        serde_json::to_value(report).map_err(|error| error.to_string())
    }

    fn sufficiency(&self, history: &History) -> Option<Sufficiency> {
        let report = judge(history, None, Order::None).ok()?;
        Some(report.exposure.sufficiency())
    }
}

/// Of `,1,2,3`.
fn numbers(text: &[u8]) -> Result<Vec<i64>, OpError> {
    let text = std::str::from_utf8(text).unwrap_or("?");
    let parsed: Result<_, _> = text.split(',').skip(1).map(str::parse).collect();
    parsed.map_err(|_| {
        let what = format!("a list of {TABLE} holds what nobody wrote: {text}");
        OpError::fail(FailClass::Other, "LIST", what)
    })
}
