//! What a terminal's user enters (clauses 2.4.1 to 2.8.1): drawn once for an operation, whatever its attempts.
use super::random::{Draws, LastName};
use super::rules::{DISTRICTS, LINES_MAX, LINES_MIN, Rules, Sizes};
use super::terminal::Terminal;
use super::transaction::Transaction;
use crate::rng::{Random, StreamHash};
use bakeoff_model::run::tpcc::TpccSpec;

const LINES: usize = LINES_MAX as usize;
const THRESHOLD_MIN: u64 = 10;
const THRESHOLD_MAX: u64 = 20;
const QUANTITY_MAX: u64 = 10;
const CARRIERS: u64 = 10;
/// In a hundred.
const REMOTE_LINES: u64 = 1;
const REMOTE_PAYMENTS: u64 = 15;
const BY_NAME: u64 = 60;

/// Ids as statements take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct District {
    pub warehouse: i64,
    pub district: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Customer {
    Id(i64),
    Name(LastName),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub item: u32,
    /// The warehouse that it comes from.
    pub supply: u32,
    pub quantity: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    pub place: District,
    pub customer: i64,
    pub count: usize,
    lines: [Line; LINES],
    /// Places of lines in the order of their stock, in which everybody locks it.
    by_stock: [u8; LINES],
    /// The last item is none.
    pub rolls_back: bool,
}

impl NewOrder {
    #[inline]
    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    #[inline]
    pub fn by_stock(&self) -> &[u8] {
        &self.by_stock[..self.count]
    }

    pub fn is_local(&self) -> bool {
        self.lines()
            .iter()
            .all(|line| i64::from(line.supply) == self.place.warehouse)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    pub place: District,
    /// Where the customer belongs.
    pub home: District,
    pub customer: Customer,
    pub amount_cents: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus { home: District, customer: Customer },
    Delivery { warehouse: i64, carrier: i64 },
    StockLevel { place: District, threshold: i64 },
}

impl Input {
    pub fn reads_only(&self) -> bool {
        matches!(self, Self::OrderStatus { .. } | Self::StockLevel { .. })
    }

    /// All of it in one number.
    #[cold]
    pub fn digest(&self) -> u64 {
        let mut digest = StreamHash::default();
        let mut add = |numbers: &[i64]| numbers.iter().for_each(|number| digest.add([*number as u64]));
        match self {
            Self::NewOrder(NewOrder { place, customer, .. }) => {
                add(&[place.warehouse, place.district, *customer])
            }
            Self::Payment(payment) => {
                let Payment { place, home, .. } = payment;
                add(&[
                    place.warehouse,
                    place.district,
                    home.warehouse,
                    home.district,
                    payment.amount_cents,
                ]);
            }
            Self::OrderStatus { home, .. } => add(&[home.warehouse, home.district]),
            Self::Delivery { warehouse, carrier } => add(&[*warehouse, *carrier]),
            Self::StockLevel { place, threshold } => add(&[place.warehouse, place.district, *threshold]),
        }
        match self {
            Self::NewOrder(order) => {
                for line in order.lines() {
                    add(&[line.item, line.supply, line.quantity].map(i64::from));
                }
            }
            Self::Payment(Payment { customer, .. }) | Self::OrderStatus { customer, .. } => match customer {
                Customer::Id(id) => add(&[*id]),
                Customer::Name(name) => name.as_bytes().iter().for_each(|byte| add(&[(*byte).into()])),
            },
            Self::Delivery { .. } | Self::StockLevel { .. } => {}
        }
        digest.value()
    }
}

/// What inputs are drawn from.
#[derive(Clone, Debug)]
pub struct Inputs {
    warehouses: u64,
    items: u64,
    draws: Draws,
    rules: Rules,
    rollback_ratio: f64,
}

impl Inputs {
    pub fn new(spec: &TpccSpec, sizes: &Sizes, draws: &Draws, rules: Rules) -> Self {
        Self {
            warehouses: sizes.warehouses,
            items: sizes.items,
            draws: *draws,
            rules,
            rollback_ratio: spec.rollback_ratio,
        }
    }

