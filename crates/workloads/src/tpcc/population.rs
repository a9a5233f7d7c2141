//! What is in the loaded rows (clause 4.3.3). A row follows from the seed, its table, its warehouse and its place there, so
//! it is the same whoever loads it.
use super::random::{Draws, LastName, digits, letters};
use super::rules::{DISTRICTS, LINES_MAX, LINES_MIN, Sizes};
use super::schema::Table;
use crate::keys::Permutation;
use crate::prelude::*;
use crate::rng::{Random, mix};
use bakeoff_model::run::tpcc::TpccVariant;

/// C_SINCE, H_DATE, O_ENTRY_D and OL_DELIVERY_D: 2026-01-01. The specification has the time of the load, by which two loads
/// would differ.
const LOADED_AT: Timestamp = Timestamp {
    us: 1_767_225_600_000_000,
};
/// One in this many items and stocks is an original.
const ORIGINAL_ONE_OF: u64 = 10;
/// In cents; W_YTD and D_YTD are their sums.
const PAID_BY_EACH: i64 = 1_000;

/// Where the variants part in what they load.
#[derive(Clone, Copy, Debug)]
struct Rules {
    bad_credit_percent: u64,
    /// Lowest, highest and step, in 1/10000.
    tax: [u64; 3],
    discount: [u64; 3],
    /// In cents, of lines that have been delivered and of those that wait.
    delivered_amount: [u64; 3],
    amount: [u64; 3],
    original: &'static [u8],
}

impl Rules {
    fn of(variant: TpccVariant) -> Self {
        let specification = Self {
            bad_credit_percent: 10,
            tax: [0, 2_000, 1],
            discount: [0, 5_000, 1],
            delivered_amount: [0, 0, 1],
            amount: [1, 999_999, 1],
            original: b"ORIGINAL",
        };
        match variant {
            TpccVariant::Tpcc => specification,
            TpccVariant::TpccMysql => Self {
                bad_credit_percent: 50,
                tax: [1_000, 2_000, 100],
                discount: [0, 5_000, 100],
                amount: [10, 10_000, 1],
                original: b"original",
                ..specification
            },
            // The amounts of delivered lines and of those that wait have changed places.
            TpccVariant::TprocC => Self {
                bad_credit_percent: 50,
                delivered_amount: specification.amount,
                amount: specification.delivered_amount,
                ..specification
            },
        }
    }
}

#[derive(Clone, Debug)]
pub struct Population {
    rules: Rules,
    sizes: Sizes,
    draws: Draws,
    seed: u64,
    /// Of a district's customers over its orders, from a place of the district's own.
    customers: Permutation,
}

impl Population {
    pub fn new(variant: TpccVariant, sizes: Sizes, draws: Draws, seed: u64) -> Self {
        Self {
            rules: Rules::of(variant),
            sizes,
            draws,
            seed,
            customers: Permutation::new(sizes.customers),
        }
    }

    /// Row `index`, from 0, of those that a warehouse has of a table; of items, which are nobody's, `warehouse` is 0. Cells
    /// in the order of the columns.
    pub fn fill(&self, table: Table, warehouse: u64, index: u64, row: &mut RowBuf) {
        let mut draw = Row {
            rng: self.random(table, warehouse, index),
            row,
        };
        match table {
            Table::Warehouse => self.warehouse(warehouse, &mut draw),
            Table::District => self.district(warehouse, index, &mut draw),
            Table::Customer => self.customer(warehouse, index, &mut draw),
            Table::History => self.history(warehouse, index, &mut draw),
            Table::NewOrders => self.new_order(warehouse, index, &mut draw),
            Table::Orders => self.order(warehouse, index, &mut draw),
            Table::OrderLine => self.order_line(warehouse, index, &mut draw),
            Table::Stock => self.stock(warehouse, index, &mut draw),
            Table::Item => self.item(index, &mut draw),
        }
    }

    fn random(&self, table: Table, warehouse: u64, index: u64) -> Random {
        Random::new(mix(mix(mix(self.seed, table as u64), warehouse), index))
    }

    fn item(&self, index: u64, row: &mut Row<'_>) {
        row.int(index + 1);
        row.int_in(1, 10_000);
        row.text(14, 24);
        row.decimal_in([100, 10_000, 1], 2);
        row.data(self.rules.original);
    }

