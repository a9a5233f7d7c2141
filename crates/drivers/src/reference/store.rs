//! The store without a clock: whoever calls it says what time it is, in ns, and never goes back. So a driver runs it in real
//! time and a test in virtual time; all chance comes from one seed.
//!
//! - There is one log of commits. A commit is checked against those that its transaction did not see: the first one to
//!   change a row wins, and at `serializable` nothing that a transaction read may have changed either.
//! - Each node has the log up to some commit. The node that takes a commit and `write_nodes - 1` others have it at once,
//!   the rest after the delay; who gets a commit gets what came before it.
//! - A transaction reads the state of the newest of `read_nodes` nodes, its own among them, at its begin. So with
//!   `read_nodes + write_nodes` above the number of nodes no read is old.
use super::node::Node;
use super::options::{ReferenceBug as Bug, ReferenceDelay, ReferenceSpec};
use super::refused;
pub use super::rows::{Cell, Change, Column, Condition, Test};
use super::table::Table;
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::random::SplitMix64;
use bakeoff_model::run::Isolation;
use std::collections::BTreeMap;

/// Bugs of reads show in what is read, and not in what a write finds.
#[derive(Clone, Copy)]
enum View {
    Write,
    /// own: with what the transaction has written itself.
    Read {
        own: bool,
    },
}

struct Transaction {
    node: usize,
    /// It sees the log up to this commit.
    sees: u64,
    /// Tables with a row of theirs, or all of it.
    read: Vec<(String, Option<i64>)>,
    writes: Vec<(String, i64, Change)>,
}

/// Of a transaction that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Open(u64);

pub struct Store {
    spec: ReferenceSpec,
    level: Isolation,
    random: SplitMix64,
    tables: BTreeMap<String, Table>,
    /// When each commit was made; they are numbered from 1.
    commits_ns: Vec<u64>,
    nodes: Vec<Node>,
    open: BTreeMap<Open, Transaction>,
    opened: u64,
}

const STALE_NS: u64 = 100_000_000;
const LATE_NS: u64 = 50_000_000;

impl Store {
    /// An empty one. level: snapshot or serializable. Times of faults count from `now_ns`.
    pub fn new(spec: ReferenceSpec, level: Isolation, seed: u64, now_ns: u64) -> Self {
        let nodes = (0..spec.nodes as usize).map(|number| Node::new(&spec, number, now_ns));
        Self {
            nodes: nodes.collect(),
            spec,
            level,
            random: SplitMix64(seed),
            tables: BTreeMap::new(),
            commits_ns: vec![],
            open: BTreeMap::new(),
            opened: 0,
        }
    }

    /// All nodes have it at once.
    pub fn create(&mut self, table: &str) -> Result<(), OpError> {
        if self.tables.contains_key(table) {
            return Err(refused("TABLE", format!("there is a table {table}")));
        }
        self.tables.insert(table.into(), Table::default());
        Ok(())
    }

    /// Error: there is none.
    pub fn drop_table(&mut self, table: &str) -> Result<(), OpError> {
        self.tables.remove(table).map(drop).ok_or_else(|| no_table(table))
    }

    /// Of all its transactions.
    pub fn level(&self) -> Isolation {
        self.level
    }

    pub fn node(&self, number: usize) -> &Node {
        &self.nodes[number]
    }

    pub fn one_in(&mut self, chance: u64) -> bool {
        self.random.one_in(chance)
    }

    fn has(&mut self, bug: Bug, chance: u64) -> bool {
        self.spec.bug == bug && self.one_in(chance)
    }

    /// Begins a transaction on a node.
    pub fn begin(&mut self, node: usize, now_ns: u64) -> Result<Open, OpError> {
        let sees = self.position(node, now_ns)?;
        self.opened += 1;
        let transaction = Transaction {
            node,
            sees,
            read: vec![],
            writes: vec![],
        };
        self.open.insert(Open(self.opened), transaction);
        Ok(Open(self.opened))
    }

    /// The same of a single statement that writes: no other one can come between.
    pub fn begin_newest(&mut self, node: usize, now_ns: u64) -> Result<Open, OpError> {
        let open = self.begin(node, now_ns)?;
        self.transaction(open)?.sees = self.commits_ns.len() as u64;
        Ok(open)
    }

    fn transaction(&mut self, open: Open) -> Result<&mut Transaction, OpError> {
        self.open.get_mut(&open).ok_or_else(no_transaction)
    }

