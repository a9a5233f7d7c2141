//! sysbench OLTP: the scripts of 1.0.20 (and the 0.5 article test by options), on tables that either tool can load.
//!
//! This file is the table of contents. `resolve` refuses what cannot be run; `steps` says which statements a script has and
//! draws one event, `random` its values; `statements` asks them, `event` carries an event out and `judge` looks at the
//! answers, `inserts` those of the two scripts that fill tables. `tables`, `load` and `check` are the phases before and
//! after.
//! Differences from the original: docs/reference/workloads/sysbench.md.

mod check;
mod event;
mod inserts;
mod judge;
mod load;
pub(crate) mod random;
mod resolve;
mod statements;
mod steps;
mod tables;
mod thread;

#[cfg(test)]
pub mod fake;
#[cfg(test)]
mod tests;

use crate::account::{Accounts, Evidence};
use crate::keys::Permutation;
use crate::prelude::*;
use crate::rng::{Stream, StreamHash};
use bakeoff_model::run::sysbench::{SysbenchScript, SysbenchSpec};
use statements::Statements;
use steps::{Draws, Steps};
use thread::{Buffers, Bulk, Written};

pub use resolve::KIND;
pub use thread::Thread;

/// Raised when the same options and seed give other data or other operations than before. Part of a data set's
/// identity.
pub const GENERATOR_VERSION: u32 = 1;

#[derive(Debug)]
pub struct Sysbench {
    spec: SysbenchSpec,
    seed: u64,
    client: ClientSpec,
    /// Of all clients.
    users: u64,
    operation: [Operation; 1],
    draws: Draws,
    statements: Statements,
    /// Scatters ids that clients make up over their 32 bits.
    ids: Permutation,
    accounts: Accounts,
}

impl Sysbench {
    /// `threads`: of each client of a run; `None` in the phases before and after it.
    pub fn new(
        spec: &SysbenchSpec,
        seed: u64,
        client: ClientSpec,
        threads: Option<u32>,
    ) -> Result<Self, Trouble> {
        let users = threads.map(|threads| u64::from(threads) * u64::from(client.count));
        resolve::validate(spec, client, users)?;
        let draws = Draws::new(spec);
        Ok(Self {
            statements: Statements::new(spec, &draws.script),
            operation: [Operation::new(steps::name(spec.script)).reading_only(draws.script.reads_only)],
            draws,
            users: users.unwrap_or(1).max(1),
            ids: Permutation::new(1 << 32),
            accounts: Accounts::default(),
            spec: spec.clone(),
            seed,
            client,
        })
    }

    fn is_bulk(&self) -> bool {
        self.spec.script == SysbenchScript::BulkInsert
    }

    /// The first attempt at the event drawn last, into the stream's hash.
    #[cold]
    fn hash(&self, thread: &mut Thread) {
        let mut steps = Steps::new(thread.seed);
        let mut event = StreamHash::default();
        while let Some(step) = steps.next(&self.draws) {
            event.add([
                step.kind as u64,
                u64::from(step.table),
                step.id,
                step.other,
                step.seed,
            ]);
        }
        thread.hash.add([event.value()]);
    }
}

impl Workload for Sysbench {
    type Session = AnySql;
    type Worker = ();
    type Thread = Thread;
    type Evidence = Evidence;

    fn operations(&self) -> &[Operation] {
        &self.operation
    }

    fn latency_probe_operation(&self) -> Option<usize> {
        self.draws.script.reads_only.then_some(0)
    }

    fn needs(&self) -> Needs {
        needs(&self.spec)
    }

    fn worker(&self, _worker: usize) {}

    fn thread(&self, _worker: &(), id: ThreadId) -> Thread {
        Thread {
            stream: Stream::new(self.seed, id.stream),
            number: id.stream,
            seed: 0,
            attempts: 0,
            events: 0,
            written: Written::default(),
            ids: 0,
            buffers: Buffers::new(&self.spec, &self.statements),
            bulk: self.is_bulk().then(|| Box::new(Bulk::new(id.stream))),
            account: self.accounts.open(),
            hash: StreamHash::default(),
        }
    }

    async fn attach(&self, session: &mut AnySql) -> Result<(), OpError> {
        self.statements.prepare(session).await
    }

