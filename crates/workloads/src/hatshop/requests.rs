//! Events carried out. What they ask for was decided when they were drawn; here it is put into values and sent.
use super::Hatshop;
use super::event::{Attribute, Event, Kind};
use super::known::{Known, There};
use super::schema::ORDER_COLUMNS;
use super::shop::{Line, Order, Shop, Status, order_bytes};
use super::statements::{Question, if_there, insert_lines, set_attribute};
use super::thread::{Effect, Thread};
use crate::faults::Found;
use crate::numbers::{money, units};
use crate::prelude::*;
use crate::prepared::emptied;
use bakeoff_model::statement::Done;

/// What a judgement says.
pub const ORDER_MISSING: &str = "order missing, or there against all that is known";

#[inline]
fn id(order: &Order) -> Value<'_> {
    Value::Text(&order.id.0)
}

pub fn date(date_ms: i64) -> Value<'static> {
    Value::Timestamp(Timestamp { us: date_ms * 1000 })
}

/// An order's cells, by [`super::schema::ORDER_COLUMNS`].
pub fn order_values<'a>(shop: &'a Shop, order: &'a Order, date_ms: i64) -> [Value<'a>; 5] {
    let status = Value::Text(Status::Ordered.name().as_bytes());
    let client = Value::Text(&shop.client(order).id.0);
    [
        id(order),
        client,
        date(date_ms),
        status,
        money(order.sub_total_cents),
    ]
}

/// An order's cells with the list, for the columns that orders have.
pub fn with_line_ids<'a>(
    cells: [Value<'a>; ORDER_COLUMNS.len()],
    list: &'a [u8],
) -> [Value<'a>; ORDER_COLUMNS.len() + 1] {
    std::array::from_fn(|column| cells.get(column).copied().unwrap_or(Value::Bytes(list)))
}

/// A line's cells, by [`super::schema::LINE_COLUMNS`].
pub fn line_values<'a>(shop: &'a Shop, order: &'a Order, line: &'a Line) -> [Value<'a>; 7] {
    let product = shop.product(line);
    [
        id(order),
        Value::Text(&line.id.0),
        Value::Text(&product.id.0),
        Value::Text(product.colour.as_bytes()),
        Value::Text(product.size.as_bytes()),
        Value::Int(line.quantity.into()),
        money(line.price_cents),
    ]
}

/// What a read has found of an order.
#[derive(Debug, Default)]
pub struct Seen {
    pub orders: u64,
    sub_total_cents: Option<i64>,
    status_is_known: bool,
    pub lines: u64,
    sum_cents: i64,
}

impl Seen {
    /// `cell`: of an order's row, by its place in [`super::schema::ORDER_COLUMNS`].
    pub fn order<'a>(&mut self, cell: impl Fn(usize) -> Option<Value<'a>>, known: Known) {
        self.orders += 1;
        self.sub_total_cents = units(cell(4), 2);
        let status = cell(3).and_then(Value::bytes);
        self.status_is_known = known
            .status
            .is_none_or(|known| status == Some(known.name().as_bytes()));
    }

    /// `cell`: of a line's row, by its place in [`super::schema::LINE_COLUMNS`].
    pub fn line<'a>(&mut self, cell: impl Fn(usize) -> Option<Value<'a>>) {
        self.lines += 1;
        self.sum_cents += units(cell(6), 2).unwrap_or_default();
    }

    pub fn judged(&self, order: &Order, known: Known) -> Found {
        let mut found = Found::RIGHT;
        let all = order.lines.len() as u64;
        found.check(known.allows(self.orders, 1), ORDER_MISSING);
        found.check(known.allows(self.lines, all), "another number of lines");
        if self.orders > 0 && known.there != There::No {
            found.check(
                self.sub_total_cents == Some(order.sub_total_cents),
                "another sub_total",
            );
            found.check(self.status_is_known, "another status");
        }
        if self.lines == all {
            found.check(
                self.sum_cents == order.sub_total_cents,
                "lines do not add up to sub_total",
            );
        }
        found
    }
}

impl Hatshop {
    /// One attempt at the event drawn last.
    pub(super) async fn carry_out(
        &self,
        thread: &mut Thread,
        known: Known,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let batches = session.dialect().batches;
        match thread.event.kind {
            Kind::Create if self.spec.pipeline => self.create_pipelined(thread, session, queries).await,
            Kind::Read if self.spec.pipeline => self.read_pipelined(thread, known, session, queries).await,
            Kind::Delete if self.spec.pipeline => {
                self.delete_pipelined(thread, known, session, queries).await
            }
            Kind::Create if batches => self.create_together(thread, session, queries).await,
            Kind::Delete if batches => self.delete_together(thread, known, session, queries).await,
            Kind::Create => {
                session.begin(Access::default()).await?;
                queries.other += 1;
                let created = self.create(thread, session, queries).await;
                queries.other += 1;
                session.end(created).await
            }
            Kind::Read => {
                let Thread { event, together, .. } = thread;
                let seen = self.look(&event.order, known, session, together, queries).await?;
                Ok(seen.judged(&event.order, known))
            }
            Kind::Update => update(thread, known, session, queries).await,
            Kind::UpdateAttribute => self.update_attribute(thread, known, session, queries).await,
            Kind::Delete => {
                session.begin(Access::default()).await?;
                queries.other += 1;
                let deleted = delete(thread, known, session, queries).await;
                queries.other += 1;
                session.end(deleted).await
            }
        }
    }

