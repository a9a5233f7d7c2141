//! Which endpoints serve, as far as the sessions of this process know. Each keeps its own pauses, however many sessions it
//! has lost: one that is down is tried by one session at a time, at most every 10 to 100 ms.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Between two tries at one that does not serve; doubles from the first to the longest.
const FIRST_PAUSE_NS: u64 = 5_000_000;
pub const LONGEST_PAUSE_NS: u64 = 100_000_000;
/// A try that has no answer by then no longer keeps others from trying.
pub const HELD_NS: u64 = 1_000_000_000;

/// By place in the system's list of endpoints. Read and written only where a session is opened.
pub struct Serving(Vec<Endpoint>);

#[derive(Default)]
struct Endpoint {
    /// Nobody tries it earlier; 0: it serves.
    next_try_ns: AtomicU64,
    pause_ns: AtomicU64,
}

impl Serving {
    /// All do. A system without endpoints lives in the engine, and counts as one.
    pub fn new(endpoints: usize) -> Self {
        Self((0..endpoints.max(1)).map(|_| Endpoint::default()).collect())
    }

    /// Whether a session may be opened there now. Of one that does not serve only the first to ask may try.
    pub fn may_try(&self, endpoint: u32, now: u64) -> bool {
        let next = &self.0[endpoint as usize].next_try_ns;
        let next_ns = next.load(Relaxed);
        let mine = || {
            next.compare_exchange(next_ns, now + HELD_NS, Relaxed, Relaxed)
                .is_ok()
        };
        next_ns == 0 || (now >= next_ns && mine())
    }

    /// A session was lost there. That of others at the same time says nothing more.
    pub fn lost(&self, endpoint: u32, now: u64) {
        let endpoint = &self.0[endpoint as usize];
        let next_ns = now + FIRST_PAUSE_NS;
        if endpoint
            .next_try_ns
            .compare_exchange(0, next_ns, Relaxed, Relaxed)
            .is_ok()
        {
            endpoint.pause_ns.store(FIRST_PAUSE_NS, Relaxed);
        }
    }

    /// It has refused a session.
    pub fn refused(&self, endpoint: u32, now: u64) {
        let endpoint = &self.0[endpoint as usize];
        let doubled_ns = 2 * endpoint.pause_ns.load(Relaxed);
        let pause_ns = doubled_ns.clamp(FIRST_PAUSE_NS, LONGEST_PAUSE_NS);
        endpoint.pause_ns.store(pause_ns, Relaxed);
        endpoint.next_try_ns.store(now + pause_ns, Relaxed);
    }

    /// It has given a session.
    pub fn serves(&self, endpoint: u32) {
        let endpoint = &self.0[endpoint as usize];
        // Where sessions come and go all the time, this is read by all workers and written by none.
        if endpoint.next_try_ns.load(Relaxed) != 0 {
            endpoint.next_try_ns.store(0, Relaxed);
            endpoint.pause_ns.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn one_that_serves_may_be_tried_by_all_at_once() {
        let serving = Serving::new(2);
        assert!((0..100).all(|now| serving.may_try(1, now)));
    }

    #[test]
    fn one_that_lost_its_sessions_is_tried_by_one_at_a_time() {
        let serving = Serving::new(2);
        (0..100).for_each(|_| serving.lost(1, 1000 * MS));
        assert!(serving.may_try(0, 1000 * MS), "the other one serves");
        assert!(!serving.may_try(1, 1004 * MS));
        assert_eq!((0..100).filter(|_| serving.may_try(1, 1005 * MS)).count(), 1);
        assert!(!serving.may_try(1, 2000 * MS), "it is being tried");
        assert!(serving.may_try(1, 2005 * MS), "the try hangs");
        serving.serves(1);
        assert!((0..100).all(|_| serving.may_try(1, 2006 * MS)));
    }

    #[test]
    fn pauses_double_while_it_refuses_and_begin_again_once_it_has_served() {
        let serving = Serving::new(1);
        let pauses = |from_ms: u64| {
            serving.lost(0, from_ms * MS);
            let mut now = from_ms * MS;
            let pause = |_| {
                let begun = now;
                while !serving.may_try(0, now) {
                    now += MS;
                }
                serving.refused(0, now);
                (now - begun) / MS
            };
            (0..7).map(pause).collect::<Vec<_>>()
        };
        assert_eq!(pauses(1000), [5, 10, 20, 40, 80, 100, 100]);
        serving.serves(0);
        assert_eq!(pauses(9000), [5, 10, 20, 40, 80, 100, 100]);
    }
}
