//! A table of the reference store: what each commit left of each row.
use super::rows::{Cell, Change};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

#[derive(Default)]
pub struct Table {
    rows: BTreeMap<i64, Row>,
    /// By the newest commit.
    changed: u64,
}

/// Its versions, in the order of their commits.
#[derive(Default)]
pub struct Row(Vec<Version>);

/// As a commit left it; without a cell the row is deleted.
struct Version {
    commit: u64,
    cell: Option<Cell>,
}

impl Table {
    pub fn rows(&self, ids: RangeInclusive<i64>) -> impl Iterator<Item = (i64, &Row)> {
        self.rows.range(ids).map(|(id, row)| (*id, row))
    }

    /// From now on `rows` has this row, even if it has no version yet.
    pub fn insert(&mut self, id: i64) {
        self.rows.entry(id).or_default();
    }

    /// The newest commit that changed this row, or any.
    pub fn changed(&self, id: Option<i64>) -> u64 {
        match id {
            Some(id) => self.rows.get(&id).map_or(0, Row::changed),
            None => self.changed,
        }
    }

    /// A commit makes this of a row. Nobody reads any more what was older than the commit `keep`.
    pub fn change(&mut self, id: i64, commit: u64, keep: u64, made: impl FnOnce(&Row) -> Option<Cell>) {
        self.changed = commit;
        let row = self.rows.entry(id).or_default();
        let cell = made(row);
        row.0.push(Version { commit, cell });
        let unread = row.0.iter().rposition(|version| version.commit <= keep);
        row.0.drain(..unread.unwrap_or(0));
    }
}

impl Row {
    /// As the newest of those commits left it that `sees` says are seen.
    pub fn seen(&self, sees: impl Fn(u64) -> bool) -> Option<Cell> {
        let mut versions = self.0.iter().rev();
        versions.find(|version| sees(version.commit))?.cell.clone()
    }

    pub fn newest(&self) -> Option<Cell> {
        self.0.last()?.cell.clone()
    }

    /// What is left of it if this change is made before the newest one.
    pub fn before_newest(&self, change: &Change) -> Option<Cell> {
        let newest = self.newest();
        let before = self
            .0
            .iter()
            .rev()
            .nth(1)
            .and_then(|version| version.cell.as_ref());
        match (change, before, &newest) {
            (Change::Append(end), Some(Cell::Text(before)), Some(Cell::Text(text))) => {
                let last = text.strip_prefix(before.as_str()).unwrap_or_default();
                Some(Cell::Text(format!("{before}{end}{last}")))
            }
            (Change::Set(_), ..) => newest,
            _ => change.of(newest),
        }
    }

    fn changed(&self) -> u64 {
        self.0.last().map_or(0, |newest| newest.commit)
    }
}
