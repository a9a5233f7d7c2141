//! The two tables. Ids are text of 36 characters in every system, so that none has a type for them that others lack.
use super::Hatshop;
use super::statements::{LINE_COLUMNS, ORDER_COLUMNS};
use crate::{tables, trouble};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};
use bakeoff_model::sql::{Ask, Dialect, SqlSession};

pub const ORDERS: &str = "orders";
pub const LINES: &str = "line_items";

/// The one that refers to the other first: as they are dropped.
pub fn table_names() -> Vec<String> {
    [LINES, ORDERS].map(str::to_owned).to_vec()
}

/// Lines can be found by their order.
pub fn has_index(spec: &HatshopSpec) -> bool {
    spec.layout == HatshopLayout::LineItemsByOrder || spec.secondary_index
}

/// Each with the table it is about.
fn create(spec: &HatshopSpec, dialect: &Dialect) -> Vec<(&'static str, String)> {
    let id = dialect.key_type.replace("{}", "36");
    let text = |length: u32| dialect.varchar_type.replace("{}", &length.to_string());
    let suffix = dialect.table_suffix;
    let key = match spec.layout {
        HatshopLayout::LineItems => "line_item_id",
        HatshopLayout::LineItemsByOrder => "order_id, line_item_id",
    };
    // One without an index would have the whole table read for each order that is deleted, and MySQL makes the index itself.
    let reference = match has_index(spec) {
        true => ", FOREIGN KEY (order_id) REFERENCES orders (order_id)",
        false => "",
    };
    let orders = format!(
        "CREATE TABLE orders (order_id {id} NOT NULL, client_id {id} NOT NULL, date_created {date} NOT NULL, \
         order_status {status} NOT NULL, sub_total DECIMAL(12, 2) NOT NULL, PRIMARY KEY (order_id)){suffix}",
        date = dialect.timestamp_type,
        status = text(20),
    );
    let lines = format!(
        "CREATE TABLE line_items (order_id {id} NOT NULL, line_item_id {id} NOT NULL, product_id {id} NOT NULL, \
         colour {colour} NOT NULL, size {size} NOT NULL, quantity INTEGER NOT NULL, line_price DECIMAL(12, 2) NOT NULL, \
         PRIMARY KEY ({key}){reference}){suffix}",
        colour = text(20),
        size = text(5),
    );
    let mut all = vec![(ORDERS, orders), (LINES, lines)];
    if spec.layout == HatshopLayout::LineItems && spec.secondary_index {
        let index = "CREATE INDEX line_items_of_order ON line_items (order_id)";
        all.push((LINES, index.to_owned()));
    }
    all
}

impl Hatshop {
    pub(super) async fn create_tables<S: SqlSession>(
        &self,
        session: &mut S,
        drop_existing: bool,
    ) -> Result<(), Trouble> {
        tables::make_way(session, &table_names(), drop_existing).await?;
        for (table, sql) in create(&self.spec, session.dialect()) {
            let created = session.execute_text(&sql).await;
            created.map_err(|e| trouble::setup("create the table", table, &e))?;
        }
        Ok(())
    }

    /// Every row of both tables.
    pub(super) async fn read_tables<S: SqlSession>(&self, session: &mut S) -> Result<u64, OpError> {
        let mut ignored = |_: &RowBuf| ();
        let orders = each_row(session, ORDERS, &ORDER_COLUMNS, &mut ignored).await?;
        Ok(orders + each_row(session, LINES, &LINE_COLUMNS, &mut ignored).await?)
    }
}

pub async fn each_row<S: SqlSession>(
    session: &mut S,
    table: &str,
    columns: &[&str],
    each: &mut impl FnMut(&RowBuf),
) -> Result<u64, OpError> {
    let sql = format!("SELECT {} FROM {table}", columns.join(", "));
    let statement = session.prepare(&Ask::read(&sql)).await?;
    session.query(statement, &[], each).await
}
