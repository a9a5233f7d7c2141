//! SQLite, embedded (rusqlite, compiled in). A session is one connection; every call blocks its OS thread.
//!
//! Isolation is serializable, always (one writer at a time; readers see a snapshot in WAL mode). A transaction that may
//! write begins IMMEDIATE, unless an option says otherwise: taking the write lock at once queues in the busy handler, while
//! upgrading a read lock later fails outright. A wait for a lock ends after the run's timeout, as a conflict; a statement
//! that computes for as long is interrupted, and what it has written is undone.
mod bulk;
mod errors;
mod json;
mod options;
mod pragmas;
mod values;

use crate::registration::{self, ClientLibrary, Options, Registration};
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{FailClass, OpError, Trouble, TroubleKind};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::{ExperimentSpec, Isolation, RunSpec, RunnerKind};
use bakeoff_model::sql::{Ask, Dialect, Done, SqlSession, Statement};
use bakeoff_model::sql_records::SqlRecords;
use bakeoff_model::time::{deadline_ns, now_ns};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use errors::{at_commit, op_error};
pub use options::{SqliteBegin, SqliteSpec};
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use values::{Bound, Declared};

pub const DRIVER: Registration = Registration {
    kind: "sqlite",
    options: Options::of::<SqliteSpec>(),
    library: || format!("SQLite {}", rusqlite::version()),
    isolation: &[Isolation::Serializable],
    client: ClientLibrary {
        name: "sqlite",
        runners: SqliteDriver::RUNNERS,
        offers: OFFERS,
        make: Make::Sql(|spec| Ok(object(driver(spec)?, AnySql::beneath))),
    },
};

static DIALECT: Dialect = Dialect {
    name: "sqlite",
    byte_type: "TINYINT",
    // An integer primary key is the row's own number.
    auto_key_big: "INTEGER NOT NULL",
    force_index: " INDEXED BY {}",
    max_params: 32_766,
    foreign_keys_off: "PRAGMA foreign_keys = OFF",
    table_exists: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
    only_reads: ["PRAGMA query_only = ON", "PRAGMA query_only = OFF"],
    settings: "SELECT 'synchronous', CAST(synchronous AS TEXT) FROM pragma_synchronous \
        UNION ALL SELECT 'journal_mode', journal_mode FROM pragma_journal_mode \
        UNION ALL SELECT 'foreign_keys', CAST(foreign_keys AS TEXT) FROM pragma_foreign_keys \
        UNION ALL SELECT 'read_uncommitted', CAST(read_uncommitted AS TEXT) FROM pragma_read_uncommitted",
    json: Some(&json::JSON),
    ..Dialect::STANDARD
};

/// Of SQLite's virtual machine, between two looks whether the operation's time is over: some 10 us. Most statements end
/// before the first.
const STEPS: i32 = 1000;

const ONE_LEVEL: &str = "SQLite has no isolation level but serializable";

const OFFERS: Offers = Offers::of(&[
    Offer::Transactions,
    Offer::Scan,
    Offer::CountsFound,
    Offer::Patch,
    Offer::Revisions,
    Offer::Find,
    Offer::PathIndex,
    Offer::RowLocks,
]);

pub fn driver(spec: &RunSpec) -> Result<SqliteDriver, Trouble> {
    let driver = SqliteDriver::new(registration::options(spec)?, spec.isolation, spec.timeout())?;
    Ok(SqliteDriver {
        waits_briefly: matches!(
            spec.experiment,
            Some(ExperimentSpec::Isolation { .. } | ExperimentSpec::Transactions { .. })
        ),
        ..driver
    })
}

pub struct SqliteDriver {
    spec: SqliteSpec,
    busy_timeout: Duration,
    /// For a lock, between two tries.
    waits_briefly: bool,
}

