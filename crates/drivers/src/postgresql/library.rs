//! The same servers through tokio-postgres, on tokio: for TLS, and to hold our own client against.
//!
//! A session is one connection with a task beside it that reads and writes; both allocate per operation.
mod errors;
mod load;
mod tls;
mod values;

use super::copy::Table;
use super::errors::{at_commit, at_login, rolled_back};
use super::kind::Kind;
use super::options::{DRIVER, PostgresqlSpec, socket, targets};
use super::settings::{self, Settings};
use super::{DIALECT, OFFERS};
use crate::registration::{self, ClientLibrary};
use crate::server::address::Address;
use crate::server::errors::{malformed, not_one, wrong_count};
use crate::server::statement::{shared_start, start};
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
use errors::{op_error, said};
use futures_util::TryStreamExt;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, Error, NoTls, SimpleQueryMessage};
use values::{Given, Raw};

pub(super) const CLIENT: ClientLibrary = ClientLibrary {
    name: "tokio_postgres",
    runners: LibraryDriver::RUNNERS,
    offers: OFFERS.and(Offer::Tls),
    make: Make::Sql(|spec| Ok(object(driver(spec)?, AnySql::beneath))),
};

fn driver(spec: &RunSpec) -> Result<LibraryDriver, Trouble> {
    LibraryDriver::new(&registration::options(spec)?, spec.isolation, spec.timeout())
}

pub struct LibraryDriver {
    targets: Vec<Target>,
    tls: Option<Arc<rustls::ClientConfig>>,
    settings: Settings,
    connect_timeout: Duration,
}

