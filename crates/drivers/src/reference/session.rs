//! A session on one node: its statements, its transaction, and what a crash of the node does to both.
use super::refused;
use super::statement::{Columns, Statement as Parsed, Verb, parse};
use super::store::{Cell, Change, Open, Store};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, Dialect, Done, SqlSession, Statement};
use bakeoff_model::time::{now_ns, sleep};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static DIALECT: Dialect = Dialect {
    name: "reference",
    ..Dialect::STANDARD
};

pub struct ReferenceSession {
    store: Arc<Mutex<Store>>,
    latency: Duration,
    node: usize,
    opened_ns: u64,
    open: Option<Open>,
    statements: Vec<Parsed>,
    row: RowBuf,
}

pub fn locked(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ReferenceSession {
    pub fn new(store: Arc<Mutex<Store>>, latency: Duration, node: usize) -> Self {
        Self {
            store,
            latency,
            node,
            opened_ns: now_ns(),
            open: None,
            statements: vec![],
            row: RowBuf::default(),
        }
    }

    /// Carries something out after the time of a statement. If the node crashes meanwhile, what commits is carried out or
    /// not, by chance.
    async fn ask<T>(
        &mut self,
        commits: bool,
        work: impl FnOnce(&mut Store, &mut Option<Open>, usize, u64) -> Result<T, OpError>,
    ) -> Result<T, OpError> {
        let sent_ns = now_ns();
        sleep(self.latency).await;
        let mut store = locked(&self.store);
        let now_ns = now_ns();
        let crash_ns = store.node(self.node).crashed_ns(self.opened_ns, now_ns);
        let in_time = crash_ns.is_none_or(|at_ns| at_ns > sent_ns && commits && store.one_in(2));
        let done = in_time.then(|| work(&mut store, &mut self.open, self.node, now_ns));
        match (done, crash_ns) {
            (Some(done), None) => done,
            _ => {
                if let Some(open) = self.open.take() {
                    store.rollback(open);
                }
                Err(OpError::lost("CRASH", "the node has crashed"))
            }
        }
    }

    async fn carry_out(
        &mut self,
        statement: &Parsed,
        params: &[Value<'_>],
        rows_max: usize,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let commits = self.open.is_none() && !statement.reads();
        let work = |store: &mut Store, open: &mut Option<Open>, node, now_ns| match *open {
            Some(open) => run(store, open, statement, params, now_ns),
            None => alone(store, node, statement, params, now_ns),
        };
        let answer = self.ask(commits, work).await;
        let answer = answer.map_err(|error| if statement.reads() { error.of_read() } else { error })?;
        let Verb::Select(columns) = statement.verb else {
            return Ok(answer.changed);
        };
        let mut seen = 0;
        for (id, value) in answer.rows.iter().take(rows_max) {
            self.row.clear();
            if columns == Columns::IdAndValue {
                self.row.push(Value::Int(*id));
            }
            self.row.push(match value {
                Cell::Int(number) => Value::Int(*number),
                Cell::Text(text) => Value::Text(text.as_bytes()),
            });
            each(&self.row);
            seen += 1;
        }
        Ok(seen)
    }
}

#[derive(Default)]
struct Answer {
    rows: Vec<(i64, Cell)>,
    changed: u64,
}

/// A statement outside a transaction is one of its own.
fn alone(
    store: &mut Store,
    node: usize,
    statement: &Parsed,
    params: &[Value<'_>],
    now_ns: u64,
) -> Result<Answer, OpError> {
    match statement.verb {
        Verb::Create => return store.create(&statement.table).map(|()| Answer::default()),
        Verb::Drop { if_exists } => {
            return match store.drop_table(&statement.table) {
                Err(_) if if_exists => Ok(Answer::default()),
                dropped => dropped.map(|()| Answer::default()),
            };
        }
        _ => {}
    }
    let open = match statement.reads() {
        true => store.begin(node, now_ns)?,
        false => store.begin_newest(node, now_ns)?,
    };
    let answer = run(store, open, statement, params, now_ns);
    let answer = answer.and_then(|answer| store.commit(open, now_ns).map(|()| answer));
    store.rollback(open);
    answer
}

fn run(
    store: &mut Store,
    open: Open,
    statement: &Parsed,
    params: &[Value<'_>],
    now_ns: u64,
) -> Result<Answer, OpError> {
    let (table, condition) = (&*statement.table, statement.condition(params)?);
    let mut answer = Answer::default();
    match &statement.verb {
        Verb::Create | Verb::Drop { .. } => {
            let what = "tables are made and dropped outside of transactions";
            return Err(refused("TRANSACTION", what));
        }
        Verb::Select(columns) => {
            answer.rows = store.read(open, table, &condition, now_ns)?;
            if *columns == Columns::Count {
                answer.rows = vec![(0, Cell::Int(answer.rows.len() as i64))];
            }
        }
        Verb::Insert(rows) => {
            for (id, value) in rows {
                let Cell::Int(id) = id.cell(params)? else {
                    return Err(OpError::fail(FailClass::Constraint, "KEY", "a key is a number"));
                };
                store.insert(open, table, id, value.cell(params)?, now_ns)?;
            }
            answer.changed = rows.len() as u64;
        }
        Verb::Update(update, operand) => {
            let change = update.with(operand.cell(params)?)?;
            answer.changed = store.update(open, table, &condition, &change, now_ns)?;
        }
        Verb::Delete => answer.changed = store.update(open, table, &condition, &Change::Delete, now_ns)?,
    }
    Ok(answer)
}

impl SqlSession for ReferenceSession {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        self.statements.push(parse(ask.sql)?);
        Ok(Statement(self.statements.len() as u32 - 1))
    }

    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        let statement = self.statements[statement.0 as usize].clone();
        self.done(&statement, params).await
    }

    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let statement = self.statements[statement.0 as usize].clone();
        self.carry_out(&statement, params, usize::MAX, each).await
    }

    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError> {
        let statement = self.statements[statement.0 as usize].clone();
        let rows = self.carry_out(&statement, params, 1, &mut |_| {}).await?;
        Ok((rows > 0).then_some(&self.row))
    }

    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        self.done(&parse(sql)?, &[]).await
    }

    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        self.carry_out(&parse(sql)?, &[], usize::MAX, each).await
    }

    async fn bulk_insert(
        &mut self,
        _table: &str,
        _columns: &[&str],
        _next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        Err(refused("BULK", "the reference store loads no rows in bulk"))
    }
}

impl ReferenceSession {
    async fn done(&mut self, statement: &Parsed, params: &[Value<'_>]) -> Result<Done, OpError> {
        let changed = self.carry_out(statement, params, usize::MAX, &mut |_| {}).await?;
        Ok(Done {
            affected: Some(changed),
            insert_id: None,
        })
    }
}

impl Transactional for ReferenceSession {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        if access
            .isolation
            .is_some_and(|level| level != locked(&self.store).level())
        {
            let what = "the reference store has one level of isolation for all transactions";
            return Err(refused("ISOLATION", what));
        }
        self.ask(false, |store, open, node, now_ns| {
            *open = Some(store.begin(node, now_ns)?);
            Ok(())
        })
        .await
    }

    async fn commit(&mut self) -> Result<(), OpError> {
        self.ask(true, |store, open, _, now_ns| {
            open.take().map_or(Ok(()), |open| store.commit(open, now_ns))
        })
        .await
    }

    async fn rollback(&mut self) -> Result<(), OpError> {
        self.ask(false, |store, open, _, _| {
            if let Some(open) = open.take() {
                store.rollback(open);
            }
            Ok(())
        })
        .await
    }
}

impl Drop for ReferenceSession {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            locked(&self.store).rollback(open);
        }
    }
}
