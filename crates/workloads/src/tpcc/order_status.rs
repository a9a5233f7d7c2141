//! Order-Status (clause 2.6): a customer's newest order and its lines.
use super::attempt::{Attempt, End};
use super::customer::customer_id;
use super::input::{Customer, District};
use super::statements::Kind;
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
