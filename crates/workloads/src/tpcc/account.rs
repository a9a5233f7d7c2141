//! What a run did to the data, for the checks that follow. Each user writes to an account of its own.
use super::input::Input;
use super::rules::DISTRICTS;
use super::thread::{Drawn, Thread};
use super::transaction::Transaction;
use crate::account::{Accounts, Counter, Told};
use crate::prelude::*;
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
    fn add_to(&self, sum: &mut Told) {
        let (acknowledged, failed) = (self.acknowledged.get(), self.failed.get());
        sum.acknowledged += acknowledged;
        sum.unknown += self.begun.get().saturating_sub(acknowledged + failed);
    }
}

#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the neighbour's account is not fetched along
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
    pub new_orders: Told,
    pub payments: Told,
    pub deliveries: Told,
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

// What a terminal's transactions have done to the data, into its account.

/// Bytes of the specification's rows (clause 1.2.1).
const HISTORY_BYTES: u64 = 46;
const ORDER_BYTES: u64 = 24;
const NEW_ORDER_BYTES: u64 = 8;
const LINE_BYTES: u64 = 54;
/// Of a column that is updated: numbers, sums of money, dates.
const COLUMN_BYTES: u64 = 8;
/// Of an order in the mean.
const LINES: u64 = 10;

/// The transaction drawn last is about to be tried for the first time.
pub fn begin(thread: &mut Thread) {
    thread.attempted.begun = true;
    if let Some((tally, count)) = thread.drawn.and_then(|drawn| tally(&drawn, &thread.account)) {
        tally.begun.add(count);
    }
}

/// It is over. Returns the districts that a delivery skipped.
pub fn end(thread: &Thread, ended: Ended) -> u64 {
    let (attempted, outcome) = (thread.attempted, ended.outcome);
    let Some(drawn) = thread.drawn.filter(|_| attempted.begun) else {
        return 0;
    };
    let Some((tally, count)) = tally(&drawn, &thread.account) else {
        return 0;
    };
    tally.begun.add(count * u64::from(ended.perhaps_applied));
    if outcome == Outcome::Unknown {
        return 0;
    }
    let acknowledged = matches!(outcome, Outcome::Ok | Outcome::Wrong) && attempted.committed;
    let done = match drawn.transaction {
        _ if !acknowledged => 0,
        Transaction::Delivery => attempted.delivered,
        _ => count,
    };
    tally.acknowledged.add(done);
    tally.failed.add(count - done);
    if acknowledged {
        thread.account.bytes_written.add(bytes(&drawn.input) * done);
    }
    match acknowledged {
        true => count - done,
        false => 0,
    }
}

/// Where a transaction is counted, and as how many.
fn tally<'a>(drawn: &Drawn, account: &'a Account) -> Option<(&'a Tally, u64)> {
    match drawn.transaction {
        Transaction::NewOrder => Some((&account.new_orders, 1)),
        Transaction::Payment => Some((&account.payments, 1)),
        Transaction::Delivery => Some((&account.deliveries, DISTRICTS)),
        Transaction::NewOrderRollback | Transaction::OrderStatus | Transaction::StockLevel => None,
    }
}

/// That are written for one of those that are counted.
fn bytes(input: &Input) -> u64 {
    match input {
        Input::NewOrder(order) => {
            // Four columns of stock, one of the district.
            let lines = order.count as u64 * (LINE_BYTES + 4 * COLUMN_BYTES);
            ORDER_BYTES + NEW_ORDER_BYTES + COLUMN_BYTES + lines
        }
        // Year to date of warehouse and district; balance, year to date and count of the customer.
        Input::Payment(_) => HISTORY_BYTES + 5 * COLUMN_BYTES,
        // The key that is deleted; the carrier, the dates of lines, balance and count of the customer.
        Input::Delivery { .. } => NEW_ORDER_BYTES + (3 + LINES) * COLUMN_BYTES,
        Input::OrderStatus { .. } | Input::StockLevel { .. } => 0,
    }
}
