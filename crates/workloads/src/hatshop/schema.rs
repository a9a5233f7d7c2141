//! The two tables. Ids are text of 36 characters in every system, so that none has a type for them that others lack.
use super::Hatshop;
use super::shop::{Id, Line};
use crate::prelude::*;
use crate::{tables, trouble};
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};
use bakeoff_model::sql::{Dialect, Lists};

pub const ORDERS: &str = "orders";
pub const LINES: &str = "line_items";
/// A name of its own: what the other layouts have left refers to `orders`.
pub const DOCUMENTS: &str = "order_documents";

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

/// The one that refers to the other first: as they are dropped.
pub fn table_names(spec: &HatshopSpec) -> Vec<String> {
    let all: &[&str] = match spec.layout {
        HatshopLayout::Documents => &[DOCUMENTS],
        _ => &[LINES, ORDERS],
    };
    all.iter().map(|name| (*name).to_owned()).collect()
}

/// Lines can be found by their order.
pub fn has_index(spec: &HatshopSpec) -> bool {
    spec.layout != HatshopLayout::LineItems || spec.secondary_index
}

/// What rows of the table are found by, first of all.
fn key(spec: &HatshopSpec, table: &str) -> &'static str {
    match spec.layout {
        HatshopLayout::LineItems if table == LINES => "line_item_id",
        _ => "order_id",
    }
}

/// Each with the table it is about.
fn create(spec: &HatshopSpec, dialect: &Dialect) -> Vec<(&'static str, String)> {
    let id = dialect.key_type.replace("{}", "36");
    let text = |length: u32| dialect.varchar_type.replace("{}", &length.to_string());
    let suffix = dialect.table_suffix;
    let key = match spec.layout {
        HatshopLayout::LineItems => "line_item_id",
        _ => "order_id, line_item_id",
    };
    let must = if dialect.constraints { " NOT NULL" } else { "" };
    let money = dialect.decimal_type.replace("{}", "12, 2");
    // One without an index would have the whole table read for each order that is deleted, and MySQL makes the index itself.
    let reference = match dialect.constraints && has_index(spec) {
        true => ", FOREIGN KEY (order_id) REFERENCES orders (order_id)",
        false => "",
    };
    let line_ids = match keeps_line_ids(spec, dialect) {
        Some(lists) => format!(", {LINE_IDS} {}", lists.column_type.replace("{}", &id)),
        None => String::new(),
    };
    let orders = format!(
        "CREATE TABLE orders (order_id {id}{must}, client_id {id}{must}, date_created {date}{must}, \
         order_status {status}{must}, sub_total {money}{must}{line_ids}, PRIMARY KEY (order_id)){suffix}",
        date = dialect.timestamp_type,
        status = text(20),
    );
    let lines = format!(
        "CREATE TABLE line_items (order_id {id}{must}, line_item_id {id}{must}, product_id {id}{must}, \
         colour {colour}{must}, size {size}{must}, quantity {quantity}{must}, line_price {money}{must}, \
         PRIMARY KEY ({key}){reference}){suffix}",
        colour = text(20),
        size = text(5),
        quantity = dialect.int_type,
    );
    let mut all = vec![(ORDERS, orders), (LINES, lines)];
    if dialect.token_ranges.is_none() && spec.layout == HatshopLayout::LineItems && spec.secondary_index {
        let index = "CREATE INDEX line_items_of_order ON line_items (order_id)";
        all.push((LINES, index.to_owned()));
    }
    all
}

impl Hatshop {
    pub(super) async fn create_tables(
        &self,
        session: &mut AnySql,
        drop_existing: bool,
    ) -> Result<(), Trouble> {
        tables::make_way(session, &table_names(&self.spec), drop_existing).await?;
        for (table, sql) in create(&self.spec, session.dialect()) {
            let created = session.execute_text(&sql).await;
            created.map_err(|e| trouble::setup("create the table", table, &e))?;
        }
        Ok(())
    }

    /// Every row of both tables.
    pub(super) async fn read_tables(&self, session: &mut AnySql) -> Result<u64, OpError> {
        let mut ignored = |_: &RowBuf| ();
        let orders = self
            .each_row(session, ORDERS, &ORDER_COLUMNS, &mut ignored)
            .await?;
        Ok(orders + self.each_row(session, LINES, &LINE_COLUMNS, &mut ignored).await?)
    }

    pub(super) async fn each_row(
        &self,
        session: &mut AnySql,
        table: &str,
        columns: &[&str],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let sql = format!("SELECT {} FROM {table}", columns.join(", "));
        let dialect = session.dialect();
        let Some(ranges) = dialect.token_ranges else {
            let statement = session.prepare(&Ask::read(&sql)).await?;
            return session.query(statement, &[], each).await;
        };
        let piece = ranges.condition(dialect, key(&self.spec, table));
        let statement = session.prepare(&Ask::read(&format!("{sql}{piece}"))).await?;
        let mut rows = 0;
        for piece in ranges.all() {
            rows += session.query(statement, &piece, each).await?;
        }
        Ok(rows)
    }
}

// Where rows are found by their own key and by nothing else, nothing joins lines to their order: where lines lie by their own
// id (`line_items`), an order keeps the ids of its lines in a list.

/// A column of orders.
pub const LINE_IDS: &str = "line_item_ids";

/// Orders keep the ids of their lines, in such lists.
pub fn keeps_line_ids(spec: &HatshopSpec, dialect: &Dialect) -> Option<&'static Lists> {
    let keeps = dialect.token_ranges.is_some() && spec.layout == HatshopLayout::LineItems;
    dialect.lists.filter(|_| keeps)
}

/// Nothing where there are no lists.
pub fn write_ids(lists: Option<&Lists>, lines: &[Line], list: &mut Vec<u8>) {
    list.clear();
    if let Some(lists) = lists {
        (lists.write)(&mut lines.iter().map(|line| &line.id.0[..]), list);
    }
}

/// Those of our length, end to end: others are no ids of lines.
pub fn read_ids(lists: &Lists, list: &[u8], ids: &mut Vec<u8>) {
    (lists.each)(list, &mut |id| {
        if id.len() == size_of::<Id>() {
            ids.extend_from_slice(id);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::statements::CQL;
    use super::*;

    #[test]
    fn cassandra_s_tables_have_no_constraints_and_orders_keep_their_line_ids_where_nothing_else_finds_them() {
        let tables = |layout| {
            let spec = HatshopSpec {
                layout,
                ..HatshopSpec::default()
            };
            create(&spec, &CQL)
                .into_iter()
                .map(|(_, cql)| cql)
                .collect::<Vec<_>>()
        };
        let lines = |key: &str| {
            format!(
                "CREATE TABLE line_items (order_id text, line_item_id text, product_id text, colour text, size text, \
                 quantity int, line_price decimal, PRIMARY KEY ({key}))"
            )
        };
        let orders = |line_ids: &str| {
            format!(
                "CREATE TABLE orders (order_id text, client_id text, date_created timestamp, order_status text, \
                 sub_total decimal{line_ids}, PRIMARY KEY (order_id))"
            )
        };
        assert_eq!(
            tables(HatshopLayout::LineItemsByOrder),
            [orders(""), lines("order_id, line_item_id")]
        );
        assert_eq!(
            tables(HatshopLayout::LineItems),
            [orders(", line_item_ids list<text>"), lines("line_item_id")]
        );
    }
}
