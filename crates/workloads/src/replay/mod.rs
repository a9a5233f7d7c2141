//! A captured log, replayed: its statements as they were sent, with their sessions, at their pace or another.
//!
//! This file is the table of contents. `log` reads a file, `mysql_logs` and `postgresql_logs` its lines; `capture` is what they
//! say, `digest` which statements are alike, `allowed` which are sent; `resolve` decides a plan's options. A captured session is replayed in a session of its
//! own, by one user, who takes another when it has ended.
mod allowed;
mod capture;
mod digest;
mod log;
mod mysql_logs;
mod postgresql_logs;
mod resolve;

use crate::account::{Account, Accounts, Evidence};
use crate::prelude::*;
use crate::rng::StreamHash;
use crate::sql::schema;
use crate::statement_kind::Kind;
use crate::tables;
use crate::trouble::{check_client, refuse};
use bakeoff_model::run::replay::ReplaySpec;
use capture::{Capture, Captured};
use std::sync::Arc;

pub use resolve::KIND;

/// Raised when the same options and seed give other data or other operations than before. Part of a data set's identity.
pub const GENERATOR_VERSION: u32 = 1;

/// When the next statement of a user is due who has replayed all of its sessions: after any run.
const FOR_EVER_NS: u64 = 1 << 60;

const OTHER_ROWS: &str = "another number of rows than when it was captured";
const NO_ERROR: &str = "it was answered, and failed when it was captured";

pub struct Replay {
    spec: ReplaySpec,
    client: ClientSpec,
    capture: Arc<Capture>,
    /// Sessions of each user over all clients.
    dealt: Vec<Vec<u32>>,
    operations: Vec<Operation>,
    /// By form.
    operation_of: Vec<usize>,
    schema: schema::Schema,
    tables: Vec<String>,
    accounts: Accounts,
}

/// One user.
pub struct Thread {
    user: usize,
    /// Places of the statement drawn last: among its user's sessions, and in that one.
    session: usize,
    place: usize,
    /// Nothing has been drawn yet.
    fresh: bool,
    /// In a transaction that it began.
    open: bool,
    account: Arc<Account>,
    hash: StreamHash,
}

impl Replay {
    /// `dialect`: the name of the driver's. `threads`: of a run's client; `None` in the phases before and after it.
    pub fn new(
        spec: &ReplaySpec,
        client: ClientSpec,
        dialect: &str,
        threads: Option<u32>,
    ) -> Result<Self, Trouble> {
        check_client(client)?;
        check_bounds(spec, "workload")?;
        let (capture, schema) = (log::read(spec)?, resolve::setup(spec, dialect)?);
        let (names, operation_of) = resolve::operations(&capture);
        let users = u64::from(threads.unwrap_or(1)) * u64::from(client.count);
        Ok(Self {
            dealt: capture.dealt(users.max(1)),
            operations: names.into_iter().map(Operation::new).collect(),
            operation_of,
            tables: resolve::tables(spec, &schema, &capture)?,
            schema,
            accounts: Accounts::default(),
            spec: spec.clone(),
            client,
            capture,
        })
    }

    fn at(&self, thread: &Thread) -> Option<&Captured> {
        let session = *self.dealt[thread.user].get(thread.session)?;
        let place = self.capture.sessions[session as usize]
            .statements
            .get(thread.place)?;
        self.capture.statements.get(*place as usize)
    }
}

impl Workload for Replay {
    type Session = AnySql;
    type Worker = ();
    type Thread = Thread;
    type Evidence = Evidence;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn needs(&self) -> Needs {
        needs()
    }

    fn worker(&self, _worker: usize) {}

    fn thread(&self, _worker: &(), id: ThreadId) -> Thread {
        Thread {
            user: id.stream as usize % self.dealt.len(),
            session: 0,
            place: 0,
            fresh: true,
            open: false,
            account: self.accounts.open(),
            hash: StreamHash::default(),
        }
    }

    /// Of the statements of its sessions, however many are asked in all: `operations` beyond the log's have no statement.
    fn share(&self, id: ThreadId, operations: u64) -> Option<u64> {
        let sessions = &self.dealt[id.stream as usize % self.dealt.len()];
        let own: u64 = sessions
            .iter()
            .map(|one| self.capture.sessions[*one as usize].statements.len() as u64)
            .sum();
        let all = self.capture.statements.len() as u64;
        let clients = u64::from(self.client.count);
        // What is left of a division among clients is no reason to leave a statement out.
        let asked = operations * clients + clients - 1;
        Some(if asked >= all { own } else { own * asked / all })
    }

    async fn attach(&self, _session: &mut AnySql) -> Result<(), OpError> {
        Ok(())
    }

    #[inline]
    fn next(&self, _worker: &(), thread: &mut Thread) -> usize {
        if !std::mem::take(&mut thread.fresh) {
            thread.place += 1;
        }
        if self.at(thread).is_none() {
            (thread.session, thread.place) = (thread.session + 1, 0);
        }
        let Some(captured) = self.at(thread) else {
            return 0;
        };
        thread.hash.add([captured.form.into(), captured.at_us]);
        self.operation_of[captured.form as usize]
    }

