//! LinkBench: a social graph of nodes, links and counts of links, and ten requests of it (facebookarchive/linkbench).
//!
//! This file is the table of contents. `graph` says which links there are, `access` which nodes are asked for, `payload`
//! what is stored; `request` draws one request, `statements` asks it, `reads` and `writes` carry it out. `schema`, `load`
//! and `check` are the phases before and after.
//! Differences from the original: docs/reference/workloads/linkbench.md.

mod access;
mod check;
mod graph;
mod load;
mod payload;
mod reads;
mod request;
mod resolve;
mod schema;
mod statements;
mod thread;
mod writes;

use crate::account::{Accounts, Tally};
use crate::faults::Found;
use crate::prelude::*;
use crate::rng::{Random, Stream, StreamHash};
use bakeoff_model::run::linkbench::LinkbenchSpec;
use bakeoff_model::run::sysbench::IndexTime;
use graph::Graph;
use load::Heavy;
use payload::Generators;
use request::{Draws, Kind, MULTIGET_MOST, Request};
use thread::{Account, Effect, Evidence, History};

pub use resolve::KIND;
pub use thread::Thread;

/// Raised when the same options and seed give other data or other operations than before. Part of a data set's
/// identity.
pub const GENERATOR_VERSION: u32 = 1;

#[derive(Debug)]
pub struct Linkbench {
    spec: LinkbenchSpec,
    seed: u64,
    client: ClientSpec,
    is_run: bool,
    operations: Vec<Operation>,
    /// The request that reads most of all, if this mix reads.
    probed: Option<Kind>,
    draws: Draws,
    generators: Generators,
    heavy: Heavy,
    accounts: Accounts<Account>,
}

impl Linkbench {
    /// `users`: of each client of a run; `None` in the phases before and after it.
    pub fn new(
        spec: &LinkbenchSpec,
        seed: u64,
        client: ClientSpec,
        users: Option<u32>,
    ) -> Result<Self, Trouble> {
        resolve::validate(spec, client)?;
        let reads = [Kind::GetLinkList, Kind::GetNode, Kind::CountLink, Kind::GetLink];
        let draws = Draws::new(spec, u64::from(users.unwrap_or(1)) * u64::from(client.count));
        Ok(Self {
            operations: Kind::ALL.map(Kind::operation).to_vec(),
            probed: reads.into_iter().find(|kind| kind.share(spec) > 0.0),
            heavy: Heavy::new(&draws.graph, spec.loader_chunk_size),
            draws,
            generators: Generators::new(spec, seed),
            accounts: Accounts::default(),
            spec: spec.clone(),
            seed,
            client,
            is_run: users.is_some(),
        })
    }

    /// This mix deletes nodes, so one that was loaded may be gone.
    fn may_lack_nodes(&self) -> bool {
        self.spec.deletenode > 0.0 || !self.spec.generate_nodes
    }

    /// Where requests of this kind are counted, if they may change how many rows there are.
    fn tally(kind: Kind, account: &Account) -> Option<&Tally> {
        match kind {
            Kind::AddLink | Kind::UpdateLink => Some(&account.links_added),
            Kind::AddNode => Some(&account.nodes_added),
            Kind::DeleteNode => Some(&account.nodes_deleted),
            _ => None,
        }
    }

    fn user(&self, id: ThreadId) -> Thread {
        let mut rng = Random::new(0);
        Thread {
            stream: Stream::new(self.seed, id.stream),
            number: id.stream,
            latency_probe: id.latency_probe,
            request: self.draws.request(Kind::AddNode, 0, &mut rng),
            attempts: 0,
            effect: Effect::default(),
            asked: Vec::with_capacity(2 + MULTIGET_MOST),
            payload: Vec::with_capacity(self.generators.room()),
            history: History::default(),
            tail: 0,
            account: self.accounts.open(),
            hash: StreamHash::default(),
        }
    }

    /// The next request of a user.
    #[inline]
    fn draw(&self, thread: &mut Thread) {
        let mut rng = Random::new(thread.stream.next_seed());
        let kind = match self.probed {
            Some(read) if thread.latency_probe => read,
            _ => self.draws.kind(&mut rng),
        };
        thread.request = self.draws.request(kind, thread.number, &mut rng);
        thread.attempts = 0;
        if thread.hash.is_open() {
            Self::hash(thread, kind);
        }
        if kind == Kind::GetLink {
            let (id, of_type) = (thread.request.id, thread.request.of_type);
            thread.asked.clear();
            thread.asked.push(Value::Int(id as i64));
            thread.asked.push(Value::Int(Graph::link_type(of_type) as i64));
            self.draws.id2s(&thread.request, &mut thread.asked);
        }
        if kind == Kind::GetLinkList && !thread.history.is_empty() && !thread.latency_probe {
            self.history(thread, &mut rng);
        }
    }

