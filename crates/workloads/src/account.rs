//! What a run did to the data. Each user writes to an account of its own; nobody else's core writes there.
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the adjacent account is not fetched along
pub struct Account {
    /// Inserts that were sent: what of these is neither acknowledged nor failed is unknown, also when nobody ever
    /// came back to say how it ended.
    pub inserts_begun: Counter,
    pub inserts_acknowledged: Counter,
    pub inserts_failed: Counter,
    pub writes_acknowledged: Counter,
    pub bytes_written: Counter,
}

/// Written by one thread, read by any: a plain load and store, no locked instruction.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub fn add(&self, n: u64) {
        self.0
            .store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// All users' accounts.
#[derive(Debug)]
pub struct Accounts<A = Account>(Mutex<Vec<Arc<A>>>);

impl<A> Default for Accounts<A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<A: Default> Accounts<A> {
    pub fn open(&self) -> Arc<A> {
        self.keep(A::default())
    }
}

impl<A> Accounts<A> {
    pub fn keep(&self, account: A) -> Arc<A> {
        let account = Arc::new(account);
        self.all().push(account.clone());
        account
    }

    pub fn each(&self, f: impl FnMut(&A)) {
        self.all().iter().map(Arc::as_ref).for_each(f);
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<A>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Accounts {
    /// What one client's run did, for the checks that follow.
    pub fn evidence(&self) -> Evidence {
        let mut sum = Evidence::default();
        self.each(|account| sum.add(account));
        sum
    }

    pub fn bytes_written(&self) -> u64 {
        let mut sum = 0;
        self.each(|account| sum += account.bytes_written.get());
        sum
    }
}

/// Evidence of a workload whose checks count rows.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub inserts_acknowledged: u64,
    /// Stored or not: nobody answered.
    pub inserts_unknown: u64,
    pub inserts_failed: u64,
    pub writes_acknowledged: u64,
}

impl Evidence {
    pub fn add(&mut self, account: &Account) {
        let (acknowledged, failed) = (account.inserts_acknowledged.get(), account.inserts_failed.get());
        self.inserts_acknowledged += acknowledged;
        self.inserts_failed += failed;
        self.inserts_unknown += account.inserts_begun.get().saturating_sub(acknowledged + failed);
        self.writes_acknowledged += account.writes_acknowledged.get();
    }
}

/// Things that runs added, one kind of them.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    pub acknowledged: u64,
    /// There or not: nobody answered.
    pub unknown: u64,
}

/// The possible numbers after `loaded` were loaded and runs added these; `None`: a run of unknown effect, which removes
/// nothing.
pub fn after(loaded: u64, runs: impl Iterator<Item = Option<Added>>) -> RangeInclusive<u64> {
    let (mut least, mut most) = (loaded, loaded);
    for run in runs {
        let Added {
            acknowledged,
            unknown,
        } = run.unwrap_or_default();
        least += acknowledged;
        most = match run {
            Some(_) => most.saturating_add(acknowledged + unknown),
            None => u64::MAX,
        };
    }
    least..=most
}

/// Of requests that may change the number of rows by one.
#[derive(Debug, Default)]
pub struct Tally {
    /// Sent: what of these has no known end is unknown, also when nobody ever came back to say how it ended.
    pub begun: Counter,
    pub ended: Counter,
    pub rows: Counter,
}

/// What such requests came to.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub rows: u64,
    /// Requests that changed a row or not: nobody answered.
    pub unknown: u64,
}

impl Changed {
    pub fn add(&mut self, tally: &Tally) {
        self.rows += tally.rows.get();
        self.unknown += tally.begun.get().saturating_sub(tally.ended.get());
    }
}

/// The possible numbers of rows after `loaded` were loaded and runs added and deleted these; `None`: a run of unknown
/// effect.
pub fn after_changes(
    loaded: u64,
    runs: impl Iterator<Item = Option<(Changed, Changed)>>,
) -> RangeInclusive<u64> {
    let (mut least, mut most) = (loaded, loaded);
    for run in runs {
        let (added, deleted) = run.unwrap_or_default();
        least = (least + added.rows).saturating_sub(deleted.rows + deleted.unknown);
        most = match run {
            Some(_) => most
                .saturating_add(added.rows + added.unknown)
                .saturating_sub(deleted.rows),
            None => u64::MAX,
        };
    }
    least..=most
}

/// Rows that there may be.
pub fn rows_after(loaded: u64, done: &[Option<Evidence>]) -> RangeInclusive<u64> {
    let added = |run: Evidence| Added {
        acknowledged: run.inserts_acknowledged,
        unknown: run.inserts_unknown,
    };
    after(loaded, done.iter().map(|run| run.map(added)))
}

/// "1000 rows", "1000 to 1002 rows", "at least 1000 rows".
pub fn in_words(rows: &RangeInclusive<u64>) -> String {
    match (*rows.start(), *rows.end()) {
        (least, u64::MAX) => format!("at least {least} rows"),
        (least, most) if least == most => format!("{least} rows"),
        (least, most) => format!("{least} to {most} rows"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_loaded_and_what_every_client_of_every_run_stored() {
        let did = |inserts_acknowledged, inserts_unknown| {
            Some(Evidence {
                inserts_acknowledged,
                inserts_unknown,
                ..Evidence::default()
            })
        };
        for (done, rows, words) in [
            (vec![], 100..=100, "100 rows"),
            (vec![did(5, 0), did(3, 0)], 108..=108, "108 rows"),
            (vec![did(5, 2), did(0, 1)], 105..=108, "105 to 108 rows"),
            (
                vec![did(5, 2), None, did(1, 0)],
                106..=u64::MAX,
                "at least 106 rows",
            ),
        ] {
            assert_eq!(rows_after(100, &done), rows);
            assert_eq!(in_words(&rows), words);
        }
    }
}
