//! One's own SQL: a schema, rows, transactions and checks, as the plan's files have them; and pgbench's own, in the same words.
//!
//! This file is the table of contents. `scripts` are the transactions, in the language of [`crate::script`]; `transaction`
//! carries one out for a `user`: `advance` goes from one thing that the session is asked to the next, and `expected`
//! checks what comes; `preview` tells what will be asked. `presets` says what pgbench's own stand for.
//! `schema` makes the tables; `allowed` is what statements of all these may do; `rows` are what they are loaded with:
//! `cell` draws a value, `lists` some kinds of it, `data` and `csv` read a file; `load` stores them in their order. `check`
//! is what must hold, `long` which texts are too long, `settings` that nothing has made the run faster than the plan says.
mod account;
mod advance;
mod allowed;
mod cell;
mod check;
pub(crate) mod csv;
mod data;
mod expected;
mod lists;
mod load;
mod long;
mod presets;
mod preview;
mod resolve;
mod rows;
pub(crate) mod schema;
mod scripts;
mod settings;
mod transaction;
mod user;

use crate::account::Accounts;
use crate::prelude::*;
use crate::rng::{Stream, StreamHash};
use crate::script::Number;
use crate::tables;
use crate::trouble::check_client;
use account::{Account, Evidence};
use bakeoff_model::run::sql::SqlSpec;
use load::Order;
use rows::Table;
use schema::Schema;
use scripts::Scripts;
use settings::Settings;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use user::User;

pub use resolve::KIND;

/// Raised when the same options and seed give other data or other operations than before. Part of a data set's
/// identity.
pub const GENERATOR_VERSION: u32 = 1;

#[derive(Debug)]
pub struct Sql {
    spec: SqlSpec,
    seed: u64,
    client: ClientSpec,
    operations: Vec<Operation>,
    scripts: Scripts,
    schema: Schema,
    /// Of each table that is loaded.
    counts: BTreeMap<String, u64>,
    /// What they are loaded with; none in phases that load nothing.
    rows: Vec<Table>,
    order: Order,
    /// Statements that have followed the load.
    followed: AtomicUsize,
    accounts: Accounts<Account>,
    settings: Settings,
}

/// One user.
#[derive(Debug)]
pub struct Thread {
    stream: Stream,
    /// What a latency probe asks, and nothing else.
    only: Option<usize>,
    /// Its session's settings are read again when it ends.
    owes: bool,
    /// Of the operation drawn last: each attempt at it draws the same values.
    seed: u64,
    /// Of the operation drawn last.
    script: usize,
    /// At the operation drawn last.
    attempts: u32,
    user: User,
    account: Arc<Account>,
    hash: StreamHash,
}

impl Sql {
    /// `dialect`: the name of the driver's. `loads`: it is for the phase that loads rows.
    pub fn new(
        spec: &SqlSpec,
        seed: u64,
        client: ClientSpec,
        dialect: &str,
        loads: bool,
    ) -> Result<Self, Trouble> {
        check_client(client)?;
        check_bounds(spec, "workload")?;
        let whole = presets::whole(spec);
        let mut scripts = Scripts::new(&whole, dialect)?;
        let schema = Schema::new(&whole, dialect)?;
        allowed::validate(&whole, dialect, &schema, &mut scripts)?;
        Ok(Self {
            operations: scripts
                .all
                .iter()
                .map(|script| Operation::new(&*script.name).reading_only(script.program.reads_only))
                .collect(),
            schema,
            counts: rows::counts(&whole, seed)?,
            rows: if loads { loaded(&whole, seed)? } else { vec![] },
            order: Order::default(),
            followed: AtomicUsize::new(0),
            accounts: Accounts::default(),
            settings: Settings::default(),
            scripts,
            spec: whole,
            seed,
            client,
        })
    }

    fn values(&self, client: u64) -> Vec<Number> {
        scripts::values(&self.spec, client, self.seed)
    }
}

impl Workload for Sql {
    type Session = AnySql;
    type Worker = ();
    type Thread = Thread;
    type Evidence = Evidence;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn latency_probe_operation(&self) -> Option<usize> {
        self.scripts.latency_probe()
    }

    fn needs(&self) -> Needs {
        needs(&self.scripts)
    }

    fn worker(&self, _worker: usize) {}

    fn thread(&self, _worker: &(), id: ThreadId) -> Thread {
        Thread {
            only: self.scripts.latency_probe().filter(|_| id.latency_probe),
            owes: id.stream < settings::SESSIONS_READ && !id.latency_probe,
            stream: self.scripts.stream(&self.spec, self.seed, id.stream),
            seed: 0,
            script: 0,
            attempts: 0,
            user: self.scripts.user(&self.values(id.stream)),
            account: self.accounts.keep(Account::new(self.scripts.all.len())),
            hash: StreamHash::default(),
        }
    }

