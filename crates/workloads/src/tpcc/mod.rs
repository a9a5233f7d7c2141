//! TPC-C (specification 5.11) and its variants in the field: nine tables, five transactions, twelve conditions that the
//! data must keep. What is measured is TPC-C-like: only an audited run may be called TPC-C.
//!
//! This file is the table of contents. `rules` and `random` are the specification's numbers and strings. Before a run:
//! `resolve` decides options, `schema` and `tables` make tables, `population` says what is in each row, `load` stores them.
//! The run: a `terminal` chooses its next transaction, waits, and draws its `input`; `course` begins and ends each, the files
//! of their names carry them out with `statements`, in an attempt of `transaction`. After it: `account` has what the run did,
//! `check` and `conditions` compare the data with it.
//! Differences from the specification: docs/reference/workloads/tpcc.md.

mod account;
mod check;
mod conditions;
mod course;
mod delivery;
mod input;
mod load;
mod new_order;
mod payment;
mod population;
mod random;
mod reads;
mod resolve;
mod rules;
mod schema;
mod statements;
mod tables;
mod terminal;
mod thread;
mod transaction;

use crate::account::Accounts;
use crate::prelude::*;
use crate::rng::{Stream, StreamHash};
use crate::trouble::{check_client, refuse};
use account::Account;
use bakeoff_model::run::tpcc::{TpccChoice, TpccSpec};
use input::Inputs;
use population::Population;
use random::Draws;
use rules::Rules;
use schema::TableNames;
use terminal::{Choice, Deck, Pacing, Terminal};
use thread::{Attempted, Buffers};
use transaction::{DISTRICT_SKIPPED, Transaction};

pub use crate::account::Added;
pub use account::Evidence;
pub use resolve::KIND;
pub use rules::Sizes;
pub use thread::Thread;

/// Raised when the same options and seed give other data or other operations than before. Part of a data set's
/// identity.
pub const GENERATOR_VERSION: u32 = 1;

#[derive(Debug)]
pub struct Tpcc {
    spec: TpccSpec,
    sizes: Sizes,
    population: Population,
    seed: u64,
    client: ClientSpec,
    /// Terminals of all clients; `None` in the phases before and after a run.
    users: Option<u64>,
    /// By `Transaction`.
    operations: Vec<Operation>,
    accounts: Accounts<Account>,
    rules: Rules,
    names: TableNames,
    inputs: Inputs,
    choice: Choice,
    /// `None`: a terminal's user enters the next transaction at once.
    pacing: Option<Pacing>,
}

impl Tpcc {
    /// `threads`: of each client of a run; `None` in the phases before and after it.
    pub fn new(
        spec: &TpccSpec,
        seed: u64,
        client: ClientSpec,
        threads: Option<u32>,
    ) -> Result<Self, Trouble> {
        check_client(client)?;
        check_bounds(spec, "workload")?;
        if spec.choice == TpccChoice::Weights && spec.weights() == [0; 5] {
            let hint = "give one of them a number, such as new_order_weight = 45";
            return Err(refuse(
                "choice",
                "all weights are 0: no transaction can be chosen",
                hint,
            ));
        }
        let sizes = Sizes::new(spec);
        let draws = Draws::new(spec, &sizes, seed);
        let rules = Rules::of(spec.variant);
        Ok(Self {
            inputs: Inputs::new(spec, &sizes, &draws, rules),
            choice: Choice::new(spec),
            pacing: Pacing::new(spec),
            rules,
            names: TableNames::new(&spec.tables)?,
            population: Population::new(spec.variant, sizes, draws, seed),
            sizes,
            operations: Transaction::operations(),
            users: threads.map(|threads| u64::from(threads.max(1)) * u64::from(client.count)),
            accounts: Accounts::default(),
            spec: spec.clone(),
            seed,
            client,
        })
    }

    fn user(&self, id: ThreadId) -> Thread {
        Thread {
            stream: Stream::new(self.seed, id.stream),
            terminal: Terminal::new(&self.spec, self.seed, id.stream, self.users.unwrap_or(1)),
            latency_probe: id.latency_probe,
            deck: Deck::new(),
            drawn: None,
            pause_ns: 0,
            attempted: Attempted::default(),
            buffers: Buffers::new(),
            account: self.accounts.open(),
            hash: StreamHash::default(),
        }
    }
}

impl Workload for Tpcc {
    type Session = AnySql;
    type Worker = ();
    type Thread = Thread;
    type Evidence = Evidence;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn latency_probe_operation(&self) -> Option<usize> {
        self.choice
            .has(Transaction::OrderStatus)
            .then_some(Transaction::OrderStatus as usize)
    }

    fn needs(&self) -> Needs {
        needs()
    }

    fn worker(&self, _worker: usize) {}

    fn thread(&self, _worker: &(), id: ThreadId) -> Thread {
        self.user(id)
    }

    async fn attach(&self, session: &mut AnySql) -> Result<(), OpError> {
        match self.users {
            Some(_) => statements::prepare(&self.rules, &self.names, session).await,
            None => self.leave_references_unchecked(session).await,
        }
    }

    #[inline]
    fn next(&self, _worker: &(), thread: &mut Thread) -> usize {
        self.draw(thread) as usize
    }

    #[inline]
    fn pause_ns(&self, thread: &Thread) -> u64 {
        thread.pause_ns
    }

    async fn execute(
        &self,
        _worker: &(),
        thread: &mut Thread,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        let mut queries = Queries::default();
        let answer = self.attempt(thread, session, &mut queries).await;
        probe.queries(queries);
        answer
    }

    #[inline]
    fn settle(&self, _worker: &(), thread: &mut Thread, ended: Ended, probe: &mut dyn Probe) {
        for _ in 0..course::end(thread, ended) {
            probe.part(DISTRICT_SKIPPED, Outcome::Ok, probe.now_ns());
        }
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
        self.steps()
    }

    async fn after_load(&self, session: &mut AnySql, step: u64) -> Result<(), OpError> {
        self.take_step(session, step).await
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
        self.checks(session, done, spec.after_run).await
    }

    fn evidence(&self) -> Evidence {
        Evidence::of(&self.accounts)
    }

    fn user_bytes_written(&self) -> u64 {
        let mut sum = 0;
        self.accounts.each(|account| sum += account.bytes_written.get());
        sum
    }
}

/// Updates are right when they found their row, and every transaction is one.
pub fn needs() -> Needs {
    Needs {
        offers: Offers::of(&[Offer::Transactions, Offer::RowLocks]),
        affected: Affected::Found,
        ..Needs::default()
    }
}
