//! New-Order (clause 2.4): header, order, and then all items, all stock and all lines at once. Items are read after the order
//! has been written, so that one which is none has something to roll back.
use super::Tpcc;
use super::input::{District, Line, NewOrder};
use super::rules::LINES_MAX;
use super::statements::{Kind, insert_lines};
use super::thread::{Buffers, LineFound};
use super::transaction::{Attempt, End, now};
use crate::numbers::{money, units};
use crate::prelude::*;
use crate::prepared::emptied;
use bakeoff_model::sql::NumberTaken;

const LINES: usize = LINES_MAX as usize;
/// What a stock is filled up with.
const REFILL: i64 = 91;
/// Taxes and discounts are in ten thousandths.
const RATE_SCALE: u8 = 4;
const RATE_ONE: i64 = 10_000;

/// Of the order's header: what a line is multiplied by.
#[derive(Clone, Copy, Debug)]
struct Rates {
    taxes: i64,
    discount: i64,
}

impl Tpcc {
    pub(super) async fn new_order(
        &self,
        order: &NewOrder,
        buffers: &mut Buffers,
        attempt: &mut Attempt<'_>,
    ) -> Result<End, OpError> {
        let District { warehouse, district } = order.place;
        let [w, d, c] = [warehouse, district, order.customer].map(Value::Int);
        let header = attempt
            .read_row(Kind::OrderHeader, &[w, w, d, w, d, c], "customer missing")
            .await?;
        let Some(rates) = header.and_then(Rates::of) else {
            attempt.expect(false, "a tax or discount is no number");
            return Ok(End::Rollback);
        };
        let Some(id) = take_order_id(attempt, w, d).await? else {
            return Ok(End::Rollback);
        };
        let (count, local) = (
            Value::Int(order.count as i64),
            Value::Int(order.is_local().into()),
        );
        attempt
            .write(
                Kind::InsertOrder.statement(),
                &[id, d, w, c, now(), count, local],
                1,
                "order not stored",
            )
            .await?;
        attempt
            .write(
                Kind::InsertNewOrder.statement(),
                &[id, d, w],
                1,
                "new order not stored",
            )
            .await?;
        buffers.lines = Default::default();
        read_items(order, &mut buffers.lines, attempt).await?;
        let odd = self.judge_items(order, &buffers.lines);
        attempt.expect(odd.is_none(), odd.unwrap_or_default());
        if order.rolls_back || odd.is_some() {
            return Ok(End::Rollback);
        }
        read_stock(order, &mut buffers.lines, attempt).await?;
        if buffers.lines[..order.count]
            .iter()
            .any(|line| line.stock.is_none())
        {
            attempt.expect(false, "stock missing");
            return Ok(End::Rollback);
        }
        self.write_stock(order, &mut buffers.lines, attempt).await?;
        let mut params: Vec<Value<'_>> = std::mem::take(&mut buffers.params);
        self.fill_lines(order, id, &buffers.lines, rates, &mut params);
        let (statement, lines) = (insert_lines(order.count), order.count as u64);
        let written = attempt.write(statement, &params, lines, "lines not stored").await;
        buffers.params = emptied(params);
        written.map(|_| End::Commit)
    }

    /// Each line has its item, and what must be none is none.
    fn judge_items(&self, order: &NewOrder, found: &[LineFound]) -> Option<&'static str> {
        let items = self.sizes.items as u32;
        let mut lines = order.lines().iter().zip(found);
        let odd = lines.find(|(line, found)| (line.item <= items) != (found.price_cents > 0))?;
        Some(match odd.0.item <= items {
            true => "item missing",
            false => "an unused item is there",
        })
    }

    /// Line by line in the order in which stock is locked; an item ordered twice is taken from twice.
    async fn write_stock(
        &self,
        order: &NewOrder,
        found: &mut [LineFound],
        attempt: &mut Attempt<'_>,
    ) -> Result<(), OpError> {
        let mut last: Option<(Line, i64)> = None;
        for &place in order.by_stock() {
            let line = order.lines()[usize::from(place)];
            let before = match last {
                Some((same, left)) if (same.supply, same.item) == (line.supply, line.item) => left,
                _ => found[usize::from(place)].stock.unwrap_or_default(),
            };
            let left = stock_left(before, line.quantity.into(), self.rules.stock_left_min);
            let [supply, item, quantity] = [line.supply, line.item, line.quantity].map(i64::from);
            let remote = i64::from(supply != order.place.warehouse);
            let params = [quantity, remote, left, supply, item].map(Value::Int);
            let params = if self.rules.counts_stock {
                &params[..]
            } else {
                &params[2..]
            };
            attempt
                .write(Kind::UpdateStock.statement(), params, 1, "stock not updated")
                .await?;
            last = Some((line, left));
        }
        Ok(())
    }

    fn fill_lines<'a>(
        &self,
        order: &NewOrder,
        id: Value<'static>,
        found: &'a [LineFound],
        rates: Rates,
        params: &mut Vec<Value<'a>>,
    ) {
        let [w, d] = [order.place.warehouse, order.place.district].map(Value::Int);
        for ((number, line), found) in (1..).zip(order.lines()).zip(found) {
            let mut cents = i64::from(line.quantity) * found.price_cents;
            if self.rules.taxes_lines {
                cents = rates.applied(cents);
            }
            let [number, item, supply, quantity] =
                [number, line.item, line.supply, line.quantity].map(|value| Value::Int(value.into()));
            let dist = Value::Text(found.dist());
            params.extend([id, d, w, number, item, supply, quantity, money(cents), dist]);
        }
    }
}