    #[inline]
    fn next(&self, _worker: &(), thread: &mut Thread) -> usize {
        thread.seed = thread.stream.next_seed();
        thread.attempts = 0;
        thread.events += 1;
        if thread.hash.is_open() {
            self.hash(thread);
        }
        0
    }

    #[inline]
    async fn execute(
        &self,
        _worker: &(),
        thread: &mut Thread,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        match self.spec.script {
            SysbenchScript::BulkInsert => self.add_row(thread, session, probe).await,
            SysbenchScript::OltpInsert => self.insert(thread, session, probe).await,
            _ => self.event(thread, session, probe).await,
        }
    }

    #[inline]
    fn settle(&self, _worker: &(), thread: &mut Thread, ended: Ended, probe: &mut dyn Probe) {
        if ended.session_lost {
            self.abandon_rows(thread, probe);
        }
        if !self.draws.script.reads_only && !self.is_bulk() {
            self.book(thread, ended);
        }
    }

    #[inline]
    fn wants_new_session(&self, thread: &Thread) -> bool {
        self.spec.reconnect > 0 && thread.events.is_multiple_of(u64::from(self.spec.reconnect))
    }

    fn owes(&self, thread: &Thread) -> bool {
        thread.bulk.as_ref().is_some_and(|bulk| bulk.has_rows())
    }

    async fn finish(
        &self,
        _worker: &(),
        thread: &mut Thread,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<(), OpError> {
        self.send_rows(thread, session, probe).await.map(drop)
    }

    fn abandon(&self, thread: &mut Thread, probe: &mut dyn Probe) {
        let rows = thread.bulk.as_mut().map_or(0, |bulk| bulk.forget());
        probe.revoke(rows);
    }

    fn stream_hash(&self, thread: &Thread) -> u64 {
        thread.hash.value()
    }

    async fn create(&self, session: &mut AnySql, drop_existing: bool) -> Result<(), Trouble> {
        self.create_tables(session, drop_existing).await
    }

    async fn drop(&self, session: &mut AnySql) -> Result<(), Trouble> {
        self.drop_tables(session).await
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
        // Every client has these, and one of them makes each index.
        match self.client.index {
            0 => self.indexes_after_rows(),
            _ => 0,
        }
    }

    async fn after_load(&self, session: &mut AnySql, step: u64) -> Result<(), OpError> {
        self.create_index(session, 1 + step as u32).await
    }

    async fn scan_all(&self, session: &mut AnySql) -> Result<u64, OpError> {
        self.read_tables(session).await
    }

    async fn check(
        &self,
        session: &mut AnySql,
        done: &[Option<Evidence>],
        spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        self.checks(session, done, spec).await
    }

    fn evidence(&self) -> Evidence {
        self.accounts.evidence()
    }

    fn user_bytes_written(&self) -> u64 {
        self.accounts.bytes_written()
    }
}

/// Whatever the script does: tables are loaded in transactions, and an update is right when it found its row.
pub fn needs(spec: &SysbenchSpec) -> Needs {
    Needs {
        offers: Offers::of(&[Offer::Transactions])
            .and_if(spec.secondary, Offer::PlainIndex)
            .and_if(spec.pipeline, Offer::Pipeline),
        affected: Affected::Found,
        ..Needs::default()
    }
}

impl Sysbench {
    /// Rows that were deleted and put back are no inserts: the tables have no more rows than before.
    fn book(&self, thread: &mut Thread, ended: Ended) {
        let written = std::mem::take(&mut thread.written);
        let new_row = u64::from(self.spec.script == SysbenchScript::OltpInsert);
        let outcome = ended.outcome;
        if ended.perhaps_applied > 0 {
            let rows = new_row * u64::from(ended.perhaps_applied);
            thread.account.inserts_begun.add(rows);
        }
        match outcome {
            Outcome::Ok | Outcome::Wrong => {
                let rows = if outcome == Outcome::Ok { new_row } else { 0 };
                thread.account.inserts_acknowledged.add(rows);
                thread.account.writes_acknowledged.add(written.statements);
                thread.account.bytes_written.add(written.bytes);
            }
            Outcome::Fail(_) => thread.account.inserts_failed.add(new_row),
            Outcome::Unknown => {}
        }
    }
}
