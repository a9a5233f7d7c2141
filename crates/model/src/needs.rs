//! What a workload needs, checked against what a driver offers before anything starts.
use crate::outcome::{Trouble, TroubleKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that not every driver can do.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// Begin, commit and rollback over several operations.
    Transactions,
    /// Records in the order of their keys, from any key on.
    Scan,
    /// An UPDATE can count the rows that it found.
    CountsFound,
    /// An UPDATE can count the rows that were not so before.
    CountsChanged,
    /// CREATE TABLE may list plain indexes (`KEY name (column)`) and have no primary key.
    PlainIndex,
    /// Several statements can be sent before the first is answered ([`crate::pipeline`]).
    Pipeline,
    /// Encrypted connections.
    Tls,
    /// Single paths of a document can be set without reading it.
    Patch,
    /// A document can be written only if nobody has changed it since it was read.
    Revisions,
    /// Documents can be found by what is in them.
    Find,
    /// Finding by a path can use an index.
    PathIndex,
    /// A transaction may read rows that nobody else then changes until it ends, at any level of isolation.
    RowLocks,
}

impl Offer {
    const ALL: [Self; 12] = [
        Self::Transactions,
        Self::Scan,
        Self::CountsFound,
        Self::CountsChanged,
        Self::PlainIndex,
        Self::Pipeline,
        Self::Tls,
        Self::Patch,
        Self::Revisions,
        Self::Find,
        Self::PathIndex,
        Self::RowLocks,
    ];

    /// In "tpcc needs ..., which redis does not offer".
    pub fn words(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
            Self::Scan => "scans in the order of keys",
            Self::CountsFound => "updates that count the rows they found",
            Self::CountsChanged => "updates that count the rows they changed",
            Self::PlainIndex => "a plain index in place of the primary key",
            Self::Pipeline => "statements sent together (a pipeline)",
            Self::Tls => "encrypted connections",
            Self::Patch => "setting single paths of a document",
            Self::Revisions => "writes that depend on a document's revision",
            Self::Find => "finding documents by what is in them",
            Self::PathIndex => "indexes on paths of a document",
            Self::RowLocks => "reads that lock their rows",
        }
    }
}

/// A set of them.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(from = "Vec<Offer>", into = "Vec<Offer>")]
#[schemars(with = "Vec<Offer>")]
pub struct Offers(u32);

impl Offers {
    pub const NONE: Self = Self(0);

    pub const fn of(mut offers: &[Offer]) -> Self {
        let mut set = Self::NONE;
        while let [first, rest @ ..] = offers {
            set = set.and(*first);
            offers = rest;
        }
        set
    }

    pub const fn and(self, offer: Offer) -> Self {
        Self(self.0 | 1 << offer as u32)
    }

    /// Those of both.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn and_if(self, condition: bool, offer: Offer) -> Self {
        if condition { self.and(offer) } else { self }
    }

    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    pub const fn has(self, offer: Offer) -> bool {
        self.0 & (1 << offer as u32) != 0
    }

    /// An UPDATE tells a count of rows.
    pub fn counts(self) -> bool {
        self.has(Offer::CountsFound) || self.has(Offer::CountsChanged)
    }

    /// One of these that is not among the offered.
    pub fn missing_from(self, offered: Self) -> Option<Offer> {
        self.without(offered).all().next()
    }

    fn all(self) -> impl Iterator<Item = Offer> {
        Offer::ALL.into_iter().filter(move |offer| self.has(*offer))
    }
}

impl From<Vec<Offer>> for Offers {
    fn from(offers: Vec<Offer>) -> Self {
        Self::of(&offers)
    }
}

impl From<Offers> for Vec<Offer> {
    fn from(offers: Offers) -> Self {
        offers.all().collect()
    }
}

/// What a workload asks of its sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub offers: Offers,
    /// What a count of affected rows must mean, where the system counts them.
    pub affected: Affected,
    /// Where that is not offered another count will do: the workload then asks in another way.
    pub affected_if_offered: bool,
    /// Bytes of the longest value that it stores; 0: it does not say.
    pub value_bytes: u64,
    /// Paths of a document are set: by the system, or by writing it back at its revision.
    pub patches: bool,
    /// A user's operations share a transaction, so each user needs a session of its own: no pool.
    pub own_session: bool,
    /// What to write in a plan so that less is needed; empty: the workload does not know.
    pub otherwise: &'static str,
}

/// Which rows an UPDATE counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Affected {
    /// All that it found.
    #[default]
    Found,
    /// Those that were not so before.
    Changed,
}

impl Needs {
    /// Refuses, naming both, what the driver does not offer.
    pub fn check(&self, workload: &str, offers: Offers, driver: &str) -> Result<(), Trouble> {
        let Some(unmet) = self.unmet(offers) else {
            return Ok(());
        };
        Err(Trouble::new(
            TroubleKind::Usage,
            format!(
                "{workload} needs {}, which {driver} does not offer",
                unmet.words()
            ),
            "driver",
            match self.otherwise {
                "" => "choose another system, or options of the workload that do without".into(),
                otherwise => format!("write {otherwise}, or choose another system"),
            },
        ))
    }

    fn unmet(&self, offers: Offers) -> Option<Offer> {
        let count = match self.affected {
            Affected::Found => Offer::CountsFound,
            Affected::Changed => Offer::CountsChanged,
        };
        let counts = offers.counts() && !self.affected_if_offered;
        let patches = self.patches && !offers.has(Offer::Revisions);
        let needed = self.offers.and_if(counts, count).and_if(patches, Offer::Patch);
        needed.missing_from(offers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_and_not_offered_is_refused_and_both_are_named() {
        let none = Needs::default();
        let check = |needs: Needs, offers: &[Offer]| needs.check("tpcc", Offers::of(offers), "redis");
        for offer in Offer::ALL {
            let needs = Needs {
                offers: Offers::NONE.and(offer),
                affected_if_offered: true,
                ..none
            };
            let what = check(needs, &[]).map_err(|trouble| trouble.what);
            let words = offer.words();
            assert_eq!(
                what,
                Err(format!("tpcc needs {words}, which redis does not offer"))
            );
            assert_eq!(check(needs, &[Offer::Tls, offer]), Ok(()));
        }
    }

    #[test]
    fn a_count_is_needed_where_the_system_counts_at_all() {
        let none = Needs::default();
        let unmet = |needs: Needs, offers: &[Offer]| needs.unmet(Offers::of(offers));
        assert_eq!(unmet(none, &[]), None, "a system that does not count");
        let found = [Offer::CountsFound];
        let changed = Needs {
            affected: Affected::Changed,
            ..none
        };
        assert_eq!(unmet(none, &found), None);
        assert_eq!(unmet(changed, &found), Some(Offer::CountsChanged));
        let rather_changed = Needs {
            affected_if_offered: true,
            ..changed
        };
        assert_eq!(unmet(rather_changed, &found), None);
    }
}
