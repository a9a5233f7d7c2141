//! How many rows of each table there are: those of the specification (clause 1.2.1), or a tenth of them.
use bakeoff_model::run::tpcc::TpccSpec;

/// Of a warehouse.
pub const DISTRICTS: u64 = 10;
/// Lines of an order.
pub const LINES_MIN: u64 = 5;
pub const LINES_MAX: u64 = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub warehouses: u64,
    /// Of all warehouses together; each has a stock of every one.
    pub items: u64,
    /// Of a district.
    pub customers: u64,
    /// Loaded, of a district: as many as customers, each of whom has one.
    pub orders: u64,
    /// Loaded, of a district: the last of its orders, which wait for their delivery.
    pub new_orders: u64,
    /// Last names that customers have.
    pub last_names: u64,
    /// NURand's constant A for customers and items (clause 2.1.6).
    pub customer_a: u64,
    pub item_a: u64,
}

impl Sizes {
    pub fn new(spec: &TpccSpec) -> Self {
        let full = Self {
            warehouses: spec.warehouses.into(),
            items: 100_000,
            customers: 3_000,
            orders: 3_000,
            new_orders: 900,
            last_names: 1_000,
            customer_a: 1023,
            item_a: 8191,
        };
        if !spec.mini {
            return full;
        }
        Self {
            items: full.items / 10,
            customers: full.customers / 10,
            orders: full.orders / 10,
            new_orders: full.new_orders / 10,
            last_names: full.last_names / 10,
            customer_a: 127,
            item_a: 1023,
            ..full
        }
    }

    pub fn districts(&self) -> u64 {
        self.warehouses * DISTRICTS
    }

    /// Loaded orders of a district that have been delivered: the first ones.
    pub fn delivered(&self) -> u64 {
        self.orders - self.new_orders
    }

    /// Loaded lines of a district: ten of an order in the mean, and exactly so of each two orders.
    pub fn lines(&self) -> u64 {
        self.orders * (LINES_MIN + LINES_MAX) / 2
    }
}