impl SqliteDriver {
    pub fn new(spec: SqliteSpec, isolation: Option<Isolation>, timeout: Duration) -> Result<Self, Trouble> {
        let place = format!("sqlite {}", spec.path);
        if isolation.is_some_and(|level| level != Isolation::Serializable) {
            return Err(Trouble::new(
                TroubleKind::Usage,
                ONE_LEVEL,
                place,
                "leave `isolation` out, or ask for `serializable`",
            ));
        }
        let folder = Path::new(&spec.path)
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(Trouble::new(
                TroubleKind::Environment,
                "the folder of the database file does not exist",
                place,
                "make the folder, or name another path",
            ));
        }
        let busy_timeout = timeout.min(Duration::from_millis(i32::MAX as u64));
        Ok(Self {
            spec,
            busy_timeout,
            waits_briefly: false,
        })
    }
}

impl Driver for SqliteDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Thread];
    type Client = ();
    type Session = SqlRecords<SqliteSession>;

    fn offers(&self) -> Offers {
        OFFERS
    }
    fn client(&self) -> &'static str {
        "rusqlite"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(&self, _client: &(), _endpoint: usize, _needs: Needs) -> Result<Self::Session, OpError> {
        let path = &self.spec.path;
        let connection = Connection::open(path).map_err(|error| {
            let mut error = op_error(&error);
            error.message = format!("could not open the SQLite database {path}: {}", error.message);
            error
        })?;
        match self.waits_briefly {
            true => connection.busy_handler(Some(wait_briefly)),
            false => connection.busy_timeout(self.busy_timeout),
        }
        .map_err(|error| op_error(&error))?;
        let kept = connection.authorizer(Some(|context: AuthContext<'_>| authorize(context.action)));
        kept.map_err(|error| op_error(&error))?;
        pragmas::apply(&connection, path, &self.spec.pragmas, self.busy_timeout)?;
        connection
            .progress_handler(STEPS, Some(|| now_ns() > deadline_ns()))
            .map_err(|error| op_error(&error))?;
        Ok(SqlRecords::new(SqliteSession {
            statements: Vec::new(),
            connection: Rc::new(connection),
            row: RowBuf::default(),
            begin: self.spec.begin,
        }))
    }
}

/// Where sessions shall meet: SQLite's own handler waits up to 100 ms after the lock has been given up. tries: so far.
fn wait_briefly(tries: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    tries < LOCK_LIMIT_MS
}

/// As that of other systems in `bakeoff verify`.
const LOCK_LIMIT_MS: i32 = 3000;

/// A session stays in its file: it attaches no other. (VACUUM takes one without a name, for as long as it works.)
fn authorize(action: AuthAction<'_>) -> Authorization {
    match action {
        AuthAction::Attach { filename } if !filename.is_empty() => Authorization::Deny,
        // A computed name is unknown here.
        AuthAction::Unknown { code, .. } if code == rusqlite::ffi::SQLITE_ATTACH => Authorization::Deny,
        _ => Authorization::Allow,
    }
}

pub struct SqliteSession {
    /// Borrow from `connection`: declared first, so dropped first.
    statements: Vec<Prepared>,
    connection: Rc<Connection>,
    row: RowBuf,
    begin: SqliteBegin,
}

struct Prepared {
    statement: rusqlite::Statement<'static>,
    columns: Box<[Declared]>,
    /// It may give a new row its number.
    inserts: bool,
    /// For errors.
    sql: Box<str>,
}

impl Prepared {
    fn error(&self, error: &rusqlite::Error) -> OpError {
        op_error(error).with_statement(&*self.sql)
    }

    #[inline]
    fn bind(&mut self, params: &[Value<'_>]) -> Result<(), OpError> {
        for (i, param) in params.iter().enumerate() {
            if let Err(error) = self.statement.raw_bind_parameter(i + 1, Bound(*param)) {
                return Err(self.error(&error));
            }
        }
        Ok(())
    }

    /// Calls `each` for at most `rows_max` rows, copying every value into `row`; the statement is reset afterwards.
    #[inline]
    fn fetch(
        &mut self,
        params: &[Value<'_>],
        rows_max: u64,
        row: &mut RowBuf,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        self.bind(params)?;
        step(&mut self.statement, &self.columns, rows_max, row, each).map_err(|error| self.error(&error))
    }
}

impl SqlSession for SqliteSession {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        let sql = ask.sql;
        let prepared = self
            .connection
            .prepare(sql)
            .map_err(|error| op_error(&error).with_statement(sql))?;
        // SAFETY: the statement borrows the `Connection` inside an `Rc` that this session keeps, whose place in memory
        // never changes; `statements` is private, hands nothing out beyond `&mut self`, and is dropped first.
        let prepared =
            unsafe { std::mem::transmute::<rusqlite::Statement<'_>, rusqlite::Statement<'static>>(prepared) };
        self.statements.push(Prepared {
            columns: values::declared(&prepared),
            statement: prepared,
            inserts: inserts(sql),
            sql: sql.into(),
        });
        Ok(Statement(self.statements.len() as u32 - 1))
    }

    #[inline]
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        let prepared = &mut self.statements[statement.0 as usize];
        prepared.bind(params)?;
        match prepared.statement.raw_execute() {
            Ok(rows) => {
                let inserts = prepared.inserts;
                Ok(self.done(rows as u64, inserts))
            }
            Err(error) => Err(prepared.error(&error)),
        }
    }

    #[inline]
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        self.statements[statement.0 as usize].fetch(params, u64::MAX, &mut self.row, each)
    }

    #[inline]
    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError> {
        let rows = self.statements[statement.0 as usize].fetch(params, 1, &mut self.row, &mut |_| {})?;
        Ok((rows > 0).then_some(&self.row))
    }

    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        let carried_out = || {
            let mut statement = self.connection.prepare(sql)?; // which takes one statement only
            let mut rows = statement.raw_query();
            while rows.next()?.is_some() {}
            Ok(())
        };
        carried_out().map_err(|error: rusqlite::Error| op_error(&error).with_statement(sql))?;
        Ok(self.done(self.connection.changes(), inserts(sql)))
    }

    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        let connection = self.connection.clone();
        let error = |error| op_error(&error).with_statement(sql);
        let mut statement = connection.prepare(sql).map_err(error)?;
        let columns = values::declared(&statement);
        step(&mut statement, &columns, u64::MAX, &mut self.row, each).map_err(error)
    }

    async fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let whole = self.connection.is_autocommit();
        if whole {
            self.begin(Access::default()).await?;
        }
        let rows = bulk::insert(&self.connection, table, columns, &mut self.row, next);
        if whole { self.end(rows).await } else { rows }
    }
}

