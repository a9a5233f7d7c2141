//! Questions whose answer is one number, outside of what is measured.
use crate::prelude::*;
use bakeoff_model::value::{Decimal, Value};

/// The first cell of the only row; `None`: null, or no whole number.
pub async fn number(session: &mut AnySql, sql: &str) -> Result<Option<i64>, OpError> {
    let mut found = None;
    let mut each = |row: &RowBuf| found = row.cell(0).and_then(Value::whole_number);
    session.query_text(sql, &mut each).await?;
    Ok(found)
}

// Money, to the cent, as systems take and give it.

/// A number of cents as a value of money's columns.
#[inline]
pub fn money(cents: i64) -> Value<'static> {
    Value::Decimal(Decimal {
        units: cents,
        scale: 2,
    })
}

/// A cell in units of 1/10^`scale`: cents are of scale 2. `None`: it is no such number.
pub fn units(cell: Option<Value<'_>>, scale: u8) -> Option<i64> {
    let decimal = match cell? {
        Value::Int(units) => Decimal { units, scale: 0 },
        Value::Decimal(decimal) => decimal,
        // What SQLite calculates.
        Value::Float(value) => return Some((value * 10f64.powi(scale.into())).round() as i64),
        Value::Text(digits) => Decimal::parse(digits)?,
        _ => return None,
    };
    let places = scale.checked_sub(decimal.scale)?;
    decimal.units.checked_mul(10i64.checked_pow(places.into())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_read_from_whatever_a_system_answers() {
        for cell in [
            Value::Decimal(Decimal {
                units: 1230,
                scale: 2,
            }),
            Value::Decimal(Decimal { units: 123, scale: 1 }),
            Value::Float(12.3),
            Value::Text(b"12.30"),
        ] {
            assert_eq!(units(Some(cell), 2), Some(1230), "{cell:?}");
        }
        assert_eq!(units(Some(Value::Int(-7)), 2), Some(-700));
        for none in [
            Value::Null,
            Value::Text(b"x"),
            Value::Decimal(Decimal { units: 1, scale: 3 }),
        ] {
            assert_eq!(units(Some(none), 2), None, "{none:?}");
        }
        assert_eq!(units(None, 2), None);
    }
}
