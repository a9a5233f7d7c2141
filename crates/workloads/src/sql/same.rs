//! Whether two values are the same, whatever system or protocol they came by: what is a number in both is compared as a
//! number, `1.50` with `1.5` and a sum of MySQL's (digits) with one of SQLite's.
use bakeoff_model::value::{Decimal, Value};

/// Doubles that were added up in another order differ in their last digits.
const RELATIVE_ERROR: f64 = 1e-9;

pub fn same(a: Value<'_>, b: Value<'_>) -> bool {
    if let (Value::Null, Value::Null) = (a, b) {
        return true;
    }
    if let (Some(a), Some(b)) = (exact(a), exact(b)) {
        return equal(a, b);
    }
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= RELATIVE_ERROR * a.abs().max(b.abs()),
        _ => match (a.bytes(), b.bytes()) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

fn exact(value: Value<'_>) -> Option<Decimal> {
    match value {
        Value::Int(units) => Some(Decimal { units, scale: 0 }),
        Value::Bool(value) => Some(Decimal {
            units: value.into(),
            scale: 0,
        }),
        Value::Decimal(value) => Some(value),
        Value::Text(text) | Value::Bytes(text) => Decimal::parse(text),
        _ => None,
    }
}

fn number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Float(value) => Some(value),
        Value::Text(text) | Value::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        other => exact(other).map(|value| value.units as f64 / 10f64.powi(value.scale.into())),
    }
}

fn equal(a: Decimal, b: Decimal) -> bool {
    let scaled = |value: Decimal, scale: u8| {
        let factor = 10i128.checked_pow(u32::from(scale - value.scale))?;
        i128::from(value.units).checked_mul(factor)
    };
    let scale = a.scale.max(b.scale);
    match (scaled(a, scale), scaled(b, scale)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_numbers_and_text_as_text() {
        let price = Value::Decimal(Decimal { units: 150, scale: 2 });
        for (a, b, expected) in [
            (price, Value::Text(b"1.5"), true),
            (price, Value::Float(1.5), true),
            (price, Value::Int(1), false),
            (Value::Int(i64::MAX), Value::Int(i64::MAX - 1), false),
            (Value::Text(b"9223372036854775807"), Value::Int(i64::MAX), true),
            (Value::Float(0.1 + 0.2), Value::Text(b"0.3"), true),
            (Value::Float(1e300), Value::Text(b"1e300"), true),
            (Value::Text(b"a"), Value::Bytes(b"a"), true),
            (Value::Text(b"a"), Value::Text(b"A"), false),
            (Value::Null, Value::Null, true),
            (Value::Null, Value::Int(0), false),
            (Value::Bool(true), Value::Int(1), true),
        ] {
            assert_eq!(same(a, b), expected, "{a:?} {b:?}");
            assert_eq!(same(b, a), expected, "{b:?} {a:?}");
        }
    }
}
