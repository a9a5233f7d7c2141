//! The Hat Shop: a list of events of orders and their lines, carried out by many users at once.
//!
//! This file is the table of contents. `shop` says what is in the catalogue and in each order; `list` draws the events and
//! deals them to users, `replay` reads them from a file, `event` is one and its JSON, `digest` the hash of all. A user is a
//! `thread`, with what is `known` of its orders and what it did; `statements` are what it asks, `requests` carry an event
//! out and judge the answer, `together` in one go: with `pipeline`, or where there are no transactions; `documents` does both
//! for orders that are documents. `schema`, `load` and `check` are the phases before and after.
//! Differences from the article: docs/reference/workloads/hatshop.md.

mod check;
mod digest;
mod documents;
mod event;
mod known;
mod list;
mod load;
mod replay;
mod requests;
mod resolve;
mod schema;
mod shop;
mod statements;
mod thread;
mod together;

use crate::account::Accounts;
use crate::collections;
use crate::prelude::*;
use crate::rng::StreamHash;
use crate::trouble::refuse;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::endpoint::Asked;
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};
use bakeoff_model::run::{Limit, Pacing, RunSpec};
use event::{Event, Kind};
use list::{Dealer, Rules, Walk, fill};
use replay::{Reading, Replay};
use schema::LINE_COLUMNS;
use shop::Shop;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use thread::{Account, Course, Effect, Evidence, Together};

pub use digest::write_file;
pub use resolve::KIND;
pub use thread::Thread;

/// Raised when the same options and seed give other data or other events than before. Part of a data set's identity.
pub const GENERATOR_VERSION: u32 = 1;

/// Where orders are kept: in tables, or as documents.
pub enum Store {
    Tables(AnySql),
    Documents(AnyDocuments),
}

impl Asked for Store {
    fn asked(&self) -> Option<u32> {
        match self {
            Self::Tables(session) => Asked::asked(session),
            Self::Documents(session) => Asked::asked(session),
        }
    }
}

#[derive(Debug)]
pub struct Hatshop {
    spec: HatshopSpec,
    seed: u64,
    client: ClientSpec,
    /// Of all clients.
    users: u64,
    is_run: bool,
    operations: Vec<Operation>,
    shop: Shop,
    rules: Rules,
    /// The list of a run, where it comes from a file.
    replay: Option<Arc<Replay>>,
    /// Of the list; made before a run, whose time it would take otherwise.
    events_sha256: String,
    /// By user, how many of the run's events are its own, where their number is given.
    shares: OnceLock<Vec<u64>>,
    accounts: Accounts<Account>,
}

impl Hatshop {
    /// `users`: of each client of a run; `None` in the phases before and after it.
    pub fn new(
        spec: &HatshopSpec,
        seed: u64,
        client: ClientSpec,
        users: Option<u32>,
    ) -> Result<Self, Trouble> {
        resolve::validate(spec, client)?;
        let (shop, rules) = (Shop::new(spec, seed), Rules::new(spec));
        let all_users = u64::from(users.unwrap_or(1).max(1)) * u64::from(client.count);
        let file = spec.events_file.as_ref().filter(|_| users.is_some());
        let replay = file
            .map(|file| Replay::read(file, &shop, spec, all_users))
            .transpose()?;
        let most = rules.users_max().filter(|_| spec.events_file.is_none());
        if let Some(most) = most.filter(|most| *most < all_users) {
            let what = format!(
                "{all_users} users need an order each, and with {} orders there are enough for {most}",
                spec.orders
            );
            let hint = "write more `orders`, or fewer users";
            return Err(refuse("orders", what, hint));
        }
        Ok(Self {
            events_sha256: match (&replay, users) {
                (Some(replay), _) => replay.sha256.clone(),
                (None, Some(_)) => digest::sha256(&shop, &rules, seed, spec.events),
                (None, None) => String::new(),
            },
            replay: replay.map(Arc::new),
            operations: Kind::ALL.map(Kind::operation).to_vec(),
            users: all_users,
            is_run: users.is_some(),
            shop,
            rules,
            shares: OnceLock::new(),
            accounts: Accounts::default(),
            spec: spec.clone(),
            seed,
            client,
        })
    }

