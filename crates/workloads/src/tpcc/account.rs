//! What a run did to the data, for the checks that follow. Each user writes to an account of its own.
use crate::account::{Accounts, Counter};
use serde::{Deserialize, Serialize};

/// One kind of thing that a run adds to the data. What has begun and is neither acknowledged nor failed is unknown, also
/// when nobody ever came back to say how it ended.
#[derive(Debug, Default)]
pub struct Tally {
    /// Asked for: once for each operation, whatever its attempts.
    pub begun: Counter,
    pub acknowledged: Counter,
    /// Definitely not done.
    pub failed: Counter,
}

#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the neighbour's account is not fetched along
pub struct Account {
    /// Those that are to be committed.
    pub new_orders: Tally,
    pub payments: Tally,
    /// Orders delivered: ten of a transaction, less those of districts that had none left.
    pub deliveries: Tally,
    /// Districts in which a delivery found no new order.
    pub deliveries_skipped: Counter,
    pub bytes_written: Counter,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub new_orders: Told,
    pub payments: Told,
    pub deliveries: Told,
    pub deliveries_skipped: u64,
}

impl Evidence {
    /// What one client's run did.
    pub fn of(accounts: &Accounts<Account>) -> Self {
        let mut sum = Self::default();
        accounts.each(|account| {
            sum.new_orders.add(&account.new_orders);
            sum.payments.add(&account.payments);
            sum.deliveries.add(&account.deliveries);
            sum.deliveries_skipped += account.deliveries_skipped.get();
        });
        sum
    }
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub acknowledged: u64,
    /// Done or not: nobody answered.
    pub unknown: u64,
}

impl Told {
    fn add(&mut self, tally: &Tally) {
        let (acknowledged, failed) = (tally.acknowledged.get(), tally.failed.get());
        self.acknowledged += acknowledged;
        self.unknown += tally.begun.get().saturating_sub(acknowledged + failed);
    }
}
