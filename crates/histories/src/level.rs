//! Isolation levels by the phenomena that they forbid.
//!
//! Adya: "Weak Consistency", MIT 1999. Lists have no predicates, so of G2 only G2-item can be seen.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    ReadUncommitted,
    ReadCommitted,
    Snapshot,
    Serializable,
}

impl Level {
    fn below(self) -> Option<Self> {
        match self {
            Self::ReadUncommitted => None,
            Self::ReadCommitted => Some(Self::ReadUncommitted),
            Self::Snapshot => Some(Self::ReadCommitted),
            Self::Serializable => Some(Self::Snapshot),
        }
    }
}

/// Which order between transactions a level must respect in addition. Serializable in real time is "strict serializable".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    #[default]
    None,
    /// Of one session's transactions, the earlier one comes first.
    Session,
    /// What ended before another one began comes first.
    RealTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A value was read that nobody wrote.
    Phantom,
    Duplicate,
    /// Two reads of a key of which neither continues the other.
    IncompatibleOrder,
    /// A transaction does not see its own writes, or sees them in another order.
    Internal,
    LostWrite,
    /// Dirty write: a cycle of ww.
    G0,
    /// Aborted read.
    G1a,
    /// Intermediate read.
    G1b,
    /// A cycle of ww and wr with a wr.
    G1c,
    /// A cycle with one rw: read skew, lost update.
    GSingle,
    /// A cycle with several rw, of which no two follow one another: snapshot isolation forbids it, too.
    GNonadjacent,
    /// Any other cycle, as write skew.
    G2Item,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Self::Phantom => "phantom",
            Self::Duplicate => "duplicate",
            Self::IncompatibleOrder => "incompatible-order",
            Self::Internal => "internal",
            Self::LostWrite => "lost-write",
            Self::G0 => "G0",
            Self::G1a => "G1a",
            Self::G1b => "G1b",
            Self::G1c => "G1c",
            Self::GSingle => "G-single",
            Self::GNonadjacent => "G-nonadjacent",
            Self::G2Item => "G2-item",
        }
    }

    /// The weakest level that forbids it.
    pub fn forbidden_from(self) -> Level {
        match self {
            Self::Phantom
            | Self::Duplicate
            | Self::IncompatibleOrder
            | Self::Internal
            | Self::LostWrite
            | Self::G0 => Level::ReadUncommitted,
            Self::G1a | Self::G1b | Self::G1c => Level::ReadCommitted,
            Self::GSingle | Self::GNonadjacent => Level::Snapshot,
            Self::G2Item => Level::Serializable,
        }
    }
}

/// A phenomenon. One with an order exists only because that order had to be respected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Anomaly {
    pub class: Class,
    pub order: Order,
}

impl Anomaly {
    pub fn plain(class: Class) -> Self {
        Self {
            class,
            order: Order::None,
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class.name())?;
        f.write_str(match self.order {
            Order::None => "",
            Order::Session => "-session",
            Order::RealTime => "-realtime",
        })
    }
}

impl Serialize for Anomaly {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The strongest level that forbids none of these; `None` if even the weakest forbids one.
pub fn implied(anomalies: impl Iterator<Item = Anomaly>) -> Option<Level> {
    let weakest = anomalies
        .filter(|anomaly| anomaly.order == Order::None)
        .map(|anomaly| anomaly.class.forbidden_from());
    weakest.min().map_or(Some(Level::Serializable), Level::below)
}
