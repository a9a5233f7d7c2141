//! YCSB, core workload (Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010).
//!
//! This file is the table of contents: the operations, the state, and who does what. [`validate`] refuses what cannot
//! be run; `draw` makes operations (`ahead` of their turn), `choose` their keys, `fields` their values; `attempt` carries
//! them out and `groups` puts them into transactions; `load` and `check` are the phases before and after.
//! Differences from the original: docs/reference/workloads/ycsb.md.

mod ahead;
mod attempt;
mod check;
mod choose;
mod draw;
mod fields;
mod groups;
mod insert_sequence;
mod integrity;
mod key_text;
mod load;
mod presets;
mod resolve;
mod thread;
mod validate;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

use crate::account::Accounts;
use crate::prelude::*;
use crate::rng::Stream;
use crate::trouble;
use bakeoff_model::record::{Fields, Table, TableSpec, Use, ValueType};
use bakeoff_model::run::{Form, YcsbSpec};
use draw::{Mix, ScanLimit};
use fields::FieldMaker;
use insert_sequence::Did;
use thread::Sizes;
use validate::Proportions;

pub(crate) use choose::{KeyCursor, KeySpace};
pub(crate) use insert_sequence::{Ledger, acknowledged};
pub(crate) use key_text::{Key, KeyText};
pub use resolve::KIND;
pub use thread::Thread;

/// Raised when the same options and seed give other data or other operations than before. Part of a data set's
/// identity.
pub const GENERATOR_VERSION: u32 = 1;

/// Indices into [`operations`].
pub const READ: usize = 0;
pub const UPDATE: usize = 1;
pub const INSERT: usize = 2;
pub const SCAN: usize = 3;
pub const READ_MODIFY_WRITE: usize = 4;
pub const READ_MODIFY_WRITE_READ: usize = 5;
pub const READ_MODIFY_WRITE_UPDATE: usize = 6;
pub const COMMIT: usize = 7;

/// All that there are; without groups of operations nothing is committed.
fn operations(groups: bool) -> Vec<Operation> {
    let whole = "READ-MODIFY-WRITE";
    let mut all = Vec::from(["READ", "UPDATE", "INSERT", "SCAN", whole].map(Operation::new));
    [READ, SCAN]
        .into_iter()
        .for_each(|reads| all[reads].reads_only = true);
    all.extend(["READ", "UPDATE"].map(|half| Operation::part_of(format!("{whole}:{half}"), whole)));
    if groups {
        // Belongs to whichever operation completed the group, hence to no operation by name.
        all.push(Operation::part_of("COMMIT", "TRANSACTION"));
    }
    all
}

/// The only table.
const TABLE: Table = Table(0);

#[derive(Debug)]
pub struct Ycsb {
    spec: YcsbSpec,
    seed: u64,
    client: ClientSpec,
    table: [TableSpec; 1],
    /// A statement each, in every session.
    uses: Vec<Use>,
    operations: Vec<Operation>,
    mix: Mix,
    space: KeySpace,
    key_text: KeyText,
    fields: FieldMaker,
    scan_limit: ScanLimit,
    /// The last keys in key order, for `scan_last_keys`; otherwise empty.
    last_keys: Vec<u64>,
    accounts: Accounts,
}

/// Shared by the users of one OS thread.
#[derive(Debug)]
pub struct Worker {
    keys: KeyCursor,
}

impl Ycsb {
    /// With `scan_last_keys` this goes through all keys once, so make it before the clock runs.
    pub fn new(spec: &YcsbSpec, seed: u64, client: ClientSpec) -> Result<Self, Trouble> {
        validate::validate(spec, client)?;
        let key_text = KeyText {
            order: spec.insert_order,
            zero_padding: spec.zero_padding as usize,
        };
        let space = KeySpace::new(spec, client);
        let last_keys = match spec.scan_last_keys {
            Some(count) => choose::last_keys(&key_text, &space, count as usize),
            None => Vec::new(),
        };
        Ok(Self {
            table: [table_spec(spec)],
            uses: uses(spec),
            operations: operations(groups(spec)),
            mix: Mix::new(spec),
            fields: FieldMaker::new(spec, seed),
            scan_limit: ScanLimit::new(spec),
            accounts: Accounts::default(),
            spec: spec.clone(),
            seed,
            client,
            space,
            key_text,
            last_keys,
        })
    }

    fn groups(&self) -> bool {
        groups(&self.spec)
    }

    fn user(&self, stream: Stream, latency_probe: bool) -> Thread {
        Thread::new(
            stream,
            latency_probe,
            self.accounts.open(),
            self.key_text.key(),
            self.sizes(),
        )
    }

    fn sizes(&self) -> Sizes {
        let (_, field) = self.fields.length_bounds();
        let fields = self.fields.field_count() as usize;
        Sizes {
            field,
            record: field * fields,
            fields,
            slack: self.key_text.longest() + self.spec.field_prefix.len() + 16,
            // One transaction per thread has no bound; it grows as it goes (compat).
            transaction: if self.groups() {
                self.spec.ops_per_transaction.clamp(16, 4096) as usize
            } else {
                0
            },
        }
    }
}

/// Whether operations share transactions.
fn groups(spec: &YcsbSpec) -> bool {
    spec.ops_per_transaction != 1
}

/// Every table is read once before runs, in any order.
pub fn needs(spec: &YcsbSpec) -> Needs {
    let groups = groups(spec);
    Needs {
        offers: Offers::NONE
            .and_if(groups, Offer::Transactions)
            .and_if(spec.scan_proportion > 0.0, Offer::Scan),
        own_session: groups,
        patches: sets_single_paths(spec),
        affected: Affected::Found,
        value_bytes: fields::longest(spec),
        ..Needs::default()
    }
}

