//! The statements' texts and numbers.
use super::event::Attribute;
use super::schema::{LINE_COLUMNS, LINE_IDS, ORDER_COLUMNS, keeps_line_ids};
use crate::prelude::*;
use crate::prepared;
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};
#[cfg(test)]
use bakeoff_model::sql::{Lists, TokenRanges};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Order,
    Lines,
    InsertOrder,
    DeleteLines,
    DeleteOrder,
    /// With it begin the updates.
    UpdateOrder,
    /// Of the first column; the others follow.
    SetAttribute,
}

/// Of the columns of [`Attribute::COLUMNS`] each has one.
const SET: u32 = Question::SetAttribute as u32;
const INSERT_LINES: u32 = SET + Attribute::COLUMNS.len() as u32;

/// Each update once more, where an update makes the row that it does not find: lines are inserted one by one there.
const IF_THERE: u32 = INSERT_LINES + 1;

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

/// The same update, of an existing row only.
#[inline]
pub fn if_there(update: Statement) -> Statement {
    Statement(IF_THERE + update.0 - Question::UpdateOrder as u32)
}

/// The statement that inserts this many lines, at least one.
#[inline]
pub fn insert_lines(lines: usize) -> Statement {
    Statement(INSERT_LINES + lines as u32 - 1)
}

pub async fn prepare(session: &mut AnySql, spec: &HatshopSpec) -> Result<(), OpError> {
    let texts = texts(spec, session.dialect());
    prepared::prepare(session, texts).await
}

/// Of this system's orders.
pub fn order_columns(spec: &HatshopSpec, dialect: &Dialect) -> Vec<&'static str> {
    let line_ids = keeps_line_ids(spec, dialect).map(|_| LINE_IDS);
    ORDER_COLUMNS.into_iter().chain(line_ids).collect()
}

/// In the order of their numbers, each with whether it only reads.
fn texts(spec: &HatshopSpec, dialect: &Dialect) -> Vec<(String, bool)> {
    let order_columns = order_columns(spec, dialect);
    let order_places = vec!["?"; order_columns.len()].join(", ");
    let (order_columns, line_columns) = (order_columns.join(", "), LINE_COLUMNS.join(", "));
    let lines = match keeps_line_ids(spec, dialect) {
        Some(_) => "line_item_id = ?",
        None => "order_id = ?",
    };
    let line = match spec.layout {
        HatshopLayout::LineItems => "line_item_id = ?",
        _ => "line_item_id = ? AND order_id = ?",
    };
    let mut texts = vec![
        (
            format!("SELECT {order_columns} FROM orders WHERE order_id = ?"),
            true,
        ),
        (
            format!("SELECT {line_columns} FROM line_items WHERE {lines}"),
            true,
        ),
        (
            format!("INSERT INTO orders ({order_columns}) VALUES ({order_places})"),
            false,
        ),
        (format!("DELETE FROM line_items WHERE {lines}"), false),
        ("DELETE FROM orders WHERE order_id = ?".into(), false),
        (
            "UPDATE orders SET date_created = ?, order_status = ?, sub_total = ? WHERE order_id = ?".into(),
            false,
        ),
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
    if dialect.if_there.is_empty() {
        texts.extend((1..=spec.lines_max).map(insert));
        return texts;
    }
    let updates = &texts[Question::UpdateOrder as usize..];
    let if_there = updates
        .iter()
        .map(|(text, _)| (format!("{text}{}", dialect.if_there), false));
    let if_there: Vec<_> = if_there.collect();
    texts.push(insert(1));
    texts.extend(if_there);
    texts
}

/// As far as the texts go.
#[cfg(test)]
pub const SQL: Dialect = Dialect::STANDARD;

#[cfg(test)]
pub const CQL: Dialect = Dialect {
    key_type: "text",
    varchar_type: "text",
    int_type: "int",
    decimal_type: "decimal",
    timestamp_type: "timestamp",
    if_there: " IF EXISTS",
    batches: true,
    constraints: false,
    token_ranges: Some(TokenRanges { function: "token" }),
    lists: Some(&Lists {
        column_type: "list<{}>",
        write: |_, _| (),
        each: |_, _| (),
    }),
    ..SQL
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_stand_at_their_numbers() {
        let texts = texts(&HatshopSpec::default(), &SQL);
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

    #[test]
    fn cassandra_s_lines_are_written_one_by_one_and_its_updates_can_ask_for_their_row() {
        let told = |layout| {
            let spec = HatshopSpec {
                layout,
                ..HatshopSpec::default()
            };
            let texts = texts(&spec, &CQL);
            move |statement: Statement| texts[statement.0 as usize].0.clone()
        };
        let by_order = told(HatshopLayout::LineItemsByOrder);
        assert_eq!(by_order(insert_lines(1)).matches('?').count(), 7);
        assert_eq!(
            by_order(if_there(Question::UpdateOrder.statement())),
            "UPDATE orders SET date_created = ?, order_status = ?, sub_total = ? WHERE order_id = ? IF EXISTS"
        );
        assert_eq!(
            by_order(if_there(set_attribute(Attribute::Quantity(3)))),
            "UPDATE line_items SET quantity = ? WHERE line_item_id = ? AND order_id = ? IF EXISTS"
        );
        assert_eq!(
            by_order(Question::DeleteLines.statement()),
            "DELETE FROM line_items WHERE order_id = ?"
        );
        let by_id = told(HatshopLayout::LineItems);
        assert_eq!(
            by_id(Question::DeleteLines.statement()),
            "DELETE FROM line_items WHERE line_item_id = ?"
        );
        let insert = by_id(Question::InsertOrder.statement());
        assert!(insert.contains("sub_total, line_item_ids)"), "{insert}");
        assert_eq!(insert.matches('?').count(), 6);
        assert_eq!(
            by_id(if_there(set_attribute(Attribute::Colour("Puce")))),
            "UPDATE line_items SET colour = ? WHERE line_item_id = ? IF EXISTS"
        );
    }
}
