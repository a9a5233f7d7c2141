//! Our own client of PostgreSQL's protocol (version 3.0), on the reactor.
//!
//! A session is one connection and one statement at a time. A prepared statement is bound and executed by one request of
//! three messages, written into the connection's buffer and sent together with the receive for its answer; rows are read
//! where they arrived and copied once, into the session's row buffer. Per operation nothing is allocated.
//!
//! Source: PostgreSQL documentation, "Frontend/Backend Protocol"; authentication is postgres-protocol's.
mod answer;
mod cancel;
mod link;
mod load;
mod login;
mod pipeline;
mod read;
mod request;

use super::copy::Table;
use super::errors::{at_commit, rolled_back, server_error};
use super::kind::Kind;
use super::options::{DRIVER, PostgresqlSpec, targets};
use super::settings::{self, Settings};
use super::{DIALECT, OFFERS};
use crate::registration::{self, ClientLibrary};
use crate::server::errors::{malformed, not_one, wrong_count};
use crate::server::statement::{shared_start, start};
use crate::server::target::Target;
use crate::server::tls::Encryption;
use crate::server::whereabouts::Whereabouts;
use crate::server::within;
use answer::End;
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::needs::{Needs, Offers};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::pipeline::{Part, Pipeline};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::{Isolation, RunSpec, RunnerKind};
use bakeoff_model::sql::{Ask, Dialect, Done, SqlSession, Statement};
use bakeoff_model::sql_records::SqlRecords;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use bakeoff_reactor::Address;
use link::Link;
use login::Account;
use request::{CancelKey, Prepared};
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub(super) const CLIENT: ClientLibrary = ClientLibrary {
    name: "wire",
    runners: WireDriver::RUNNERS,
    offers: OFFERS,
    make: Make::Sql(|spec| Ok(object(driver(spec)?, AnySql::beneath))),
};

fn driver(spec: &RunSpec) -> Result<WireDriver, Trouble> {
    WireDriver::new(&registration::options(spec)?, spec.isolation, spec.timeout())
}

pub struct WireDriver {
    routes: Vec<Route>,
    settings: Settings,
    connect_timeout: Duration,
}

impl WireDriver {
    /// Looks up names, which may block, and finds the password; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(
        spec: &PostgresqlSpec,
        isolation: Option<Isolation>,
        timeout: Duration,
    ) -> Result<Self, Trouble> {
        let targets = targets(spec)?;
        let encryptions = Encryption::towards(spec.tls.as_ref(), &targets, DRIVER)?;
        let route = |(target, encryption): (Target, _)| {
            Ok(Route {
                whereabouts: target.address.locate(&target.place, DRIVER)?,
                target,
                encryption,
            })
        };
        Ok(Self {
            settings: Settings::new(&spec.session_variables, isolation)?,
            routes: targets
                .into_iter()
                .zip(encryptions)
                .map(route)
                .collect::<Result<_, _>>()?,
            connect_timeout: timeout,
        })
    }
}

impl Driver for WireDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Reactor];
    type Client = ();
    type Session = SqlRecords<WireSession>;

    fn offers(&self) -> Offers {
        CLIENT.offers
    }
    fn client(&self) -> &'static str {
        "wire"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(&self, _client: &(), endpoint: usize, _needs: Needs) -> Result<Self::Session, OpError> {
        let route = &self.routes[endpoint % self.routes.len()];
        let target = &route.target;
        let opening = async {
            let session = WireSession::connect(route, self.connect_timeout).await;
            let mut session = session.map_err(|error| target.connect_failed(error))?;
            let set = self.settings.apply(&mut session).await;
            set.map_err(|error| target.named(error))?;
            Ok(session)
        };
        match within(self.connect_timeout, opening).await {
            Some(outcome) => outcome.map(SqlRecords::new),
            None => Err(target.timed_out(self.connect_timeout)),
        }
    }
}

/// One endpoint, and as whom it is spoken to.
struct Route {
    target: Target,
    whereabouts: Whereabouts,
    encryption: Option<Arc<Encryption>>,
}

pub struct WireSession {
    link: Link,
    statements: Vec<Rc<Prepared>>,
    row: RowBuf,
    end: End,
    tables: Vec<Table>,
    /// BEGIN and COMMIT, for a pipeline.
    brackets: Vec<Rc<Prepared>>,
    address: Address,
    encryption: Option<Arc<Encryption>>,
    key: CancelKey,
}

thread_local! {
    /// What this thread's sessions have prepared, once each: thousands of them prepare the same.
    static PREPARED: RefCell<HashSet<Rc<Prepared>>> = RefCell::default();
}

fn shared(prepared: Prepared) -> Rc<Prepared> {
    PREPARED.with_borrow_mut(|known| match known.get(&prepared) {
        Some(known) => known.clone(),
        None => {
            let new = Rc::new(prepared);
            known.insert(new.clone());
            new
        }
    })
}

impl WireSession {
    async fn connect(route: &Route, limit: Duration) -> Result<Self, OpError> {
        let (stream, address) = route.whereabouts.connect(limit).await?;
        let target = &route.target;
        let mut link = Link::new(stream);
        let account = Account {
            user: &target.user,
            password: target.password.as_deref(),
            database: &target.database,
            encryption: route.encryption.as_deref(),
            is_local: address.is_local(),
        };
        let key = login::log_in(&mut link, &account).await?;
        Ok(Self {
            link,
            statements: Vec::new(),
            row: RowBuf::default(),
            end: End::default(),
            tables: Vec::new(),
            brackets: Vec::new(),
            address,
            encryption: route.encryption.clone(),
            key,
        })
    }

