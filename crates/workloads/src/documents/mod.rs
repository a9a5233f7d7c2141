//! Documents with nested objects and arrays, by key and by what is in them; what users of crud-bench expect of such a
//! workload, on systems of documents, on columns of JSON, and, as far as they go, on records.
//!
//! This file is the table of contents: the operations, the state, and who does what. `template` reads what documents are made
//! from, `values` makes and verifies them, `paths` names places in them; `draw` makes operations, `attempt` carries them out,
//! `book` keeps their ends; `load` and `check` are the phases before and after. Its page says what an answer must be.
mod attempt;
mod book;
mod check;
mod draw;
mod load;
mod paths;
mod presets;
mod resolve;
mod template;
mod values;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

use crate::account::Accounts;
use crate::collections;
use crate::prelude::*;
use crate::rng::Stream;
use crate::trouble::{check_client, refuse};
use crate::ycsb::{KeyCursor, KeySpace, KeyText};
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::document::{Collection, CollectionSpec, DocumentSession, DocumentUse, Expect, Is, Select};
use bakeoff_model::run::YcsbSpec;
use bakeoff_model::run::documents::DocumentsSpec;
use book::Did;
use draw::{Mix, Thread, UserAccount};
use paths::Paths;
use template::Node;
use values::{Origin, write_document};

pub use resolve::KIND;

/// Raised when the same options and seed give other data or other operations than before. Part of a data set's identity.
pub const GENERATOR_VERSION: u32 = 1;

/// Indices into [`NAMES`].
pub const GET: usize = 0;
pub const GET_PART: usize = 1;
pub const PUT: usize = 2;
pub const PATCH: usize = 3;
pub const INSERT: usize = 4;
pub const DELETE: usize = 5;
pub const FIND: usize = 6;
pub const FIND_UNINDEXED: usize = 7;
pub const CONTAINS: usize = 8;
pub const COUNT: usize = 9;
pub const RANGE: usize = 10;
pub const GET_BATCH: usize = 11;
pub const PUT_BATCH: usize = 12;

const NAMES: [&str; 13] = [
    "GET",
    "GET-PART",
    "PUT",
    "PATCH",
    "INSERT",
    "DELETE",
    "FIND",
    "FIND-UNINDEXED",
    "CONTAINS",
    "COUNT",
    "RANGE",
    "GET-BATCH",
    "PUT-BATCH",
];

fn reads_only(operation: usize) -> bool {
    !matches!(operation, PUT | PATCH | INSERT | DELETE | PUT_BATCH)
}

fn operations() -> Vec<Operation> {
    let all = NAMES.into_iter().enumerate();
    all.map(|(place, name)| Operation::new(name).reading_only(reads_only(place)))
        .collect()
}

/// In the order of [`NAMES`].
fn weights(spec: &DocumentsSpec) -> [f64; NAMES.len()] {
    [
        spec.get,
        spec.get_part,
        spec.put,
        spec.patch,
        spec.insert,
        spec.delete,
        spec.find,
        spec.find_unindexed,
        spec.contains,
        spec.count,
        spec.range,
        spec.get_batch,
        spec.put_batch,
    ]
}

/// The only collection.
const COLLECTION: Collection = Collection(0);

#[derive(Debug)]
pub struct Documents {
    spec: DocumentsSpec,
    seed: u64,
    client: ClientSpec,
    collection: [CollectionSpec; 1],
    template: Node,
    paths: Paths,
    operations: Vec<Operation>,
    mix: Mix,
    space: KeySpace,
    key_text: KeyText,
    accounts: Accounts<UserAccount>,
}

/// Shared by the users of one OS thread.
#[derive(Debug)]
pub struct Worker {
    keys: KeyCursor,
}

impl Documents {
    pub fn new(spec: &DocumentsSpec, seed: u64, client: ClientSpec) -> Result<Self, Trouble> {
        check_bounds(spec, "workload")?;
        check_client(client)?;
        check_mix(spec)?;
        let template = template::compile(&spec.template, &paths::uses(spec))?;
        let key_text = key_text(spec);
        let (collection, paths) = paths::collection(spec, &template, key_text.longest() as u32)?;
        let space = KeySpace::new(&keys(spec), client);
        Ok(Self {
            collection: [collection],
            template,
            operations: operations(),
            mix: Mix::new(spec, &paths),
            paths,
            space,
            key_text,
            accounts: Accounts::default(),
            spec: spec.clone(),
            seed,
            client,
        })
    }

    fn node(&self, path: u32) -> Option<&Node> {
        let [collection] = &self.collection;
        let steps = &collection.paths[path as usize].steps;
        steps.iter().try_fold(&self.template, |node, step| node.at(step))
    }

    /// A document as it is loaded or inserted, appended to a buffer.
    pub fn first_document(&self, keynum: u64, out: &mut Vec<u8>) {
        write_document(&self.template, Origin::first(self.seed, keynum), out);
    }

    fn user(&self, stream: Stream, latency_probe: bool) -> Thread {
        Thread::new(self, stream, latency_probe)
    }

    /// Most bytes of a document.
    fn longest(&self) -> usize {
        self.template.longest() + 64
    }

    /// Those that the mix has a weight for.
    fn uses(&self) -> Vec<DocumentUse<'_>> {
        let Paths { part, patched, .. } = &self.paths;
        let find = |conditions| DocumentUse::Find {
            conditions,
            select: Select::Whole,
        };
        let all = [
            DocumentUse::Get(Select::Whole),
            DocumentUse::Get(Select::Paths(part)),
            DocumentUse::Put(Expect::Present),
            DocumentUse::Patch(patched),
            DocumentUse::Put(Expect::Absent),
            DocumentUse::Delete { revision: false },
            find(&self.mix.find),
            find(&self.mix.find_unindexed),
            find(&self.mix.contains),
            DocumentUse::Count(&self.mix.count),
            DocumentUse::Range(Select::Whole),
        ];
        let used = all.into_iter().zip(weights(&self.spec));
        used.filter(|(_, weight)| *weight > 0.0)
            .map(|(used, _)| used)
            .collect()
    }
}

