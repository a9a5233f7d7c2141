//! One user: its walk through the list, the event drawn last, and what it needs.
use super::event::{Event, Kind};
use super::list::Step;
use super::replay::Reading;
use super::shop::{Id, Order, Shop, Status, line_bytes, order_bytes};
use super::statements::Question;
use crate::account::{Accounts, Changed, Counter, Tally, after_changes};
use crate::prelude::*;
use crate::rng::StreamHash;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::sync::Arc;

#[derive(Debug)]
pub struct Thread {
    /// Among all users of all clients.
    pub(super) number: u64,
    pub(super) course: Course,
    /// `None` before the first.
    pub(super) step: Option<Step>,
    pub(super) event: Event,
    /// Attempts at it so far.
    pub(super) attempts: u32,
    pub(super) effect: Effect,
    /// Empty between statements, with room for the longest.
    pub(super) params: Vec<Value<'static>>,
    pub(super) together: Together,
    pub(super) account: Arc<Account>,
    pub(super) hash: StreamHash,
}

/// A user's way through the list.
#[derive(Debug)]
pub enum Course {
    /// Its OS thread's [`super::list::Dealer`] has the walk.
    Drawn,
    Read(Reading),
}

/// What the last attempt changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Orders made or deleted. `None`: the system does not say, and whether the order was there is not known either.
    pub orders: Option<u64>,
    pub bytes: u64,
}

impl Effect {
    pub fn created(shop: &Shop, order: &Order) -> Self {
        let lines: u64 = order.lines.iter().map(|line| line_bytes(shop, line)).sum();
        Self {
            orders: Some(1),
            bytes: order_bytes(Status::Ordered) + lines,
        }
    }
}

/// What a user sends together, and the list of line ids that it writes, or the ids that it has read; or a document, and the
/// revision that it is written over. Empty before it is used.
#[derive(Debug, Default)]
pub struct Together {
    pub(super) requests: Pipeline,
    pub(super) line_ids: Vec<u8>,
    pub(super) document: Vec<u8>,
    pub(super) revision: Vec<u8>,
}

impl Together {
    pub(super) fn clear(&mut self) {
        self.requests.clear();
        self.line_ids.clear();
    }

    /// One of these for each line whose id was read.
    pub(super) fn ask_each(&mut self, question: Question) {
        for id in self.line_ids.chunks_exact(size_of::<Id>()) {
            self.requests.push(question.statement(), &[Value::Text(id)]);
        }
    }
}

impl Thread {
    /// The event drawn last, for people: "order 3f0c..., 4 lines".
    pub(super) fn event_in_words(&self) -> Vec<String> {
        let Event { kind, order, .. } = &self.event;
        let id = order.id.text();
        match kind {
            Kind::Create => vec![
                format!("order {id}, {} lines", order.lines.len()),
                format!("sub_total {}", crate::numbers::money(order.sub_total_cents)),
            ],
            Kind::Read | Kind::Delete => vec![format!("order {id}")],
            Kind::Update => vec![format!("order {id}, status {}", self.event.status.name())],
            Kind::UpdateAttribute => {
                vec![format!(
                    "order {id}, line {}, {:?}",
                    self.event.line_id().text(),
                    self.event.attribute
                )]
            }
        }
    }
}

// What a run did to the data, as its checks need it.

/// Of one user.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the adjacent account is not fetched along
pub struct Account {
    pub created: Tally,
    pub deleted: Tally,
    pub bytes_written: Counter,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub created: Changed,
    pub deleted: Changed,
    /// Number of events taken from the list, and the SHA-256 of their lines of JSON.
    pub events: u64,
    pub events_sha256: String,
}

impl Account {
    /// Where events of this kind are counted, if they change how many orders there are.
    pub fn tally(&self, kind: Kind) -> Option<&Tally> {
        match kind {
            Kind::Create => Some(&self.created),
            Kind::Delete => Some(&self.deleted),
            Kind::Read | Kind::Update | Kind::UpdateAttribute => None,
        }
    }
}

impl Accounts<Account> {
    /// Orders made and deleted.
    pub fn changes(&self) -> (Changed, Changed) {
        let (mut created, mut deleted) = (Changed::default(), Changed::default());
        self.each(|account| {
            created.add(&account.created);
            deleted.add(&account.deleted);
        });
        (created, deleted)
    }

    pub fn bytes_written(&self) -> u64 {
        let mut sum = 0;
        self.each(|account| sum += account.bytes_written.get());
        sum
    }
}

/// The possible numbers of orders after `loaded` were loaded and these runs were made; `None`: a run of unknown effect.
pub fn orders_after(loaded: u64, done: &[Option<Evidence>]) -> RangeInclusive<u64> {
    let changed = |run: &Evidence| (run.created, run.deleted);
    let orders = after_changes(loaded, done.iter().map(|run| run.as_ref().map(changed)));
    let least = if done.contains(&None) { 0 } else { *orders.start() };
    least..=*orders.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_loaded_and_made_less_those_deleted() {
        let changed = |rows, unknown| Changed { rows, unknown };
        let one = Some(Evidence {
            created: changed(30, 2),
            deleted: changed(20, 1),
            ..Evidence::default()
        });
        assert_eq!(orders_after(100, &[]), 100..=100);
        assert_eq!(orders_after(100, std::slice::from_ref(&one)), 109..=112);
        assert_eq!(orders_after(100, &[one, None]), 0..=u64::MAX);
    }
}
