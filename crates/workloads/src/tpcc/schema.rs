//! The nine tables (clause 1.3) under the names, and with the columns in the order, that tools in the field give them:
//! `orders` and `new_orders`, because ORDER and NEW-ORDER are no names in SQL.
use super::rules::{DISTRICTS, Sizes};
use crate::prelude::*;
use crate::trouble::refuse;
use bakeoff_model::options::nearest;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Warehouse,
    District,
    Customer,
    History,
    NewOrders,
    Orders,
    OrderLine,
    Stock,
    Item,
}

impl Table {
    /// One that another refers to stands before it.
    pub const ALL: [Self; 9] = [
        Self::Item,
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::History,
        Self::Orders,
        Self::NewOrders,
        Self::Stock,
        Self::OrderLine,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Customer => "customer",
            Self::History => "history",
            Self::NewOrders => "new_orders",
            Self::Orders => "orders",
            Self::OrderLine => "order_line",
            Self::Stock => "stock",
            Self::Item => "item",
        }
    }

    /// Rows that are loaded, of a warehouse; items are of all together.
    pub fn rows(self, sizes: &Sizes) -> u64 {
        let of_district = match self {
            Self::Warehouse => return 1,
            Self::Stock | Self::Item => return sizes.items,
            Self::District => 1,
            Self::Customer | Self::History => sizes.customers,
            Self::NewOrders => sizes.new_orders,
            Self::Orders => sizes.orders,
            Self::OrderLine => sizes.lines(),
        };
        DISTRICTS * of_district
    }

    /// Of a row (clause 1.2.1).
    pub fn row_bytes(self) -> u64 {
        match self {
            Self::Warehouse => 89,
            Self::District => 95,
            Self::Customer => 655,
            Self::History => 46,
            Self::NewOrders => 8,
            Self::Orders => 24,
            Self::OrderLine => 54,
            Self::Stock => 306,
            Self::Item => 82,
        }
    }

    /// Names and types; `{timestamp}` is for the system to say. What may hold nothing is so in the specification or, as in
    /// the field, nobody forbids it: the checks find it.
    pub fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Warehouse => &[
                ("w_id", "INTEGER NOT NULL"),
                ("w_name", "VARCHAR(10)"),
                ("w_street_1", "VARCHAR(20)"),
                ("w_street_2", "VARCHAR(20)"),
                ("w_city", "VARCHAR(20)"),
                ("w_state", "CHAR(2)"),
                ("w_zip", "CHAR(9)"),
                ("w_tax", "DECIMAL(4, 4)"),
                ("w_ytd", "DECIMAL(12, 2)"),
            ],
            Self::District => &[
                ("d_id", "SMALLINT NOT NULL"),
                ("d_w_id", "INTEGER NOT NULL"),
                ("d_name", "VARCHAR(10)"),
                ("d_street_1", "VARCHAR(20)"),
                ("d_street_2", "VARCHAR(20)"),
                ("d_city", "VARCHAR(20)"),
                ("d_state", "CHAR(2)"),
                ("d_zip", "CHAR(9)"),
                ("d_tax", "DECIMAL(4, 4)"),
                ("d_ytd", "DECIMAL(12, 2)"),
                ("d_next_o_id", "INTEGER"),
            ],
            Self::Customer => &[
                ("c_id", "INTEGER NOT NULL"),
                ("c_d_id", "SMALLINT NOT NULL"),
                ("c_w_id", "INTEGER NOT NULL"),
                ("c_first", "VARCHAR(16)"),
                ("c_middle", "CHAR(2)"),
                ("c_last", "VARCHAR(16)"),
                ("c_street_1", "VARCHAR(20)"),
                ("c_street_2", "VARCHAR(20)"),
                ("c_city", "VARCHAR(20)"),
                ("c_state", "CHAR(2)"),
                ("c_zip", "CHAR(9)"),
                ("c_phone", "CHAR(16)"),
                ("c_since", "{timestamp}"),
                ("c_credit", "CHAR(2)"),
                ("c_credit_lim", "DECIMAL(12, 2)"),
                ("c_discount", "DECIMAL(4, 4)"),
                ("c_balance", "DECIMAL(12, 2)"),
                ("c_ytd_payment", "DECIMAL(12, 2)"),
                ("c_payment_cnt", "INTEGER"),
                ("c_delivery_cnt", "INTEGER"),
                ("c_data", "VARCHAR(500)"),
            ],
            Self::History => &[
                ("h_c_id", "INTEGER"),
                ("h_c_d_id", "SMALLINT"),
                ("h_c_w_id", "INTEGER"),
                ("h_d_id", "SMALLINT"),
                ("h_w_id", "INTEGER"),
                ("h_date", "{timestamp}"),
                ("h_amount", "DECIMAL(6, 2)"),
                ("h_data", "VARCHAR(24)"),
            ],
            Self::NewOrders => &[
                ("no_o_id", "INTEGER NOT NULL"),
                ("no_d_id", "SMALLINT NOT NULL"),
                ("no_w_id", "INTEGER NOT NULL"),
            ],
            Self::Orders => &[
                ("o_id", "INTEGER NOT NULL"),
                ("o_d_id", "SMALLINT NOT NULL"),
                ("o_w_id", "INTEGER NOT NULL"),
                ("o_c_id", "INTEGER"),
                ("o_entry_d", "{timestamp}"),
                ("o_carrier_id", "SMALLINT"),
                ("o_ol_cnt", "SMALLINT"),
                ("o_all_local", "SMALLINT"),
            ],
            Self::OrderLine => &[
                ("ol_o_id", "INTEGER NOT NULL"),
                ("ol_d_id", "SMALLINT NOT NULL"),
                ("ol_w_id", "INTEGER NOT NULL"),
                ("ol_number", "SMALLINT NOT NULL"),
                ("ol_i_id", "INTEGER"),
                ("ol_supply_w_id", "INTEGER"),
                ("ol_delivery_d", "{timestamp}"),
                ("ol_quantity", "SMALLINT"),
                ("ol_amount", "DECIMAL(6, 2)"),
                ("ol_dist_info", "CHAR(24)"),
            ],
            Self::Stock => &[
                ("s_i_id", "INTEGER NOT NULL"),
                ("s_w_id", "INTEGER NOT NULL"),
                ("s_quantity", "SMALLINT"),
                ("s_dist_01", "CHAR(24)"),
                ("s_dist_02", "CHAR(24)"),
                ("s_dist_03", "CHAR(24)"),
                ("s_dist_04", "CHAR(24)"),
                ("s_dist_05", "CHAR(24)"),
                ("s_dist_06", "CHAR(24)"),
                ("s_dist_07", "CHAR(24)"),
                ("s_dist_08", "CHAR(24)"),
                ("s_dist_09", "CHAR(24)"),
                ("s_dist_10", "CHAR(24)"),
                ("s_ytd", "INTEGER"),
                ("s_order_cnt", "INTEGER"),
                ("s_remote_cnt", "INTEGER"),
                ("s_data", "VARCHAR(50)"),
            ],
            Self::Item => &[
                ("i_id", "INTEGER NOT NULL"),
                ("i_im_id", "INTEGER"),
                ("i_name", "VARCHAR(24)"),
                ("i_price", "DECIMAL(5, 2)"),
                ("i_data", "VARCHAR(50)"),
            ],
        }
    }

    /// The primary key; of the history, which has none, nothing.
    pub fn key(self) -> &'static [&'static str] {
        match self {
            Self::Warehouse => &["w_id"],
            Self::District => &["d_w_id", "d_id"],
            Self::Customer => &["c_w_id", "c_d_id", "c_id"],
            Self::History => &[],
            Self::NewOrders => &["no_w_id", "no_d_id", "no_o_id"],
            Self::Orders => &["o_w_id", "o_d_id", "o_id"],
            Self::OrderLine => &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
            Self::Stock => &["s_w_id", "s_i_id"],
            Self::Item => &["i_id"],
        }
    }

    /// What rows refer to: columns of this table, and whose key they are.
    pub fn references(self) -> &'static [(&'static [&'static str], Table)] {
        match self {
            Self::Warehouse | Self::Item => &[],
            Self::District => &[(&["d_w_id"], Table::Warehouse)],
            Self::Customer => &[(&["c_w_id", "c_d_id"], Table::District)],
            Self::History => &[
                (&["h_c_w_id", "h_c_d_id", "h_c_id"], Table::Customer),
                (&["h_w_id", "h_d_id"], Table::District),
            ],
            Self::NewOrders => &[(&["no_w_id", "no_d_id", "no_o_id"], Table::Orders)],
            Self::Orders => &[(&["o_w_id", "o_d_id", "o_c_id"], Table::Customer)],
            Self::OrderLine => &[
                (&["ol_w_id", "ol_d_id", "ol_o_id"], Table::Orders),
                (&["ol_supply_w_id", "ol_i_id"], Table::Stock),
            ],
            Self::Stock => &[(&["s_w_id"], Table::Warehouse), (&["s_i_id"], Table::Item)],
        }
    }
}

