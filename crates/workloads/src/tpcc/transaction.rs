//! The transactions, as the operations that are timed.
use bakeoff_model::workload::Operation;

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

/// A district in which a delivery found no new order (clause 2.7.4.2): counted, for there must not be many.
pub const DISTRICT_SKIPPED: usize = Transaction::COUNT;

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

    /// By their places, and after them what a delivery may come to in parts.
    pub fn operations() -> Vec<Operation> {
        let mut all: Vec<Operation> = Self::ALL.map(Self::operation).into();
        all.push(Operation::part_of("district_skipped", Self::Delivery.name()));
        all
    }

    fn operation(self) -> Operation {
        let reads_only = matches!(self, Self::OrderStatus | Self::StockLevel);
        Operation::new(self.name()).reading_only(reads_only)
    }

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
