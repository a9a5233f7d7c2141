//! One user: the random stream, the request drawn last, and what it needs.
use super::graph::Graph;
use super::request::{Kind, Request};
use crate::account::{Accounts, Changed, Counter, Tally, after_changes};
use crate::rng::{Random, Stream, StreamHash};
use bakeoff_model::value::Value;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::sync::Arc;

#[derive(Debug)]
pub struct Thread {
    pub(super) stream: Stream,
    /// Among all users of all clients.
    pub(super) number: u64,
    pub(super) latency_probe: bool,
    pub(super) request: Request,
    /// Attempts at it so far.
    pub(super) attempts: u32,
    /// What the last attempt changed.
    pub(super) effect: Effect,
    /// Of a `getlink`: the node, the type and the links asked for.
    pub(super) asked: Vec<Value<'static>>,
    pub(super) payload: Vec<u8>,
    pub(super) history: History,
    /// Place of the list in it that is to go on.
    pub(super) tail: usize,
    pub(super) account: Arc<Account>,
    pub(super) hash: StreamHash,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Rows that there are more, or for a deletion fewer.
    pub rows: u64,
    pub bytes: u64,
}

impl Thread {
    /// The request drawn last, for people: "id1 17, link_type 123456790, id2 18".
    pub(super) fn request_in_words(&self) -> Option<String> {
        let Request { kind, id, id2, .. } = self.request;
        let links = || format!("id1 {id}, link_type {}", Graph::link_type(self.request.of_type));
        match kind {
            Kind::AddNode => None,
            Kind::GetNode | Kind::UpdateNode | Kind::DeleteNode => Some(format!("id {id}")),
            Kind::CountLink | Kind::GetLinkList => Some(links()),
            Kind::AddLink | Kind::DeleteLink | Kind::UpdateLink => Some(format!("{}, id2 {id2}", links())),
            Kind::GetLinkListHistory => Some(format!("{}, until {id2} ms", links())),
            Kind::GetLink => {
                let id2s = self.asked[2..].iter().map(Value::to_string);
                Some(format!(
                    "{}, id2 {}",
                    links(),
                    id2s.collect::<Vec<_>>().join(", ")
                ))
            }
        }
    }
}

// What a run did to the data, as its checks need it.

/// Of one user.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the adjacent account is not fetched along
pub struct Account {
    pub links_added: Tally,
    pub nodes_added: Tally,
    pub nodes_deleted: Tally,
    pub bytes_written: Counter,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub links_added: Changed,
    pub nodes_added: Changed,
    pub nodes_deleted: Changed,
}

impl Accounts<Account> {
    pub fn evidence(&self) -> Evidence {
        let mut sum = Evidence::default();
        self.each(|account| {
            sum.links_added.add(&account.links_added);
            sum.nodes_added.add(&account.nodes_added);
            sum.nodes_deleted.add(&account.nodes_deleted);
        });
        sum
    }

    pub fn bytes_written(&self) -> u64 {
        let mut sum = 0;
        self.each(|account| sum += account.bytes_written.get());
        sum
    }
}

/// The possible numbers of rows after `loaded` were loaded and these runs were made; `None`: a run of unknown effect.
pub fn links_after(loaded: u64, done: &[Option<Evidence>]) -> RangeInclusive<u64> {
    let links = |run: Evidence| (run.links_added, Changed::default());
    after_changes(loaded, done.iter().map(|run| run.map(links)))
}

/// See [`links_after`].
pub fn nodes_after(loaded: u64, done: &[Option<Evidence>]) -> RangeInclusive<u64> {
    let changed = |run: Evidence| (run.nodes_added, run.nodes_deleted);
    let nodes = after_changes(loaded, done.iter().map(|run| run.map(changed)));
    let least = if done.contains(&None) { 0 } else { *nodes.start() };
    least..=*nodes.end()
}

// Lists that were cut off, of which more can be asked.

/// As many are kept of each user, as in the original.
const KEPT: usize = 2048;

/// Where a list was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    pub id: u64,
    pub of_type: u64,
    /// Of the last link seen.
    pub time_ms: i64,
}

/// The newest go in the place of the oldest. Takes memory when the first list is cut off, all that it ever needs.
#[derive(Debug, Default)]
pub struct History {
    tails: Vec<Tail>,
    oldest: usize,
}

impl History {
    pub fn is_empty(&self) -> bool {
        self.tails.is_empty()
    }

    pub fn keep(&mut self, tail: Tail) {
        if self.tails.len() < KEPT {
            self.tails.reserve_exact(KEPT - self.tails.len());
            self.tails.push(tail);
        } else {
            self.tails[self.oldest] = tail;
            self.oldest = (self.oldest + 1) % KEPT;
        }
    }

    /// Any of them, with its place.
    pub fn draw(&self, rng: &mut Random) -> Option<(usize, Tail)> {
        let place = rng.below(self.tails.len() as u64) as usize;
        self.tails.get(place).map(|tail| (place, *tail))
    }

    /// The list was cut off again, further back, or had its end.
    pub fn went_on(&mut self, place: usize, cut_off: Option<i64>) {
        match (cut_off, self.tails.get_mut(place)) {
            (Some(time_ms), Some(tail)) => tail.time_ms = time_ms,
            (None, Some(_)) => {
                self.tails.swap_remove(place);
                self.oldest = 0;
            }
            (_, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_loaded_and_what_every_client_of_every_run_did() {
        let changed = |rows, unknown| Changed { rows, unknown };
        let did = |links, added, deleted| {
            Some(Evidence {
                links_added: links,
                nodes_added: added,
                nodes_deleted: deleted,
            })
        };
        let one = did(changed(5, 1), changed(3, 2), changed(2, 4));
        for (done, links, nodes) in [
            (vec![], 100..=100, 100..=100),
            (vec![one], 105..=106, 97..=103),
            (vec![one, one], 110..=112, 94..=106),
            (vec![one, None], 105..=u64::MAX, 0..=u64::MAX),
        ] {
            assert_eq!(links_after(100, &done), links);
            assert_eq!(nodes_after(100, &done), nodes);
        }
    }

    fn tail(id: u64) -> Tail {
        Tail {
            id,
            of_type: 0,
            time_ms: 7,
        }
    }

    #[test]
    fn the_oldest_make_room_and_lists_at_their_end_go() {
        let mut history = History::default();
        let mut rng = Random::new(1);
        assert!(history.is_empty() && history.draw(&mut rng).is_none());
        (0..KEPT as u64 + 2).for_each(|id| history.keep(tail(id)));
        let ids: Vec<u64> = history.tails.iter().map(|tail| tail.id).collect();
        assert_eq!(ids[..3], [KEPT as u64, KEPT as u64 + 1, 2]);
        assert_eq!(ids.len(), KEPT);
        history.went_on(0, Some(5));
        assert_eq!(history.tails[0].time_ms, 5);
        history.went_on(0, None);
        assert_eq!(
            (history.tails.len(), history.tails[0].id),
            (KEPT - 1, KEPT as u64 - 1)
        );
    }
}