// What the nine tables are called in a data set that another tool made. Every statement is written with our names, and
// gets the others when it is sent.

/// Of identifiers, in every system that we know.
const NAME_BYTES_MOST: usize = 63;

#[derive(Clone, Debug, Default)]
pub struct TableNames(BTreeMap<&'static str, String>);

impl TableNames {
    /// `said`: the name in the data set, by ours.
    pub fn new(said: &BTreeMap<String, String>) -> Result<Self, Trouble> {
        let mut names = BTreeMap::new();
        for (ours, other) in said {
            let Some(table) = Table::ALL.into_iter().find(|table| table.name() == ours) else {
                let what = format!("`tables` names `{ours}`, which is none of the nine tables");
                return Err(refuse(
                    "tables",
                    what,
                    nearest(ours, &Table::ALL.map(Table::name)),
                ));
            };
            if !is_plain(other) {
                let what = format!("a table cannot have the name {other:?}");
                let hint = "a name has letters, digits and _, does not begin with a digit, and has 63 characters at most";
                return Err(refuse("tables", what, hint));
            }
            names.insert(table.name(), other.clone());
        }
        let names = Self(names);
        for (at, table) in Table::ALL.into_iter().enumerate() {
            let twice = |other: &&Table| names.of(**other).eq_ignore_ascii_case(names.of(table));
            if let Some(other) = Table::ALL[..at].iter().find(twice) {
                let what = format!(
                    "`{}` and `{}` have the same table in `tables`",
                    other.name(),
                    table.name()
                );
                return Err(refuse("tables", what, "name nine different tables"));
            }
        }
        Ok(names)
    }

    pub fn of(&self, table: Table) -> &str {
        self.0.get(table.name()).map_or(table.name(), String::as_str)
    }

    /// A statement with the data set's names, quoted, in place of ours. None of ours is also the name of a column.
    pub fn sql(&self, ours: &str, dialect: &Dialect) -> String {
        self.renamed(ours, |name| dialect.quoted(name))
    }

    fn renamed(&self, ours: &str, quoted: impl Fn(&str) -> String) -> String {
        if self.0.is_empty() {
            return ours.to_owned();
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (mut sql, mut rest) = (String::with_capacity(ours.len() + 16), ours);
        while let Some(first) = rest.chars().next() {
            let length = rest.find(|c| is_name(c) != is_name(first)).unwrap_or(rest.len());
            let (part, after) = rest.split_at(length);
            match self.0.get(part) {
                Some(other) => sql.push_str(&quoted(other)),
                None => sql.push_str(part),
            }
            rest = after;
        }
        sql
    }
}

fn is_plain(name: &str) -> bool {
    (1..=NAME_BYTES_MOST).contains(&name.len())
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::tpcc::TpccSpec;

    #[test]
    fn a_warehouse_is_as_large_as_the_specification_says() {
        let sizes = Sizes::new(&TpccSpec::default());
        let bytes = |table: Table| table.rows(&sizes) * table.row_bytes();
        let all: u64 = Table::ALL.into_iter().map(bytes).sum();
        assert_eq!(all - bytes(Table::Item), 68_623_039);
    }

    #[test]
    fn references_name_columns_of_their_table_and_whole_keys() {
        for table in Table::ALL {
            let has = |column: &&str| table.columns().iter().any(|(name, _)| name == column);
            assert!(table.key().iter().all(&has), "{table:?}");
            for (columns, parent) in table.references() {
                assert!(columns.iter().all(&has), "{table:?}");
                assert_eq!(columns.len(), parent.key().len(), "{table:?}");
            }
        }
    }

    fn names(said: &[(&str, &str)]) -> Result<TableNames, Trouble> {
        let said = said
            .iter()
            .map(|(ours, other)| ((*ours).to_owned(), (*other).to_owned()));
        TableNames::new(&said.collect())
    }

    #[test]
    fn only_whole_names_of_tables_are_replaced() {
        let quoted = |name: &str| format!("\"{name}\"");
        let names = names(&[
            ("orders", "order"),
            ("new_orders", "new_order"),
            ("stock", "stock1"),
        ])
        .unwrap();
        let ours = "SELECT no_o_id, o_id FROM new_orders, orders, district WHERE fkey_stock_2 = stock.s_i_id";
        assert_eq!(
            names.renamed(ours, quoted),
            "SELECT no_o_id, o_id FROM \"new_order\", \"order\", district WHERE fkey_stock_2 = \"stock1\".s_i_id"
        );
        assert_eq!(TableNames::default().renamed(ours, quoted), ours);
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        for (said, what) in [
            (
                &[("orderz", "a")][..],
                "`tables` names `orderz`, which is none of the nine tables",
            ),
            (
                &[("orders", "a; DROP TABLE b")],
                "a table cannot have the name \"a; DROP TABLE b\"",
            ),
            (
                &[("orders", "other.orders")],
                "a table cannot have the name \"other.orders\"",
            ),
            (&[("orders", "")], "a table cannot have the name \"\""),
            (
                &[("orders", "stock")],
                "`orders` and `stock` have the same table in `tables`",
            ),
        ] {
            let refused = names(said).unwrap_err();
            assert_eq!(
                (refused.place.as_str(), refused.what.as_str()),
                ("workload.tables", what)
            );
        }
        // Two may change places.
        names(&[("orders", "stock"), ("stock", "orders")]).unwrap();
    }
}
