//! Values as SQLite keeps them. It has numbers, text and bytes; what else there is, is what a column is declared to be:
//! a decimal is a number (exact to 15 digits), a timestamp its microseconds, a truth value 0 or 1, a UUID its 16 bytes.
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::{Decimal, Timestamp, Value};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Row, Statement};

/// What a column of an answer is declared to be, where that says more than the value itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Declared {
    Plain,
    Decimal { scale: u8 },
    Timestamp,
    Bool,
    Uuid,
}

/// Of each column; expressions are plain.
pub fn declared(statement: &Statement<'_>) -> Box<[Declared]> {
    let columns = statement.columns();
    columns
        .iter()
        .map(|column| Declared::of(column.decl_type().unwrap_or_default()))
        .collect()
}

impl Declared {
    fn of(declaration: &str) -> Self {
        let declaration = declaration.to_ascii_uppercase();
        let (name, sizes) = declaration.split_once('(').unwrap_or((&declaration, ""));
        match name.trim() {
            "DECIMAL" | "NUMERIC" => {
                let scale = sizes.split_once(',').map_or("0", |(_, scale)| scale);
                let scale = scale.trim_matches([' ', ')']).parse().unwrap_or(0);
                Declared::Decimal { scale }
            }
            "TIMESTAMP" => Declared::Timestamp,
            "BOOL" | "BOOLEAN" => Declared::Bool,
            "UUID" => Declared::Uuid,
            _ => Declared::Plain,
        }
    }
}

/// A row into the buffer, every value copied.
#[inline]
pub fn fill(found: &Row<'_>, columns: &[Declared], row: &mut RowBuf) -> rusqlite::Result<()> {
    row.clear();
    for (index, declared) in columns.iter().enumerate() {
        let plain = match found.get_ref(index)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(value) => Value::Int(value),
            ValueRef::Real(value) => Value::Float(value),
            ValueRef::Text(value) => Value::Text(value),
            ValueRef::Blob(value) => Value::Bytes(value),
        };
        row.push(match declared {
            Declared::Plain => plain,
            declared => declared.value(plain),
        });
    }
    Ok(())
}

impl Declared {
    /// A value that is not what its column is declared to be stays what it is.
    fn value(self, plain: Value<'_>) -> Value<'_> {
        match (self, plain) {
            (Declared::Decimal { scale }, Value::Int(value)) => {
                let units = 10i64
                    .checked_pow(scale.into())
                    .and_then(|one| value.checked_mul(one));
                units.map_or(plain, |units| Value::Decimal(Decimal { units, scale }))
            }
            (Declared::Decimal { scale }, Value::Float(value)) => {
                let units = (value * 10f64.powi(scale.into())).round() as i64;
                Value::Decimal(Decimal { units, scale })
            }
            (Declared::Timestamp, Value::Int(us)) => Value::Timestamp(Timestamp { us }),
            (Declared::Bool, Value::Int(value)) => Value::Bool(value != 0),
            (Declared::Uuid, Value::Bytes(bytes)) => bytes.try_into().map_or(plain, Value::Uuid),
            _ => plain,
        }
    }
}

/// A value as a parameter.
pub struct Bound<'a>(pub Value<'a>);

impl ToSql for Bound<'_> {
    #[inline]
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match &self.0 {
            Value::Null => ValueRef::Null,
            Value::Bool(value) => ValueRef::Integer((*value).into()),
            Value::Int(value) => ValueRef::Integer(*value),
            Value::Float(value) => ValueRef::Real(*value),
            Value::Decimal(Decimal { units, scale: 0 }) => ValueRef::Integer(*units),
            Value::Decimal(value) => ValueRef::Real(value.units as f64 / 10f64.powi(value.scale.into())),
            Value::Text(value) => ValueRef::Text(value),
            Value::Bytes(value) => ValueRef::Blob(value),
            Value::Timestamp(value) => ValueRef::Integer(value.us),
            Value::Uuid(value) => ValueRef::Blob(value),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read_as_people_write_them() {
        for (declaration, declared) in [
            ("DECIMAL(12, 2)", Declared::Decimal { scale: 2 }),
            ("numeric(5)", Declared::Decimal { scale: 0 }),
            ("timestamp", Declared::Timestamp),
            ("BOOLEAN", Declared::Bool),
            ("UUID", Declared::Uuid),
            ("VARCHAR(20)", Declared::Plain),
            ("", Declared::Plain),
        ] {
            assert_eq!(Declared::of(declaration), declared, "{declaration}");
        }
    }

    #[test]
    fn a_value_that_is_not_what_is_declared_stays() {
        let decimal = Declared::Decimal { scale: 2 };
        let exact = Value::Decimal(Decimal { units: 30, scale: 2 });
        assert_eq!(decimal.value(Value::Float(0.1 + 0.2)), exact);
        assert_eq!(decimal.value(Value::Text(b"x")), Value::Text(b"x"));
        assert_eq!(
            Declared::Uuid.value(Value::Bytes(b"short")),
            Value::Bytes(b"short")
        );
    }
}
