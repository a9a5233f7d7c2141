//! One user: its walk through the list, the event drawn last, and what it needs.
use super::event::{Event, Kind};
use super::evidence::Account;
use super::list::Step;
use super::replay::Reading;
use super::shop::{Id, Order, Shop, Status, line_bytes, order_bytes};
use super::statements::Question;
use crate::prelude::*;
use crate::stream_hash::StreamHash;
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
    /// Its OS thread's [`super::dealer::Dealer`] has the walk.
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

/// What a user sends together, and the list of line ids that it writes, or the ids that it has read. Empty before it is used.
#[derive(Debug, Default)]
pub struct Together {
    pub(super) requests: Pipeline,
    pub(super) line_ids: Vec<u8>,
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
                format!("sub_total {}", crate::money::money(order.sub_total_cents)),
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
