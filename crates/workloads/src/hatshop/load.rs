//! The load phase: orders and their lines, the same whoever loads them.
use super::Hatshop;
use super::event::loaded_ms;
use super::line_ids::write_ids;
use super::requests::{line_values, order_values, with_line_ids};
use super::schema::{LINES, ORDERS};
use super::shop::{Order, Status, line_bytes, order_bytes};
use super::statements::{LINE_COLUMNS, order_columns};
use super::thread::{Effect, Thread};
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::hatshop::HatshopSpec;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::transaction::{Access, Transactional};

/// Orders of one chunk, and of one transaction.
pub const CHUNK_ORDERS: u64 = 250;

impl Hatshop {
    /// First order of this client's share, and how many it has.
    pub(super) fn load_share(&self) -> (u64, u64) {
        let total = u128::from(self.spec.orders);
        let share = |index: u32| (total * u128::from(index) / u128::from(self.client.count)) as u64;
        let first = share(self.client.index);
        (first, share(self.client.index + 1) - first)
    }

    pub(super) async fn load<S: SqlSession + Transactional>(
        &self,
        thread: &mut Thread,
        session: &mut S,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        let first = self.load_share().0 + first;
        let stored = if session.dialect().transactions {
            session.begin(Access::default()).await?;
            let stored = self.load_orders(session, first, count).await;
            session.end(stored).await?
        } else {
            self.load_orders(session, first, count).await?
        };
        let mut order = self.shop.empty_order();
        for number in first..first + count {
            self.shop.order(number, &mut order);
            let bytes = Effect::created(&self.shop, &order).bytes;
            thread.account.bytes_written.add(bytes);
        }
        Ok(stored)
    }

    async fn load_orders<S: SqlSession>(
        &self,
        session: &mut S,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        let columns = order_columns(&self.spec, session.dialect());
        let (mut numbers, mut order) = (first..first + count, self.shop.empty_order());
        let mut line_ids = vec![];
        let mut next = |row: &mut RowBuf| {
            let Some(number) = numbers.next() else {
                return false;
            };
            self.shop.order(number, &mut order);
            let values = order_values(&self.shop, &order, loaded_ms(number, self.spec.orders));
            write_ids(&order.lines, &mut line_ids);
            let values = with_line_ids(values, &line_ids);
            values[..columns.len()].iter().for_each(|value| row.push(*value));
            true
        };
        let orders = session.bulk_insert(ORDERS, &columns, &mut next).await?;
        let (mut numbers, mut order, mut at) = (first..first + count, Order::default(), 0);
        let mut next = |row: &mut RowBuf| {
            if at == order.lines.len() {
                let Some(number) = numbers.next() else {
                    return false;
                };
                self.shop.order(number, &mut order);
                at = 0;
            }
            let values = line_values(&self.shop, &order, &order.lines[at]);
            values.into_iter().for_each(|value| row.push(value));
            at += 1;
            true
        };
        Ok(orders + session.bulk_insert(LINES, &LINE_COLUMNS, &mut next).await?)
    }
}

/// Rows of both tables, and user bytes in them.
pub fn loaded(spec: &HatshopSpec, shop: &super::shop::Shop) -> (u64, u64) {
    let (mut rows, mut bytes, mut order) = (0, 0, shop.empty_order());
    for number in 0..spec.orders {
        shop.order(number, &mut order);
        rows += 1 + order.lines.len() as u64;
        bytes += order_bytes(Status::Ordered);
        bytes += order.lines.iter().map(|line| line_bytes(shop, line)).sum::<u64>();
    }
    (rows, bytes)
}