    /// The request drawn last, into the stream's hash. That a list goes on depends on answers, so it counts as a list.
    #[cold]
    fn hash(thread: &mut Thread, kind: Kind) {
        let Request {
            id,
            of_type,
            id2,
            seed,
            ..
        } = thread.request;
        thread.hash.add([kind as u64, id, of_type, id2, seed]);
    }

    /// A list that goes on where an earlier one was cut off, in the place of another list.
    #[cold]
    fn history(&self, thread: &mut Thread, rng: &mut Random) {
        if rng.unit() * 100.0 >= self.spec.getlinklist_history {
            return;
        }
        if let Some((place, tail)) = thread.history.draw(rng) {
            thread.tail = place;
            thread.request = Request {
                kind: Kind::GetLinkListHistory,
                id: tail.id,
                of_type: tail.of_type,
                id2: tail.time_ms as u64,
                seed: 0,
            };
        }
    }
}

impl Workload for Linkbench {
    type Session = AnySql;
    type Worker = ();
    type Thread = Thread;
    type Evidence = Evidence;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn latency_probe_operation(&self) -> Option<usize> {
        self.probed.map(|kind| kind as usize)
    }

    fn needs(&self) -> Needs {
        needs()
    }

    fn worker(&self, _worker: usize) {}

    fn thread(&self, _worker: &(), id: ThreadId) -> Thread {
        self.user(id)
    }

    async fn attach(&self, session: &mut AnySql) -> Result<(), OpError> {
        // Before the load the index that statements name does not exist.
        match self.is_run {
            true => statements::prepare(session, &self.spec).await,
            false => Ok(()),
        }
    }

    #[inline]
    fn next(&self, _worker: &(), thread: &mut Thread) -> usize {
        self.draw(thread);
        thread.request.kind as usize
    }

    #[inline]
    async fn execute(
        &self,
        _worker: &(),
        thread: &mut Thread,
        session: &mut AnySql,
        _probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        let kind = thread.request.kind;
        if thread.attempts == 0
            && let Some(tally) = Self::tally(kind, &thread.account)
        {
            tally.begun.add(1);
        }
        thread.attempts += 1;
        thread.effect = Effect::default();
        let found: Result<Found, OpError> = match kind {
            Kind::AddLink => self.add_link(thread, session, &self.generators.link_add).await,
            Kind::UpdateLink => self.add_link(thread, session, &self.generators.link_update).await,
            Kind::DeleteLink => self.delete_link(thread, session).await,
            Kind::CountLink => self.count_links(thread, session).await,
            Kind::GetLink => self.get_links(thread, session).await,
            Kind::GetLinkList => self.get_link_list(thread, session).await,
            Kind::GetLinkListHistory => self.get_link_list_history(thread, session).await,
            Kind::AddNode => self.add_node(thread, session).await,
            Kind::UpdateNode => self.update_node(thread, session).await,
            Kind::DeleteNode => self.delete_node(thread, session).await,
            Kind::GetNode => self.get_node(thread, session).await,
        };
        found.map(Answer::from)
    }

    #[inline]
    fn settle(&self, _worker: &(), thread: &mut Thread, ended: Ended, _probe: &mut dyn Probe) {
        let outcome = ended.outcome;
        let stored = matches!(outcome, Outcome::Ok | Outcome::Wrong);
        let Effect { rows, bytes } = if stored { thread.effect } else { Effect::default() };
        thread.account.bytes_written.add(bytes);
        if thread.attempts > 0
            && let Some(tally) = Self::tally(thread.request.kind, &thread.account)
        {
            tally.begun.add(ended.perhaps_applied.into());
            tally.rows.add(rows);
            tally.ended.add(u64::from(outcome != Outcome::Unknown));
        }
    }

    fn stream_hash(&self, thread: &Thread) -> u64 {
        thread.hash.value()
    }

    async fn create(&self, session: &mut AnySql, drop_existing: bool) -> Result<(), Trouble> {
        self.create_tables(session, drop_existing).await
    }

    async fn drop(&self, session: &mut AnySql) -> Result<(), Trouble> {
        crate::tables::drop_all(session, &schema::table_names()).await
    }

    fn load_units(&self) -> u64 {
        self.load_share().1
    }

    fn load_chunk_units(&self) -> u64 {
        self.spec.loader_chunk_size
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
        u64::from(self.client.index == 0 && self.spec.index_time == IndexTime::AfterRows)
    }

    async fn after_load(&self, session: &mut AnySql, _step: u64) -> Result<(), OpError> {
        self.create_index(session).await
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

/// A count of changed rows shows what an upsert did; a system without one needs another statement.
pub fn needs() -> Needs {
    Needs {
        offers: Offers::of(&[Offer::Transactions]),
        affected: Affected::Changed,
        affected_if_offered: true,
        ..Needs::default()
    }
}
