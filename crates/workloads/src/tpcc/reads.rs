//! Order-Status (clause 2.6): a customer's newest order and its lines.
use super::input::{Customer, District};
use super::payment::customer_id;
use super::statements::Kind;
use super::transaction::{Attempt, End};
use crate::prelude::*;

pub async fn order_status(
    home: District,
    customer: &Customer,
    namesakes: &mut Vec<i64>,
    attempt: &mut Attempt<'_>,
) -> Result<End, OpError> {
    let [w, d] = [home.warehouse, home.district].map(Value::Int);
    let Some(c) = customer_id(customer, home, namesakes, attempt).await? else {
        return Ok(End::Rollback);
    };
    let newest = attempt
        .read_row(
            Kind::NewestOrder,
            &[w, d, c, w, d, c],
            "customer or order missing",
        )
        .await?;
    let Some(newest) = newest else {
        return Ok(End::Rollback);
    };
    let number = |cell| {
        newest
            .cell(cell)
            .and_then(Value::whole_number)
            .unwrap_or_default()
    };
    let (id, lines) = (number(0), number(1) as u64);
    let params = [w, d, Value::Int(id)];
    let found = attempt.read(Kind::OrderLines, &params, &mut |_| {}).await?;
    attempt.expect(found == lines, "an order has more or fewer lines than it says");
    Ok(End::Commit)
}

// Stock-Level (clause 2.8): items of a district's last orders that are short at home.

const ORDERS: i64 = 20;

pub async fn stock_level(place: District, threshold: i64, attempt: &mut Attempt<'_>) -> Result<End, OpError> {
    let [w, d] = [place.warehouse, place.district].map(Value::Int);
    let district = attempt
        .read_row(Kind::NextOrderId, &[w, d], "district missing")
        .await?;
    let Some(next) = district.and_then(|row| row.cell(0)?.whole_number()) else {
        return Ok(End::Rollback);
    };
    let [from, next, threshold] = [next - ORDERS, next, threshold].map(Value::Int);
    attempt
        .read_row(Kind::LowStock, &[w, d, from, next, w, threshold], "count missing")
        .await?;
    Ok(End::Commit)
}
