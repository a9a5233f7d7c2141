//! The statements' texts and numbers.
use super::event::Attribute;
use crate::prepared;
use bakeoff_model::outcome::OpError;
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};
use bakeoff_model::sql::{SqlSession, Statement};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Order,
    Lines,
    InsertOrder,
    UpdateOrder,
    DeleteLines,
    DeleteOrder,
    /// Of the first column; the others follow.
    SetAttribute,
}

/// Of the columns of [`Attribute::COLUMNS`] each has one.
const SET: u32 = Question::SetAttribute as u32;
const INSERT_LINES: u32 = SET + Attribute::COLUMNS.len() as u32;

impl Question {
    #[inline]
    pub fn statement(self) -> Statement {
        Statement(self as u32)
    }
}

#[inline]
pub fn set_attribute(attribute: Attribute) -> Statement {
    Statement(SET + attribute.column() as u32)
}

/// That inserts so many lines, at least one.
#[inline]
pub fn insert_lines(lines: usize) -> Statement {
    Statement(INSERT_LINES + lines as u32 - 1)
}

pub const ORDER_COLUMNS: [&str; 5] = [
    "order_id",
    "client_id",
    "date_created",
    "order_status",
    "sub_total",
];
pub const LINE_COLUMNS: [&str; 7] = [
    "order_id",
    "line_item_id",
    "product_id",
    "colour",
    "size",
    "quantity",
    "line_price",
];

pub async fn prepare<S: SqlSession>(session: &mut S, spec: &HatshopSpec) -> Result<(), OpError> {
    prepared::prepare(session, texts(spec)).await
}

/// In the order of their numbers, each with whether it only reads.
fn texts(spec: &HatshopSpec) -> Vec<(String, bool)> {
    let (order_columns, line_columns) = (ORDER_COLUMNS.join(", "), LINE_COLUMNS.join(", "));
    let line = match spec.layout {
        HatshopLayout::LineItems => "line_item_id = ?",
        HatshopLayout::LineItemsByOrder => "line_item_id = ? AND order_id = ?",
    };
    let mut texts = vec![
        (
            format!("SELECT {order_columns} FROM orders WHERE order_id = ?"),
            true,
        ),
        (
            format!("SELECT {line_columns} FROM line_items WHERE order_id = ?"),
            true,
        ),
        (
            format!("INSERT INTO orders ({order_columns}) VALUES (?, ?, ?, ?, ?)"),
            false,
        ),
        (
            "UPDATE orders SET date_created = ?, order_status = ?, sub_total = ? WHERE order_id = ?".into(),
            false,
        ),
        ("DELETE FROM line_items WHERE order_id = ?".into(), false),
        ("DELETE FROM orders WHERE order_id = ?".into(), false),
    ];
    let set = |column: &str| (format!("UPDATE line_items SET {column} = ? WHERE {line}"), false);
    texts.extend(Attribute::COLUMNS.map(set));
    let insert = |lines: u32| {
        let rows = vec!["(?, ?, ?, ?, ?, ?, ?)"; lines as usize].join(", ");
        (
            format!("INSERT INTO line_items ({line_columns}) VALUES {rows}"),
            false,
        )
    };
    texts.extend((1..=spec.lines_max).map(insert));
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_stand_at_their_numbers() {
        let texts = texts(&HatshopSpec::default());
        let text = |statement: Statement| texts[statement.0 as usize].0.as_str();
        for (statement, beginning) in [
            (Question::Order.statement(), "SELECT order_id, client_id"),
            (Question::Lines.statement(), "SELECT order_id, line_item_id"),
            (Question::InsertOrder.statement(), "INSERT INTO orders"),
            (Question::UpdateOrder.statement(), "UPDATE orders"),
            (Question::DeleteLines.statement(), "DELETE FROM line_items"),
            (Question::DeleteOrder.statement(), "DELETE FROM orders"),
            (
                set_attribute(Attribute::Colour("Puce")),
                "UPDATE line_items SET colour",
            ),
            (
                set_attribute(Attribute::Quantity(3)),
                "UPDATE line_items SET quantity",
            ),
        ] {
            assert!(text(statement).starts_with(beginning), "{}", text(statement));
        }
        for lines in [1, 10] {
            assert_eq!(text(insert_lines(lines)).matches('?').count(), 7 * lines);
        }
    }
}
