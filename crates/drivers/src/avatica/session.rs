//! One connection of the server's, over one of HTTP, and one statement at a time. A prepared statement is executed by one
//! request; of a long answer the rows are fetched frame by frame.
//!
//! Whether statements commit themselves is a property of the connection, as in JDBC. It is set when it changes, so a session
//! that works in transactions alone sends nothing for their beginning.
use super::errors::at_commit;
use super::messages::{self, Columns, Executed, Param, Properties, Request};
use super::values::Column;
use super::{DIALECT, Endpoint};
use crate::server::errors::{not_one, wrong_count};
use crate::server::http::Http;
use crate::server::statement::{shared_start, start};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::{Ask, Dialect, Done, SqlSession, Statement};
use bakeoff_model::time::now_ns;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Of a bulk load's request.
const BATCH_ROWS: u64 = 1000;
const BATCH_BYTES: usize = 512 << 10;
/// Nobody waits for the end of a session that was given up.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

pub struct AvaticaSession {
    http: Http,
    endpoint: Arc<Endpoint>,
    /// The connection's name, which the client gives it.
    connection: Box<[u8]>,
    /// Runs statements in text.
    text_statement: u64,
    /// Columns of the last statement in text.
    text_columns: Vec<Column>,
    statements: Vec<Prepared>,
    row: RowBuf,
    in_transaction: bool,
    commits_itself: bool,
    /// As JDBC counts levels: as it is now, and outside transactions that ask for another.
    isolation: u64,
    usual_isolation: u64,
}

struct Prepared {
    handle: Box<[u8]>,
    statement: u64,
    params: Box<[Param]>,
    columns: Box<[Column]>,
    sql: Rc<str>,
}

/// How JDBC counts them (java.sql.Connection).
pub(super) fn level_number(level: Isolation) -> Option<u64> {
    match level {
        Isolation::ReadUncommitted => Some(1),
        Isolation::ReadCommitted => Some(2),
        Isolation::RepeatableRead => Some(4),
        Isolation::Serializable => Some(8),
        _ => None,
    }
}

/// As no other connection of the server's is named.
fn new_name() -> Box<[u8]> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("bakeoff-{}-{:x}-{number}", std::process::id(), now_ns());
    name.into_bytes().into()
}

impl AvaticaSession {
    pub(super) async fn connect(
        endpoint: &Arc<Endpoint>,
        isolation: Option<u64>,
        limit: Duration,
    ) -> Result<Self, OpError> {
        let mut session = Self {
            http: Http::connect(&endpoint.route, limit).await?,
            endpoint: endpoint.clone(),
            connection: new_name(),
            text_statement: 0,
            text_columns: Vec::new(),
            statements: Vec::new(),
            row: RowBuf::default(),
            in_transaction: false,
            commits_itself: true,
            isolation: 0,
            usual_isolation: 0,
        };
        let target = &endpoint.route.target;
        let opened = session.open(isolation).await;
        opened.map_err(|error| target.connect_failed(error))?;
        Ok(session)
    }

    async fn open(&mut self, isolation: Option<u64>) -> Result<(), OpError> {
        let endpoint = self.endpoint.clone();
        let target = &endpoint.route.target;
        let account = [
            ("user", target.user.as_str()),
            ("password", target.password.as_deref().unwrap_or_default()),
        ];
        let said = if target.user.is_empty() { &[][..] } else { &account };
        self.ask(|out, connection| messages::open_connection(out, connection, said))
            .await?;
        let wanted = Properties {
            commits_itself: Some(true),
            isolation,
        };
        let is = self.sync(wanted).await?;
        self.usual_isolation = is.isolation.unwrap_or_default();
        if let Some(wanted) = isolation
            && self.usual_isolation != wanted
        {
            let what = format!(
                "isolation did not take effect: asked for level {wanted} of JDBC, the server says {}",
                self.usual_isolation
            );
            return Err(OpError::fail(FailClass::Refused, "SETTING", what));
        }
        let said = self
            .ask(|out, connection| messages::of_connection(out, Request::CreateStatement, connection))
            .await?;
        self.text_statement = messages::created(said)?;
        Ok(())
    }

    /// Sends what `write` writes. The answer's message.
    #[inline]
    async fn ask(&mut self, write: impl FnOnce(&mut Vec<u8>, &[u8])) -> Result<&[u8], OpError> {
        let Self {
            http,
            endpoint,
            connection,
            ..
        } = self;
        write(http.begin_body(&endpoint.post).await?, connection);
        let status = http.exchange().await?;
        messages::unwrap(status, http.answer())
    }

