//! A SQL session for tests: it writes down each statement, values included, and answers as full tables would, or as the
//! test says.
use super::random::Texts;
use crate::prelude::*;
use crate::rng::Random;
use bakeoff_model::any::Known;
use bakeoff_model::pipeline::{Asked, Part};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

static DIALECT: Dialect = Dialect {
    name: "fake",
    auto_key: "INTEGER NOT NULL NUMBERED",
    auto_value: Some(0),
    max_params: 1000,
    table_exists: "SELECT 1 FROM tables WHERE name = ?",
    ..Dialect::STANDARD
};

#[derive(Default)]
pub struct Fake {
    pub prepared: Vec<String>,
    /// Statements with their values, begin, commit and rollback among them.
    pub asked: Vec<String>,
    /// The next statement that begins with such a text fails so, once.
    pub failing: Vec<(&'static str, OpError)>,
    /// Answers queries with no row, and writes with none found.
    pub empty: bool,
    /// Answers c with one letter less.
    pub cut_short: bool,
    pub table_size: u64,
    /// id, k, c, pad of rows inserted in bulk, by table.
    pub loaded: Vec<(String, i64, i64, Vec<u8>)>,
    row: RowBuf,
}

impl Fake {
    pub fn new() -> Known<Self> {
        Known::new(Self {
            table_size: u64::MAX,
            ..Self::default()
        })
    }

    fn ask(&mut self, sql: String) -> Result<&str, OpError> {
        self.asked.push(sql);
        let sql = &self.asked[self.asked.len() - 1];
        match self.failing.iter().position(|(start, _)| sql.starts_with(*start)) {
            Some(place) => Err(self.failing.remove(place).1),
            None => Ok(sql),
        }
    }

    fn filled(&self, statement: Statement, params: &[Value<'_>]) -> String {
        let mut pieces = self.prepared[statement.0 as usize].split('?');
        let mut sql = pieces.next().unwrap().to_owned();
        for (piece, param) in pieces.zip(params) {
            match param {
                Value::Int(value) => sql.push_str(&value.to_string()),
                Value::Text(value) => sql.push_str(&format!("'{}'", String::from_utf8_lossy(value))),
                other => panic!("{other:?}"),
            }
            sql.push_str(piece);
        }
        sql
    }

    fn answer(&mut self, sql: String, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        let sql = self.ask(sql)?.to_owned();
        if self.empty {
            return Ok(0);
        }
        let mut texts = Texts::default();
        let c = texts.draw_c(&mut Random::new(1));
        let c = &c[usize::from(self.cut_short)..];
        self.row.clear();
        let mut rows = 1;
        if sql.starts_with("SELECT c") || sql.starts_with("SELECT DISTINCT c") {
            self.row.push(Value::Text(c));
            if let Some((_, range)) = sql.split_once("id BETWEEN ") {
                let mut words = range.split(' ');
                let first: u64 = words.next().unwrap().parse().unwrap();
                let last: u64 = words.nth(1).unwrap().parse().unwrap();
                rows = last.min(self.table_size) - first + 1;
            }
        } else if sql.starts_with("SELECT id, k, c, pad") {
            self.row.push(Value::Int(1));
            self.row.push(Value::Int(1));
            self.row.push(Value::Text(c));
            self.row.push(Value::Text(b"pad"));
        } else if sql.starts_with("SELECT MAX(id)") {
            self.row.push(Value::Null);
        } else {
            self.row.push(Value::Int(7));
        }
        (0..rows).for_each(|_| each(&self.row));
        Ok(rows)
    }

    fn write(&mut self, sql: String) -> Result<Done, OpError> {
        let values = sql.split("), (").count().max(sql.split("),(").count());
        self.ask(sql)?;
        Ok(Done {
            affected: Some(if self.empty { 0 } else { values as u64 }),
            insert_id: None,
        })
    }
}

impl SqlSession for Fake {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }
    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        self.prepared.push(ask.sql.into());
        Ok(Statement(self.prepared.len() as u32 - 1))
    }
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        let sql = self.filled(statement, params);
        self.write(sql)
    }
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let sql = self.filled(statement, params);
        self.answer(sql, each)
    }
    async fn query_one(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Option<&RowBuf>, OpError> {
        Ok(None) // only asked whether tables exist
    }
    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        self.write(sql.into())
    }
    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        self.answer(sql.into(), each)
    }
    async fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        use Value::{Int, Text};
        assert_eq!(columns, ["id", "k", "c", "pad"]);
        let (mut row, mut rows) = (RowBuf::default(), 0);
        while next(&mut row) {
            let (Some(Int(id)), Some(Int(k)), Some(Text(c)), Some(Text(pad))) =
                (row.cell(0), row.cell(1), row.cell(2), row.cell(3))
            else {
                panic!("{row:?}");
            };
            self.loaded.push((table.into(), id, k, [c, pad].concat()));
            row.clear();
            rows += 1;
        }
        Ok(rows)
    }
    async fn run_pipeline(
        &mut self,
        pipeline: &Pipeline,
        each: &mut dyn FnMut(usize, Part<'_>),
    ) -> Result<(), OpError> {
        for place in 0..pipeline.len() {
            let (rows, done) = match pipeline.asked(place).unwrap() {
                Asked::Begin => (0, self.begin(Access::default()).await.map(|()| Done::default())?),
                Asked::Commit => (0, self.commit().await.map(|()| Done::default())?),
                Asked::Statement(statement) => {
                    let sql = self.filled(statement, &pipeline.values(place).collect::<Vec<_>>());
                    if sql.starts_with("SELECT") {
                        let row = &mut |row: &RowBuf| each(place, Part::Row(row));
                        (self.answer(sql, row)?, Done::default())
                    } else {
                        (0, self.write(sql)?)
                    }
                }
            };
            each(place, Part::End(rows, done));
        }
        Ok(())
    }
}

impl Transactional for Fake {
    async fn begin(&mut self, _: Access) -> Result<(), OpError> {
        self.ask("BEGIN".into()).map(drop)
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        self.ask("COMMIT".into()).map(drop)
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        self.ask("ROLLBACK".into()).map(drop)
    }
}

pub fn deadlock() -> OpError {
    OpError::fail(FailClass::Conflict, "1213", "deadlock")
}

/// What a worker would have written down.
#[derive(Default)]
pub struct Counted {
    pub queries: Queries,
    pub revoked: u64,
}

impl Probe for Counted {
    fn now_ns(&self) -> u64 {
        1
    }
    fn part(&mut self, _: usize, _: Outcome, _: u64) -> u64 {
        1
    }
    fn queries(&mut self, queries: Queries) {
        self.queries.read += queries.read;
        self.queries.write += queries.write;
        self.queries.other += queries.other;
    }
    fn revoke(&mut self, count: u64) {
        self.revoked += count;
    }
}

/// Sessions of tests answer at once.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("this session does not wait"),
    }
}