    #[inline]
    fn due_ns(&self, thread: &Thread) -> Option<u64> {
        match self.at(thread) {
            None => Some(FOR_EVER_NS),
            Some(_) if self.spec.speed <= 0.0 => None,
            Some(captured) => Some((captured.at_us as f64 * 1000.0 / self.spec.speed) as u64),
        }
    }

    #[inline]
    async fn execute(
        &self,
        _worker: &(),
        thread: &mut Thread,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        let Some(captured) = self.at(thread) else {
            return Err(OpError::fail(
                FailClass::Other,
                "LOG",
                "the log has no more statements",
            ));
        };
        let form = &self.capture.forms[captured.form as usize];
        let (sql, kind) = (self.capture.sql(captured), form.kind);
        let (mut rows, mut affected) = (None, None);
        let done = match kind {
            Kind::Begin => session.begin(Access::default()).await,
            Kind::Commit => session.commit().await,
            Kind::Rollback => session.rollback().await,
            Kind::Read => session
                .query_text(sql, &mut |_| {})
                .await
                .map(|found| rows = Some(found)),
            Kind::Write | Kind::Other => session
                .execute_text(sql)
                .await
                .map(|done| affected = done.affected),
        };
        // Its form: the values are somebody's.
        done.map_err(|error| error.with_statement(&form.text))?;
        thread.open = kind.opens(sql) || (thread.open && !matches!(kind, Kind::Commit | Kind::Rollback));
        let mut queries = Queries::default();
        kind.count(affected, &mut queries);
        probe.queries(queries);
        if captured.failed {
            return Ok(Answer::Wrong(NO_ERROR));
        }
        let differs =
            self.spec.compare_rows && rows.is_some() && captured.rows.is_some() && rows != captured.rows;
        Ok(if differs {
            Answer::Wrong(OTHER_ROWS)
        } else {
            Answer::Right
        })
    }

    #[inline]
    fn settle(&self, _worker: &(), thread: &mut Thread, ended: Ended, _probe: &mut dyn Probe) {
        thread.open &= !ended.session_lost;
        if ended.outcome == Outcome::Ok {
            thread.account.writes_acknowledged.add(1);
        }
    }

    /// The captured session has ended, and its user begins another.
    #[inline]
    fn wants_new_session(&self, thread: &Thread) -> bool {
        let sessions = &self.dealt[thread.user];
        let Some(session) = sessions.get(thread.session) else {
            return false;
        };
        let is_last = thread.place + 1 == self.capture.sessions[*session as usize].statements.len();
        is_last && thread.session + 1 < sessions.len()
    }

    /// Its session stays where it is until its transaction has ended.
    fn owes(&self, thread: &Thread) -> bool {
        thread.open
    }

    fn stream_hash(&self, thread: &Thread) -> u64 {
        thread.hash.value()
    }

    async fn create(&self, session: &mut AnySql, drop_existing: bool) -> Result<(), Trouble> {
        if self.schema.make.is_empty() {
            let hint = "setup = \"dump.sql\" makes the tables; or say data = \"existing\" in [measure]";
            return Err(refuse("setup", "there is nothing to load", hint));
        }
        tables::make_way(session, &self.tables_to_drop(), drop_existing).await
    }

    async fn drop(&self, session: &mut AnySql) -> Result<(), Trouble> {
        tables::drop_all(session, &self.tables_to_drop()).await
    }

    fn after_load_steps(&self) -> u64 {
        u64::from(self.client.index == 0 && !self.schema.make.is_empty())
    }

    /// What has been made is there: it is not tried again.
    async fn after_load(&self, session: &mut AnySql, _step: u64) -> Result<(), OpError> {
        for statement in &self.schema.make {
            if let Err(mut error) = session.execute_text(&statement.sql).await {
                error.outcome = Outcome::Fail(FailClass::Other);
                return Err(error.with_statement(format!("{}: {}", statement.place, statement.sql)));
            }
        }
        Ok(())
    }

    async fn scan_all(&self, session: &mut AnySql) -> Result<u64, OpError> {
        // What follows FROM in a statement is not always a table.
        let tables = tables::existing(session, &self.tables).await?;
        tables::read_all(session, &tables).await
    }

    async fn check(
        &self,
        _session: &mut AnySql,
        _done: &[Option<Evidence>],
        _spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        Ok(vec![])
    }

    fn evidence(&self) -> Evidence {
        self.accounts.evidence()
    }
}

impl Replay {
    /// Those that `setup` makes; others are not the plan's.
    fn tables_to_drop(&self) -> Vec<String> {
        self.schema.tables.iter().rev().cloned().collect()
    }
}

/// What is set in a session holds for it alone.
pub fn needs() -> Needs {
    Needs {
        offers: Offers::of(&[Offer::Transactions]),
        own_session: true,
        ..Needs::default()
    }
}
