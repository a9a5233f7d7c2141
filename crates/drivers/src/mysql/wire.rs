//! Our own client, on the reactor.
//!
//! A session is one connection and one statement at a time. A request is written into the connection's buffer and sent
//! together with the receive for its answer; rows are read where they arrived and copied once, into the session's row
//! buffer. Per operation nothing is allocated.
//!
//! Sources: the MySQL and MariaDB documents of the client/server protocol; handshake and authentication are
//! mysql_common's.
mod answer;
mod array;
mod kill;
mod link;
mod load;
mod login;
mod read;
mod request;

use super::errors::at_commit;
use super::kill::Origin;
use super::options::{DRIVER, MysqlSpec, targets};
use super::server_key::ServerKey;
use super::settings::{self, Settings};
use super::table::Tables;
use super::{DIALECT, Dialects, OFFERS};
use crate::registration::{self, ClientLibrary};
use crate::server::errors::{malformed, not_one, wrong_count};
use crate::server::statement::{shared_start, start};
use crate::server::target::Target;
use crate::server::tls::Encryption;
use crate::server::whereabouts::Whereabouts;
use crate::server::within;
use answer::Rows;
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::needs::{Affected, Needs, Offers};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::{Isolation, RunSpec, RunnerKind};
use bakeoff_model::sql::{Ask, Dialect, Done, SqlSession, Statement};
use bakeoff_model::sql_records::SqlRecords;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use bakeoff_reactor::Address;
use kill::Victim;
use link::Link;
use login::{Account, Terms, Trust};
use read::{Kind, OkPacket};
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
    WireDriver::new(registration::options(spec)?, spec.isolation, spec.timeout())
}

pub struct WireDriver {
    routes: Vec<Arc<Route>>,
    settings: Settings,
    dialects: Dialects,
    connect_timeout: Duration,
}