fn check_mix(spec: &DocumentsSpec) -> Result<(), Trouble> {
    if weights(spec).iter().sum::<f64>() <= 0.0 {
        let hint = "give at least one of them a weight, or name a preset";
        return Err(refuse("get", "the weights of all operations are 0", hint));
    }
    if spec.delete > spec.insert {
        let hint = "give `insert` at least the weight of `delete`: what is deleted was inserted before";
        return Err(refuse("delete", "there are more deletes than inserts", hint));
    }
    if u64::from(spec.batch) > spec.records && spec.get_batch > 0.0 {
        return Err(refuse(
            "batch",
            "a batch has more documents than there are",
            "lower it, or raise records",
        ));
    }
    if spec.patch > 0.0 && spec.patched.is_empty() {
        return Err(refuse("patched", "`patch` sets no path", "name at least one"));
    }
    if spec.patched.len() > 14 {
        return Err(refuse("patched", "more than 14 paths", "leave some out"));
    }
    if spec
        .records
        .checked_add(spec.inserted_before)
        .is_none_or(|all| all > i64::MAX as u64)
    {
        return Err(refuse("inserted_before", "there are too many keys", "lower it"));
    }
    Ok(())
}

fn key_text(spec: &DocumentsSpec) -> KeyText {
    KeyText {
        order: spec.insert_order,
        zero_padding: spec.zero_padding as usize,
    }
}

/// Keys are drawn and inserted as YCSB's are.
fn keys(spec: &DocumentsSpec) -> YcsbSpec {
    YcsbSpec {
        records: spec.records + spec.inserted_before,
        insert_count: Some(spec.records),
        insert_proportion: spec.insert + spec.put_batch,
        request_distribution: spec.request_distribution,
        ..YcsbSpec::default()
    }
}

pub fn needs(spec: &DocumentsSpec) -> Needs {
    let finds = spec.find + spec.find_unindexed + spec.contains + spec.count > 0.0;
    Needs {
        offers: Offers::NONE
            .and_if(finds, Offer::Find)
            .and_if(spec.range > 0.0, Offer::Scan)
            .and_if(!spec.index.is_empty(), Offer::PathIndex),
        patches: spec.patch > 0.0,
        affected: Affected::Found,
        ..Needs::default()
    }
}

impl Workload for Documents {
    type Session = AnyDocuments;
    type Worker = Worker;
    type Thread = Thread;
    type Evidence = Did;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn latency_probe_operation(&self) -> Option<usize> {
        (self.spec.get > 0.0).then_some(GET)
    }

    fn needs(&self) -> Needs {
        needs(&self.spec)
    }

    fn worker(&self, _worker: usize) -> Worker {
        Worker {
            keys: self.space.cursor(&self.spec.request_distribution),
        }
    }

    fn thread(&self, _worker: &Worker, id: ThreadId) -> Thread {
        self.user(Stream::new(self.seed, id.stream), id.latency_probe)
    }

    async fn attach(&self, session: &mut AnyDocuments) -> Result<(), OpError> {
        session.attach(&self.collection).await?;
        session.prepare(COLLECTION, &self.uses()).await
    }

    #[inline]
    fn next(&self, worker: &Worker, thread: &mut Thread) -> usize {
        self.draw(&worker.keys, thread)
    }

    #[inline]
    async fn execute(
        &self,
        _worker: &Worker,
        thread: &mut Thread,
        session: &mut AnyDocuments,
        _probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        self.attempt(thread, session).await
    }

    #[inline]
    fn settle(&self, _worker: &Worker, thread: &mut Thread, ended: Ended, _probe: &mut dyn Probe) {
        self.book(thread, ended);
    }

    fn stream_hash(&self, thread: &Thread) -> u64 {
        thread.hash.value()
    }

    async fn create(&self, session: &mut AnyDocuments, drop_existing: bool) -> Result<(), Trouble> {
        collections::create(session, &self.collection[0], drop_existing).await
    }

    async fn drop(&self, session: &mut AnyDocuments) -> Result<(), Trouble> {
        collections::drop(session, &self.collection[0]).await
    }

    fn load_units(&self) -> u64 {
        self.load_slice().1
    }

    fn load_chunk_units(&self) -> u64 {
        self.spec.load_batch.into()
    }

    async fn load_chunk(
        &self,
        _worker: &Worker,
        thread: &mut Thread,
        session: &mut AnyDocuments,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        self.load(thread, session, first, count).await
    }

    async fn scan_all(&self, session: &mut AnyDocuments) -> Result<u64, OpError> {
        session
            .range(COLLECTION, b"", None, Select::Whole, &mut |_| {})
            .await
    }

    async fn check(
        &self,
        session: &mut AnyDocuments,
        done: &[Option<Did>],
        spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        let mut checks = vec![self.check_number(session, done).await?];
        checks.extend(self.check_acknowledged(session, done, spec.acknowledged).await?);
        if spec.sample > 0 {
            checks.push(self.check_sample(session, spec).await?);
        }
        checks.extend(self.check_found(session, done).await?);
        Ok(checks)
    }

    fn evidence(&self) -> Did {
        self.did()
    }

    fn user_bytes_written(&self) -> u64 {
        let mut sum = 0;
        self.accounts
            .each(|account| sum += account.own.bytes_written.get());
        sum
    }
}

/// Of a find's statement: its path and how it is compared.
type Asked = [(u32, Is); 1];
