//! How much a probe may do next to a load, and when: arithmetic, no clock.
use bakeoff_model::random::SplitMix64;
use bakeoff_model::run::{Limit, RunSpec};

/// Of the load's operations, and of the client's CPU time: for a probe that mostly waits, an operation costs several times as
/// much as one of a busy worker.
const SHARE: f64 = 0.01;
const LEAST_PER_S: f64 = 1.0;
const MOST_PER_S: f64 = 200.0;
/// That a history keeps: some 20 MB.
pub const RECORDS_MAX: usize = 200_000;

/// Since the probe began: its operations, its CPU time, and that of the whole client.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub operations: u64,
    pub probe_ns: u64,
    pub client_ns: u64,
}

impl Spent {
    /// Operations for SHARE of what the client spent since `before`, in `length_s`; none have been done: any number.
    fn ops_per_s(&self, before: &Self, length_s: f64) -> f64 {
        let client_ns = self.client_ns.saturating_sub(before.client_ns) as f64;
        match (self.operations, self.probe_ns) {
            (0, _) | (_, 0) => f64::MAX,
            (operations, probe_ns) => SHARE * client_ns / length_s * operations as f64 / probe_ns as f64,
        }
    }
}

/// Operations of all sessions together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    most_per_s: f64,
}

impl Budget {
    /// Less per second of a long run, so that its history has room for the whole of it.
    pub fn of(spec: &RunSpec) -> Self {
        let window_s = match spec.limit {
            Limit::Time { window_s } => Some(window_s),
            Limit::Operations { max_s, .. } => max_s,
        };
        let fits_per_s = window_s.map_or(f64::MAX, |s| RECORDS_MAX as f64 / (spec.warm_up_s + s));
        Self {
            most_per_s: MOST_PER_S.min(fits_per_s),
        }
    }

    /// After `length_s` in which the load completed `completed` operations. spent: before and after.
    pub fn ops_per_s(&self, completed: u64, length_s: f64, spent: [Spent; 2]) -> f64 {
        (SHARE * completed as f64 / length_s)
            .min(spent[1].ops_per_s(&spent[0], length_s))
            .max(LEAST_PER_S)
            .min(self.most_per_s)
    }

    /// Before anything is known of the load.
    pub fn first_ops_per_s(&self) -> f64 {
        self.ops_per_s(0, 1.0, [Spent::default(); 2])
    }
}

/// A Poisson process whose rate may change at any time: between two arrivals lies an exponential amount of rate x time.
/// Arrivals of a time in which nobody asked become one.
pub struct Arrivals {
    left: f64,
    asked_ns: u64,
}

impl Arrivals {
    pub fn from(begin_ns: u64, random: &mut SplitMix64) -> Self {
        Self {
            left: random.exponential(),
            asked_ns: begin_ns,
        }
    }

    /// Whether the next one has arrived. `per_s`: the rate since this was last asked.
    pub fn is_due(&mut self, now_ns: u64, per_s: f64, random: &mut SplitMix64) -> bool {
        self.left -= per_s * now_ns.saturating_sub(self.asked_ns) as f64 / 1e9;
        self.asked_ns = now_ns;
        let is_due = self.left <= 0.0;
        if is_due {
            self.left = random.exponential();
        }
        is_due
    }

    /// From when it was last asked to the next arrival, if the rate stays.
    pub fn wait_ns(&self, per_s: f64) -> u64 {
        (self.left / per_s * 1e9) as u64
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // test code throughout
    use super::*;

    fn budget(limit: &str) -> Budget {
        let text = format!(
            r#"{{"format":1,"phase":"run","driver":{{"kind":"null"}},"workload":{{"kind":"ycsb"}},"limit":{limit}}}"#
        );
        Budget::of(&serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn a_probe_takes_a_hundredth_of_the_load_within_bounds() {
        let budget = budget(r#"{"kind":"time","window_s":30}"#);
        assert_eq!(budget.first_ops_per_s(), LEAST_PER_S);
        let free = [Spent::default(); 2];
        assert_eq!(budget.ops_per_s(0, 1.0, free), LEAST_PER_S);
        assert_eq!(budget.ops_per_s(5_000, 1.0, free), 50.0);
        assert_eq!(budget.ops_per_s(5_000, 0.5, free), 100.0, "in half a second");
        assert_eq!(budget.ops_per_s(1_000_000, 1.0, free), MOST_PER_S);
    }

    #[test]
    fn a_probe_takes_a_hundredth_of_the_client_s_time() {
        let budget = budget(r#"{"kind":"time","window_s":30}"#);
        let spent = |operations, probe_ns, client_ns| Spent {
            operations,
            probe_ns,
            client_ns,
        };
        // 100 us each; of a second in which the client spent 400 ms, 4 ms are 40 operations.
        let [before, after] = [
            spent(10, 1_000_000, 900_000_000),
            spent(30, 3_000_000, 1_300_000_000),
        ];
        assert_eq!(budget.ops_per_s(1_000_000, 1.0, [before, after]).round(), 40.0);
        assert_eq!(budget.ops_per_s(1_000_000, 0.5, [before, after]).round(), 80.0);
        assert_eq!(budget.ops_per_s(1_000, 1.0, [before, after]), 10.0);
        assert_eq!(budget.ops_per_s(1_000_000, 1.0, [before, before]), LEAST_PER_S);
    }

    #[test]
    fn a_long_run_fits_into_the_history() {
        let day =
            budget(r#"{"kind":"time","window_s":86400}"#).ops_per_s(1_000_000, 1.0, [Spent::default(); 2]);
        assert!((2.0..2.5).contains(&day), "{day}");
        let year = budget(r#"{"kind":"time","window_s":31536000}"#).first_ops_per_s();
        assert!(year < LEAST_PER_S && year > 0.0, "{year}");
        let unknown = budget(r#"{"kind":"operations","operations":9,"max_s":null}"#);
        assert_eq!(
            unknown.ops_per_s(1_000_000, 1.0, [Spent::default(); 2]),
            MOST_PER_S
        );
    }

    #[test]
    fn arrivals_follow_a_rate_that_changes() {
        let (mut random, mut count) = (SplitMix64(3), [0, 0]);
        let mut arrivals = Arrivals::from(0, &mut random);
        for ms in 1..=200_000u64 {
            let fast = ms > 100_000;
            let per_s = if fast { 40.0 } else { 4.0 };
            count[usize::from(fast)] += u32::from(arrivals.is_due(ms * 1_000_000, per_s, &mut random));
        }
        // In 100 s each; one deviation: 20 and 63 (and looking once a ms loses 2 % of the latter).
        assert!((340..460).contains(&count[0]), "{count:?}");
        assert!((3_700..4_200).contains(&count[1]), "{count:?}");
    }

    #[test]
    fn what_a_stall_kept_from_arriving_is_not_made_up_for() {
        let mut random = SplitMix64(1);
        let mut arrivals = Arrivals::from(0, &mut random);
        let after = 60_000_000_000;
        assert!(arrivals.is_due(after, 100.0, &mut random));
        assert!(!arrivals.is_due(after, 100.0, &mut random));
        let wait_ns = arrivals.wait_ns(100.0);
        assert!(arrivals.is_due(after + wait_ns + 1, 100.0, &mut random));
    }
}
