//! Invariants of the data, after the load and after every run: the rows that there must be, the conditions that the variant
//! keeps, and that whatever a row refers to is there (also where no foreign key is declared).
use super::Tpcc;
use super::account::Evidence;
use super::conditions::{CONDITIONS, Condition, DELIVERED};
use super::rules::DISTRICTS;
use super::schema::Table;
use crate::account::{Added, after, in_words};
use crate::faults::{Faults, check_no_rows};
use crate::numbers::number;
use crate::prelude::*;
use bakeoff_model::run::tpcc::TpccVariant;
use std::ops::RangeInclusive;

/// Of stock: as it is loaded, and as it is filled up.
const QUANTITY_MIN: u64 = 10;
const QUANTITY_MAX: u64 = 100;
const STOCK_SENT_COLUMNS: [&str; 7] = [
    "s_w_id",
    "s_i_id",
    "s_ytd",
    "quantity ordered",
    "s_order_cnt",
    "lines",
    "s_quantity",
];

impl Tpcc {
    pub(super) async fn checks(
        &self,
        session: &mut AnySql,
        done: &[Option<Evidence>],
        after_run: bool,
    ) -> Result<Vec<Check>, OpError> {
        self.ask_for_columns(session).await?;
        let mut checks = vec![self.check_rows(session, done).await?];
        for (name, sql, columns) in self.parts() {
            checks.push(self.check_none(session, name, &sql, columns).await?);
        }
        for condition in CONDITIONS {
            if self.keeps(&condition, after_run) {
                let Condition { columns, sql, .. } = condition;
                checks.push(self.check_none(session, &condition.name(), sql, columns).await?);
            }
        }
        checks.push(self.check_delivered(session, done).await?);
        if self.rules.counts_stock {
            let (sql, columns) = (self.stock_sent(), &STOCK_SENT_COLUMNS);
            let name = "stock sent is what was ordered";
            checks.push(self.check_none(session, name, &sql, columns).await?);
        }
        checks.push(self.check_references(session).await?);
        Ok(checks)
    }

    /// Another tool's table may lack one, which the server then names.
    async fn ask_for_columns(&self, session: &mut AnySql) -> Result<(), OpError> {
        for table in Table::ALL {
            let columns: Vec<&str> = table.columns().iter().map(|(column, _)| *column).collect();
            let sql = format!("SELECT {} FROM {} WHERE 1 = 0", columns.join(", "), table.name());
            let sql = self.names.sql(&sql, session.dialect());
            session.query_text(&sql, &mut |_| {}).await?;
        }
        Ok(())
    }

    async fn check_none(
        &self,
        session: &mut AnySql,
        name: &str,
        sql: &str,
        columns: &[&str],
    ) -> Result<Check, OpError> {
        let sql = self.names.sql(sql, session.dialect());
        check_no_rows(session, name, &sql, columns).await
    }

    fn keeps(&self, condition: &Condition, after_run: bool) -> bool {
        match (self.spec.variant, condition.number) {
            // It counts no payments of a customer.
            (TpccVariant::TpccMysql, 12) => !after_run,
            // It loads amounts of delivered orders that no customer was charged.
            (TpccVariant::TprocC, 10 | 12) => false,
            _ => true,
        }
    }

    /// No condition of the specification's is about stock, to which a new order writes most: of each the lines of
    /// orders since the load, and a quantity that clause 2.4.2.2 can have left.
    fn stock_sent(&self) -> String {
        let loaded = self.sizes.orders;
        format!(
            "SELECT s_w_id, s_i_id, s_ytd, q, s_order_cnt, n, s_quantity FROM stock LEFT JOIN \
             (SELECT ol_supply_w_id, ol_i_id, SUM(ol_quantity) AS q, COUNT(*) AS n FROM order_line \
             WHERE ol_o_id > {loaded} GROUP BY ol_supply_w_id, ol_i_id) a \
             ON ol_supply_w_id = s_w_id AND ol_i_id = s_i_id \
             WHERE s_ytd IS NULL OR s_ytd <> COALESCE(q, 0) OR s_order_cnt IS NULL OR s_order_cnt <> COALESCE(n, 0) \
             OR s_quantity IS NULL OR s_quantity NOT BETWEEN {QUANTITY_MIN} AND {QUANTITY_MAX}"
        )
    }

    async fn check_rows(&self, session: &mut AnySql, done: &[Option<Evidence>]) -> Result<Check, OpError> {
        let (mut faults, mut expected, mut actual) = (Faults::default(), Vec::new(), Vec::new());
        for table in Table::ALL {
            let sql = format!("SELECT COUNT(*) FROM {}", table.name());
            let sql = self.names.sql(&sql, session.dialect());
            let rows = number(session, &sql).await?.unwrap_or(0) as u64;
            let Some(may_be) = self.rows_after(table, done) else {
                continue;
            };
            let name = self.names.of(table);
            if !may_be.contains(&rows) {
                faults.add(|| format!("{name}: {rows} rows instead of {}", in_words(&may_be)));
            }
            expected.push(format!("{name} {}", in_words(&may_be)));
            actual.push(format!("{name} {rows} rows"));
        }
        Ok(Check {
            name: "row counts".into(),
            ok: faults.count == 0,
            expected: expected.join(", "),
            actual: actual.join(", "),
            evidence: faults.kept,
        })
    }

