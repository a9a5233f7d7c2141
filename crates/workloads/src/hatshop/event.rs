//! One event: what it is about, and its JSON.
use super::shop::{COLOURS, Id, Order, SIZES, Shop, Status};
use bakeoff_model::run::hatshop::HatshopSpec;
use bakeoff_model::workload::Operation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Create,
    Read,
    Update,
    UpdateAttribute,
    Delete,
}

impl Kind {
    pub const ALL: [Kind; 5] = [
        Kind::Create,
        Kind::Read,
        Kind::Update,
        Kind::UpdateAttribute,
        Kind::Delete,
    ];

    /// Of its operation.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Create => "create",
            Kind::Read => "read",
            Kind::Update => "update",
            Kind::UpdateAttribute => "update_attribute",
            Kind::Delete => "delete",
        }
    }

    pub fn operation(self) -> Operation {
        Operation::new(self.name()).reading_only(self == Kind::Read)
    }

    /// In JSON.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Create => "CREATE",
            Kind::Read => "READ",
            Kind::Update => "UPDATE",
            Kind::UpdateAttribute => "UPDATE_ATTRIBUTE",
            Kind::Delete => "DELETE",
        }
    }

    /// Its share of events, in whatever unit the mix has.
    pub fn share(self, spec: &HatshopSpec) -> f64 {
        match self {
            Kind::Create => spec.create,
            Kind::Read => spec.read,
            Kind::Update => spec.update,
            Kind::UpdateAttribute => spec.update_attribute,
            Kind::Delete => spec.delete,
        }
    }
}

/// A column of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    Colour(&'static str),
    Size(&'static str),
    Quantity(u32),
}

impl Attribute {
    /// Of these columns, in this order, one is written.
    pub const COLUMNS: [&'static str; 3] = ["colour", "size", "quantity"];

    pub fn column(self) -> usize {
        match self {
            Attribute::Colour(_) => 0,
            Attribute::Size(_) => 1,
            Attribute::Quantity(_) => 2,
        }
    }

    /// Equally often each column, and each value of it. `draw(n)`: a number below n.
    pub fn drawn(mut draw: impl FnMut(u64) -> u64) -> Self {
        match draw(3) {
            0 => Attribute::Colour(COLOURS[draw(COLOURS.len() as u64) as usize]),
            1 => Attribute::Size(SIZES[draw(SIZES.len() as u64) as usize]),
            _ => Attribute::Quantity(1 + draw(10) as u32),
        }
    }
}

/// An event with the order that it is about, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub kind: Kind,
    /// In the list, from 0.
    pub place: u64,
    pub order: Order,
    /// Of an update.
    pub status: Status,
    /// Of an update of an attribute: the line's place in the order, and what is written.
    pub line: usize,
    pub attribute: Attribute,
}

/// 2016-12-12 10:16:12 UTC, as in the article's example: the date of the first event, and each further one is a millisecond
/// later. Never the wall clock.
const FIRST_EVENT_MS: i64 = 1_481_537_772_610;

/// When an event happens.
pub fn date_ms(place: u64) -> i64 {
    FIRST_EVENT_MS + place as i64
}

/// Loaded orders were made before the first event, a millisecond from one to the next.
pub fn loaded_ms(order: u64, orders: u64) -> i64 {
    FIRST_EVENT_MS - (orders - order) as i64
}

impl Event {
    pub fn empty(shop: &Shop) -> Self {
        Self {
            kind: Kind::Read,
            place: 0,
            order: shop.empty_order(),
            status: Status::Ordered,
            line: 0,
            attribute: Attribute::Quantity(0),
        }
    }

    pub fn date_ms(&self) -> i64 {
        date_ms(self.place)
    }

    pub fn line_id(&self) -> Id {
        self.order
            .lines
            .get(self.line)
            .map(|line| line.id)
            .unwrap_or_default()
    }