/// Updates of some fields of a document, but not all.
fn sets_single_paths(spec: &YcsbSpec) -> bool {
    let updates = spec.update_proportion + spec.read_modify_write_proportion > 0.0;
    spec.form == Form::Document && updates && !spec.write_all_fields && spec.field_count > 1
}

/// Whatever operations of this mix do with the table.
fn uses(spec: &YcsbSpec) -> Vec<Use> {
    let [reads, updates, inserts, scans, read_modify_writes] = spec.proportions();
    let selected: Vec<Fields> = match (spec.read_all_fields, spec.read_all_fields_by_name) {
        (true, false) => vec![Fields::All],
        (true, true) => vec![Fields::AllByName],
        (false, _) => (0..spec.field_count).map(Fields::One).collect(),
    };
    let written: Vec<Use> = match spec.write_all_fields && spec.field_count > 1 {
        true => vec![Use::UpdateAll],
        false => (0..spec.field_count).map(Use::UpdateOne).collect(),
    };
    let mut uses = vec![];
    if reads + read_modify_writes > 0.0 {
        uses.extend(selected.iter().copied().map(Use::Read));
    }
    if scans > 0.0 {
        uses.extend(selected.iter().copied().map(Use::Scan));
    }
    if updates + read_modify_writes > 0.0 {
        uses.extend(written);
    }
    if inserts > 0.0 {
        uses.push(Use::Insert);
    }
    uses
}

fn table_spec(spec: &YcsbSpec) -> TableSpec {
    TableSpec {
        name: spec.table.clone(),
        key_column: spec.key_column.clone(),
        key_length: spec.key_length,
        field_names: (0..spec.field_count)
            .map(|i| format!("{}{i}", spec.field_prefix))
            .collect(),
        value_type: spec.value_varchar.map_or(ValueType::Text, ValueType::Varchar),
    }
}

impl Workload for Ycsb {
    type Session = AnyRecords;
    type Worker = Worker;
    type Thread = Thread;
    type Evidence = Did;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn latency_probe_operation(&self) -> Option<usize> {
        (self.spec.read_proportion > 0.0).then_some(READ)
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

    async fn attach(&self, session: &mut AnyRecords) -> Result<(), OpError> {
        session.attach(&self.table).await?;
        session.prepare(TABLE, &self.uses).await
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
        session: &mut AnyRecords,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        let grouped = self.groups() && !thread.latency_probe;
        if grouped {
            self.open_group(thread, session).await?;
        }
        let answer = self.attempt(thread, session, probe).await;
        if grouped {
            self.close_group(answer, thread, session, probe).await
        } else {
            answer
        }
    }

    #[inline(always)]
    fn settle(&self, _worker: &Worker, thread: &mut Thread, ended: Ended, probe: &mut dyn Probe) {
        self.book(thread, ended, probe);
    }

    fn owes(&self, thread: &Thread) -> bool {
        thread.transaction.open
    }

    async fn finish(
        &self,
        _worker: &Worker,
        thread: &mut Thread,
        session: &mut AnyRecords,
        probe: &mut dyn Probe,
    ) -> Result<(), OpError> {
        self.commit(thread, session, probe).await
    }

    fn abandon(&self, thread: &mut Thread, probe: &mut dyn Probe) {
        self.roll_back(thread, probe);
    }

    fn stream_hash(&self, thread: &Thread) -> u64 {
        thread.hash.value()
    }

    async fn create(&self, session: &mut AnyRecords, drop_existing: bool) -> Result<(), Trouble> {
        let [table] = &self.table;
        let name = &table.name;
        if drop_existing {
            <Self as Workload>::drop(self, session).await?;
        } else if session
            .table_exists(table)
            .await
            .map_err(|e| trouble::setup("look for the table", name, &e))?
        {
            let hint = "allow dropping it, or name another table or schema in the plan";
            return Err(trouble::table_exists(name, hint));
        }
        session
            .create_table(table)
            .await
            .map_err(|e| trouble::setup("create the table", name, &e))
    }

    async fn drop(&self, session: &mut AnyRecords) -> Result<(), Trouble> {
        let [table] = &self.table;
        session
            .drop_table(table)
            .await
            .map_err(|e| trouble::setup("drop the table", &table.name, &e))
    }

    fn load_units(&self) -> u64 {
        self.load_slice().1
    }

    fn load_chunk_units(&self) -> u64 {
        self.chunk_units()
    }

    async fn load_chunk(
        &self,
        _worker: &Worker,
        thread: &mut Thread,
        session: &mut AnyRecords,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        self.load(thread, session, first, count).await
    }

    async fn scan_all(&self, session: &mut AnyRecords) -> Result<u64, OpError> {
        match session.is_partial().await? {
            true => self.rows_by_key(session).await,
            false => session.scan(TABLE, b"", None, Fields::All, &mut |_| {}).await,
        }
    }

    async fn check(
        &self,
        session: &mut AnyRecords,
        done: &[Option<Did>],
        spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        let mut checks = vec![self.check_rows(session, done).await?];
        checks.extend(self.check_acknowledged(session, done, spec.acknowledged).await?);
        if spec.sample > 0 {
            checks.push(self.check_sample(session, spec).await?);
        }
        Ok(checks)
    }

    fn evidence(&self) -> Did {
        Did {
            counts: self.accounts.evidence(),
            ledger: self.space.inserts().map(Ledger::of),
        }
    }

    fn user_bytes_written(&self) -> u64 {
        self.accounts.bytes_written()
    }
}
