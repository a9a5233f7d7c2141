//! Where the variants' transactions part from the specification's (their own rules are those of the tools in the field).
use bakeoff_model::run::tpcc::{TpccSpec, TpccVariant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A terminal belongs to no warehouse: each transaction draws one.
    pub any_warehouse: bool,
    /// Lines are numbered in the order of their stock.
    pub sorts_lines: bool,
    /// Stock is read as it will be written: locked.
    pub locks_stock: bool,
    /// S_YTD, S_ORDER_CNT and S_REMOTE_CNT are kept.
    pub counts_stock: bool,
    /// S_QUANTITY that an order has to leave, or else it is filled up.
    pub stock_left_min: i64,
    /// OL_AMOUNT is less the discount, and with taxes.
    pub taxes_lines: bool,
    /// H_AMOUNT has no cents.
    pub pays_whole_amounts: bool,
    /// C_BALANCE grows by what is paid.
    pub adds_payments: bool,
    /// C_YTD_PAYMENT and C_PAYMENT_CNT are kept.
    pub counts_payments: bool,
    /// A district's oldest new order is read as it will be deleted: locked.
    pub locks_new_orders: bool,
    /// C_DELIVERY_CNT is kept.
    pub counts_deliveries: bool,
}

const SPECIFICATION: Rules = Rules {
    any_warehouse: false,
    sorts_lines: false,
    locks_stock: true,
    counts_stock: true,
    stock_left_min: 10,
    taxes_lines: false,
    pays_whole_amounts: false,
    adds_payments: false,
    counts_payments: true,
    locks_new_orders: true,
    counts_deliveries: true,
};

impl Rules {
    pub fn of(variant: TpccVariant) -> Self {
        match variant {
            TpccVariant::Tpcc => SPECIFICATION,
            TpccVariant::TpccMysql => Self {
                any_warehouse: true,
                sorts_lines: true,
                counts_stock: false,
                stock_left_min: 1,
                taxes_lines: true,
                pays_whole_amounts: true,
                counts_payments: false,
                locks_new_orders: false,
                ..SPECIFICATION
            },
            TpccVariant::TprocC => Self {
                locks_stock: false,
                counts_stock: false,
                adds_payments: true,
                counts_payments: false,
                counts_deliveries: false,
                ..SPECIFICATION
            },
        }
    }
}

// How many rows of each table there are: those of the specification (clause 1.2.1), or a tenth of them.

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