    fn warehouse(&self, warehouse: u64, row: &mut Row<'_>) {
        row.int(warehouse);
        row.text(6, 10);
        row.address();
        row.decimal_in(self.rules.tax, 4);
        row.cents(PAID_BY_EACH * (DISTRICTS * self.sizes.customers) as i64);
    }

    fn district(&self, warehouse: u64, index: u64, row: &mut Row<'_>) {
        row.int(index + 1);
        row.int(warehouse);
        row.text(6, 10);
        row.address();
        row.decimal_in(self.rules.tax, 4);
        row.cents(PAID_BY_EACH * self.sizes.customers as i64);
        row.int(self.sizes.orders + 1);
    }

    fn customer(&self, warehouse: u64, index: u64, row: &mut Row<'_>) {
        let (district, place) = split(index, self.sizes.customers);
        row.int(place + 1);
        row.int(district);
        row.int(warehouse);
        row.text(8, 16);
        row.push(b"OE");
        let name = match place < self.sizes.last_names {
            true => place,
            false => self.draws.loaded_last_name.draw(&mut row.rng),
        };
        row.push(LastName::new(name).as_bytes());
        row.address();
        row.digits(16);
        row.moment();
        let is_bad = row.rng.below(100) < self.rules.bad_credit_percent;
        row.push(if is_bad { b"BC" } else { b"GC" });
        row.cents(5_000_000);
        row.decimal_in(self.rules.discount, 4);
        row.cents(-PAID_BY_EACH);
        row.cents(PAID_BY_EACH);
        row.int(1);
        row.int(0);
        row.text(300, 500);
    }

    fn history(&self, warehouse: u64, index: u64, row: &mut Row<'_>) {
        let (district, place) = split(index, self.sizes.customers);
        row.int(place + 1);
        row.int(district);
        row.int(warehouse);
        row.int(district);
        row.int(warehouse);
        row.moment();
        row.cents(PAID_BY_EACH);
        row.text(12, 24);
    }

    fn new_order(&self, warehouse: u64, index: u64, row: &mut Row<'_>) {
        let (district, place) = split(index, self.sizes.new_orders);
        row.int(self.sizes.delivered() + place + 1);
        row.int(district);
        row.int(warehouse);
    }

    fn order(&self, warehouse: u64, index: u64, row: &mut Row<'_>) {
        let (district, place) = split(index, self.sizes.orders);
        row.int(place + 1);
        row.int(district);
        row.int(warehouse);
        row.int(self.customer_of(warehouse, district, place) + 1);
        row.moment();
        match place < self.sizes.delivered() {
            true => row.int_in(1, 10),
            false => row.null(),
        }
        let first = self.lines_of_first(warehouse, district, place / 2);
        let lines = match place % 2 {
            0 => first,
            _ => LINES_OF_TWO - first,
        };
        row.int(lines);
        row.int(1);
    }

    fn order_line(&self, warehouse: u64, index: u64, row: &mut Row<'_>) {
        let (district, place) = split(index, self.sizes.lines());
        let (two, line) = (place / LINES_OF_TWO, place % LINES_OF_TWO);
        let first = self.lines_of_first(warehouse, district, two);
        let (order, number) = match line < first {
            true => (2 * two, line),
            false => (2 * two + 1, line - first),
        };
        let is_delivered = order < self.sizes.delivered();
        row.int(order + 1);
        row.int(district);
        row.int(warehouse);
        row.int(number + 1);
        row.int_in(1, self.sizes.items);
        row.int(warehouse);
        match is_delivered {
            true => row.moment(),
            false => row.null(),
        }
        row.int(5);
        match is_delivered {
            true => row.decimal_in(self.rules.delivered_amount, 2),
            false => row.decimal_in(self.rules.amount, 2),
        }
        row.text(24, 24);
    }

    fn stock(&self, warehouse: u64, index: u64, row: &mut Row<'_>) {
        row.int(index + 1);
        row.int(warehouse);
        row.int_in(10, 100);
        for _ in 0..DISTRICTS {
            row.text(24, 24);
        }
        row.int(0);
        row.int(0);
        row.int(0);
        row.data(self.rules.original);
    }