    /// The newest commit that a read on this node sees.
    fn position(&mut self, node: usize, now_ns: u64) -> Result<u64, OpError> {
        if self.spec.bug == Bug::StaleNode && node + 1 == self.nodes.len() {
            let before_ns = now_ns.saturating_sub(STALE_NS);
            return Ok(self.commits_ns.partition_point(|at_ns| *at_ns <= before_ns) as u64);
        }
        let nodes = self.some_nodes(node, self.spec.read_nodes, now_ns)?;
        let applied = nodes.into_iter().map(|node| self.nodes[node].applied(now_ns));
        Ok(applied.max().unwrap_or(0))
    }

    /// This node and others by chance. Error: not as many can be reached.
    fn some_nodes(&mut self, node: usize, count: u32, now_ns: u64) -> Result<Vec<usize>, OpError> {
        let is_reachable = |other: &usize| *other != node && self.nodes[*other].is_reachable(now_ns);
        let mut others: Vec<usize> = match self.nodes[node].is_reachable(now_ns) {
            true => (0..self.nodes.len()).filter(is_reachable).collect(),
            false => vec![],
        };
        if others.len() + 1 < count as usize {
            let what = format!(
                "the statement needs {count} nodes, and {} can be reached",
                others.len() + 1
            );
            return Err(OpError::fail(FailClass::Other, "NODES", what));
        }
        let mut chosen = vec![node];
        while chosen.len() < count as usize {
            let place = self.random.below(others.len() as u64) as usize;
            chosen.push(others.swap_remove(place));
        }
        Ok(chosen)
    }

    /// Rows in the order of their ids, as the transaction sees them.
    pub fn read(
        &mut self,
        open: Open,
        table: &str,
        condition: &Condition,
        now_ns: u64,
    ) -> Result<Vec<(i64, Cell)>, OpError> {
        let view = View::Read {
            own: !self.has(Bug::ForgetOwn, 3),
        };
        let mut rows = self.rows(open, table, condition, view, now_ns)?;
        if condition.only_id().is_some() && !rows.is_empty() && self.has(Bug::Phantom, 50) {
            let number = -1 - self.random.below(1_000_000) as i64;
            rows[0].1 = match &rows[0].1 {
                Cell::Int(_) => Cell::Int(number),
                Cell::Text(text) => Cell::Text(format!("{text},{number}")),
            };
        }
        Ok(rows)
    }

    fn rows(
        &mut self,
        open: Open,
        table: &str,
        condition: &Condition,
        view: View,
        now_ns: u64,
    ) -> Result<Vec<(i64, Cell)>, OpError> {
        let (node, mut sees) = {
            let transaction = self.transaction(open)?;
            transaction.read.push((table.into(), condition.only_id()));
            (transaction.node, transaction.sees)
        };
        if self.spec.bug == Bug::ReadSkew {
            sees = sees.max(self.position(node, now_ns)?);
        }
        let (own, dirty, late) = match view {
            View::Write => (true, false, false),
            View::Read { own } => (
                own,
                self.spec.bug == Bug::AbortedRead,
                self.spec.bug == Bug::LateCommit,
            ),
        };
        let shows = |(other, _): &(&Open, &Transaction)| if **other == open { own } else { dirty };
        let pending: Vec<&Transaction> = self.open.iter().filter(shows).map(|(_, one)| one).collect();
        let held = self.tables.get(table).ok_or_else(|| no_table(table))?;
        let mut found = vec![];
        for (id, row) in held.rows(condition.ids()) {
            let mut cell = row.seen(|commit| commit <= sees && !(late && self.is_late(node, commit, now_ns)));
            for (of, changed, change) in pending.iter().flat_map(|one| &one.writes) {
                if of == table && *changed == id {
                    cell = change.of(cell);
                }
            }
            if let Some(cell) = cell.filter(|cell| condition.holds(id, cell)) {
                found.push((id, cell));
            }
        }
        Ok(found)
    }

    fn is_late(&self, node: usize, commit: u64, now_ns: u64) -> bool {
        (commit + node as u64).is_multiple_of(5) && now_ns < self.commits_ns[commit as usize - 1] + LATE_NS
    }

    /// Takes a change of these rows to be made by the commit. Returns how many rows there are.
    pub fn update(
        &mut self,
        open: Open,
        table: &str,
        condition: &Condition,
        change: &Change,
        now_ns: u64,
    ) -> Result<u64, OpError> {
        let rows = self.rows(open, table, condition, View::Write, now_ns)?;
        let writes = rows.iter().map(|(id, _)| (table.to_owned(), *id, change.clone()));
        self.transaction(open)?.writes.extend(writes);
        Ok(rows.len() as u64)
    }

