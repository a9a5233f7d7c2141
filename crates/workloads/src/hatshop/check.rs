//! Invariants of the data. Both tables, or all documents, are read whole and added up here, the same on every system: not all
//! can join tables.
use super::documents::{each_line, look_up, order_cells};
use super::event::Kind;
use super::known::Known;
use super::requests::{line_values, order_values};
use super::schema::{LINE_COLUMNS, LINES, ORDER_COLUMNS, ORDERS};
use super::shop::{Id, Order, Shop};
use super::statements::prepare;
use super::thread::{Evidence, Together, orders_after};
use super::{Hatshop, Store};
use crate::account::in_words;
use crate::faults::Faults;
use crate::numbers::{money, units};
use crate::prelude::*;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::run::hatshop::HatshopSpec;
use bakeoff_model::value::Value;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// An order as its rows tell.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// `None`: there are lines, and no order. The inner one: it is no such number.
    sub_total_cents: Option<Option<i64>>,
    sum_cents: i64,
    lines: u64,
    /// See [`Kept`].
    kept: u64,
}

impl Sums {
    fn keep(&mut self, hash: u64) {
        self.kept = self.kept.wrapping_add(hash);
    }
}

impl Hatshop {
    pub(super) async fn checks(
        &self,
        session: &mut Store,
        done: &[Option<Evidence>],
        spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        let kept = Kept::by(&self.spec, spec.after_run);
        let sums = match session {
            Store::Tables(session) => {
                prepare(session, &self.spec).await?;
                self.read_sums(session, kept).await?
            }
            Store::Documents(session) => self.sums_of_documents(session, kept).await?,
        };
        let mut checks = vec![check_sums(&sums)];
        if matches!(session, Store::Tables(_)) {
            checks.push(check_orphans(&sums));
        }
        checks.push(self.check_orders(&sums, done));
        if spec.sample > 0 {
            checks.push(self.check_sample(session, spec, kept, &sums).await?);
        }
        Ok(checks)
    }

    async fn read_sums(&self, session: &mut AnySql, kept: Kept) -> Result<HashMap<Id, Sums>, OpError> {
        let mut sums: HashMap<Id, Sums> = HashMap::new();
        let mut each = |row: &RowBuf| {
            let order = sums.entry(id(row)).or_default();
            order.sub_total_cents = Some(units(row.cell(4), 2));
            order.keep(kept.order(|place| row.cell(place)));
        };
        self.each_row(session, ORDERS, &ORDER_COLUMNS, &mut each).await?;
        let mut each = |row: &RowBuf| {
            let order = sums.entry(id(row)).or_default();
            order.lines += 1;
            order.sum_cents += units(row.cell(6), 2).unwrap_or_default();
            order.keep(kept.line(|place| row.cell(place)));
        };
        self.each_row(session, LINES, &LINE_COLUMNS, &mut each).await?;
        Ok(sums)
    }

    async fn sums_of_documents(
        &self,
        session: &mut AnyDocuments,
        kept: Kept,
    ) -> Result<HashMap<Id, Sums>, OpError> {
        let mut sums: HashMap<Id, Sums> = HashMap::new();
        let each = |key: &[u8], json: &[u8]| {
            let (cells, lines) = order_cells(key, json);
            let order = sums.entry(id_of(Some(key))).or_default();
            order.sub_total_cents = Some(units(cells[4], 2));
            order.keep(kept.order(|place| cells[place]));
            each_line(key, lines, |cells| {
                order.lines += 1;
                order.sum_cents += units(cells[6], 2).unwrap_or_default();
                order.keep(kept.line(|place| cells[place]));
            });
        };
        self.each_document(session, each).await?;
        Ok(sums)
    }

    fn check_orders(&self, sums: &HashMap<Id, Sums>, done: &[Option<Evidence>]) -> Check {
        let expected = orders_after(self.spec.orders, done);
        let actual = sums
            .values()
            .filter(|order| order.sub_total_cents.is_some())
            .count() as u64;
        Check {
            name: "number of orders".into(),
            ok: expected.contains(&actual),
            expected: in_words(&expected),
            actual: format!("{actual} rows"),
            evidence: vec![],
        }
    }

