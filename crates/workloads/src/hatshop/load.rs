//! The load phase: orders and their lines, the same whoever loads them.
use super::event::loaded_ms;
use super::requests::{line_values, order_values, with_line_ids};
use super::schema::{LINE_COLUMNS, LINES, ORDERS, keeps_line_ids, write_ids};
use super::shop::{Order, Shop, Status, line_bytes, order_bytes};
use super::statements::order_columns;
use super::thread::{Effect, Thread};
use super::{Hatshop, Store};
use crate::prelude::*;
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};

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

    pub(super) async fn load(
        &self,
        thread: &mut Thread,
        session: &mut Store,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        let first = self.load_share().0 + first;
        let stored = match session {
            Store::Documents(session) => self.load_documents(session, first..first + count).await?,
            Store::Tables(session) if session.dialect().transactions => {
                session.begin(Access::default()).await?;
                let stored = self.load_orders(session, first, count).await;
                session.end(stored).await?
            }
            Store::Tables(session) => self.load_orders(session, first, count).await?,
        };
        let mut order = self.shop.empty_order();
        for number in first..first + count {
            self.shop.order(number, &mut order);
            let bytes = Effect::created(&self.shop, &order).bytes;
            thread.account.bytes_written.add(bytes);
        }
        Ok(stored)
    }

    async fn load_orders(&self, session: &mut AnySql, first: u64, count: u64) -> Result<u64, OpError> {
        let columns = order_columns(&self.spec, session.dialect());
        let lists = keeps_line_ids(&self.spec, session.dialect());
        let (mut numbers, mut order) = (first..first + count, self.shop.empty_order());
        let mut line_ids = vec![];
        let mut next = |row: &mut RowBuf| {
            let Some(number) = numbers.next() else {
                return false;
            };
            self.shop.order(number, &mut order);
            let values = order_values(&self.shop, &order, loaded_ms(number, self.spec.orders));
            write_ids(lists, &order.lines, &mut line_ids);
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

/// Of more orders rows and bytes are estimated from the first: within half a per cent.
const ORDERS_DRAWN_MOST: u64 = 50_000;

/// Of a document the lines are a part.
fn order_rows(spec: &HatshopSpec, order: &Order) -> u64 {
    match spec.layout {
        HatshopLayout::Documents => 1,
        _ => 1 + order.lines.len() as u64,
    }
}

/// Rows of both tables, or documents, and user bytes in them.
pub fn loaded(spec: &HatshopSpec, shop: &Shop) -> (u64, u64) {
    loaded_of(spec, shop, |number, order| shop.order(number, order))
}

fn loaded_of(spec: &HatshopSpec, shop: &Shop, mut draw: impl FnMut(u64, &mut Order)) -> (u64, u64) {
    let orders = spec.orders;
    let drawn = orders.min(ORDERS_DRAWN_MOST);
    let (mut rows, mut bytes, mut order) = (0, 0, shop.empty_order());
    for number in 0..drawn {
        draw(number, &mut order);
        rows += order_rows(spec, &order);
        bytes += order_bytes(Status::Ordered);
        bytes += order.lines.iter().map(|line| line_bytes(shop, line)).sum::<u64>();
    }
    let of_all =
        |of_drawn: u64| (u128::from(of_drawn) * u128::from(orders) / u128::from(drawn.max(1))) as u64;
    (of_all(rows), of_all(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_orders_the_first_are_drawn_and_tell_of_all() {
        let spec = HatshopSpec {
            orders: 10_000_000,
            ..HatshopSpec::default()
        };
        let shop = Shop::new(&spec, 1);
        let mut drawn = 0;
        let (rows, bytes) = loaded_of(&spec, &shop, |number, order| {
            drawn += 1;
            shop.order(number, order);
        });
        assert_eq!(drawn, ORDERS_DRAWN_MOST);
        // What all ten million come to.
        for (found, all) in [(rows, 65_002_405.0), (bytes, 7_998_526_576.0)] {
            assert!((found as f64 / all - 1.0).abs() < 0.005, "{found} of {all}");
        }
    }
}
