//! Stock-Level (clause 2.8): items of a district's last orders that are short at home.
use super::attempt::{Attempt, End};
use super::input::District;
use super::statements::Kind;
use crate::prelude::*;

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