    /// Rows that a table may have; `None`: as many as a condition says.
    fn rows_after(&self, table: Table, done: &[Option<Evidence>]) -> Option<RangeInclusive<u64>> {
        let warehouses = match table {
            Table::Item => 1,
            _ => self.sizes.warehouses,
        };
        let loaded = warehouses * table.rows(&self.sizes);
        let and = |added: fn(&Evidence) -> Added| {
            Some(after(loaded, done.iter().map(|run| run.as_ref().map(added))))
        };
        match table {
            Table::Orders => and(|run| run.new_orders),
            Table::History => and(|run| run.payments),
            Table::NewOrders | Table::OrderLine => None,
            _ => Some(loaded..=loaded),
        }
    }

    /// Tables whose rows no transaction adds or takes: whole in each of their parts.
    fn parts(&self) -> [(&'static str, String, &'static [&'static str]); 3] {
        let (items, customers) = (self.sizes.items, self.sizes.customers);
        [
            (
                "districts of each warehouse",
                format!(
                    "SELECT w_id, n, a, b FROM warehouse LEFT JOIN \
                     (SELECT d_w_id, COUNT(*) AS n, MIN(d_id) AS a, MAX(d_id) AS b FROM district GROUP BY d_w_id) d \
                     ON d_w_id = w_id WHERE n IS NULL OR n <> {DISTRICTS} OR a <> 1 OR b <> {DISTRICTS}"
                ),
                &["w_id", "districts", "lowest d_id", "highest d_id"],
            ),
            (
                "customers of each district",
                format!(
                    "SELECT d_w_id, d_id, n, a, b FROM district LEFT JOIN \
                     (SELECT c_w_id, c_d_id, COUNT(*) AS n, MIN(c_id) AS a, MAX(c_id) AS b FROM customer \
                     GROUP BY c_w_id, c_d_id) c ON c_w_id = d_w_id AND c_d_id = d_id \
                     WHERE n IS NULL OR n <> {customers} OR a <> 1 OR b <> {customers}"
                ),
                &["d_w_id", "d_id", "customers", "lowest c_id", "highest c_id"],
            ),
            (
                "stock of each warehouse",
                format!(
                    "SELECT w_id, n, a, b FROM warehouse LEFT JOIN \
                     (SELECT s_w_id, COUNT(*) AS n, MIN(s_i_id) AS a, MAX(s_i_id) AS b FROM stock GROUP BY s_w_id) s \
                     ON s_w_id = w_id WHERE n IS NULL OR n <> {items} OR a <> 1 OR b <> {items}"
                ),
                &["w_id", "items in stock", "lowest s_i_id", "highest s_i_id"],
            ),
        ]
    }

    /// The eleventh condition: how many of each district's orders are no longer new. What runs delivered is known for all
    /// districts together.
    async fn check_delivered(
        &self,
        session: &mut AnySql,
        done: &[Option<Evidence>],
    ) -> Result<Check, OpError> {
        let delivered = done.iter().map(|run| run.as_ref().map(|run| run.deliveries));
        let loaded = self.sizes.districts() * self.sizes.delivered();
        let expected = after(loaded, delivered);
        // At least those loaded as delivered, at most those and all later deliveries.
        let least = self.sizes.delivered();
        let of_district = least..=(expected.end() - loaded).saturating_add(least);
        let (mut faults, mut total) = (Faults::default(), 0);
        let mut each = |row: &RowBuf| {
            let [warehouse, district, delivered] =
                [0, 1, 2].map(|cell| row.cell(cell).and_then(Value::whole_number).unwrap_or(0));
            total += delivered;
            if !u64::try_from(delivered).is_ok_and(|delivered| of_district.contains(&delivered)) {
                faults.add(|| format!("d_w_id {warehouse}, d_id {district}: {delivered} orders delivered"));
            }
        };
        let sql = self.names.sql(DELIVERED, session.dialect());
        session.query_text(&sql, &mut each).await?;
        Ok(Check {
            name: "condition 11: orders that are no longer new are those that were delivered".into(),
            ok: faults.count == 0 && u64::try_from(total).is_ok_and(|total| expected.contains(&total)),
            expected: format!("{}, at least {least} in each district", in_words(&expected)),
            actual: format!("{total} rows"),
            evidence: faults.kept,
        })
    }

    async fn check_references(&self, session: &mut AnySql) -> Result<Check, OpError> {
        let mut faults = Faults::default();
        for table in Table::ALL {
            for (columns, parent) in table.references() {
                let mut each = |row: &RowBuf| {
                    let cells = columns.iter().zip(row.cells());
                    let cells: Vec<String> = cells.map(|(column, cell)| format!("{column} {cell}")).collect();
                    faults.add(|| {
                        format!(
                            "{} without {}: {}",
                            self.names.of(table),
                            self.names.of(*parent),
                            cells.join(", ")
                        )
                    });
                };
                let sql = self
                    .names
                    .sql(&orphans(table, columns, *parent), session.dialect());
                session.query_text(&sql, &mut each).await?;
            }
        }
        Ok(Check {
            name: "foreign keys".into(),
            ok: faults.count == 0,
            expected: "every row that another refers to is there".into(),
            actual: format!("{} are missing", faults.count),
            evidence: faults.kept,
        })
    }
}

/// Rows that refer to nothing.
fn orphans(table: Table, columns: &[&str], parent: Table) -> String {
    let key = parent.key();
    let on: Vec<String> = columns
        .iter()
        .zip(key)
        .map(|(column, key)| format!("{key} = {column}"))
        .collect();
    format!(
        "SELECT {} FROM {} LEFT JOIN {} ON {} WHERE {} IS NULL",
        columns.join(", "),
        table.name(),
        parent.name(),
        on.join(" AND "),
        key[0]
    )
}
