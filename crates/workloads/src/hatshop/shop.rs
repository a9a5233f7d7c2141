//! The catalogue, the clients, and what is in an order. All of it follows from seeds and numbers: an order is computed
//! again for each event.
use crate::rng::{Random, mix};
use bakeoff_model::run::hatshop::HatshopSpec;

/// A UUID of version 4, as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub [u8; 36]);

impl Id {
    /// From the stream that a seed stands for, never from the machine.
    fn draw(rng: &mut Random) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // Version 4, variant 1 (RFC 9562, section 5.4).
        let high = rng.bits() & !0xF000 | 0x4000;
        let low = rng.bits() & !(3 << 62) | 2 << 62;
        let (mut text, mut place) = ([b'-'; 36], 0);
        for shift in (0..64).step_by(4).rev() {
            text[place] = DIGITS[(high >> shift & 0xF) as usize];
            // Groups of 8, 4, 4, 4 and 12 digits.
            place += if matches!(place, 7 | 12) { 2 } else { 1 };
        }
        place = 19;
        for shift in (0..64).step_by(4).rev() {
            text[place] = DIGITS[(low >> shift & 0xF) as usize];
            place += if place == 22 { 2 } else { 1 };
        }
        Self(text)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Default for Id {
    fn default() -> Self {
        Self([b'0'; 36])
    }
}

impl std::fmt::Debug for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

#[derive(Debug)]
pub struct Product {
    pub id: Id,
    pub name: &'static str,
    /// In hundredths.
    pub weight: i64,
    pub price_cents: i64,
    pub colour: &'static str,
    pub size: &'static str,
}

#[derive(Debug)]
pub struct Person {
    pub id: Id,
    pub name: String,
    pub address: String,
    pub email: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line {
    pub id: Id,
    /// In the catalogue.
    pub product: u32,
    pub quantity: u32,
    pub price_cents: i64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    /// Loaded ones first, then those that events make, in the list's order.
    pub number: u64,
    pub id: Id,
    /// Among the clients.
    pub client: u32,
    pub lines: Vec<Line>,
    /// Of all lines.
    pub sub_total_cents: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    #[default]
    Ordered,
    Dispatched,
    OutForDelivery,
    Delivered,
}

impl Status {
    /// What an order's status may become.
    pub const LATER: [Status; 3] = [Status::Dispatched, Status::OutForDelivery, Status::Delivered];

    pub fn name(self) -> &'static str {
        match self {
            Status::Ordered => "ORDERED",
            Status::Dispatched => "DISPATCHED",
            Status::OutForDelivery => "OUT_FOR_DELIVERY",
            Status::Delivered => "DELIVERED",
        }
    }
}

/// Tell the random numbers of one kind of thing from those of another.
const OF_PRODUCTS: u64 = 0x70_726F_6475;
const OF_CLIENTS: u64 = 0x63_6C69_656E;
const OF_ORDERS: u64 = 0x6F_7264_6572;

#[derive(Debug)]
pub struct Shop {
    /// Of what is loaded.
    seed: u64,
    /// Of orders that events make.
    events_seed: u64,
    loaded: u64,
    lines_max: u64,
    pub products: Vec<Product>,
    pub clients: Vec<Person>,
}

impl Shop {
    /// `seed`: the run's, and the plan's in the phases before and after it.
    pub fn new(spec: &HatshopSpec, seed: u64) -> Self {
        let orders_seed = spec.orders_seed.unwrap_or(seed);
        let rng = |of: u64, number: u32| Random::new(mix(mix(orders_seed, of), number.into()));
        Self {
            seed: orders_seed,
            events_seed: seed,
            loaded: spec.orders,
            lines_max: spec.lines_max.into(),
            products: (0..spec.products)
                .map(|n| product(&mut rng(OF_PRODUCTS, n)))
                .collect(),
            clients: (0..spec.clients)
                .map(|n| person(&mut rng(OF_CLIENTS, n)))
                .collect(),
        }
    }

    /// The order of this number, into a buffer. About 20 ns, and 30 ns a line.
    pub fn order(&self, number: u64, order: &mut Order) {
        let seed = if number < self.loaded {
            self.seed
        } else {
            self.events_seed
        };
        let mut rng = Random::new(mix(mix(seed, OF_ORDERS), number));
        order.number = number;
        order.id = Id::draw(&mut rng);
        order.client = rng.below(self.clients.len() as u64) as u32;
        order.sub_total_cents = 0;
        order.lines.clear();
        for _ in 0..1 + rng.below(self.lines_max) {
            let (id, product) = (Id::draw(&mut rng), rng.below(self.products.len() as u64) as u32);
            let quantity = 1 + rng.below(10) as u32;
            let price_cents = self.products[product as usize].price_cents * i64::from(quantity);
            order.sub_total_cents += price_cents;
            order.lines.push(Line {
                id,
                product,
                quantity,
                price_cents,
            });
        }
    }

    pub fn product(&self, line: &Line) -> &Product {
        &self.products[line.product as usize]
    }

    pub fn client(&self, order: &Order) -> &Person {
        &self.clients[order.client as usize]
    }

