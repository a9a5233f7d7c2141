//! What a judge says, and how much it had to see to say so.

use serde::Serialize;

/// A check never says "passed" alone: it compares what was observed with a claim. Ordered by what a summary prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Nothing is claimed.
    Observed,
    /// Not seen, with enough exposure. Never "proved".
    Held,
    /// Not seen, but with too little exposure, or the search did not end.
    Inconclusive,
    Violated,
}

impl Verdict {
    pub fn of(claimed: bool, violated: bool, exposed: bool) -> Self {
        match (claimed, violated, exposed) {
            (false, _, _) => Self::Observed,
            (true, true, _) => Self::Violated,
            (true, false, true) => Self::Held,
            (true, false, false) => Self::Inconclusive,
        }
    }
}

/// Zero events in `exposures` tries: the share of events is below this with 95 % confidence ("rule of three": Hanley,
/// Lippman-Hand: "If nothing goes wrong, is everything all right?", JAMA 249, 1983).
pub fn upper_bound(events: u64, exposures: u64) -> Option<f64> {
    (events == 0 && exposures > 0).then(|| (3.0 / exposures as f64).min(1.0))
}

/// Fewer committed transactions, or fewer of them in conflict, decide nothing.
pub const COMMITTED_MIN: u64 = 2_000;
pub const CONFLICT_SHARE_MIN: f64 = 0.2;

/// How much of what a verdict needs has been seen. From 1 on it is enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sufficiency {
    /// Of what grows with time, such as transactions.
    pub amount: f64,
    /// Of the share of conflicts among them, which does not.
    pub share: f64,
}

impl Sufficiency {
    pub fn of(events: u64, of: u64) -> Self {
        Self {
            amount: events as f64 / of as f64,
            share: 1.0,
        }
    }

    /// Of transactions.
    pub fn of_conflicts(committed: u64, in_conflict: u64) -> Self {
        Self {
            share: in_conflict as f64 / (CONFLICT_SHARE_MIN * committed.max(1) as f64),
            ..Self::of(committed, COMMITTED_MIN)
        }
    }

    pub fn is_enough(self) -> bool {
        self.amount >= 1.0 && self.share >= 1.0
    }

    /// It will hardly be enough once the time is this many times as long, even if twice as much happens from now on.
    pub fn is_out_of_reach(self, times: f64) -> bool {
        self.amount * times < 0.5 || (self.amount >= 1.0 && self.share < 0.5)
    }
}

/// Quantiles by nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub count: u64,
    pub p50: i64,
    pub p99: i64,
    pub max: i64,
}

impl Summary {
    pub fn of(mut values: Vec<i64>) -> Self {
        values.sort_unstable();
        let rank = |percent: usize| {
            let place = (values.len() * percent).div_ceil(100).max(1) - 1;
            values.get(place).copied().unwrap_or_default()
        };
        Self {
            count: values.len() as u64,
            p50: rank(50),
            p99: rank(99),
            max: rank(100),
        }
    }
}
