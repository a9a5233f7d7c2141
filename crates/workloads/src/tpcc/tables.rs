//! Making the tables: first without what only slows a load down, indexes and foreign keys; these follow once the rows are
//! there, a step each.
use super::Tpcc;
use super::schema::Table;
use crate::numbers::number;
use crate::prelude::*;
use crate::{tables, trouble};
use bakeoff_model::run::tpcc::TpccVariant;

/// Name, table and columns.
type Index = (&'static str, Table, &'static [&'static str]);

/// What Payment and Order-Status look for: customers by name, and a customer's newest order.
const INDEXES: [Index; 2] = [
    (
        "customer_name",
        Table::Customer,
        &["c_w_id", "c_d_id", "c_last", "c_first"],
    ),
    (
        "orders_customer",
        Table::Orders,
        &["o_w_id", "o_d_id", "o_c_id", "o_id"],
    ),
];
/// As tpcc-mysql names them: there its foreign keys are with an index of their own.
const INDEXES_OF_TPCC_MYSQL: [Index; 2] = [
    ("fkey_stock_2", Table::Stock, &["s_i_id"]),
    (
        "fkey_order_line_2",
        Table::OrderLine,
        &["ol_supply_w_id", "ol_i_id"],
    ),
];

impl Tpcc {
    pub(super) async fn create_tables(
        &self,
        session: &mut AnySql,
        drop_existing: bool,
    ) -> Result<(), Trouble> {
        tables::make_way(session, &self.names_to_drop(), drop_existing).await?;
        for table in Table::ALL {
            let sql = self.create_table(table, session.dialect());
            let sql = self.names.sql(&sql, session.dialect());
            let created = session.execute_text(&sql).await;
            created.map_err(|e| trouble::setup("create the table", self.names.of(table), &e))?;
        }
        Ok(())
    }

    pub(super) async fn drop_tables(&self, session: &mut AnySql) -> Result<(), Trouble> {
        tables::drop_all(session, &self.names_to_drop()).await
    }

    fn create_table(&self, table: Table, dialect: &Dialect) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (name, kind) in table.columns() {
            parts.push(format!(
                "{name} {}",
                kind.replace("{timestamp}", dialect.timestamp_type)
            ));
        }
        if !table.key().is_empty() {
            parts.push(format!("PRIMARY KEY ({})", table.key().join(", ")));
        }
        if self.spec.foreign_keys && !dialect.adds_foreign_keys {
            parts.extend(foreign_keys(table));
        }
        format!(
            "CREATE TABLE {} ({}){}",
            table.name(),
            parts.join(", "),
            dialect.table_suffix
        )
    }

    fn indexes(&self) -> impl Iterator<Item = Index> {
        let more = match self.spec.variant {
            TpccVariant::TpccMysql => &INDEXES_OF_TPCC_MYSQL[..],
            TpccVariant::Tpcc | TpccVariant::TprocC => &[],
        };
        INDEXES.iter().chain(more).copied()
    }

    /// Tables whose foreign keys follow the rows: all that have some, if any are wanted.
    fn referring(&self) -> impl Iterator<Item = Table> {
        let wanted = self.spec.foreign_keys;
        let refers = move |table: &Table| wanted && !table.references().is_empty();
        Table::ALL.into_iter().filter(refers)
    }

    /// Clients do not wait for each other, so the last rows of another may be on their way.
    pub(super) fn steps(&self) -> u64 {
        match self.client.index {
            0 => (self.indexes().count() + self.referring().count()) as u64,
            _ => 0,
        }
    }

    pub(super) async fn take_step(&self, session: &mut AnySql, step: u64) -> Result<(), OpError> {
        let indexes = self.indexes().map(|(name, table, columns)| {
            format!("CREATE INDEX {name} ON {} ({})", table.name(), columns.join(", "))
        });
        let keys = self
            .referring()
            .map(|table| match session.dialect().adds_foreign_keys {
                true => alter_table(table),
                false => String::new(),
            });
        match indexes.chain(keys).nth(step as usize) {
            Some(sql) if !sql.is_empty() => {
                let sql = self.names.sql(&sql, session.dialect());
                session.execute_text(&sql).await.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Before a load, whose rows come in any order: a row may be there before the one that it refers to.
    pub(super) async fn leave_references_unchecked(&self, session: &mut AnySql) -> Result<(), OpError> {
        match session.dialect().foreign_keys_off {
            "" => Ok(()),
            off => session.execute_text(off).await.map(drop),
        }
    }

    /// Every row, with a column that no index has; then the two indexes. Returns rows.
    pub(super) async fn read_tables(&self, session: &mut AnySql) -> Result<u64, OpError> {
        let mut rows = 0;
        for table in Table::ALL {
            let (last, _) = table.columns()[table.columns().len() - 1];
            let sql = format!("SELECT COUNT(*), MAX({last}) FROM {}", table.name());
            let sql = self.names.sql(&sql, session.dialect());
            rows += number(session, &sql).await?.unwrap_or(0) as u64;
        }
        for sql in [
            "SELECT MAX(c_first) FROM customer",
            "SELECT MAX(o_c_id) FROM orders",
        ] {
            let sql = self.names.sql(sql, session.dialect());
            number(session, &sql).await?;
        }
        Ok(rows)
    }

    /// One that refers to another goes before it.
    fn names_to_drop(&self) -> Vec<String> {
        let all = Table::ALL.into_iter().rev();
        all.map(|table| self.names.of(table).to_owned()).collect()
    }
}

fn alter_table(table: Table) -> String {
    let added: Vec<String> = foreign_keys(table).map(|key| format!("ADD {key}")).collect();
    format!("ALTER TABLE {} {}", table.name(), added.join(", "))
}

fn foreign_keys(table: Table) -> impl Iterator<Item = String> {
    table
        .references()
        .iter()
        .enumerate()
        .map(move |(number, (columns, parent))| {
            format!(
                "CONSTRAINT fkey_{}_{} FOREIGN KEY ({}) REFERENCES {} ({})",
                table.name(),
                number + 1,
                columns.join(", "),
                parent.name(),
                parent.key().join(", ")
            )
        })
}