impl Rates {
    fn of(header: &RowBuf) -> Option<Self> {
        let rate = |cell| units(header.cell(cell), RATE_SCALE);
        Some(Self {
            taxes: rate(0)? + rate(1)?,
            discount: rate(2)?,
        })
    }

    fn applied(self, cents: i64) -> i64 {
        let exact = cents * (RATE_ONE + self.taxes) * (RATE_ONE - self.discount);
        (exact + RATE_ONE * RATE_ONE / 2) / (RATE_ONE * RATE_ONE)
    }
}

/// Takes the district's next number.
async fn take_order_id(
    attempt: &mut Attempt<'_>,
    warehouse: Value<'static>,
    district: Value<'static>,
) -> Result<Option<Value<'static>>, OpError> {
    let (statement, params) = (Kind::TakeOrderId.statement(), [warehouse, district]);
    let id = match attempt.session.dialect().number_taken {
        NumberTaken::InsertId => attempt
            .session
            .execute(statement, &params)
            .await?
            .insert_id
            .map(|id| id as i64),
        NumberTaken::Row => {
            let row = attempt.session.query_one(statement, &params).await?;
            row.and_then(|row| row.cell(0)?.whole_number())
        }
    };
    attempt.count_write(id.is_some());
    attempt.expect(id.is_some(), "district missing");
    Ok(id.map(Value::Int))
}

async fn read_items(
    order: &NewOrder,
    found: &mut [LineFound],
    attempt: &mut Attempt<'_>,
) -> Result<(), OpError> {
    let items = padded(order.lines().iter().map(|line| line.item));
    let mut each = |row: &RowBuf| {
        let id = row.cell(0).and_then(Value::whole_number);
        let same = order.lines().iter().zip(&mut *found);
        for (_, found) in same.filter(|(line, _)| Some(line.item.into()) == id) {
            found.price_cents = units(row.cell(1), 2).unwrap_or_default();
        }
    };
    attempt.read(Kind::Items, &items, &mut each).await.map(drop)
}

/// Warehouse by warehouse, and of each all at once.
async fn read_stock(
    order: &NewOrder,
    found: &mut [LineFound],
    attempt: &mut Attempt<'_>,
) -> Result<(), OpError> {
    let line = |place: &u8| order.lines()[usize::from(*place)];
    for of_one in order.by_stock().chunk_by(|a, b| line(a).supply == line(b).supply) {
        let supply = Value::Int(line(&of_one[0]).supply.into());
        let mut params = [Value::Int(order.place.district); LINES + 2];
        params[1] = supply;
        params[2..].copy_from_slice(&padded(of_one.iter().map(|place| line(place).item)));
        let mut each = |row: &RowBuf| {
            let id = row.cell(0).and_then(Value::whole_number);
            for place in of_one.iter().filter(|place| Some(line(place).item.into()) == id) {
                let found = &mut found[usize::from(*place)];
                found.stock = row.cell(1).and_then(Value::whole_number);
                found.set_dist(row.cell(2).and_then(Value::bytes).unwrap_or_default());
            }
        };
        attempt.read(Kind::Stock, &params, &mut each).await?;
    }
    Ok(())
}

/// As many values as statements have places for: the last is repeated.
fn padded(ids: impl Iterator<Item = u32>) -> [Value<'static>; LINES] {
    let mut last = Value::Null;
    let mut ids = ids.map(|id| Value::Int(id.into()));
    std::array::from_fn(|_| {
        last = ids.next().unwrap_or(last);
        last
    })
}

/// S_QUANTITY after an order.
fn stock_left(before: i64, ordered: i64, least: i64) -> i64 {
    match before - ordered {
        enough if enough >= least => enough,
        short => short + REFILL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_filled_up_before_it_runs_out() {
        for (before, ordered, least, after) in [
            (20, 10, 10, 10),
            (19, 10, 10, 100),
            (10, 1, 10, 100),
            (2, 1, 1, 1),
            (1, 1, 1, 91),
        ] {
            assert_eq!(stock_left(before, ordered, least), after, "{before} - {ordered}");
        }
    }

    #[test]
    fn a_list_of_keys_is_filled_with_its_last() {
        let padded = padded([7, 8].into_iter());
        assert_eq!(
            (padded[0], padded[1], padded[14]),
            (Value::Int(7), Value::Int(8), Value::Int(8))
        );
    }

    #[test]
    fn rates_are_applied_exactly_and_rounded_to_cents() {
        let rates = Rates {
            taxes: 1_500,
            discount: 5_000,
        };
        assert_eq!(rates.applied(10_000), 5_750);
        assert_eq!(rates.applied(1), 1);
    }
}