    /// A buffer for any order.
    pub fn empty_order(&self) -> Order {
        Order {
            lines: Vec::with_capacity(self.lines_max as usize),
            ..Order::default()
        }
    }
}

fn one<T: Copy>(of: &[T], rng: &mut Random) -> T {
    of[rng.below(of.len() as u64) as usize]
}

fn product(rng: &mut Random) -> Product {
    Product {
        id: Id::draw(rng),
        name: one(&HATS, rng),
        weight: 5_000 + rng.below(95_001) as i64,
        price_cents: 100 + rng.below(9_901) as i64,
        colour: one(&COLOURS, rng),
        size: one(&SIZES, rng),
    }
}

fn person(rng: &mut Random) -> Person {
    let id = Id::draw(rng);
    let (first, last) = (one(&FIRST, rng), one(&LAST, rng));
    let (number, adjective, city) = (1 + rng.below(200), one(&ADJECTIVES, rng), one(&CITIES, rng));
    Person {
        id,
        name: format!("{first} {last}"),
        address: format!("{number}, {adjective} Street, {city}"),
        email: format!("{first}{last}@fakemail.com"),
    }
}

/// User bytes of an order without its status, and of a line without colour and size.
const ORDER_BYTES: u64 = 2 * 36 + 8 + 8;
const LINE_BYTES: u64 = 3 * 36 + 4 + 8;

pub fn order_bytes(status: Status) -> u64 {
    ORDER_BYTES + status.name().len() as u64
}

pub fn line_bytes(shop: &Shop, line: &Line) -> u64 {
    let product = shop.product(line);
    LINE_BYTES + (product.colour.len() + product.size.len()) as u64
}

// What hats, clients and streets are called.

pub const HATS: [&str; 10] = [
    "Beanie", "Flat", "Fedora", "Fez", "Cloche", "Pork Pie", "Bowler", "Top", "Trilby", "Tin Foil",
];
pub const COLOURS: [&str; 12] = [
    "Burnt Sienna",
    "Puce",
    "Teal",
    "Mauve",
    "Ochre",
    "Chartreuse",
    "Cerulean",
    "Taupe",
    "Vermilion",
    "Indigo",
    "Fawn",
    "Olive",
];
pub const SIZES: [&str; 6] = ["XS", "S", "M", "L", "XL", "XXL"];

pub const FIRST: [&str; 16] = [
    "Ada", "Ben", "Clara", "David", "Edith", "Frank", "Grace", "Henry", "Iris", "Jack", "Kate", "Liam",
    "Mary", "Noah", "Olive", "Paul",
];
pub const LAST: [&str; 16] = [
    "Archer", "Baker", "Carter", "Dyer", "Fisher", "Glover", "Hatter", "Joiner", "Mason", "Potter", "Sadler",
    "Smith", "Tanner", "Turner", "Weaver", "Wright",
];
pub const ADJECTIVES: [&str; 8] = ["Long", "Old", "New", "High", "Green", "Narrow", "Quiet", "Upper"];
pub const CITIES: [&str; 10] = [
    "London", "Leeds", "York", "Bath", "Bristol", "Exeter", "Derby", "Durham", "Oxford", "Luton",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_of_version_4() {
        let mut rng = Random::new(1);
        let ids: Vec<Id> = (0..1000).map(|_| Id::draw(&mut rng)).collect();
        for id in &ids {
            let groups: Vec<&str> = id.text().split('-').collect();
            assert_eq!(
                groups.iter().map(|group| group.len()).collect::<Vec<_>>(),
                [8, 4, 4, 4, 12]
            );
            assert!(
                groups.concat().bytes().all(|digit| digit.is_ascii_hexdigit()),
                "{id:?}"
            );
            assert!(
                groups[2].starts_with('4') && "89ab".contains(&groups[3][..1]),
                "{id:?}"
            );
        }
        let different: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len());
    }

    #[test]
    fn an_order_adds_up_and_is_the_same_whenever_it_is_asked_for() {
        let shop = Shop::new(&HatshopSpec::default(), 3);
        let (mut order, mut again) = (shop.empty_order(), shop.empty_order());
        for number in 0..2000 {
            shop.order(number, &mut order);
            let price = |line: &Line| shop.product(line).price_cents * i64::from(line.quantity);
            assert!(order.lines.iter().all(|line| line.price_cents == price(line)));
            assert_eq!(order.sub_total_cents, order.lines.iter().map(price).sum::<i64>());
            assert!((1..=10).contains(&order.lines.len()));
            shop.order(number, &mut again);
            assert_eq!(order, again);
        }
    }

    #[test]
    fn loaded_orders_keep_their_seed_whatever_events_are_drawn() {
        let spec = HatshopSpec {
            orders_seed: Some(7),
            ..HatshopSpec::default()
        };
        let (one, other) = (Shop::new(&spec, 1), Shop::new(&spec, 2));
        let order = |shop: &Shop, number| {
            let mut order = shop.empty_order();
            shop.order(number, &mut order);
            order
        };
        assert_eq!(order(&one, 499), order(&other, 499));
        assert_ne!(order(&one, 500), order(&other, 500));
    }
}