    /// Loaded orders, drawn evenly.
    async fn check_sample(
        &self,
        session: &mut Store,
        spec: &CheckSpec,
        kept: Kept,
        sums: &HashMap<Id, Sums>,
    ) -> Result<Check, OpError> {
        let sample = spec.sample.min(self.spec.orders);
        let (mut faults, mut gone, mut order) = (Faults::default(), 0, self.shop.empty_order());
        let mut together = Together::default();
        let known = Known {
            status: Known::LOADED.status.filter(|_| kept.status),
            ..Known::LOADED
        };
        for i in 0..sample {
            let number = (u128::from(i) * u128::from(self.spec.orders) / u128::from(sample)) as u64;
            self.shop.order(number, &mut order);
            let seen = match session {
                Store::Tables(session) => {
                    self.look(&order, known, session, &mut together, &mut Queries::default())
                        .await?
                }
                Store::Documents(session) => look_up(&order, known, session).await?,
            };
            if !kept.orders && seen.orders == 0 && seen.lines == 0 {
                gone += 1;
            } else if let Answer::Wrong(why) = seen.judged(&order, known).into() {
                faults.add(|| format!("order {}: {why}", order.id.text()));
            } else if sums.get(&order.id).map(|sums| sums.kept) != Some(kept.loaded(&self.shop, &order)) {
                faults.add(|| format!("order {}: not {}", order.id.text(), kept.words()));
            }
        }
        let gone_or = if kept.orders { "" } else { "gone, or " };
        Ok(Check {
            name: "sample of orders".into(),
            ok: faults.count == 0,
            expected: format!("{sample} orders {gone_or}with all their lines; {}", kept.words()),
            actual: format!(
                "{} orders right, {gone} gone, {} wrong",
                sample - gone - faults.count,
                faults.count
            ),
            evidence: faults.kept,
        })
    }
}

/// Of an order, as both tables have it first. What is no id of ours is one of zeros.
fn id(row: &RowBuf) -> Id {
    id_of(row.cell(0).and_then(Value::bytes))
}

fn id_of(text: Option<&[u8]>) -> Id {
    let text = text.and_then(|text| text.try_into().ok());
    text.map(Id).unwrap_or_default()
}

fn check_sums(sums: &HashMap<Id, Sums>) -> Check {
    let mut faults = Faults::default();
    for (id, order) in sums {
        let Some(sub_total_cents) = order.sub_total_cents else {
            continue; // another check's
        };
        if order.lines == 0 || sub_total_cents != Some(order.sum_cents) {
            let told = sub_total_cents.map_or("no number".into(), |cents| money(cents).to_string());
            let (lines, sum) = (order.lines, money(order.sum_cents));
            faults.add(|| format!("order {}: sub_total {told}, {lines} lines of {sum}", id.text()));
        }
    }
    found("sum of lines = sub_total", "every order", faults, "orders")
}

fn check_orphans(sums: &HashMap<Id, Sums>) -> Check {
    let mut faults = Faults::default();
    for (id, order) in sums.iter().filter(|(_, order)| order.sub_total_cents.is_none()) {
        faults.add(|| format!("order {}: {} lines, and no order", id.text(), order.lines));
    }
    found(
        "no line without an order",
        "none",
        faults,
        "orders that are not there",
    )
}

fn found(name: &str, expected: &str, faults: Faults, what: &str) -> Check {
    Check {
        name: name.into(),
        ok: faults.count == 0,
        expected: expected.into(),
        actual: match faults.count {
            0 => expected.into(),
            count => format!("not so for {count} {what}"),
        },
        evidence: faults.kept,
    }
}

// What no event can have changed of a loaded order, in one number: added up over its rows, which may come in any order.

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

    /// Of an order's row; `cell`: by its place in [`super::schema::ORDER_COLUMNS`].
    pub fn order<'a>(self, cell: impl Fn(usize) -> Option<Value<'a>>) -> u64 {
        let text = |place| cell(place).and_then(Value::bytes);
        let status = text(3).filter(|_| self.status);
        hash((text(0), text(1), status, units(cell(4), 2)))
    }

    /// Of a line's row; `cell`: by its place in [`super::schema::LINE_COLUMNS`].
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