    /// Every customer of a district has one of its orders.
    fn customer_of(&self, warehouse: u64, district: u64, place: u64) -> u64 {
        let first = mix(mix(self.seed, warehouse), district) % self.sizes.customers;
        self.customers.of((place + first) % self.sizes.customers)
    }

    /// Lines of the first of two orders. The second has what is left of twenty, so that each has from 5 to 15, every number
    /// equally often, and the lines before an order can be counted without looking at the orders.
    fn lines_of_first(&self, warehouse: u64, district: u64, two: u64) -> u64 {
        let place = mix(mix(warehouse, district), two);
        let mut rng = Random::new(mix(self.seed, place));
        LINES_MIN + rng.below(LINES_MAX - LINES_MIN + 1)
    }
}

const LINES_OF_TWO: u64 = LINES_MIN + LINES_MAX;

/// The district, from 1, and the place in it, from 0.
fn split(index: u64, of_district: u64) -> (u64, u64) {
    (1 + index / of_district, index % of_district)
}

/// A row that is being filled, and what its values are drawn from.
struct Row<'a> {
    rng: Random,
    row: &'a mut RowBuf,
}

impl Row<'_> {
    fn int(&mut self, value: u64) {
        self.row.push(Value::Int(value as i64));
    }

    fn int_in(&mut self, first: u64, last: u64) {
        let value = first + self.rng.below(last - first + 1);
        self.int(value);
    }

    fn null(&mut self) {
        self.row.push(Value::Null);
    }

    fn moment(&mut self) {
        self.row.push(Value::Timestamp(LOADED_AT));
    }

    fn cents(&mut self, units: i64) {
        self.row.push(Value::Decimal(Decimal { units, scale: 2 }));
    }

    fn decimal_in(&mut self, [lowest, highest, step]: [u64; 3], scale: u8) {
        let units = lowest + step * self.rng.below((highest - lowest) / step + 1);
        let units = units as i64;
        self.row.push(Value::Decimal(Decimal { units, scale }));
    }

    fn push(&mut self, text: &[u8]) {
        self.row.push(Value::Text(text));
    }

    /// An a-string.
    fn text(&mut self, shortest: u64, longest: u64) {
        let mut text = [0; 500];
        let text = self.draw(&mut text, shortest, longest);
        self.row.push(Value::Text(text));
    }

    fn draw<'t>(&mut self, text: &'t mut [u8], shortest: u64, longest: u64) -> &'t mut [u8] {
        let length = shortest + self.rng.below(longest - shortest + 1);
        let text = &mut text[..length as usize];
        letters(text, &mut self.rng);
        text
    }

    fn digits(&mut self, length: usize) {
        let mut text = [0; 16];
        digits(&mut text[..length], &mut self.rng);
        self.row.push(Value::Text(&text[..length]));
    }

    /// I_DATA and S_DATA: some have a word in them, anywhere.
    fn data(&mut self, original: &[u8]) {
        let mut text = [0; 50];
        let text = self.draw(&mut text, 26, 50);
        if self.rng.below(ORIGINAL_ONE_OF) == 0 {
            let start = self.rng.below((text.len() - original.len()) as u64 + 1) as usize;
            text[start..start + original.len()].copy_from_slice(original);
        }
        self.row.push(Value::Text(text));
    }

    /// Two streets, city, state and ZIP code.
    fn address(&mut self) {
        for _ in 0..3 {
            self.text(10, 20);
        }
        self.text(2, 2);
        let mut zip = *b"000011111";
        digits(&mut zip[..4], &mut self.rng);
        self.push(&zip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::tpcc::TpccSpec;
    use std::collections::HashSet;

    fn population(variant: TpccVariant) -> Population {
        let spec = TpccSpec {
            variant,
            mini: true,
            ..TpccSpec::default()
        };
        let sizes = Sizes::new(&spec);
        Population::new(variant, sizes, Draws::new(&spec, &sizes, 7), 7)
    }

    /// All rows of a table in warehouse 1, each as a function of its cells.
    fn of_rows<T>(population: &Population, table: Table, each: impl Fn(&RowBuf) -> T) -> Vec<T> {
        let mut row = RowBuf::default();
        let rows = 0..table.rows(&population.sizes);
        rows.map(|index| {
            row.clear();
            population.fill(table, 1, index, &mut row);
            each(&row)
        })
        .collect()
    }

    fn int(row: &RowBuf, cell: usize) -> i64 {
        row.cell(cell).and_then(Value::whole_number).unwrap()
    }

    fn text(row: &RowBuf, cell: usize) -> &[u8] {
        row.cell(cell).and_then(Value::bytes).unwrap()
    }

    #[test]
    fn a_row_has_a_cell_for_each_column_and_fits_into_it() {
        let population = population(TpccVariant::Tpcc);
        for table in Table::ALL {
            of_rows(&population, table, |row| {
                assert_eq!(row.len(), table.columns().len(), "{table:?}");
                for ((name, kind), cell) in table.columns().iter().zip(row.cells()) {
                    let sizes = kind.split_once('(').map_or("", |(_, sizes)| sizes);
                    let length = || sizes.trim_end_matches(')').parse::<usize>().unwrap();
                    match cell {
                        Value::Text(text) if kind.starts_with("CHAR") => {
                            assert_eq!(text.len(), length(), "{name}")
                        }
                        Value::Text(text) => assert!(text.len() <= length(), "{name}"),
                        _ => {}
                    }
                }
            });
        }
    }

    #[test]
    fn every_customer_of_a_district_has_one_order_and_each_order_its_lines() {
        let population = population(TpccVariant::Tpcc);
        let orders = of_rows(&population, Table::Orders, |row| {
            (
                (int(row, 1), int(row, 0)),
                int(row, 3),
                int(row, 6),
                row.cell(5) == Some(Value::Null),
            )
        });
        let customers: HashSet<_> = orders
            .iter()
            .map(|((district, _), customer, ..)| (district, customer))
            .collect();
        assert_eq!(customers.len(), orders.len());
        let lines = of_rows(&population, Table::OrderLine, |row| {
            (
                (int(row, 1), int(row, 0)),
                int(row, 3),
                row.cell(6) == Some(Value::Null),
            )
        });
        let mut of_orders = orders
            .iter()
            .flat_map(|(order, _, count, waits)| (1..=*count).map(move |number| (*order, number, *waits)));
        assert!(lines.into_iter().all(|line| Some(line) == of_orders.next()));
        assert_eq!(of_orders.next(), None);
        let mut counts = [0; 16];
        orders
            .iter()
            .for_each(|(_, _, count, _)| counts[*count as usize] += 1);
        // 3000 orders over eleven numbers: 273 each, and five standard deviations of it.
        assert!(
            counts[5..].iter().all(|count| (193..353).contains(count)),
            "{counts:?}"
        );
        assert_eq!(counts[..5], [0; 5]);
    }

    #[test]
    fn a_tenth_is_original_or_of_bad_credit_and_half_are_of_bad_credit_in_the_field() {
        let share = |variant, table, is: fn(&RowBuf) -> bool| {
            let found = of_rows(&population(variant), table, is);
            found.iter().filter(|is| **is).count() as f64 / found.len() as f64
        };
        let original = |row: &RowBuf| text(row, 4).windows(8).any(|word| word == b"ORIGINAL");
        let bad = |row: &RowBuf| text(row, 13) == b"BC";
        let near =
            |share: f64, expected: f64| assert!((share - expected).abs() < 0.05, "{share} of {expected}");
        near(share(TpccVariant::Tpcc, Table::Item, original), 0.1);
        near(share(TpccVariant::TpccMysql, Table::Item, original), 0.0);
        near(share(TpccVariant::Tpcc, Table::Customer, bad), 0.1);
        near(share(TpccVariant::TpccMysql, Table::Customer, bad), 0.5);
        near(share(TpccVariant::TprocC, Table::Customer, bad), 0.5);
    }

    #[test]
    fn a_row_is_the_same_again_and_another_than_the_next() {
        let population = population(TpccVariant::Tpcc);
        let data = || of_rows(&population, Table::Stock, |row| text(row, 16).to_vec());
        let (first, again) = (data(), data());
        assert_eq!(first, again);
        assert_eq!(first.iter().collect::<HashSet<_>>().len(), first.len());
    }
}