    /// What then applies.
    async fn sync(&mut self, wanted: Properties) -> Result<Properties, OpError> {
        let said = self
            .ask(|out, connection| messages::sync(out, connection, wanted))
            .await;
        let is = messages::synced(said?)?;
        self.commits_itself = is.commits_itself.unwrap_or(self.commits_itself);
        self.isolation = is.isolation.unwrap_or(self.isolation);
        Ok(is)
    }

    /// Has statements commit themselves where there is no transaction.
    #[inline]
    async fn settle(&mut self) -> Result<(), OpError> {
        match self.in_transaction || self.commits_itself {
            true => Ok(()),
            false => self.leave_transactions().await,
        }
    }

    #[cold]
    async fn leave_transactions(&mut self) -> Result<(), OpError> {
        let wanted = Properties {
            commits_itself: Some(true),
            isolation: (self.isolation != self.usual_isolation).then_some(self.usual_isolation),
        };
        self.sync(wanted).await.map(drop)
    }

    #[inline]
    async fn run(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<Executed, OpError> {
        self.settle().await?;
        let Self {
            http,
            endpoint,
            statements,
            row,
            ..
        } = self;
        let prepared = &statements[statement.0 as usize];
        if params.len() != prepared.params.len() {
            return Err(wrong_count(prepared.params.len(), params.len(), &prepared.sql));
        }
        let out = http.begin_body(&endpoint.post).await?;
        messages::execute(out, &prepared.handle, &prepared.params, params);
        let columns = Columns::Known(&prepared.columns);
        let executed = match http.exchange().await {
            Ok(status) => messages::unwrap(status, http.answer())
                .and_then(|message| messages::executed(message, columns, row, each)),
            Err(error) => Err(error),
        };
        match executed {
            Ok(executed) if executed.done => Ok(executed),
            Ok(executed) => self.fetch(executed, Some(statement), each).await,
            Err(error) => Err(error),
        }
        .map_err(|error| error.with_statement(&*self.statements[statement.0 as usize].sql))
    }

    /// The rows that are left; of a statement in text where none is named.
    async fn fetch(
        &mut self,
        mut executed: Executed,
        of: Option<Statement>,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<Executed, OpError> {
        while !executed.done {
            let (statement, offset) = (executed.statement, executed.rows);
            let Self {
                http,
                endpoint,
                connection,
                row,
                statements,
                text_columns,
                ..
            } = self;
            let columns = match of {
                Some(statement) => &statements[statement.0 as usize].columns,
                None => &text_columns[..],
            };
            let out = http.begin_body(&endpoint.post).await?;
            messages::fetch(out, connection, statement, offset);
            let status = http.exchange().await?;
            let message = messages::unwrap(status, http.answer())?;
            let (rows, done) = messages::fetched(message, columns, row, each)?;
            executed.rows += rows;
            executed.done = done;
        }
        Ok(executed)
    }

    async fn run_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<Executed, OpError> {
        self.settle().await?;
        let Self {
            http,
            endpoint,
            connection,
            text_statement,
            text_columns,
            row,
            ..
        } = self;
        let columns = Columns::Said(text_columns);
        let out = http.begin_body(&endpoint.post).await?;
        messages::prepare_and_execute(out, connection, *text_statement, sql);
        let executed = match http.exchange().await {
            Ok(status) => messages::unwrap(status, http.answer())
                .and_then(|message| messages::executed(message, columns, row, each)),
            Err(error) => Err(error),
        };
        match executed {
            Ok(executed) => self.fetch(executed, None, each).await,
            Err(error) => Err(error),
        }
        .map_err(|error| error.with_statement(start(sql)))
    }

    async fn load(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let names: Vec<String> = columns.iter().map(|name| DIALECT.quoted(name)).collect();
        let marks = vec!["?"; columns.len()].join(",");
        let table = DIALECT.quoted(table);
        let sql = format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(","));
        let known = self
            .statements
            .iter()
            .position(|known| *known.sql == *start(&sql));
        let at = match known {
            Some(at) => at,
            None => self.prepare(&Ask::write(&sql)).await?.0 as usize,
        };
        let number = self.statements[at].statement;
        let (mut rows, mut stored) = (Vec::new(), 0);
        loop {
            rows.clear();
            let mut count = 0;
            while count < BATCH_ROWS && rows.len() < BATCH_BYTES {
                self.row.clear();
                if !next(&mut self.row) {
                    break;
                }
                messages::batch_row(&mut rows, &self.statements[at].params, &self.row);
                count += 1;
            }
            if count == 0 {
                return Ok(stored);
            }
            let asked = self.ask(|out, connection| messages::execute_batch(out, connection, number, &rows));
            let said = asked.await.and_then(messages::batched);
            let now = said.map_err(|error| error.with_statement(start(&sql)))?;
            if now != count {
                let what = format!("{count} rows were sent, and {now} stored");
                return Err(OpError::fail(FailClass::Other, "ROWS", what).with_statement(start(&sql)));
            }
            stored += now;
        }
    }
}

impl Drop for AvaticaSession {
    /// The server does not notice that a client goes: its connection, with all that is open in it, would stay.
    fn drop(&mut self) {
        let mut message = Vec::new();
        messages::of_connection(&mut message, Request::CloseConnection, &self.connection);
        if self.http.say(&self.endpoint.post, &message) {
            return;
        }
        let endpoint = self.endpoint.clone();
        bakeoff_reactor::spawn_to_end(async move {
            if let Ok(mut http) = Http::connect(&endpoint.route, CLOSE_LIMIT).await
                && let Ok(body) = http.begin_body(&endpoint.post).await
            {
                body.extend_from_slice(&message);
                let _ = crate::server::within(CLOSE_LIMIT, http.exchange()).await;
            }
        });
    }
}

impl SqlSession for AvaticaSession {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        let asked = self.ask(|out, connection| messages::prepare(out, connection, ask.sql));
        let said = asked.await.and_then(messages::prepared);
        let (statement, columns, params) = said.map_err(|error| error.with_statement(start(ask.sql)))?;
        let number = self.statements.len() as u32;
        self.statements.push(Prepared {
            handle: messages::handle(&self.connection, statement),
            statement,
            params: params.into(),
            columns: columns.into(),
            sql: shared_start(ask.sql),
        });
        Ok(Statement(number))
    }