    /// Of a new order some 60 draws, about 150 ns; of the others about 20 ns.
    #[inline]
    pub fn draw(&self, transaction: Transaction, terminal: &Terminal, rng: &mut Random) -> Input {
        let warehouse = match self.rules.any_warehouse {
            true => 1 + rng.below(self.warehouses) as i64,
            false => terminal.warehouse(rng),
        };
        match transaction {
            Transaction::NewOrder | Transaction::NewOrderRollback => {
                Input::NewOrder(self.new_order(warehouse, rng))
            }
            Transaction::Payment => Input::Payment(self.payment(warehouse, rng)),
            Transaction::OrderStatus => Input::OrderStatus {
                home: any_district(warehouse, rng),
                customer: self.customer(rng),
            },
            Transaction::Delivery => Input::Delivery {
                warehouse,
                carrier: 1 + rng.below(CARRIERS) as i64,
            },
            Transaction::StockLevel => Input::StockLevel {
                place: match self.rules.any_warehouse {
                    true => any_district(warehouse, rng),
                    false => District {
                        warehouse,
                        district: terminal.district,
                    },
                },
                threshold: between(THRESHOLD_MIN, THRESHOLD_MAX, rng),
            },
        }
    }

    fn new_order(&self, warehouse: i64, rng: &mut Random) -> NewOrder {
        let mut order = NewOrder {
            place: any_district(warehouse, rng),
            customer: self.draws.customer.draw(rng) as i64,
            count: between(LINES_MIN, LINES_MAX, rng) as usize,
            lines: [Line::default(); LINES],
            by_stock: std::array::from_fn(|place| place as u8),
            rolls_back: rng.unit() < self.rollback_ratio,
        };
        for line in &mut order.lines[..order.count] {
            *line = Line {
                item: self.draws.item.draw(rng) as u32,
                supply: match rng.below(100) < REMOTE_LINES {
                    true => self.other_warehouse(warehouse, rng),
                    false => warehouse,
                } as u32,
                quantity: between(1, QUANTITY_MAX, rng) as u32,
            };
        }
        if order.rolls_back {
            order.lines[order.count - 1].item = self.items as u32 + 1;
        }
        let by_stock = |line: &Line| (line.supply, line.item);
        if self.rules.sorts_lines {
            order.lines[..order.count].sort_unstable_by_key(by_stock);
        }
        let lines = order.lines;
        order.by_stock[..order.count].sort_unstable_by_key(|place| by_stock(&lines[usize::from(*place)]));
        order
    }

    fn payment(&self, warehouse: i64, rng: &mut Random) -> Payment {
        let place = any_district(warehouse, rng);
        let home = match self.warehouses > 1 && rng.below(100) < REMOTE_PAYMENTS {
            true => any_district(self.other_warehouse(warehouse, rng), rng),
            false => place,
        };
        Payment {
            place,
            home,
            customer: self.customer(rng),
            amount_cents: match self.rules.pays_whole_amounts {
                true => between(1, 5_000, rng) * 100,
                false => between(100, 500_000, rng),
            },
        }
    }

    fn customer(&self, rng: &mut Random) -> Customer {
        match rng.below(100) < BY_NAME {
            true => Customer::Name(LastName::new(self.draws.last_name.draw(rng))),
            false => Customer::Id(self.draws.customer.draw(rng) as i64),
        }
    }

    /// Evenly among all but this one; where there is one only, that.
    fn other_warehouse(&self, warehouse: i64, rng: &mut Random) -> i64 {
        if self.warehouses == 1 {
            return warehouse;
        }
        let other = 1 + rng.below(self.warehouses - 1) as i64;
        other + i64::from(other >= warehouse)
    }
}

fn any_district(warehouse: i64, rng: &mut Random) -> District {
    District {
        warehouse,
        district: between(1, DISTRICTS, rng),
    }
}

/// Both ends included.
#[inline]
fn between(first: u64, last: u64, rng: &mut Random) -> i64 {
    (first + rng.below(last - first + 1)) as i64
}

#[cfg(test)]
mod tests;
