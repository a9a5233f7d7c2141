//! Who takes which event of a list that is drawn: one walk through the list for all users of an OS thread. What one user
//! passes over on the way to its own next event is kept for those that it belongs to, so an event costs the same however
//! many users there are: 10 ns for each OS thread of the run, and 5 ns to keep it.
use super::event::Kind;
use super::known::Known;
use super::list::{Rules, Step, Walk};

/// No place in `kept`.
const NONE: u32 = u32::MAX;
/// Room for what is kept per user, before it has to grow.
const ROOM: usize = 16;

#[derive(Debug)]
pub struct Dealer {
    walk: Walk,
    /// Of all clients.
    users: u64,
    /// The hand of each user, for those of this thread.
    hands: Vec<Option<Hand>>,
    joined: usize,
    /// All hands' events; places that were given back form a list of their own.
    kept: Vec<Kept>,
    free: u32,
    /// What its user knows of each order, by the order's number.
    known: Vec<Known>,
}

/// What is kept for one user: the first and the last of a list.
#[derive(Clone, Copy, Debug)]
struct Hand {
    first: u32,
    last: u32,
}

#[derive(Debug)]
struct Kept {
    step: Step,
    next: u32,
}

impl Dealer {
    /// `events`: how long the list is likely to be walked.
    pub fn new(rules: &Rules, seed: u64, events: u64, users: u64) -> Self {
        let mut known = Vec::with_capacity((rules.loaded() + events.min(1 << 22)) as usize);
        known.resize(rules.loaded() as usize, Known::LOADED);
        Self {
            walk: Walk::new(rules, seed, events),
            users,
            hands: vec![None; users as usize],
            joined: 0,
            kept: vec![],
            free: NONE,
            known,
        }
    }

    /// This user takes its events here.
    pub fn join(&mut self, user: u64) {
        self.joined += 1;
        self.kept.reserve(ROOM * self.joined);
        self.hands[user as usize] = Some(Hand {
            first: NONE,
            last: NONE,
        });
    }

    /// The next event of a user that has joined.
    pub fn next(&mut self, rules: &Rules, user: u64) -> Step {
        let mut step = match self.take(user) {
            Some(step) => step,
            None => self.walk_to(rules, user),
        };
        step.known = self.known[step.order as usize];
        step
    }

    fn walk_to(&mut self, rules: &Rules, user: u64) -> Step {
        loop {
            let step = self.walk.step(rules);
            if step.kind == Kind::Create {
                self.known.push(Known::UNKNOWN);
            }
            let owner = rules.owner(&step, self.users);
            if owner == user {
                return step;
            }
            if self.hands[owner as usize].is_some() {
                self.keep(owner, step);
            }
        }
    }

    fn take(&mut self, user: u64) -> Option<Step> {
        let hand = self.hands[user as usize].as_mut()?;
        let place = hand.first;
        let kept = self.kept.get_mut(place as usize)?; // `NONE` is beyond
        hand.first = std::mem::replace(&mut kept.next, self.free);
        if hand.first == NONE {
            hand.last = NONE;
        }
        self.free = place;
        Some(kept.step)
    }

    fn keep(&mut self, user: u64, step: Step) {
        let new = Kept { step, next: NONE };
        let place = self.free;
        let place = match self.kept.get_mut(place as usize) {
            Some(free) => {
                self.free = free.next;
                *free = new;
                place
            }
            None => {
                self.kept.push(new);
                self.kept.len() as u32 - 1
            }
        };
        let Some(hand) = &mut self.hands[user as usize] else {
            return; // cannot be: nothing is kept for others
        };
        match self.kept.get_mut(hand.last as usize) {
            Some(last) => last.next = place,
            None => hand.first = place,
        }
        hand.last = place;
    }

    /// What came of a step is known.
    pub fn learn(&mut self, step: &Step, known: Known) {
        self.known[step.order as usize] = known;
    }
}