    /// Its line of the list, with the line's end: the same bytes on any machine.
    pub fn write_json(&self, shop: &Shop, out: &mut Vec<u8>) {
        let order = &self.order;
        put(
            out,
            &[
                "{\"type\":\"",
                self.kind.word(),
                "\",\"data\":{\"id\":\"",
                order.id.text(),
                "\"",
            ],
        );
        match self.kind {
            Kind::Create => self.write_order(shop, out),
            Kind::Read | Kind::Delete => {}
            Kind::Update => {
                put(out, &[",\"status\":\"", self.status.name(), "\",\"subTotal\":"]);
                put_hundredths(out, order.sub_total_cents);
                put(out, &[",\"date\":"]);
                put_whole(out, self.date_ms());
            }
            Kind::UpdateAttribute => {
                let field = Attribute::COLUMNS[self.attribute.column()];
                put(
                    out,
                    &[
                        ",\"lineItemId\":\"",
                        self.line_id().text(),
                        "\",\"field\":\"",
                        field,
                        "\",\"value\":",
                    ],
                );
                match self.attribute {
                    Attribute::Colour(value) | Attribute::Size(value) => put(out, &["\"", value, "\""]),
                    Attribute::Quantity(value) => put_whole(out, value.into()),
                }
            }
        }
        put(out, &["}}\n"]);
    }

    fn write_order(&self, shop: &Shop, out: &mut Vec<u8>) {
        put(out, &[",\"lineItems\":["]);
        for (place, line) in self.order.lines.iter().enumerate() {
            let product = shop.product(line);
            put(
                out,
                &[
                    if place > 0 { ",{\"id\":\"" } else { "{\"id\":\"" },
                    line.id.text(),
                ],
            );
            put(
                out,
                &[
                    "\",\"product\":{\"id\":\"",
                    product.id.text(),
                    "\",\"productType\":\"HAT\",\"name\":\"",
                ],
            );
            put(out, &[product.name, "\",\"weight\":"]);
            put_hundredths(out, product.weight);
            put(out, &[",\"price\":"]);
            put_hundredths(out, product.price_cents);
            put(
                out,
                &[
                    ",\"colour\":\"",
                    product.colour,
                    "\",\"size\":\"",
                    product.size,
                    "\"},\"quantity\":",
                ],
            );
            put_whole(out, line.quantity.into());
            put(out, &[",\"linePrice\":"]);
            put_hundredths(out, line.price_cents);
            put(out, &["}"]);
        }
        let client = shop.client(&self.order);
        put(
            out,
            &[
                "],\"client\":{\"id\":\"",
                client.id.text(),
                "\",\"name\":\"",
                &client.name,
            ],
        );
        put(
            out,
            &[
                "\",\"address\":\"",
                &client.address,
                "\",\"email\":\"",
                &client.email,
                "\"},\"status\":\"",
            ],
        );
        put(out, &[Status::Ordered.name(), "\",\"subTotal\":"]);
        put_hundredths(out, self.order.sub_total_cents);
        put(out, &[",\"date\":"]);
        put_whole(out, self.date_ms());
    }
}

pub fn put(out: &mut Vec<u8>, texts: &[&str]) {
    texts
        .iter()
        .for_each(|text| out.extend_from_slice(text.as_bytes()));
}

pub fn put_whole(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// As the article's example has them: 594.81, 168.9, 57.0. None is negative.
pub fn put_hundredths(out: &mut Vec<u8>, hundredths: i64) {
    put_whole(out, hundredths / 100);
    let (tenth, last) = ((hundredths / 10 % 10) as u8, (hundredths % 10) as u8);
    out.extend_from_slice(&[b'.', b'0' + tenth]);
    if last > 0 {
        out.push(b'0' + last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_the_article() {
        for (hundredths, text) in [
            (59_481, "594.81"),
            (16_890, "168.9"),
            (5_700, "57.0"),
            (5, "0.05"),
            (10, "0.1"),
        ] {
            let mut out = vec![];
            put_hundredths(&mut out, hundredths);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }
}
