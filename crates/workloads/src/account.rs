//! What a run did to the data. Each user writes to an account of its own; nobody else's core writes there.
use bakeoff_model::event::StateReport;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the neighbour's account is not fetched along
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
#[derive(Debug, Default)]
pub struct Accounts(Mutex<Vec<Arc<Account>>>);

impl Accounts {
    pub fn open(&self) -> Arc<Account> {
        let account = Arc::new(Account::default());
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(account.clone());
        account
    }

    pub fn total(&self) -> StateReport {
        let mut report = StateReport::default();
        for account in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let (acknowledged, failed) = (account.inserts_acknowledged.get(), account.inserts_failed.get());
            report.inserts_acknowledged += acknowledged;
            report.inserts_failed += failed;
            report.inserts_unknown += account.inserts_begun.get().saturating_sub(acknowledged + failed);
            report.writes_acknowledged += account.writes_acknowledged.get();
            report.bytes_written += account.bytes_written.get();
        }
        report
    }
}
