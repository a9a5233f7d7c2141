//! What a run did: how often each script was carried out, as far as anybody answered.
use crate::account::{Accounts, Counter};
use crate::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Of one user.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the adjacent account is not fetched along
pub struct Account {
    scripts: Box<[Counts]>,
    pub bytes_written: Counter,
}

#[derive(Debug, Default)]
struct Counts {
    acknowledged: Counter,
    unknown: Counter,
}

impl Account {
    pub fn new(scripts: usize) -> Self {
        Self {
            scripts: (0..scripts).map(|_| Counts::default()).collect(),
            bytes_written: Counter::default(),
        }
    }

    #[inline]
    pub fn book(&self, script: usize, ended: Ended) {
        if ended.perhaps_applied > 0 {
            self.scripts[script].unknown.add(ended.perhaps_applied.into());
        }
        match ended.outcome {
            Outcome::Ok | Outcome::Wrong => self.scripts[script].acknowledged.add(1),
            Outcome::Unknown => self.scripts[script].unknown.add(1),
            Outcome::Fail(_) => {}
        }
    }
}

/// By the names of scripts.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Carried out, whether or not the answers were right.
    pub acknowledged: BTreeMap<String, u64>,
    /// Carried out or not: nobody answered.
    pub unknown: BTreeMap<String, u64>,
    /// By server, when the load's sessions were opened.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
    /// Those that a session of the load had otherwise at its end.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings_changed: BTreeMap<String, String>,
}

impl Evidence {
    pub fn of<'n>(accounts: &Accounts<Account>, names: impl Iterator<Item = &'n str>) -> Self {
        let mut evidence = Self::default();
        for (script, name) in names.enumerate() {
            let (mut acknowledged, mut unknown) = (0, 0);
            accounts.each(|account| {
                acknowledged += account.scripts[script].acknowledged.get();
                unknown += account.scripts[script].unknown.get();
            });
            evidence.acknowledged.insert(name.to_owned(), acknowledged);
            evidence.unknown.insert(name.to_owned(), unknown);
        }
        evidence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_retried_attempt_may_have_done_is_unknown() {
        let accounts = Accounts::default();
        let account = accounts.keep(Account::new(1));
        account.book(0, Ended::at_once(Outcome::Ok, false));
        account.book(
            0,
            Ended {
                perhaps_applied: 2,
                ..Ended::at_once(Outcome::Ok, false)
            },
        );
        let evidence = Evidence::of(&accounts, ["buy"].into_iter());
        assert_eq!((evidence.acknowledged["buy"], evidence.unknown["buy"]), (2, 2));
    }
}
