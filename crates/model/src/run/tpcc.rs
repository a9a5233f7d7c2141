//! The options of TPC-C (revision 5.11) and its variants in the field. Of each: its type, default, bounds and meaning, here
//! and nowhere else; the reference page is made from these lines.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct TpccSpec {
    /// Whose rules hold, see above.
    pub variant: TpccVariant,
    /// 100,000 stock rows, 30,000 customers and about 100 MB each.
    #[schemars(range(min = 1, max = 100_000))]
    pub warehouses: u32,
    /// A tenth of the customers, orders and items, for tests and tiny machines: no figure of it is comparable.
    pub mini: bool,
    /// How a terminal chooses its next transaction.
    pub choice: TpccChoice,
    /// weights: new orders among all transactions.
    pub new_order_weight: u32,
    /// weights: payments among all transactions.
    pub payment_weight: u32,
    /// weights: order statuses among all transactions.
    pub order_status_weight: u32,
    /// weights: deliveries among all transactions.
    pub delivery_weight: u32,
    /// weights: stock levels among all transactions.
    pub stock_level_weight: u32,
    /// Share of new orders that end in an unused item, and are rolled back.
    #[schemars(range(min = 0, max = 1))]
    pub rollback_ratio: f64,
    /// A terminal waits as its user would, see below.
    pub keying_and_think: bool,
    /// Each transaction takes one of the terminal's own share of the warehouses; false: always the same one.
    pub all_warehouses: bool,
    /// Foreign keys are declared, once the rows are there.
    pub foreign_keys: bool,
    /// Names of tables that are not those below: those of another tool's data.
    #[schemars(extend("title" = "a table such as { new_orders = \"new_order\" }"))]
    pub tables: BTreeMap<String, String>,
}

impl Default for TpccSpec {
    fn default() -> Self {
        Self {
            variant: TpccVariant::Tpcc,
            warehouses: 1,
            mini: false,
            choice: TpccChoice::Deck,
            new_order_weight: 45,
            payment_weight: 43,
            order_status_weight: 4,
            delivery_weight: 4,
            stock_level_weight: 4,
            rollback_ratio: 0.01,
            keying_and_think: false,
            all_warehouses: false,
            foreign_keys: true,
            tables: BTreeMap::new(),
        }
    }
}

impl TpccSpec {
    /// Of new orders, payments, order statuses, deliveries and stock levels.
    pub fn weights(&self) -> [u32; 5] {
        [
            self.new_order_weight,
            self.payment_weight,
            self.order_status_weight,
            self.delivery_weight,
            self.stock_level_weight,
        ]
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum TpccVariant {
    /// The specification's rules.
    #[default]
    Tpcc,
    /// Those of Percona's tpcc-mysql: any warehouse for each transaction, no terminals.
    TpccMysql,
    /// Those of HammerDB's TPROC-C: uniform items and customers, no foreign keys.
    TprocC,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TpccChoice {
    /// From a shuffled deck of 23: 10 new orders, 10 payments, and one of each of the others.
    #[default]
    Deck,
    /// By chance, in proportion to the weights.
    Weights,
}
