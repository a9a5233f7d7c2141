//! The same servers through mysql_async, on tokio: for TLS, and to hold our own client against.
//!
//! A session is one connection, without a pool and without the client library's statement cache: statements are kept
//! here, by index. Reads use prepared statements and the binary protocol, and every byte of a row is copied once into
//! the session's buffer. The library allocates per operation (a future or two, the parameters, one buffer per column).
mod errors;
mod kill;
mod load;
mod options;
mod values;

use super::errors::at_commit;
use super::kill::Origin;
use super::options::{MysqlSpec, targets};
use super::settings::{self, Settings};
use super::table::Tables;
use super::{OFFERS, dialect};
use crate::registration::{self, ClientLibrary};
use crate::server::errors::not_one;
use crate::server::statement::start;
use crate::server::target::Target;
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Trouble, TroubleKind};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::{Isolation, RunSpec, RunnerKind};
use bakeoff_model::sql::{Ask, Dialect, Done, SqlSession, Statement};
use bakeoff_model::sql_records::SqlRecords;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use errors::op_error;
use kill::Victim;
use mysql_async::prelude::{Protocol, Queryable};
use mysql_async::{Conn, Opts, Params, QueryResult, SslOpts};
use std::time::Duration;

pub(super) const CLIENT: ClientLibrary = ClientLibrary {
    name: "mysql_async",
    runners: LibraryDriver::RUNNERS,
    offers: OFFERS.and(Offer::Tls),
    make: Make::Sql(|spec| Ok(object(driver(spec)?, AnySql::beneath))),
};

fn driver(spec: &RunSpec) -> Result<LibraryDriver, Trouble> {
    LibraryDriver::new(registration::options(spec)?, spec.isolation, spec.timeout())
}

pub struct LibraryDriver {
    targets: Vec<Target>,
    tls: Option<SslOpts>,
    settings: Settings,
    dialect: &'static Dialect,
    connect_timeout: Duration,
}

impl LibraryDriver {
    /// Resolves addresses, password and certificates; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(spec: MysqlSpec, isolation: Option<Isolation>, timeout: Duration) -> Result<Self, Trouble> {
        let settings = Settings::new(&spec.session_variables, isolation)?;
        let tls = spec.tls.as_ref().map(options::tls_options).transpose()?;
        let targets = targets(&spec)?;
        // The library encrypts a password to whatever key is offered, and cannot be told not to.
        if tls.is_none() && !spec.throwaway_password && targets.iter().any(Target::is_open) {
            return Err(Trouble::new(
                TroubleKind::Usage,
                "the client mysql_async gives the password to whoever answers, if asked over plain TCP",
                "mysql driver: client",
                "set `tls`, connect over a unix socket, or leave `client` out",
            ));
        }
        Ok(Self {
            targets,
            tls,
            settings,
            dialect: dialect(&spec.table_options),
            connect_timeout: timeout,
        })
    }
}

impl Driver for LibraryDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Tokio];
    type Client = ();
    type Session = SqlRecords<LibrarySession>;

    fn offers(&self) -> Offers {
        CLIENT.offers
    }
    fn client(&self) -> &'static str {
        "mysql_async"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(&self, _client: &(), endpoint: usize, needs: Needs) -> Result<Self::Session, OpError> {
        let target = &self.targets[endpoint % self.targets.len()];
        let opening = async {
            let opts = options::opts(target, self.tls.clone(), needs.affected);
            let mut conn = Conn::new(opts.clone())
                .await
                .map_err(|error| target.connect_failed(op_error(&error)))?;
            let origin = kill::origin(&mut conn)
                .await
                .map_err(|error| target.named(op_error(&error)))?;
            let mut session = LibrarySession {
                origin,
                opts,
                busy: false,
                conn,
                statements: Vec::new(),
                row: RowBuf::default(),
                tables: Tables::default(),
                dialect: self.dialect,
                in_transaction: false,
            };
            self.settings
                .apply(&mut session)
                .await
                .map_err(|error| target.named(error))?;
            Ok(session)
        };
        match tokio::time::timeout(self.connect_timeout, opening).await {
            Ok(outcome) => outcome.map(SqlRecords::new),
            Err(_) => Err(target.timed_out(self.connect_timeout)),
        }
    }
}

pub struct LibrarySession {
    conn: Conn,
    /// How another connection like this one is made.
    opts: Opts,
    /// Where this one comes from; where nobody knows, nothing ends it.
    origin: Option<Origin>,
    /// An answer is waited for.
    busy: bool,
    statements: Vec<Prepared>,
    row: RowBuf,
    tables: Tables,
    dialect: &'static Dialect,
    in_transaction: bool,
}

impl Drop for LibrarySession {
    /// As in our own client: the server does not look whether anybody still waits.
    fn drop(&mut self) {
        if self.busy
            && let Some(origin) = self.origin
        {
            kill::kill(Victim {
                opts: self.opts.clone(),
                id: self.conn.id(),
                origin,
            });
        }
    }
}

