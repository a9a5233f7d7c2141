//! The transactions, as the operations that are timed.
use super::input::Input;
use super::reads::{order_status, stock_level};
use super::statements::Kind;
use super::thread::{Attempted, Drawn, Thread};
use super::{Tpcc, account};
use crate::prelude::*;
use crate::rng::Random;
use bakeoff_model::workload::Operation;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Transaction {
    NewOrder,
    /// Its last item is none, so it rolls back: known when its input is drawn, and a series of its own.
    NewOrderRollback,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

/// A district in which a delivery found no new order (clause 2.7.4.2): counted, for there must not be many.
pub const DISTRICT_SKIPPED: usize = Transaction::COUNT;

impl Transaction {
    pub const COUNT: usize = 6;

    pub const ALL: [Self; Self::COUNT] = [
        Self::NewOrder,
        Self::NewOrderRollback,
        Self::Payment,
        Self::OrderStatus,
        Self::Delivery,
        Self::StockLevel,
    ];

    /// By their places, and after them what a delivery may come to in parts.
    pub fn operations() -> Vec<Operation> {
        let mut all: Vec<Operation> = Self::ALL.map(Self::operation).into();
        all.push(Operation::part_of("district_skipped", Self::Delivery.name()));
        all
    }

    fn operation(self) -> Operation {
        let reads_only = matches!(self, Self::OrderStatus | Self::StockLevel);
        Operation::new(self.name()).reading_only(reads_only)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "new_order",
            Self::NewOrderRollback => "new_order_rollback",
            Self::Payment => "payment",
            Self::OrderStatus => "order_status",
            Self::Delivery => "delivery",
            Self::StockLevel => "stock_level",
        }
    }
}

// One attempt at a transaction: what has been asked, and what was wrong with an answer.

/// How a transaction is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Commit,
    /// By its user's mistake, or because an answer was wrong that it cannot go on without.
    Rollback,
}

pub struct Attempt<'a> {
    pub session: &'a mut AnySql,
    pub queries: Queries,
    /// The first wrong answer.
    wrong: Option<&'static str>,
}

impl<'a> Attempt<'a> {
    pub fn new(session: &'a mut AnySql) -> Self {
        Self {
            session,
            queries: Queries::default(),
            wrong: None,
        }
    }

    pub fn expect(&mut self, right: bool, otherwise: &'static str) {
        if !right && self.wrong.is_none() {
            self.wrong = Some(otherwise);
        }
    }

    pub fn answer(&self) -> Answer<'static> {
        self.wrong.map_or(Answer::Right, Answer::Wrong)
    }

    /// Rows that came.
    #[inline]
    pub async fn read(
        &mut self,
        kind: Kind,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let rows = self.session.query(kind.statement(), params, each).await?;
        self.queries.read += 1;
        Ok(rows)
    }

    /// One row is expected.
    #[inline]
    pub async fn read_row(
        &mut self,
        kind: Kind,
        params: &[Value<'_>],
        otherwise: &'static str,
    ) -> Result<Option<&RowBuf>, OpError> {
        let row = self.session.query_one(kind.statement(), params).await?;
        self.queries.read += 1;
        if row.is_none() && self.wrong.is_none() {
            self.wrong = Some(otherwise);
        }
        Ok(row)
    }

    /// So many rows are expected to be written.
    #[inline]
    pub async fn write(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        rows: u64,
        otherwise: &'static str,
    ) -> Result<Done, OpError> {
        let done = self.session.execute(statement, params).await?;
        self.count_write(done.affected != Some(0));
        self.expect(done.affected.is_none_or(|affected| affected == rows), otherwise);
        Ok(done)
    }

    /// A write that touched no row is no write.
    #[inline]
    pub fn count_write(&mut self, touched: bool) {
        self.queries.write += u32::from(touched);
        self.queries.other += u32::from(!touched);
    }
}

/// The date and time of day that a row is written with.
pub fn now() -> Value<'static> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Value::Timestamp(Timestamp {
        us: since.as_micros() as i64,
    })
}

// The course of a transaction: drawn, carried out from begin to end, and booked.

impl Tpcc {
    /// About 200 ns for a new order, 50 ns for another.
    pub(super) fn draw(&self, thread: &mut Thread) -> Transaction {
        let mut rng = Random::new(thread.stream.next_seed());
        let mut transaction = match thread.witness {
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
            account::begin(thread);
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
