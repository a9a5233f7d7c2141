//! What a terminal's transactions have done to the data, into its account.
use super::account::{Account, Tally};
use super::input::Input;
use super::sizes::DISTRICTS;
use super::thread::{Drawn, Thread};
use super::transaction::Transaction;
use crate::prelude::*;

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