    async fn attach(&self, session: &mut AnySql) -> Result<(), OpError> {
        self.scripts.prepare(session).await?;
        self.settings.opened(session).await
    }

    #[inline]
    fn next(&self, _worker: &(), thread: &mut Thread) -> usize {
        (thread.script, thread.seed) = self.scripts.next(&mut thread.stream);
        thread.script = thread.only.unwrap_or(thread.script);
        thread.attempts = 0;
        thread.hash.add([thread.script as u64, thread.seed]);
        thread.script
    }

    #[inline]
    async fn execute(
        &self,
        _worker: &(),
        thread: &mut Thread,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        let again = thread.attempts > 0;
        thread.attempts += 1;
        self.scripts
            .carry_out(
                thread.script,
                thread.seed,
                again,
                &mut thread.user,
                session,
                probe,
            )
            .await
    }

    #[inline]
    fn settle(&self, _worker: &(), thread: &mut Thread, ended: Ended, _probe: &mut dyn Probe) {
        thread.account.book(thread.script, ended);
    }

    fn owes(&self, thread: &Thread) -> bool {
        thread.owes
    }

    async fn finish(
        &self,
        _worker: &(),
        _thread: &mut Thread,
        session: &mut AnySql,
        _probe: &mut dyn Probe,
    ) -> Result<(), OpError> {
        self.settings.ended(session).await
    }

    fn stream_hash(&self, thread: &Thread) -> u64 {
        thread.hash.value()
    }

    async fn create(&self, session: &mut AnySql, drop_existing: bool) -> Result<(), Trouble> {
        tables::make_way(session, &self.tables_to_drop(), drop_existing).await?;
        schema::make(session, &self.schema.make).await
    }

    async fn drop(&self, session: &mut AnySql) -> Result<(), Trouble> {
        tables::drop_all(session, &self.tables_to_drop()).await
    }

    fn load_units(&self) -> u64 {
        self.load_share().1
    }

    fn load_chunk_units(&self) -> u64 {
        load::CHUNK_ROWS
    }

    async fn load_chunk(
        &self,
        _worker: &(),
        thread: &mut Thread,
        session: &mut AnySql,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        self.load(thread, session, first, count).await
    }

    fn after_load_steps(&self) -> u64 {
        u64::from(self.client.index == 0 && !self.schema.after_load.is_empty())
    }

    /// One after the other: a foreign key needs the primary key that another statement makes. Asked again after a
    /// conflict, it goes on where it was.
    async fn after_load(&self, session: &mut AnySql, _step: u64) -> Result<(), OpError> {
        for statement in self.schema.after_load.iter().skip(self.followed.load(Relaxed)) {
            let done = session.execute_text(&statement.sql).await;
            done.map_err(|error| error.with_statement(format!("{}: {}", statement.place, statement.sql)))?;
            self.followed.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    async fn scan_all(&self, session: &mut AnySql) -> Result<u64, OpError> {
        tables::read_all(session, &self.schema.tables).await
    }

    async fn check(
        &self,
        session: &mut AnySql,
        done: &[Option<Evidence>],
        spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        let mut checks = vec![];
        if spec.after_run && done.iter().flatten().any(|done| !done.settings.is_empty()) {
            let now = settings::read(session).await?;
            let each = |done: &Evidence| settings::fault(&done.settings, &done.settings_changed, &now);
            checks.extend(done.iter().flatten().find_map(each));
        }
        checks.extend(self.checks(session, spec).await?);
        Ok(checks)
    }

    fn evidence(&self) -> Evidence {
        let names = self.scripts.all.iter().map(|script| &*script.name);
        let (settings, settings_changed) = self.settings.evidence();
        Evidence {
            settings,
            settings_changed,
            ..Evidence::of(&self.accounts, names)
        }
    }

    fn user_bytes_written(&self) -> u64 {
        let mut sum = 0;
        self.accounts.each(|account| sum += account.bytes_written.get());
        sum
    }
}

impl Sql {
    /// What was made last goes first: it may refer to what was made before it.
    fn tables_to_drop(&self) -> Vec<String> {
        self.schema.tables.iter().rev().cloned().collect()
    }
}

/// The tables to load, from files that are what they were when the plan was read.
fn loaded(spec: &SqlSpec, seed: u64) -> Result<Vec<Table>, Trouble> {
    let files = rows::files(spec)?;
    for (name, data) in &files {
        if let Some(planned) = spec.load.get(name).and_then(|load| load.file.as_ref()) {
            data.verify(planned)?;
        }
    }
    rows::tables(spec, seed, files)
}

/// Rows are loaded in transactions, whatever the scripts do.
pub fn needs(scripts: &Scripts) -> Needs {
    let pipelines = scripts.all.iter().any(|script| script.program.pipelines);
    Needs {
        offers: Offers::of(&[Offer::Transactions]).and_if(pipelines, Offer::Pipeline),
        affected: Affected::Found,
        ..Needs::default()
    }
}
