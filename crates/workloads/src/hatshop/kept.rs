//! What no event can have changed of a loaded order, in one number: added up over its rows, which may come in any order.
use super::event::Kind;
use super::requests::{line_values, order_values};
use super::shop::{Order, Shop};
use crate::money::units;
use bakeoff_model::run::hatshop::HatshopSpec;
use bakeoff_model::value::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub status: bool,
    pub attributes: bool,
    /// Whether no order is deleted.
    pub orders: bool,
}

impl Kept {
    /// A file of events has those that it has, whatever their shares are.
    pub fn by(spec: &HatshopSpec, after_run: bool) -> Self {
        let keeps = |kind: Kind| !after_run || spec.events_file.is_none() && kind.share(spec) == 0.0;
        Self {
            status: keeps(Kind::Update),
            attributes: keeps(Kind::UpdateAttribute),
            orders: keeps(Kind::Delete),
        }
    }

    /// Of an order's row; `cell`: by its place in [`super::statements::ORDER_COLUMNS`].
    pub fn order<'a>(self, cell: impl Fn(usize) -> Option<Value<'a>>) -> u64 {
        let text = |place| cell(place).and_then(Value::bytes);
        let status = text(3).filter(|_| self.status);
        hash((text(0), text(1), status, units(cell(4), 2)))
    }

    /// Of a line's row; `cell`: by its place in [`super::statements::LINE_COLUMNS`].
    pub fn line<'a>(self, cell: impl Fn(usize) -> Option<Value<'a>>) -> u64 {
        let text = |place| cell(place).and_then(Value::bytes);
        let quantity = cell(5).and_then(Value::whole_number);
        let attributes = self.attributes.then_some((text(3), text(4), quantity));
        hash((text(0), text(1), text(2), attributes, units(cell(6), 2)))
    }

    /// Of all rows of an order as it was loaded.
    pub fn loaded(self, shop: &Shop, order: &Order) -> u64 {
        let cells = order_values(shop, order, 0);
        let own = self.order(|place| cells.get(place).copied());
        let lines = order.lines.iter().map(|line| {
            let cells = line_values(shop, order, line);
            self.line(|place| cells.get(place).copied())
        });
        lines.fold(own, u64::wrapping_add)
    }

    /// "client, sub_total, products and prices as loaded"
    pub fn words(self) -> String {
        let status = if self.status { ", status" } else { "" };
        let attributes = if self.attributes {
            ", colours, sizes, quantities"
        } else {
            ""
        };
        format!("client, sub_total{status}, products{attributes} and prices as loaded")
    }
}

fn hash(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::hatshop::EventsFile;

    fn only_reads() -> HatshopSpec {
        HatshopSpec {
            create: 0.0,
            update: 0.0,
            update_attribute: 0.0,
            delete: 0.0,
            ..HatshopSpec::default()
        }
    }

    #[test]
    fn events_change_what_they_have_a_share_for_and_those_of_a_file_anything() {
        let kept = |status, attributes, orders| Kept {
            status,
            attributes,
            orders,
        };
        let mut spec = only_reads();
        assert_eq!(Kept::by(&HatshopSpec::default(), false), kept(true, true, true));
        assert_eq!(Kept::by(&spec, true), kept(true, true, true));
        spec.update = 1.0;
        assert_eq!(Kept::by(&spec, true), kept(false, true, true));
        spec.events_file = Some(EventsFile {
            name: "events".into(),
            path: "/events".into(),
        });
        assert_eq!(Kept::by(&spec, true), kept(false, false, false));
    }

    #[test]
    fn a_cell_makes_a_difference_unless_an_event_may_have_written_it() {
        let shop = Shop::new(&only_reads(), 1);
        let mut order = shop.empty_order();
        shop.order(7, &mut order);
        let line = line_values(&shop, &order, &order.lines[0]);
        let changed = |kept: Kept, column: usize| {
            let other = |place: usize| match place == column {
                true => Some(Value::Text(b"1000")),
                false => line.get(place).copied(),
            };
            kept.line(other) != kept.line(|place| line.get(place).copied())
        };
        let all = Kept::by(&only_reads(), true);
        assert!((0..line.len()).all(|column| changed(all, column)));
        let some = Kept {
            attributes: false,
            ..all
        };
        let found: Vec<usize> = (0..line.len()).filter(|column| changed(some, *column)).collect();
        assert_eq!(found, [0, 1, 2, 6]);
    }
}