struct Prepared {
    statement: mysql_async::Statement,
    /// The beginning of its text, for errors.
    sql: Box<str>,
}

impl LibrarySession {
    /// The server's number for this connection.
    pub fn connection_id(&self) -> u32 {
        self.conn.id()
    }

    #[cold]
    fn failed(&self, statement: Statement, error: mysql_async::Error) -> OpError {
        op_error(&error).with_statement(&*self.statements[statement.0 as usize].sql)
    }

    fn params(&self, params: &[Value<'_>]) -> Params {
        if params.is_empty() {
            Params::Empty
        } else {
            Params::Positional(params.iter().map(values::param).collect())
        }
    }

    /// Runs the statement and hands each row to `each` through the session's buffer.
    #[inline]
    async fn rows(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let params = self.params(params);
        let prepared = &self.statements[statement.0 as usize].statement;
        let mut seen = 0;
        self.busy = true;
        let outcome = match self.conn.exec_iter(prepared, params).await {
            Err(error) => Err(error),
            Ok(result) => {
                let row = &mut self.row;
                result
                    .for_each_and_drop(|found| {
                        values::fill(&found, row);
                        each(row);
                        seen += 1;
                    })
                    .await
            }
        };
        self.busy = false;
        match outcome {
            Ok(()) => Ok(seen),
            Err(error) => Err(self.failed(statement, error)),
        }
    }
}

fn done<P: Protocol>(result: &QueryResult<'_, '_, P>) -> Done {
    Done {
        affected: Some(result.affected_rows()),
        insert_id: result.last_insert_id().filter(|id| *id != 0),
    }
}

impl LibrarySession {
    /// The library lets the server carry out several statements of one text; it prepares only one.
    async fn refuse_several(&mut self, sql: &str) -> Result<(), OpError> {
        const NEVER_PREPARED: &str = "1295";
        if !sql.contains(';') {
            return Ok(());
        }
        let error = match self.conn.prep(sql).await {
            Ok(statement) => match self.conn.close(statement).await {
                Ok(()) => return Ok(()),
                Err(error) => op_error(&error),
            },
            Err(error) => op_error(&error),
        };
        match error.code == NEVER_PREPARED {
            true => Ok(()),
            false => Err(error.with_statement(start(sql))),
        }
    }
}

impl SqlSession for LibrarySession {
    fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        let start = start(ask.sql);
        let statement = self
            .conn
            .prep(ask.sql)
            .await
            .map_err(|error| op_error(&error).with_statement(start))?;
        // Most sessions prepare one or two; a vector would make room for four.
        self.statements.reserve_exact(1);
        self.statements.push(Prepared {
            statement,
            sql: start.into(),
        });
        Ok(Statement(self.statements.len() as u32 - 1))
    }

    #[inline]
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        let params = self.params(params);
        let prepared = &self.statements[statement.0 as usize].statement;
        self.busy = true;
        let outcome = match self.conn.exec_iter(prepared, params).await {
            Err(error) => Err(error),
            Ok(result) => {
                let done = done(&result);
                result.drop_result().await.map(|()| done)
            }
        };
        self.busy = false;
        outcome.map_err(|error| self.failed(statement, error))
    }

    #[inline]
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        self.rows(statement, params, each).await
    }

    #[inline]
    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError> {
        match self.rows(statement, params, &mut |_| {}).await? {
            0 => Ok(None),
            1 => Ok(Some(&self.row)),
            rows => Err(not_one(rows, &self.statements[statement.0 as usize].sql)),
        }
    }

    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        self.refuse_several(sql).await?;
        self.busy = true;
        let outcome = match self.conn.query_iter(sql).await {
            Err(error) => Err(error),
            Ok(result) => {
                let done = done(&result);
                result.drop_result().await.map(|()| done)
            }
        };
        self.busy = false;
        outcome.map_err(|error| op_error(&error).with_statement(start(sql)))
    }

    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        self.refuse_several(sql).await?;
        let mut seen = 0;
        self.busy = true;
        let outcome = match self.conn.query_iter(sql).await {
            Err(error) => Err(error),
            Ok(result) => {
                let row = &mut self.row;
                result
                    .for_each_and_drop(|found| {
                        values::fill_text(&found, row);
                        each(row);
                        seen += 1;
                    })
                    .await
            }
        };
        self.busy = false;
        match outcome {
            Ok(()) => Ok(seen),
            Err(error) => Err(op_error(&error).with_statement(start(sql))),
        }
    }

    async fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let table = self.table(table, columns).await?;
        let whole = !self.in_transaction;
        if whole {
            self.begin(Access::default()).await?;
        }
        let rows = self.load(&table, next).await;
        if whole { self.end(rows).await } else { rows }
    }
}

impl Transactional for LibrarySession {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        settings::begin(self, access).await?;
        self.in_transaction = true;
        Ok(())
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        self.execute_text("COMMIT").await.map_err(at_commit)?;
        self.in_transaction = false;
        Ok(())
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        self.in_transaction = false;
        self.execute_text("ROLLBACK").await.map(drop)
    }
}
