//! The queue of due operations: a free user claims the oldest one nobody has begun, and sleeps until it is due. With
//! users that claim in order this is the same as "the next free session takes the oldest due operation", and it needs
//! no queue in memory however long a stall lasts.
//!
//! One schedule per worker. Blocking sessions are threads, so theirs is shared among them: hence the lock, which is
//! uncontended elsewhere and taken only in an open loop.
use crate::pace::pacer::Pacer;
use std::sync::Mutex;

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

    /// Claims everything due before `end_ns` (after the epoch).
    pub fn drain(&self, end_ns: u64, mut each: impl FnMut(u64)) {
        while let Some(due_ns) = self.claim() {
            if due_ns >= end_ns {
                let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                state.next = Some(due_ns);
                return;
            }
            each(due_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        schedule.drain(1_000_000_000, |due| drained.push(due));
        assert!(drained.iter().all(|due| *due < 1_000_000_000));
        let expected: Vec<u64> = drained.iter().map(|_| reference.next_due_ns()).collect();
        assert_eq!(drained, expected);
        assert_eq!(schedule.claim(), Some(reference.next_due_ns()));
    }
}
