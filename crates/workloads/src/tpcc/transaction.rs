//! The transactions, as the operations that are timed, and one attempt at one.
use super::statements::Kind;
use crate::prelude::*;
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

    /// Fails unless the expected number of rows was written.
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
