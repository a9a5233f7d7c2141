//! What a run did to the data, as its checks need it.
use crate::account::{Accounts, Changed, Counter, Tally, after_changes};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Of one user.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the neighbour's account is not fetched along
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

/// Rows that there may be, with so many loaded, after runs that did this; `None`: nobody knows what one did.
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
}
