//! The queue of due operations: a free user claims the oldest one nobody has begun, and sleeps until it is due. With
//! users that claim in order this is the same as "the next free session takes the oldest due operation", and it needs
//! no queue in memory however long a stall lasts.
//!
//! One schedule per worker. Blocking sessions are threads, so theirs is shared among them: hence the lock, which is
//! uncontended elsewhere and taken only in an open loop.
use crate::pace::pacer::Pacer;
use std::sync::Mutex;

/// Some tens of milliseconds' worth.
const SINGLE_CLAIMS: u32 = 1 << 20;

pub struct Schedule {
    state: Mutex<State>,
}

struct State {
    pacer: Pacer,
    /// Claims left once the warm-up is over (limit by operations).
    left: u64,
    /// Ns after the epoch from which claims are counted against `left`.
    counted_from_ns: u64,
    /// Looked at but given to nobody.
    next: Option<u64>,
}

impl Schedule {
    pub fn new(pacer: Pacer, operations: Option<u64>, warm_up_ns: u64) -> Self {
        Self {
            state: Mutex::new(State {
                pacer,
                left: operations.unwrap_or(u64::MAX),
                counted_from_ns: warm_up_ns,
                next: None,
            }),
        }
    }

    /// Its arrivals from here on.
    pub fn pacer(&self) -> Pacer {
        let state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.pacer.clone()
    }

    /// The oldest unclaimed operation's due time, ns after the epoch; `None`: all operations have been given out.
    pub fn claim(&self) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let due_ns = match state.next.take() {
            Some(due_ns) => due_ns,
            None => state.pacer.next_due_ns(),
        };
        if due_ns >= state.counted_from_ns {
            if state.left == 0 {
                return None;
            }
            state.left -= 1;
        }
        Some(due_ns)
    }

    /// Claims everything due before `end_ns` (after the epoch). `each`: receives when and how many. One by one up to
    /// [`SINGLE_CLAIMS`]; a rate that no system reaches may leave billions, whose due times are then rounded down, by at most
    /// a 2,048th of their age at `end_ns`.
    pub fn drain(&self, end_ns: u64, mut each: impl FnMut(u64, u64)) {
        let mut at_ns = 0;
        for _ in 0..SINGLE_CLAIMS {
            let Some(due_ns) = self.claim() else { return };
            let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if due_ns >= end_ns {
                state.next = Some(due_ns);
                return;
            }
            at_ns = due_ns;
            each(due_ns, 1);
        }
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while at_ns < end_ns && state.left > 0 {
            let is_counted = at_ns >= state.counted_from_ns;
            let most_ns = if is_counted {
                end_ns
            } else {
                end_ns.min(state.counted_from_ns)
            };
            let until_ns = most_ns.min(at_ns + ((end_ns - at_ns) / 2048).max(1));
            let mut due = state.pacer.skip(until_ns);
            if is_counted {
                due = due.min(state.left);
                state.left -= due;
            }
            if due > 0 {
                each(at_ns, due);
            }
            at_ns = until_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::pacer::Share;

    #[test]
    fn warm_up_claims_do_not_count_against_the_limit() {
        // Exponential gaps of 1 s on average: some of the first claims lie in the 10 s warm-up.
        let schedule = Schedule::new(Pacer::poisson(1.0, 3), Some(5), 10_000_000_000);
        let claimed: Vec<u64> = std::iter::from_fn(|| schedule.claim()).collect();
        assert_eq!(claimed.iter().filter(|due| **due >= 10_000_000_000).count(), 5);
        assert!(claimed.len() > 5);
    }

    #[test]
    fn draining_takes_what_is_due_and_no_more() {
        let schedule = Schedule::new(Pacer::poisson(1000.0, 3), None, 0);
        let mut reference = Pacer::poisson(1000.0, 3);
        let mut drained = Vec::new();
        schedule.drain(1_000_000_000, |due, _| drained.push(due));
        assert!(drained.iter().all(|due| *due < 1_000_000_000));
        let expected: Vec<u64> = drained.iter().map(|_| reference.next_due_ns()).collect();
        assert_eq!(drained, expected);
        assert_eq!(schedule.claim(), Some(reference.next_due_ns()));
    }

    #[test]
    fn a_rate_that_nobody_reaches_is_drained_at_once() {
        const RATE: f64 = 1e15;
        let second_ns = 1_000_000_000;
        let share = Share {
            rate_ops_per_s: RATE,
            threads: 4,
            first: 1,
            stride: 2,
            count: 2,
            phase: 0.0,
        };
        for pacer in [Pacer::constant(share), Pacer::poisson(RATE / 2.0, 3)] {
            let drained = |operations, warm_up_ns| {
                let schedule = Schedule::new(pacer.clone(), operations, warm_up_ns);
                let (mut counted, mut last_ns, mut age_ns) = (0, 0, 0.0);
                schedule.drain(second_ns, |due_ns, due| {
                    assert!(due_ns >= last_ns && due_ns < second_ns);
                    last_ns = due_ns;
                    counted += due;
                    age_ns += (second_ns - due_ns) as f64 * due as f64;
                });
                (counted as f64, age_ns / counted as f64)
            };
            let (all, mean_age_ns) = drained(None, 0);
            assert!((all / RATE * 2.0 - 1.0).abs() < 1e-6, "{all}");
            assert!((mean_age_ns / 5e8 - 1.0).abs() < 1e-3, "{mean_age_ns}");
            // Half of them fall due in the warm-up, which is not counted against the limit.
            let (some, _) = drained(Some(7_000_000), second_ns / 2);
            assert!(((some - 7e6) / RATE * 4.0 - 1.0).abs() < 1e-6, "{some}");
        }
    }
}