impl Transactional for SqliteSession {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        if access
            .isolation
            .is_some_and(|level| level != Isolation::Serializable)
        {
            return Err(OpError::fail(FailClass::Refused, "ISOLATION", ONE_LEVEL));
        }
        let begin = match self.begin {
            _ if access.read_only => "BEGIN DEFERRED",
            SqliteBegin::Immediate => "BEGIN IMMEDIATE",
            SqliteBegin::Deferred => "BEGIN DEFERRED",
            SqliteBegin::Exclusive => "BEGIN EXCLUSIVE",
        };
        self.execute_text(begin).await.map(drop)
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        self.execute_text("COMMIT").await.map(drop).map_err(at_commit)
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        // Some failures (disk full, out of memory) have rolled back already.
        if self.connection.is_autocommit() {
            Ok(())
        } else {
            self.execute_text("ROLLBACK").await.map(drop)
        }
    }
}

impl SqliteSession {
    #[inline]
    fn done(&self, rows: u64, inserts: bool) -> Done {
        let id = || u64::try_from(self.connection.last_insert_rowid()).ok();
        Done {
            affected: Some(rows),
            insert_id: if inserts && rows > 0 { id() } else { None },
        }
    }
}

fn inserts(sql: &str) -> bool {
    let verb = sql.trim_start().get(..6);
    verb.is_some_and(|verb| verb.eq_ignore_ascii_case("INSERT"))
}

fn step(
    statement: &mut rusqlite::Statement<'_>,
    columns: &[Declared],
    rows_max: u64,
    row: &mut RowBuf,
    each: &mut dyn FnMut(&RowBuf),
) -> rusqlite::Result<u64> {
    let mut rows = statement.raw_query();
    let mut seen = 0;
    while seen < rows_max {
        let Some(found) = rows.next()? else { break };
        values::fill(found, columns, row)?;
        each(row);
        seen += 1;
    }
    Ok(seen)
}
