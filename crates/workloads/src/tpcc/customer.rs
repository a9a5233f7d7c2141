//! Which customer a terminal's user means (clauses 2.5.2.2 and 2.6.2.2).
use super::attempt::Attempt;
use super::input::{Customer, District};
use super::statements::Kind;
use crate::prelude::*;

/// Of those with a name, by first name, the one in the middle. `None`: nobody has it.
pub async fn customer_id(
    customer: &Customer,
    home: District,
    namesakes: &mut Vec<i64>,
    attempt: &mut Attempt<'_>,
) -> Result<Option<Value<'static>>, OpError> {
    let name = match customer {
        Customer::Id(id) => return Ok(Some(Value::Int(*id))),
        Customer::Name(name) => Value::Text(name.as_bytes()),
    };
    namesakes.clear();
    let mut each = |row: &RowBuf| namesakes.extend(row.cell(0).and_then(Value::whole_number));
    let params = [Value::Int(home.warehouse), Value::Int(home.district), name];
    attempt.read(Kind::CustomersByName, &params, &mut each).await?;
    let middle = namesakes.get(namesakes.len().saturating_sub(1) / 2);
    attempt.expect(middle.is_some(), "no customer of this name");
    Ok(middle.copied().map(Value::Int))
}