    /// The server tells no number of a new row; a statement that wants it asks for it (RETURNING).
    fn done(&self) -> Done {
        Done {
            affected: Some(self.end.affected),
            insert_id: None,
        }
    }

    /// The server's process that serves this connection.
    pub fn process_id(&self) -> u32 {
        self.key.process
    }

    /// Notices and warnings so far.
    pub fn notices(&self) -> u64 {
        self.link.notices()
    }

    /// Runs the statement and hands each row to `each`. Rows seen; the rest is in `end`.
    #[inline]
    async fn run(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let prepared = &*self.statements[statement.0 as usize];
        if params.len() != prepared.params.len() {
            return Err(wrong_count(prepared.params.len(), params.len(), &prepared.sql));
        }
        prepared.execute(self.link.request(), params);
        let answer = match self.link.ask().await {
            Ok(()) => answer::read(&mut self.link, Some(&prepared.columns), &mut self.row, each).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(end) => {
                self.end = end;
                Ok(end.seen)
            }
            Err(error) => Err(error.with_statement(&*prepared.sql)),
        }
    }

    /// The same for a statement in text. The server carries out several that are sent as text, and prepares only one.
    async fn run_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        if sql.contains(';') {
            let described = self.describe("", sql).await;
            described.map_err(|error| error.with_statement(start(sql)))?;
        }
        request::query(self.link.request(), sql);
        let answer = match self.link.ask().await {
            Ok(()) => answer::read(&mut self.link, None, &mut self.row, each).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(end) => {
                self.end = end;
                Ok(end.seen)
            }
            Err(error) => Err(error.with_statement(start(sql))),
        }
    }

    async fn prepare_as(&mut self, name: &str, sql: &str) -> Result<Rc<Prepared>, OpError> {
        let described = self.describe(name, sql).await;
        let (params, columns) = described.map_err(|error| error.with_statement(start(sql)))?;
        Ok(shared(Prepared::new(name, params, columns, shared_start(sql))))
    }

    /// Prepares under this name. The parameters, the columns.
    async fn describe(&mut self, name: &str, sql: &str) -> Result<(Box<[Kind]>, Box<[Kind]>), OpError> {
        request::prepare(self.link.request(), name, sql);
        self.link.ask().await?;
        let (mut params, mut columns) = (None, None);
        let mut failed = None;
        loop {
            match self.link.next().await? {
                (b'1', _) => {}
                (b't', content) => params = Some(read::params(content)?),
                (b'T', content) => columns = Some(read::columns(content)?),
                (b'n', _) => columns = Some(Box::default()),
                (b'E', content) => {
                    let error = server_error(read::error(content));
                    if error.connection_lost {
                        return Err(error);
                    }
                    failed.get_or_insert(error);
                }
                (b'Z', _) => break,
                _ => return Err(malformed("a message of another dialogue")),
            }
        }
        match (failed, params, columns) {
            (Some(error), ..) => Err(error),
            (None, Some(params), Some(columns)) => Ok((params, columns)),
            _ => Err(malformed("a statement that it has not described")),
        }
    }
}

impl Drop for WireSession {
    /// As far as it goes without waiting: a server logs a client that leaves without a word.
    fn drop(&mut self) {
        match self.link.is_in_flight() {
            true => cancel::cancel(self.address.clone(), self.encryption.take(), self.key),
            false => self.link.say(&request::QUIT),
        }
    }
}

impl SqlSession for WireSession {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        let number = self.statements.len() as u32;
        let prepared = self.prepare_as(&number.to_string(), ask.sql).await?;
        // Most sessions prepare one or two; a vector would make room for four.
        self.statements.reserve_exact(1);
        self.statements.push(prepared);
        Ok(Statement(number))
    }

    #[inline]
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        self.run(statement, params, &mut |_| {}).await?;
        Ok(self.done())
    }

    #[inline]
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        self.run(statement, params, each).await
    }

    #[inline]
    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError> {
        match self.run(statement, params, &mut |_| {}).await? {
            0 => Ok(None),
            1 => Ok(Some(&self.row)),
            rows => Err(not_one(rows, &self.statements[statement.0 as usize].sql)),
        }
    }

    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        self.run_text(sql, &mut |_| {}).await?;
        Ok(self.done())
    }

    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        self.run_text(sql, each).await
    }

    async fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let table = self.table(table, columns).await?;
        let whole = self.end.status == answer::IDLE;
        if !whole {
            return self.load(&table, next).await;
        }
        self.begin(Access::default()).await?;
        let rows = self.load(&table, next).await;
        self.end(rows).await
    }

    async fn run_pipeline(
        &mut self,
        pipeline: &Pipeline,
        each: &mut dyn FnMut(usize, Part<'_>),
    ) -> Result<(), OpError> {
        self.pipelined(pipeline, each).await
    }
}

impl Transactional for WireSession {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        settings::begin(self, access).await
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        self.execute_text("COMMIT").await.map_err(at_commit)?;
        match self.end.rolled_back {
            true => Err(rolled_back()),
            false => Ok(()),
        }
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        self.execute_text("ROLLBACK").await.map(drop)
    }
}
