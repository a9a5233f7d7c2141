//! Deadlines, and how the loop waits for the next one: asleep until it, or, where it may spin, until shortly before it
//! and then spinning, so that between two looks at the clock everything else that is ready runs.
use crate::margin::Margin;
use bakeoff_model::deadlines::{Deadlines, Place};
use bakeoff_model::time::now_ns;
use std::cell::{Cell, RefCell};
use std::task::Waker;

/// Between two turns of the spin nothing else can have run in less than this.
const IDLE_TURN_NS: u64 = 2_000;

/// How long the loop may wait for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Look, do not wait.
    Not,
    Until {
        deadline_ns: u64,
        now_ns: u64,
    },
    Forever,
}

pub struct Timers {
    deadlines: RefCell<Deadlines>,
    margin: RefCell<Margin>,
    /// End of the last turn of the spin that had nothing to do; 0: none.
    idle_since_ns: Cell<u64>,
    count_spin: Box<dyn Fn(u64)>,
}

impl Timers {
    /// `count_spin` receives the ns of each turn that was spent waiting for a deadline, awake.
    pub fn new(margin: Margin, count_spin: Box<dyn Fn(u64)>) -> Self {
        Self {
            deadlines: RefCell::default(),
            margin: RefCell::new(margin),
            idle_since_ns: Cell::new(0),
            count_spin,
        }
    }

    pub fn add(&self, deadline_ns: u64, waker: &Waker, place: &mut Option<Place>) {
        self.deadlines.borrow_mut().set(deadline_ns, waker, place);
    }

    pub fn forget(&self, place: Place) {
        self.deadlines.borrow_mut().forget(place);
    }

    /// When to wake for this deadline.
    pub fn early_ns(&self, deadline_ns: u64) -> u64 {
        deadline_ns.saturating_sub(self.margin.borrow().get_ns())
    }

    /// Wakes whoever is due, and says how long to wait for the rest if nobody was.
    pub fn turn(&self) -> Wait {
        if self.deadlines.borrow_mut().next_ns().is_none() {
            return Wait::Forever;
        }
        let now = now_ns();
        let idle_since_ns = self.idle_since_ns.replace(0);
        if idle_since_ns > 0 && now.saturating_sub(idle_since_ns) < IDLE_TURN_NS {
            (self.count_spin)(now.saturating_sub(idle_since_ns));
        }
        if self.fire(now) {
            return Wait::Not;
        }
        let Some(next_ns) = self.deadlines.borrow_mut().next_ns() else {
            return Wait::Forever;
        };
        let deadline_ns = self.early_ns(next_ns);
        if deadline_ns <= now {
            self.idle_since_ns.set(now);
            return Wait::Not;
        }
        Wait::Until {
            deadline_ns,
            now_ns: now,
        }
    }

    /// The wait ended because its time was over.
    pub fn slept_until(&self, deadline_ns: u64) {
        let late_ns = now_ns().saturating_sub(deadline_ns);
        self.margin.borrow_mut().learn(late_ns);
    }

    fn fire(&self, now: u64) -> bool {
        let mut fired = false;
        loop {
            let due = self.deadlines.borrow_mut().due(now);
            let Some(waker) = due else {
                return fired;
            };
            waker.wake();
            fired = true;
        }
    }
}