    pub fn insert(
        &mut self,
        open: Open,
        table: &str,
        id: i64,
        cell: Cell,
        now_ns: u64,
    ) -> Result<(), OpError> {
        if !self
            .rows(open, table, &Condition::id(id), View::Write, now_ns)?
            .is_empty()
        {
            let what = format!("{table} has a row {id}");
            return Err(OpError::fail(FailClass::Constraint, "KEY", what));
        }
        let held = self.tables.get_mut(table).ok_or_else(|| no_table(table))?;
        held.insert(id);
        let write = (table.to_owned(), id, Change::Insert(cell));
        self.transaction(open)?.writes.push(write);
        Ok(())
    }

    /// Of one that is no longer open nothing happens.
    pub fn rollback(&mut self, open: Open) {
        self.open.remove(&open);
    }

    /// Afterwards it is not open, whatever came of it.
    pub fn commit(&mut self, open: Open, now_ns: u64) -> Result<(), OpError> {
        let transaction = self.open.remove(&open).ok_or_else(no_transaction)?;
        if transaction.writes.is_empty() {
            return Ok(());
        }
        let at_once = self.some_nodes(transaction.node, self.spec.write_nodes, now_ns)?;
        if !self.nodes[transaction.node].is_reachable(now_ns) {
            return Err(OpError::fail(
                FailClass::Other,
                "NODES",
                "the node is cut off, and takes no writes",
            ));
        }
        if self.conflicts(&transaction) {
            let what = "another transaction has changed what this one read or changed";
            return Err(OpError::fail(FailClass::Conflict, "CONFLICT", what));
        }
        self.apply(&transaction, now_ns);
        self.replicate(&at_once, now_ns);
        Ok(())
    }

    fn conflicts(&self, transaction: &Transaction) -> bool {
        let bug = self.spec.bug;
        if bug == Bug::IgnoreConflict {
            return false;
        }
        let changed = |table: &str, id: Option<i64>| {
            let table = self.tables.get(table);
            table.is_some_and(|table| table.changed(id) > transaction.sees)
        };
        let reads_count = self.level == Isolation::Serializable && bug != Bug::WriteSkew;
        transaction
            .writes
            .iter()
            .any(|(table, id, _)| changed(table, Some(*id)))
            || reads_count && transaction.read.iter().any(|(table, id)| changed(table, *id))
    }

    fn apply(&mut self, transaction: &Transaction, now_ns: u64) {
        self.commits_ns.push(now_ns);
        let commit = self.commits_ns.len() as u64;
        let keep = match self.spec.bug {
            Bug::None => self.seen_by_all(),
            _ => 0,
        };
        for (table, id, change) in &transaction.writes {
            if change.is_update() && self.has(Bug::DropWrite, 20) {
                continue;
            }
            let in_front = change.is_update() && self.has(Bug::Reorder, 10);
            let twice = matches!(change, Change::Add(_) | Change::Append(_)) && self.has(Bug::Duplicate, 20);
            let Some(table) = self.tables.get_mut(table) else {
                continue;
            };
            table.change(*id, commit, keep, |row| {
                let once = match in_front {
                    true => row.before_newest(change),
                    false => change.of(row.newest()),
                };
                if twice { change.of(once) } else { once }
            });
        }
    }

    /// The newest commit that every node and every open transaction sees.
    fn seen_by_all(&self) -> u64 {
        let nodes = self.nodes.iter().map(Node::known);
        let open = self.open.values().map(|transaction| transaction.sees);
        nodes.chain(open).min().unwrap_or(0)
    }

    /// The newest commit; nodes that have it at once.
    fn replicate(&mut self, at_once: &[usize], now_ns: u64) {
        let commit = self.commits_ns.len() as u64;
        for node in 0..self.nodes.len() {
            if at_once.contains(&node) {
                self.nodes[node].apply(commit);
                continue;
            }
            let share = match self.spec.delay {
                ReferenceDelay::Constant => 1.0,
                ReferenceDelay::Exponential => self.random.exponential(),
            };
            let due_ns = now_ns + (self.spec.delay_ns as f64 * share) as u64;
            self.nodes[node].send(due_ns, commit);
        }
    }
}

fn no_transaction() -> OpError {
    refused("TRANSACTION", "no transaction is open")
}

fn no_table(table: &str) -> OpError {
    refused("TABLE", format!("there is no table {table}"))
}
