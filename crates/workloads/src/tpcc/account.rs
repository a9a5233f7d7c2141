//! What a run did to the data, for the checks that follow. Each user writes to an account of its own.
use crate::account::{Accounts, Added, Counter};
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

impl Tally {
    fn add_to(&self, sum: &mut Added) {
        let (acknowledged, failed) = (self.acknowledged.get(), self.failed.get());
        sum.acknowledged += acknowledged;
        sum.unknown += self.begun.get().saturating_sub(acknowledged + failed);
    }
}

#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the adjacent account is not fetched along
pub struct Account {
    /// Those that are to be committed.
    pub new_orders: Tally,
    pub payments: Tally,
    /// Orders delivered: ten of a transaction, less those of districts that had none left.
    pub deliveries: Tally,
    pub bytes_written: Counter,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub new_orders: Added,
    pub payments: Added,
    pub deliveries: Added,
}

impl Evidence {
    /// What one client's run did.
    pub fn of(accounts: &Accounts<Account>) -> Self {
        let mut sum = Self::default();
        accounts.each(|account| {
            account.new_orders.add_to(&mut sum.new_orders);
            account.payments.add_to(&mut sum.payments);
            account.deliveries.add_to(&mut sum.deliveries);
        });
        sum
    }
}
