//! TPC-C (specification 5.11) and its variants in the field: nine tables, five transactions, twelve conditions that the
//! data must keep. What is measured is TPC-C-like: only an audited run may be called TPC-C.
//!
//! This file is the table of contents. `sizes`, `random`, `names` and `letters` are the specification's numbers and
//! strings. Before a run: `resolve` decides options, `schema` makes tables, `population` says what is in each row, `load`
//! stores them. The run: `transaction` lists the transactions, each has a file of its own. After it: `account` is what the run did,
//! `check` and `conditions` hold the data against it. Where it departs from the specification stands in
//! docs/reference/workloads/tpcc.md.

mod account;
mod attempt;
mod booking;
mod buffers;
mod customer;
mod deck;
mod delivery;
mod input;
pub mod letters;
pub mod names;
mod new_order;
mod order_status;
mod pacing;
mod payment;
pub mod random;
mod rules;
mod sizes;
mod statements;
mod stock_level;
mod terminal;
mod thread;
mod transaction;

use crate::account::Accounts;
use crate::rng::Stream;
use crate::stream_hash::StreamHash;
use crate::trouble::no_such_client;
use account::Account;
use bakeoff_model::event::Check;
use bakeoff_model::needs::{Affected, Needs};
use bakeoff_model::options::check_bounds;
use bakeoff_model::outcome::{OpError, Outcome, Trouble};
use bakeoff_model::run::tpcc::TpccSpec;
use bakeoff_model::run::{CheckSpec, ClientSpec};
use bakeoff_model::sql::SpeaksSql;
use bakeoff_model::workload::{Answer, Operation, Probe, Queries, ThreadId, Workload};
use buffers::Buffers;
use deck::{Choice, Deck};
use input::Inputs;
use pacing::Pacing;
use random::Draws;
use rules::Rules;
use terminal::Terminal;
use thread::Attempted;
use transaction::Transaction;

pub use account::{Evidence, Told};
pub use sizes::Sizes;
pub use thread::Thread;

/// Raised when the same options and seed give other data or other operations than before. Part of a data set's
/// identity.
pub const GENERATOR_VERSION: u32 = 1;

#[derive(Debug)]
pub struct Tpcc {
    pub spec: TpccSpec,
    pub sizes: Sizes,
    pub draws: Draws,
    seed: u64,
    pub client: ClientSpec,
    /// Terminals of all clients.
    pub users: u64,
    /// By `Transaction`.
    operations: [Operation; Transaction::COUNT],
    accounts: Accounts<Account>,
    rules: Rules,
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
        if client.count == 0 || client.index >= client.count {
            return Err(no_such_client(client.index, client.count));
        }
        check_bounds(spec, "workload")?;
        let sizes = Sizes::new(spec);
        let draws = Draws::new(spec, &sizes, seed);
        let rules = Rules::of(spec.variant);
        Ok(Self {
            inputs: Inputs::new(spec, &sizes, &draws, rules),
            choice: Choice::new(spec),
            pacing: Pacing::new(spec),
            rules,
            draws,
            sizes,
            operations: Transaction::ALL.map(|transaction| Operation::new(transaction.name())),
            users: u64::from(threads.unwrap_or(1).max(1)) * u64::from(client.count),
            accounts: Accounts::default(),
            spec: spec.clone(),
            seed,
            client,
        })
    }
}

impl<S: SpeaksSql + 'static> Workload<S> for Tpcc {
    type Worker = ();
    type Thread = Thread;
    type Evidence = Evidence;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn witness_operation(&self) -> Option<usize> {
        self.choice
            .has(Transaction::OrderStatus)
            .then_some(Transaction::OrderStatus as usize)
    }

    fn needs(&self) -> Needs {
        needs()
    }

    fn worker(&self, _worker: usize) {}

    fn thread(&self, _worker: &(), id: ThreadId) -> Thread {
        Thread {
            stream: Stream::new(self.seed, id.stream),
            terminal: Terminal::new(&self.spec, self.seed, id.stream, self.users),
            witness: id.witness,
            deck: Deck::new(),
            drawn: None,
            pause_ns: 0,
            attempted: Attempted::default(),
            buffers: Buffers::new(),
            account: self.accounts.open(),
            hash: StreamHash::default(),
        }
    }

    async fn attach(&self, session: &mut S) -> Result<(), OpError> {
        statements::prepare(&self.rules, session.sql()).await
    }

    #[inline]
    fn next(&self, _worker: &(), thread: &mut Thread) -> usize {
        self.draw(thread) as usize
    }

    #[inline]
    fn pause_ns(&self, thread: &Thread) -> u64 {
        thread.pause_ns
    }

    async fn execute<P: Probe>(
        &self,
        _worker: &(),
        thread: &mut Thread,
        session: &mut S,
        probe: &mut P,
    ) -> Result<Answer<'_>, OpError> {
        let mut queries = Queries::default();
        let answer = self.attempt(thread, session.sql(), &mut queries).await;
        probe.queries(queries);
        answer
    }

    #[inline]
    fn settle<P: Probe>(
        &self,
        _worker: &(),
        thread: &mut Thread,
        outcome: Outcome,
        _session_lost: bool,
        _probe: &mut P,
    ) {
        booking::end(thread, outcome);
    }

    async fn finish<P: Probe>(
        &self,
        _worker: &(),
        _thread: &mut Thread,
        _session: &mut S,
        _probe: &mut P,
    ) -> Result<(), OpError> {
        Ok(())
    }

    fn stream_hash(&self, thread: &Thread) -> u64 {
        thread.hash.value()
    }

    async fn create(&self, _session: &mut S, _drop_existing: bool) -> Result<(), Trouble> {
        Ok(())
    }

    async fn drop(&self, _session: &mut S) -> Result<(), Trouble> {
        Ok(())
    }

    fn load_units(&self) -> u64 {
        0
    }

    fn load_chunk_units(&self) -> u64 {
        1
    }

    async fn load_chunk(
        &self,
        _worker: &(),
        _thread: &mut Thread,
        _session: &mut S,
        _first: u64,
        _count: u64,
    ) -> Result<u64, OpError> {
        Ok(0)
    }

    async fn scan_all(&self, _session: &mut S) -> Result<u64, OpError> {
        Ok(0)
    }

    async fn check(
        &self,
        _session: &mut S,
        _done: &[Option<Evidence>],
        _spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        Ok(Vec::new())
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
        transactions: true,
        affected: Affected::Found,
        ..Needs::default()
    }
}