    #[inline]
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        let executed = self.run(statement, params, &mut |_| {}).await?;
        Ok(done(executed))
    }

    #[inline]
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        Ok(self.run(statement, params, each).await?.rows)
    }

    #[inline]
    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError> {
        match self.run(statement, params, &mut |_| {}).await?.rows {
            0 => Ok(None),
            1 => Ok(Some(&self.row)),
            rows => Err(not_one(rows, &self.statements[statement.0 as usize].sql)),
        }
    }

    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        let executed = self.run_text(sql, &mut |_| {}).await?;
        Ok(done(executed))
    }

    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        Ok(self.run_text(sql, each).await?.rows)
    }

    async fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        if self.in_transaction {
            return self.load(table, columns, next).await;
        }
        self.begin(Access::default()).await?;
        let rows = self.load(table, columns, next).await;
        self.end(rows).await
    }
}

/// The server tells no number of a new row: the protocol has no place for it.
fn done(executed: Executed) -> Done {
    Done {
        affected: Some(executed.affected.unwrap_or(executed.rows)),
        insert_id: None,
    }
}

impl Transactional for AvaticaSession {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        let level = match access.isolation {
            None => self.usual_isolation,
            Some(level) => level_number(level).ok_or_else(no_such_level)?,
        };
        let wanted = Properties {
            commits_itself: self.commits_itself.then_some(false),
            isolation: (level != self.isolation).then_some(level),
        };
        if wanted.commits_itself.is_some() || wanted.isolation.is_some() {
            self.sync(wanted).await?;
        }
        self.in_transaction = true;
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), OpError> {
        let asked = self.ask(|out, connection| messages::of_connection(out, Request::Commit, connection));
        asked
            .await
            .map_err(|error| at_commit(error).with_statement("COMMIT"))?;
        self.in_transaction = false;
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), OpError> {
        let asked = self.ask(|out, connection| messages::of_connection(out, Request::Rollback, connection));
        asked.await.map_err(|error| error.with_statement("ROLLBACK"))?;
        self.in_transaction = false;
        Ok(())
    }
}

#[cold]
fn no_such_level() -> OpError {
    OpError::fail(
        FailClass::Refused,
        "ISOLATION",
        "JDBC has no such level of isolation",
    )
}