impl WireDriver {
    /// Looks up names, which may block, and finds password and key; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(spec: MysqlSpec, isolation: Option<Isolation>, timeout: Duration) -> Result<Self, Trouble> {
        let settings = Settings::new(&spec.session_variables, isolation)?;
        let key = spec.server_public_key_file.as_deref().map(ServerKey::read);
        let key = key.transpose()?.map(Arc::new);
        let targets = targets(&spec)?;
        let encryptions = Encryption::towards(spec.tls.as_ref(), &targets, DRIVER)?;
        let route = |(target, encryption): (Target, _)| {
            Ok(Arc::new(Route {
                whereabouts: target.address.locate(&target.place, DRIVER)?,
                target,
                encryption,
                key: key.clone(),
            }))
        };
        Ok(Self {
            routes: targets
                .into_iter()
                .zip(encryptions)
                .map(route)
                .collect::<Result<_, _>>()?,
            settings,
            dialects: Dialects::new(&spec.table_options),
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
    async fn session(&self, _client: &(), endpoint: usize, needs: Needs) -> Result<Self::Session, OpError> {
        let route = &self.routes[endpoint % self.routes.len()];
        let target = &route.target;
        let opening = async {
            let mut session = WireSession::connect(route, self.connect_timeout, needs.affected)
                .await
                .map_err(|error| target.connect_failed(error))?;
            session.dialect = match session.terms.mariadb {
                true => self.dialects.mariadb,
                false => self.dialects.mysql,
            };
            self.settings
                .apply(&mut session)
                .await
                .map_err(|error| target.named(error))?;
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
    key: Option<Arc<ServerKey>>,
}

impl Route {
    fn account(&self, address: &Address, affected: Affected) -> Account<'_> {
        Account {
            user: &self.target.user,
            password: self.target.password.as_deref().unwrap_or_default(),
            schema: &self.target.database,
            affected,
            encryption: self.encryption.as_deref(),
            trust: match &self.key {
                _ if address.is_local() || self.encryption.is_some() => Trust::Listener,
                Some(key) => Trust::Key(key),
                None => Trust::Nobody,
            },
        }
    }
}

pub struct WireSession {
    link: Link,
    terms: Terms,
    statements: Vec<Prepared>,
    row: RowBuf,
    done: OkPacket,
    tables: Tables,
    dialect: &'static Dialect,
    route: Arc<Route>,
    address: Address,
}

struct Prepared {
    id: u32,
    columns: Box<[Kind]>,
    /// Of its parameters, as the server was last told.
    types: Box<[u8]>,
    /// The beginning of its text, for errors.
    sql: Rc<str>,
}

/// Status flag.
const IN_TRANSACTION: u16 = 1;

impl WireSession {
    async fn connect(route: &Arc<Route>, limit: Duration, affected: Affected) -> Result<Self, OpError> {
        let (stream, address) = route.whereabouts.connect(limit).await?;
        let mut link = Link::new(stream);
        let account = route.account(&address, affected);
        let terms = login::log_in(&mut link, &account).await?;
        Ok(Self {
            link,
            terms,
            statements: Vec::new(),
            row: RowBuf::default(),
            done: OkPacket::default(),
            tables: Tables::default(),
            dialect: &DIALECT,
            route: route.clone(),
            address,
        })
    }

    fn done(&self) -> Done {
        Done {
            affected: Some(self.done.affected_rows),
            insert_id: (self.done.insert_id != 0).then_some(self.done.insert_id),
        }
    }

    /// The server's number for this connection.
    pub fn connection_id(&self) -> u32 {
        self.terms.connection_id
    }

    /// Status flags that the last statement ended with (`SERVER_STATUS_*` of the protocol).
    pub fn status_flags(&self) -> u16 {
        self.done.status
    }

    /// Warnings that the last statement ended with.
    pub fn warnings(&self) -> u16 {
        self.done.warnings
    }

    /// Loads from now on as on a server that takes no arrays (MySQL), which few machines have to test with.
    pub fn decline_arrays(&mut self) {
        self.terms.arrays = false;
    }

    /// Runs the statement and hands each row to `each`. Rows seen; the rest is in `done`.
    #[inline]
    async fn run(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let prepared = &mut self.statements[statement.0 as usize];
        if params.len() != prepared.types.len() {
            return Err(wrong_count(prepared.types.len(), params.len(), &prepared.sql));
        }
        request::execute(self.link.request(), prepared.id, &mut prepared.types, params);
        let answer = match self.link.ask().await {
            Ok(()) => {
                let rows = Rows::Binary(&mut prepared.columns);
                answer::read(&mut self.link, self.terms, rows, &mut self.row, each).await
            }
            Err(error) => Err(error),
        };
        match answer {
            Ok((seen, done)) => {
                self.done = done;
                Ok(seen)
            }
            Err(error) => Err(error.with_statement(&*prepared.sql)),
        }
    }

    /// The same for a statement in text.
    async fn run_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        request::query(self.link.request(), sql);
        let answer = match self.link.ask().await {
            Ok(()) => answer::read(&mut self.link, self.terms, Rows::Text, &mut self.row, each).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok((seen, done)) => {
                self.done = done;
                Ok(seen)
            }
            Err(error) => Err(error.with_statement(start(sql))),
        }
    }

    async fn describe_statement(&mut self, sql: &str) -> Result<Prepared, OpError> {
        request::prepare(self.link.request(), sql);
        self.link.ask().await?;
        let packet = self.link.packet().await?;
        let (id, columns, params) = match packet.split_first() {
            Some((0x00, mut rest)) => {
                let [a, b, c, d] = *read::bytes(&mut rest, 4)?
                    .first_chunk()
                    .ok_or_else(|| malformed("a statement"))?;
                let columns = read::u16(&mut rest)?;
                (u32::from_le_bytes([a, b, c, d]), columns, read::u16(&mut rest)?)
            }
            Some((0xFF, rest)) => return Err(read::refusal(rest)),
            _ => return Err(malformed("a prepared statement")),
        };
        answer::describe(&mut self.link, self.terms, params.into(), |_| ()).await?;
        let columns = answer::describe(&mut self.link, self.terms, columns.into(), Kind::of).await?;
        Ok(Prepared {
            id,
            columns,
            types: vec![0; params.into()].into(),
            sql: shared_start(sql),
        })
    }
}

impl Drop for WireSession {
    /// As far as it goes without waiting: a server counts a client that leaves without a word as aborted.
    fn drop(&mut self) {
        if !self.link.is_in_flight() {
            return self.link.say(&request::QUIT);
        }
        let origin = match self.address.is_local() {
            true => Some(Origin::Socket),
            false => self.link.local_port().map(Origin::Port),
        };
        if let Some(origin) = origin {
            kill::kill(Victim {
                route: self.route.clone(),
                address: self.address.clone(),
                id: self.terms.connection_id,
                origin,
            });
        }
    }
}

impl SqlSession for WireSession {
    fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        let prepared = self
            .describe_statement(ask.sql)
            .await
            .map_err(|error| error.with_statement(start(ask.sql)))?;
        // Most sessions prepare one or two; a vector would make room for four.
        self.statements.reserve_exact(1);
        self.statements.push(prepared);
        Ok(Statement(self.statements.len() as u32 - 1))
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
        let whole = self.done.status & IN_TRANSACTION == 0;
        if !whole {
            return self.load(&table, next).await;
        }
        self.begin(Access::default()).await?;
        let rows = self.load(&table, next).await;
        self.end(rows).await
    }
}

impl Transactional for WireSession {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        settings::begin(self, access).await
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        self.execute_text("COMMIT").await.map(drop).map_err(at_commit)
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        self.execute_text("ROLLBACK").await.map(drop)
    }
}