    /// A list from a file has an end, so a run of it is one of a number of events, from the first one on.
    pub fn within(self, run: &RunSpec) -> Result<Self, Trouble> {
        let Some(replay) = &self.replay else {
            return Ok(self);
        };
        let most = replay.len() / u64::from(self.client.count);
        let fits = match run.limit {
            Limit::Time { .. } => false,
            Limit::Operations { operations, .. } => operations <= most,
        };
        if fits && run.warm_up_s == 0.0 && run.pacing == Pacing::Closed {
            return Ok(self);
        }
        let what = format!(
            "the {} events of `events_file` have an end, which this run may go beyond",
            replay.len()
        );
        let hint = format!(
            "in [measure] write warm_up = 0, pacing = \"closed\" and operations = {} or fewer, in place of `window`",
            replay.len()
        );
        Err(refuse("events_file", what, hint))
    }

    fn is_by_order(&self) -> bool {
        self.spec.layout == HatshopLayout::LineItemsByOrder
    }

    fn user(&self, dealer: &Worker, id: ThreadId) -> Thread {
        let number = id.stream % self.users;
        if let Some(dealer) = &mut *dealer.borrow_mut() {
            dealer.join(number);
        }
        Thread {
            number,
            course: match &self.replay {
                Some(replay) => Course::Read(Reading::new(replay.clone(), number)),
                None => Course::Drawn,
            },
            step: None,
            event: Event::empty(&self.shop),
            attempts: 0,
            effect: Effect::default(),
            params: Vec::with_capacity(LINE_COLUMNS.len() * self.spec.lines_max as usize),
            together: Together::default(),
            account: self.accounts.open(),
            hash: StreamHash::default(),
        }
    }

    fn dealer(&self) -> Dealer {
        Dealer::new(&self.rules, self.seed, self.spec.events, self.users)
    }

    /// The user's next event: 20 ns and 30 ns a line, and its share of the walk through the list.
    fn draw(&self, dealer: &Worker, thread: &mut Thread) {
        let step = match &mut thread.course {
            Course::Drawn => match &mut *dealer.borrow_mut() {
                Some(dealer) => {
                    let step = dealer.next(&self.rules, thread.number);
                    fill(&self.shop, &step, &mut thread.event);
                    step
                }
                None => return, // cannot be: events are drawn in a run
            },
            Course::Read(reading) => match reading.own(&self.shop, &mut thread.event) {
                Some(step) => step,
                None => return, // cannot be: no more are asked for than there are, see `ends`
            },
        };
        thread.attempts = 0;
        thread.hash.add([step.place, step.kind as u64, step.order]);
        thread.step = Some(step);
    }

    /// By user, how many of the first `events` of the list are its own.
    fn shares(&self, events: u64) -> &[u64] {
        let count = || {
            if let Some(replay) = &self.replay {
                return replay.shares(self.users, events);
            }
            let mut shares = vec![0; self.users as usize];
            let mut walk = Walk::new(&self.rules, self.seed, self.spec.events);
            for _ in 0..events {
                let step = walk.step(&self.rules);
                shares[self.rules.owner(&step, self.users) as usize] += 1;
            }
            shares
        };
        self.shares.get_or_init(count)
    }
}

/// `None` where no events are drawn: before and after a run, and where they are read from a file.
type Worker = RefCell<Option<Dealer>>;

impl Workload for Hatshop {
    type Session = Store;
    type Worker = Worker;
    type Thread = Thread;
    type Evidence = Evidence;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn needs(&self) -> Needs {
        needs(&self.spec)
    }

    fn worker(&self, _worker: usize) -> Worker {
        let draws = self.is_run && self.replay.is_none();
        RefCell::new(draws.then(|| self.dealer()))
    }

    fn thread(&self, worker: &Worker, id: ThreadId) -> Thread {
        self.user(worker, id)
    }

    fn share(&self, id: ThreadId, operations: u64) -> Option<u64> {
        let events = operations * u64::from(self.client.count);
        self.shares(events)
            .get((id.stream % self.users) as usize)
            .copied()
    }

    async fn attach(&self, session: &mut Store) -> Result<(), OpError> {
        match session {
            Store::Tables(session) if self.is_run => statements::prepare(session, &self.spec).await,
            Store::Tables(_) => Ok(()),
            Store::Documents(session) => {
                documents::attach(session).await?;
                match self.is_run {
                    true => documents::prepare(session).await,
                    false => Ok(()),
                }
            }
        }
    }

    #[inline]
    fn next(&self, worker: &Worker, thread: &mut Thread) -> usize {
        self.draw(worker, thread);
        thread.event.kind as usize
    }

