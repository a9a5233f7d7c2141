//! Delivery (clause 2.7): the oldest new order of each of ten districts, in one transaction, and each step for all of them at
//! once but for the customers'.
use super::Tpcc;
use super::rules::DISTRICTS;
use super::statements::Kind;
use super::thread::Delivered;
use super::transaction::{Attempt, End, now};
use crate::numbers::{money, units};
use crate::prelude::*;

/// Of one order of each district.
const KEYS: usize = 3 * DISTRICTS as usize;

impl Tpcc {
    /// `delivered`: room for each district. Orders that were delivered; districts that had none are skipped.
    pub(super) async fn delivery(
        &self,
        warehouse: i64,
        carrier: i64,
        delivered: &mut [Delivered],
        attempt: &mut Attempt<'_>,
    ) -> Result<(End, u64), OpError> {
        let w = Value::Int(warehouse);
        let mut found = 0;
        let mut each = |row: &RowBuf| {
            if let Some(place) = delivered.get_mut(found) {
                *place = Delivered {
                    district: number(row, 0),
                    order: number(row, 1),
                    ..Delivered::default()
                };
                found += 1;
            }
        };
        attempt
            .read(Kind::OldestNewOrders, &[w; DISTRICTS as usize], &mut each)
            .await?;
        let delivered = &mut delivered[..found];
        if delivered.is_empty() {
            return Ok((End::Commit, 0));
        }
        let orders = found as u64;
        // A value that is set goes before the keys.
        let mut params = [Value::Null; 1 + KEYS];
        fill_keys(warehouse, delivered, &mut params[1..]);
        let done = attempt
            .session
            .execute(Kind::DeleteNewOrders.statement(), &params[1..])
            .await?;
        attempt.count_write(done.affected != Some(0));
        if done.affected.is_some_and(|deleted| deleted != orders) {
            return self.taken_by_another(attempt);
        }
        let mut each = |row: &RowBuf| {
            if let Some(of) = delivered.iter_mut().find(|of| of.district == number(row, 0)) {
                of.customer = number(row, 1);
            }
        };
        let seen = attempt
            .read(Kind::DeliveredOrders, &params[1..], &mut each)
            .await?;
        attempt.expect(seen == orders, "a new order without its order");
        params[0] = Value::Int(carrier);
        attempt
            .write(Kind::SetCarrier.statement(), &params, orders, "carrier not set")
            .await?;
        let mut lines = 0;
        let mut each = |row: &RowBuf| {
            if let Some(of) = delivered.iter_mut().find(|of| of.district == number(row, 0)) {
                of.sum_cents = units(row.cell(1), 2).unwrap_or_default();
            }
            lines += number(row, 2) as u64;
        };
        let seen = attempt.read(Kind::LineSums, &params[1..], &mut each).await?;
        attempt.expect(seen == orders, "an order without lines");
        params[0] = now();
        attempt
            .write(
                Kind::SetDelivered.statement(),
                &params,
                lines,
                "lines not delivered",
            )
            .await?;
        for of in &*delivered {
            let customer = [
                money(of.sum_cents),
                w,
                Value::Int(of.district),
                Value::Int(of.customer),
            ];
            attempt
                .write(
                    Kind::CreditCustomer.statement(),
                    &customer,
                    1,
                    "customer not credited",
                )
                .await?;
        }
        Ok((End::Commit, orders))
    }

    /// Where new orders are read without a lock, that happens; the transaction may be tried again.
    fn taken_by_another(&self, attempt: &mut Attempt<'_>) -> Result<(End, u64), OpError> {
        let words = "another delivery has taken the same order";
        if self.rules.locks_new_orders {
            attempt.expect(false, words);
            return Ok((End::Rollback, 0));
        }
        Err(OpError::fail(FailClass::Conflict, "DELIVERY", words))
    }
}

fn number(row: &RowBuf, cell: usize) -> i64 {
    row.cell(cell).and_then(Value::whole_number).unwrap_or_default()
}

/// What is left of the places repeats the last order.
fn fill_keys(warehouse: i64, delivered: &[Delivered], params: &mut [Value<'_>]) {
    for (place, key) in params.chunks_exact_mut(3).enumerate() {
        let of = delivered[place.min(delivered.len() - 1)];
        key.copy_from_slice(&[warehouse, of.district, of.order].map(Value::Int));
    }
}
