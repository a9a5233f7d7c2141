//! The course of a transaction: drawn, carried out from begin to end, and booked.
use super::Tpcc;
use super::account::{Account, Tally};
use super::input::Input;
use super::reads::{order_status, stock_level};
use super::rules::DISTRICTS;
use super::thread::{Attempted, Drawn, Thread};
use super::transaction::{Attempt, End, Transaction};
use crate::prelude::*;
use crate::rng::Random;

impl Tpcc {
    /// About 200 ns for a new order, 50 ns for another.
    pub(super) fn draw(&self, thread: &mut Thread) -> Transaction {
        let mut rng = Random::new(thread.stream.next_seed());
        let mut transaction = match thread.latency_probe {
            true => Transaction::OrderStatus,
            false => thread.deck.next(&self.choice, &mut rng),
        };
        let last = thread.drawn.map(|last| last.transaction);
        let input = self.inputs.draw(transaction, &thread.terminal, &mut rng);
        if matches!(input, Input::NewOrder(order) if order.rolls_back) {
            transaction = Transaction::NewOrderRollback;
        }
        if let Some(pacing) = &self.pacing {
            thread.pause_ns = pacing.pause_ns(last, transaction, &mut rng);
        }
        if thread.hash.is_open() {
            thread.hash.add([transaction as u64, input.digest()]);
        }
        thread.drawn = Some(Drawn { transaction, input });
        thread.attempted = Attempted::default();
        transaction
    }

    /// One attempt at the transaction drawn last.
    pub(super) async fn attempt(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Answer<'static>, OpError> {
        if !thread.attempted.begun {
            begin(thread);
        }
        thread.attempted.committed = false;
        let Some(Drawn { input, .. }) = &thread.drawn else {
            return Ok(Answer::Right); // cannot be: it is drawn first
        };
        let access = Access {
            read_only: input.reads_only(),
            isolation: None,
        };
        session.begin(access).await?;
        let mut attempt = Attempt::new(session);
        attempt.queries.other += 1;
        let buffers = &mut thread.buffers;
        let mut delivered = 0;
        let ended = match input {
            Input::NewOrder(order) => self.new_order(order, buffers, &mut attempt).await,
            Input::Payment(payment) => self.payment(payment, buffers, &mut attempt).await,
            Input::OrderStatus { home, customer } => {
                order_status(*home, customer, &mut buffers.namesakes, &mut attempt).await
            }
            Input::Delivery { warehouse, carrier } => {
                let done = self.delivery(*warehouse, *carrier, &mut buffers.delivered, &mut attempt);
                done.await.map(|(end, orders)| {
                    delivered = orders;
                    end
                })
            }
            Input::StockLevel { place, threshold } => stock_level(*place, *threshold, &mut attempt).await,
        };
        let (answer, mut counted) = (attempt.answer(), attempt.queries);
        let ended = match ended {
            Ok(End::Rollback) => session
                .rollback()
                .await
                .map(|()| End::Rollback)
                .map_err(|mut error| {
                    // Nobody knows what is still open in the session.
                    error.connection_lost = true;
                    error
                }),
            ended => session.end(ended).await,
        };
        // The commit, or the rollback.
        counted.other += u32::from(!ended.as_ref().is_err_and(|error| error.connection_lost));
        *queries = counted;
        thread.attempted.committed = matches!(ended, Ok(End::Commit));
        thread.attempted.delivered = delivered;
        ended.map(|_| answer)
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
