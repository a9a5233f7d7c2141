//! Where the variants' transactions part from the specification's (their own rules are those of the tools in the field).
use bakeoff_model::run::tpcc::TpccVariant;

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
