//! The transactions, as the operations that are timed.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Transaction {
    NewOrder,
    /// Its last item is none, so it rolls back: known when its input is drawn, and a series of its own.
    NewOrderRollback,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Transaction {
    pub const COUNT: usize = 6;

    pub const ALL: [Self; Self::COUNT] = [
        Self::NewOrder,
        Self::NewOrderRollback,
        Self::Payment,
        Self::OrderStatus,
        Self::Delivery,
        Self::StockLevel,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "new_order",
            Self::NewOrderRollback => "new_order_rollback",
            Self::Payment => "payment",
            Self::OrderStatus => "order_status",
            Self::Delivery => "delivery",
            Self::StockLevel => "stock_level",
        }
    }
}