impl LibraryDriver {
    /// Finds password and certificates; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(
        spec: &PostgresqlSpec,
        isolation: Option<Isolation>,
        timeout: Duration,
    ) -> Result<Self, Trouble> {
        let targets = targets(spec)?;
        // The library says the password itself where it is asked for it, and cannot be told not to.
        if spec.tls.is_none() && !spec.throwaway_password && targets.iter().any(Target::is_open) {
            return Err(Trouble::new(
                TroubleKind::Usage,
                "the client tokio-postgres gives the password to whoever answers, if asked over plain TCP",
                "postgresql driver: client",
                "set `tls`, connect over a unix socket, or leave `client` out",
            ));
        }
        Ok(Self {
            targets,
            tls: spec
                .tls
                .as_ref()
                .map(|tls| tls::config(tls, DRIVER))
                .transpose()?,
            settings: Settings::new(&spec.session_variables, isolation)?,
            connect_timeout: timeout,
        })
    }

    async fn connect(&self, target: &Target) -> Result<Client, Error> {
        let mut config = Config::new();
        config
            .user(&target.user)
            .dbname(&target.database)
            .application_name("bakeoff");
        if let Some(password) = &target.password {
            config.password(password);
        }
        match &target.address {
            Address::Tcp { host, port } => config.host(host).port(*port),
            Address::Socket(path) => match socket(path) {
                Some((folder, port)) => config.host_path(folder).port(port),
                None => config.host_path(path),
            },
        };
        // The connection's task ends with the client.
        Ok(match &self.tls {
            None => {
                let (client, connection) = config.ssl_mode(SslMode::Disable).connect(NoTls).await?;
                tokio::spawn(connection);
                client
            }
            Some(tls) => {
                let connect = tls::Connect(tls.clone());
                let (client, connection) = config.ssl_mode(SslMode::Require).connect(connect).await?;
                tokio::spawn(connection);
                client
            }
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
        "tokio-postgres"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(&self, _client: &(), endpoint: usize, _needs: Needs) -> Result<Self::Session, OpError> {
        let target = &self.targets[endpoint % self.targets.len()];
        let opening = async {
            let client = self.connect(target).await;
            let client = client.map_err(|error| {
                let error = said(&error).map_or_else(|| op_error(&error), at_login);
                target.connect_failed(error)
            })?;
            let mut session = LibrarySession {
                client,
                statements: Vec::new(),
                row: RowBuf::default(),
                tables: Vec::new(),
                in_transaction: false,
                failed: false,
                busy: false,
                tls: self.tls.clone(),
            };
            let set = self.settings.apply(&mut session).await;
            set.map_err(|error| target.named(error))?;
            Ok(session)
        };
        match tokio::time::timeout(self.connect_timeout, opening).await {
            Ok(outcome) => outcome.map(SqlRecords::new),
            Err(_) => Err(target.timed_out(self.connect_timeout)),
        }
    }
}

pub struct LibrarySession {
    client: Client,
    statements: Vec<Prepared>,
    row: RowBuf,
    tables: Vec<Table>,
    in_transaction: bool,
    /// A statement of the transaction has failed.
    failed: bool,
    /// An answer is waited for.
    busy: bool,
    tls: Option<Arc<rustls::ClientConfig>>,
}

impl Drop for LibrarySession {
    /// As in our own client: the server does not look whether anybody still waits.
    fn drop(&mut self) {
        if !self.busy {
            return;
        }
        let (token, tls) = (self.client.cancel_token(), self.tls.take());
        tokio::spawn(async move {
            match tls {
                Some(tls) => token.cancel_query(tls::Connect(tls)).await,
                None => token.cancel_query(NoTls).await,
            }
        });
    }
}

struct Prepared {
    statement: tokio_postgres::Statement,
    params: Box<[Kind]>,
    columns: Box<[Kind]>,
    /// The beginning of its text, for errors.
    sql: Rc<str>,
}

fn done(affected: u64) -> Done {
    Done {
        affected: Some(affected),
        insert_id: None,
    }
}

impl LibrarySession {
    /// Runs the statement and hands each row to `each` through the session's buffer. Rows seen, rows written.
    async fn run(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<(u64, u64), OpError> {
        self.busy = true;
        let answer = self.answer(statement, params, each).await;
        self.busy = false;
        self.failed |= answer.is_err();
        answer
    }

    async fn answer(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<(u64, u64), OpError> {
        let prepared = &self.statements[statement.0 as usize];
        let failed = |error: OpError| error.with_statement(&*prepared.sql);
        if params.len() != prepared.params.len() {
            return Err(wrong_count(prepared.params.len(), params.len(), &prepared.sql));
        }
        let given = params.iter().zip(&prepared.params).map(Given::new);
        let rows = self.client.query_raw(&prepared.statement, given).await;
        let mut rows = pin!(rows.map_err(|error| failed(op_error(&error)))?);
        let mut seen = 0;
        while let Some(found) = rows.try_next().await.map_err(|error| failed(op_error(&error)))? {
            self.row.clear();
            for (index, kind) in prepared.columns.iter().enumerate() {
                let value: Option<Raw<'_>> =
                    found.try_get(index).map_err(|error| failed(op_error(&error)))?;
                match value {
                    None => self.row.push(Value::Null),
                    Some(Raw(value)) if kind.push(value, &mut self.row) => {}
                    Some(_) => return Err(failed(malformed("a value of another length"))),
                }
            }
            seen += 1;
            each(&self.row);
        }
        Ok((seen, rows.rows_affected().unwrap_or(0)))
    }

    /// The same for a statement in text. The server carries out several that are sent as text, and prepares only one.
    async fn run_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<(u64, u64), OpError> {
        self.busy = true;
        let one = match sql.contains(';') {
            true => self.client.prepare(sql).await.map(drop),
            false => Ok(()),
        };
        let answer = match one {
            Ok(()) => self.client.simple_query(sql).await,
            Err(error) => Err(error),
        };
        self.busy = false;
        self.failed |= answer.is_err();
        let answer = answer.map_err(|error| op_error(&error).with_statement(start(sql)))?;
        let (mut seen, mut affected, mut since) = (0, 0, 0);
        for message in answer {
            match message {
                SimpleQueryMessage::Row(found) => {
                    self.row.clear();
                    for index in 0..found.len() {
                        match found.get(index) {
                            Some(value) => self.row.push(Value::Text(value.as_bytes())),
                            None => self.row.push(Value::Null),
                        }
                    }
                    since += 1;
                    each(&self.row);
                }
                // A count of rows that were read is none of rows that were written.
                SimpleQueryMessage::CommandComplete(count) => {
                    affected += if since == 0 { count } else { 0 };
                    seen += std::mem::take(&mut since);
                }
                _ => {}
            }
        }
        Ok((seen, affected))
    }
}

impl SqlSession for LibrarySession {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        let sql = ask.sql;
        let statement = self.client.prepare(sql).await;
        let statement = statement.map_err(|error| op_error(&error).with_statement(start(sql)))?;
        let params = statement.params().iter();
        let columns = statement.columns().iter();
        self.statements.push(Prepared {
            params: params.map(|kind| Kind::of(kind.oid())).collect(),
            columns: columns.map(|column| Kind::of(column.type_().oid())).collect(),
            statement,
            sql: shared_start(sql),
        });
        Ok(Statement(self.statements.len() as u32 - 1))
    }

    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        let (_, affected) = self.run(statement, params, &mut |_| {}).await?;
        Ok(done(affected))
    }

    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let (seen, _) = self.run(statement, params, each).await?;
        Ok(seen)
    }

    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError> {
        match self.run(statement, params, &mut |_| {}).await?.0 {
            0 => Ok(None),
            1 => Ok(Some(&self.row)),
            rows => Err(not_one(rows, &self.statements[statement.0 as usize].sql)),
        }
    }

    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        let (_, affected) = self.run_text(sql, &mut |_| {}).await?;
        Ok(done(affected))
    }

    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        let (seen, _) = self.run_text(sql, each).await?;
        Ok(seen)
    }

    async fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let table = self.table(table, columns).await?;
        if self.in_transaction {
            return self.load(&table, next).await;
        }
        self.begin(Access::default()).await?;
        let rows = self.load(&table, next).await;
        self.end(rows).await
    }
}

impl Transactional for LibrarySession {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        settings::begin(self, access).await?;
        (self.in_transaction, self.failed) = (true, false);
        Ok(())
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        // The server would answer ROLLBACK, which the library does not tell.
        let failed = std::mem::take(&mut self.failed);
        self.execute_text("COMMIT").await.map_err(at_commit)?;
        self.in_transaction = false;
        match failed {
            true => Err(rolled_back()),
            false => Ok(()),
        }
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        self.in_transaction = false;
        self.execute_text("ROLLBACK").await.map(drop)
    }
}