    async fn create(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let Event { order, .. } = &thread.event;
        let values = order_values(&self.shop, order, thread.event.date_ms());
        let stored = session
            .execute(Question::InsertOrder.statement(), &values)
            .await?;
        let mut params: Vec<Value<'_>> = std::mem::take(&mut thread.params);
        for line in &order.lines {
            params.extend(line_values(&self.shop, order, line));
        }
        let done = session.execute(insert_lines(order.lines.len()), &params).await;
        thread.params = emptied(params);
        let done = [stored, done?];
        thread.effect = Effect::created(&self.shop, order);
        Ok(created(done, order, queries))
    }

    async fn update_attribute(
        &self,
        thread: &mut Thread,
        known: Known,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let event = &thread.event;
        let (value, bytes) = match event.attribute {
            Attribute::Colour(text) | Attribute::Size(text) => {
                (Value::Text(text.as_bytes()), text.len() as u64)
            }
            Attribute::Quantity(number) => (Value::Int(number.into()), 4),
        };
        let line = event.line_id();
        let params = [value, Value::Text(&line.0), id(&event.order)];
        let params = if self.is_by_order() {
            &params[..]
        } else {
            &params[..2]
        };
        let statement = update_statement(set_attribute(event.attribute), known, session.dialect());
        let done = session.execute(statement, params).await?;
        count_write(done.affected, queries);
        thread.effect.bytes = bytes;
        Ok(rows_found(
            done.affected,
            1,
            known,
            "line missing, or there against all that is known",
        ))
    }
}

async fn update(
    thread: &mut Thread,
    known: Known,
    session: &mut AnySql,
    queries: &mut Queries,
) -> Result<Found, OpError> {
    let event = &thread.event;
    let status = Value::Text(event.status.name().as_bytes());
    let params = [
        date(event.date_ms()),
        status,
        money(event.order.sub_total_cents),
        id(&event.order),
    ];
    let statement = update_statement(Question::UpdateOrder.statement(), known, session.dialect());
    let done = session.execute(statement, &params).await?;
    count_write(done.affected, queries);
    thread.effect.bytes = order_bytes(event.status);
    Ok(rows_found(done.affected, 1, known, ORDER_MISSING))
}

async fn delete(
    thread: &mut Thread,
    known: Known,
    session: &mut AnySql,
    queries: &mut Queries,
) -> Result<Found, OpError> {
    let order = &thread.event.order;
    let lines = session
        .execute(Question::DeleteLines.statement(), &[id(order)])
        .await?;
    let row = session
        .execute(Question::DeleteOrder.statement(), &[id(order)])
        .await?;
    Ok(deleted([lines, row], thread, known, queries))
}

/// Of an order that was made: what its two statements did, the order's and its lines'.
pub fn created([row, lines]: [Done; 2], order: &Order, queries: &mut Queries) -> Found {
    let mut found = Found::RIGHT;
    found.check(row.affected.is_none_or(|rows| rows == 1), "order not stored");
    let all = order.lines.len() as u64;
    found.check(lines.affected.is_none_or(|rows| rows == all), "lines not stored");
    queries.write += 2;
    found
}

/// Of one that was deleted: its lines', then the order's.
pub fn deleted([lines, row]: [Done; 2], thread: &mut Thread, known: Known, queries: &mut Queries) -> Found {
    count_write(lines.affected, queries);
    count_write(row.affected, queries);
    thread.effect.orders = row.affected.or(known.there.orders());
    let all = thread.event.order.lines.len() as u64;
    let mut found = rows_found(lines.affected, all, known, "another number of lines");
    let there = row.affected.is_none_or(|rows| known.allows(rows, 1));
    found.check(there, ORDER_MISSING);
    found
}

/// Where an update makes the row that it does not find, one of a row that may not be there asks for it first.
fn update_statement(update: Statement, known: Known, dialect: &Dialect) -> Statement {
    match known.there {
        There::No | There::Perhaps if !dialect.if_there.is_empty() => if_there(update),
        _ => update,
    }
}

/// A write that touched no row is no write.
fn count_write(affected: Option<u64>, queries: &mut Queries) {
    let touched = affected != Some(0);
    queries.write += u32::from(touched);
    queries.other += u32::from(!touched);
}

pub fn rows_found(affected: Option<u64>, all: u64, known: Known, otherwise: &'static str) -> Found {
    let mut found = Found::RIGHT;
    found.check(affected.is_none_or(|rows| known.allows(rows, all)), otherwise);
    found
}