    async fn execute(
        &self,
        _worker: &Worker,
        thread: &mut Thread,
        session: &mut Store,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        let Some(step) = thread.step else {
            return Ok(Answer::Right); // cannot be: it is drawn first
        };
        if thread.attempts == 0
            && let Some(tally) = thread.account.tally(step.kind)
        {
            tally.begun.add(1);
        }
        thread.attempts += 1;
        thread.effect = Effect::default();
        let mut queries = Queries::default();
        let found = match session {
            Store::Tables(session) => self.carry_out(thread, step.known, session, &mut queries).await,
            Store::Documents(session) => {
                self.carry_out_on_documents(thread, step.known, session, &mut queries)
                    .await
            }
        };
        probe.queries(queries);
        found.map(Answer::from)
    }

    fn settle(&self, worker: &Worker, thread: &mut Thread, ended: Ended, _probe: &mut dyn Probe) {
        let Some(step) = thread.step.filter(|_| thread.attempts > 0) else {
            return;
        };
        let (outcome, again) = (ended.outcome, thread.attempts > 1);
        let known = step.known.after(step.kind, thread.event.status, outcome, again);
        match &mut thread.course {
            Course::Drawn => {
                let mut dealer = worker.borrow_mut();
                dealer.iter_mut().for_each(|dealer| dealer.learn(&step, known));
            }
            Course::Read(reading) => reading.learn(&step, known),
        }
        let Effect { orders, bytes } = match outcome {
            Outcome::Ok | Outcome::Wrong => thread.effect,
            Outcome::Fail(_) => Effect {
                orders: Some(0),
                bytes: 0,
            },
            Outcome::Unknown => Effect::default(),
        };
        thread.account.bytes_written.add(bytes);
        if let Some(tally) = thread.account.tally(step.kind) {
            tally.begun.add(ended.perhaps_applied.into());
            if let Some(orders) = orders {
                tally.rows.add(orders);
                tally.ended.add(1);
            }
        }
    }

    fn stream_hash(&self, thread: &Thread) -> u64 {
        thread.hash.value()
    }

    async fn create(&self, session: &mut Store, drop_existing: bool) -> Result<(), Trouble> {
        match session {
            Store::Tables(session) => self.create_tables(session, drop_existing).await,
            Store::Documents(session) => {
                collections::create(session, &documents::collection(), drop_existing).await
            }
        }
    }

    async fn drop(&self, session: &mut Store) -> Result<(), Trouble> {
        match session {
            Store::Tables(session) => {
                crate::tables::drop_all(session, &schema::table_names(&self.spec)).await
            }
            Store::Documents(session) => collections::drop(session, &documents::collection()).await,
        }
    }

    fn load_units(&self) -> u64 {
        self.load_share().1
    }

    fn load_chunk_units(&self) -> u64 {
        load::CHUNK_ORDERS
    }

    async fn load_chunk(
        &self,
        _worker: &Worker,
        thread: &mut Thread,
        session: &mut Store,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        self.load(thread, session, first, count).await
    }

    async fn scan_all(&self, session: &mut Store) -> Result<u64, OpError> {
        match session {
            Store::Tables(session) => self.read_tables(session).await,
            Store::Documents(session) => self.each_document(session, |_, _| {}).await,
        }
    }

    async fn check(
        &self,
        session: &mut Store,
        done: &[Option<Evidence>],
        spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        self.checks(session, done, spec).await
    }

    fn evidence(&self) -> Evidence {
        let (created, deleted) = self.accounts.changes();
        Evidence {
            created,
            deleted,
            events: self
                .replay
                .as_ref()
                .map_or(self.spec.events, |replay| replay.len()),
            events_sha256: self.events_sha256.clone(),
        }
    }

    fn user_bytes_written(&self) -> u64 {
        self.accounts.bytes_written()
    }
}

/// An update is right when it found its row. Where there are transactions they are used; otherwise batches will do.
pub fn needs(spec: &HatshopSpec) -> Needs {
    let documents = spec.layout == HatshopLayout::Documents;
    let attributes = spec.update_attribute > 0.0 || spec.events_file.is_some();
    Needs {
        offers: Offers::NONE
            .and_if(spec.pipeline, Offer::Pipeline)
            .and_if(documents && attributes, Offer::Revisions),
        patches: documents && (spec.update > 0.0 || spec.events_file.is_some()),
        affected: Affected::Found,
        otherwise: if documents && spec.events_file.is_none() {
            UNCHANGED
        } else {
            ""
        },
        ..Needs::default()
    }
}

/// Of a plan: orders are made, read and deleted, and never changed.
pub const UNCHANGED: &str = "update = 0 and update_attribute = 0";
