//! What a run did to the data, as its checks need it.
use super::event::Kind;
use crate::account::{Accounts, Changed, Counter, Tally, after_changes};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Of one user.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the neighbour's account is not fetched along
pub struct Account {
    pub created: Tally,
    pub deleted: Tally,
    pub bytes_written: Counter,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub created: Changed,
    pub deleted: Changed,
    /// Of the list that events were taken from: so many of it, and the SHA-256 of their lines of JSON.
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

/// Orders that there may be, with so many loaded, after runs that did this; `None`: nobody knows what one did.
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
