//! The deadlines of one thread's sleeping futures, soonest first: what a runner's timer is made of.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::task::Waker;

/// Entries of dropped sleeps that may stay in the heap, beyond the number of sleepers.
const DROPPED_MAX: usize = 64;
/// Room for many users, so that nothing grows inside the window.
const ROOM: usize = 4096;

/// Of one sleep, from its first poll until it ends or is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    slot: u32,
    number: u64,
}

pub struct Deadlines {
    /// Deadline, number of the sleep, its slot. The entry of a dropped sleep stays until it comes up or there are too many.
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    sleepers: Vec<Sleeper>,
    free: Vec<u32>,
    /// Sleeps so far; none has the number of another.
    numbered: u64,
}

struct Sleeper {
    number: u64,
    /// `None`: the slot is free.
    waker: Option<Waker>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::with_capacity(ROOM),
            sleepers: Vec::with_capacity(ROOM),
            free: Vec::with_capacity(ROOM),
            numbered: 0,
        }
    }
}

impl Deadlines {
    /// Wakes `waker` at the deadline. A sleep that has a place keeps it, whoever polls it now.
    pub fn set(&mut self, deadline_ns: u64, waker: &Waker, place: &mut Option<Place>) {
        if let Some(kept) = place.and_then(|place| self.sleeper(place)) {
            if !kept.will_wake(waker) {
                kept.clone_from(waker);
            }
            return;
        }
        self.numbered += 1;
        let sleeper = Sleeper {
            number: self.numbered,
            waker: Some(waker.clone()),
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.sleepers[slot as usize] = sleeper;
                slot
            }
            None => {
                self.sleepers.push(sleeper);
                self.sleepers.len() as u32 - 1
            }
        };
        self.heap.push(Reverse((deadline_ns, self.numbered, slot)));
        *place = Some(Place {
            slot,
            number: self.numbered,
        });
    }

    /// The sleep was dropped: nobody is woken for it.
    pub fn forget(&mut self, place: Place) {
        if self.sleeper(place).is_none() {
            return;
        }
        self.release(place.slot);
        let sleeping = self.sleepers.len() - self.free.len();
        if self.heap.len() > 2 * sleeping + DROPPED_MAX {
            let sleepers = &self.sleepers;
            self.heap
                .retain(|Reverse((_, number, slot))| sleeps(sleepers, *number, *slot));
        }
    }

    /// Whom to wake now, one at a time.
    pub fn due(&mut self, now_ns: u64) -> Option<Waker> {
        self.next_ns().filter(|next_ns| *next_ns <= now_ns)?;
        let Reverse((_, _, slot)) = self.heap.pop()?;
        self.release(slot)
    }

    /// The soonest deadline.
    pub fn next_ns(&mut self) -> Option<u64> {
        loop {
            let Reverse((deadline_ns, number, slot)) = *self.heap.peek()?;
            if sleeps(&self.sleepers, number, slot) {
                return Some(deadline_ns);
            }
            self.heap.pop();
        }
    }

    #[cfg(test)]
    pub fn entries(&self) -> usize {
        self.heap.len()
    }

    fn sleeper(&mut self, place: Place) -> Option<&mut Waker> {
        let sleeper = self.sleepers.get_mut(place.slot as usize)?;
        sleeper.waker.as_mut().filter(|_| sleeper.number == place.number)
    }

    fn release(&mut self, slot: u32) -> Option<Waker> {
        self.free.push(slot);
        self.sleepers[slot as usize].waker.take()
    }
}

fn sleeps(sleepers: &[Sleeper], number: u64, slot: u32) -> bool {
    let sleeper = &sleepers[slot as usize];
    sleeper.number == number && sleeper.waker.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_has_one_entry_however_often_it_is_polled() {
        let mut deadlines = Deadlines::default();
        let mut places = [None, None];
        for _ in 0..1000 {
            deadlines.set(7, Waker::noop(), &mut places[0]);
            deadlines.set(5, Waker::noop(), &mut places[1]);
        }
        assert_eq!(deadlines.entries(), 2);
        assert_eq!(deadlines.next_ns(), Some(5));
        assert!(deadlines.due(4).is_none());
        assert!(deadlines.due(7).is_some() && deadlines.due(7).is_some() && deadlines.due(7).is_none());
        assert_eq!((deadlines.entries(), deadlines.sleepers.len()), (0, 2));
    }

    #[test]
    fn what_was_dropped_wakes_nobody_and_leaves_no_entry() {
        let mut deadlines = Deadlines::default();
        let mut stays = None;
        deadlines.set(u64::MAX, Waker::noop(), &mut stays);
        for deadline_ns in 0..10_000 {
            let mut dropped = None;
            deadlines.set(deadline_ns, Waker::noop(), &mut dropped);
            dropped.into_iter().for_each(|place| deadlines.forget(place));
            // Its slot is another's by now.
            dropped.into_iter().for_each(|place| deadlines.forget(place));
        }
        assert!(deadlines.entries() <= 2 + DROPPED_MAX, "{}", deadlines.entries());
        assert_eq!(deadlines.sleepers.len(), 2);
        assert_eq!(deadlines.next_ns(), Some(u64::MAX));
        assert_eq!(deadlines.entries(), 1);
        assert!(deadlines.due(u64::MAX).is_some() && deadlines.next_ns().is_none());
    }

    #[test]
    fn a_place_of_a_sleep_that_ended_is_no_place_of_the_next() {
        let mut deadlines = Deadlines::default();
        let (mut first, mut second) = (None, None);
        deadlines.set(1, Waker::noop(), &mut first);
        assert!(deadlines.due(1).is_some());
        deadlines.set(2, Waker::noop(), &mut second);
        first.into_iter().for_each(|place| deadlines.forget(place));
        assert_eq!(
            deadlines.next_ns(),
            Some(2),
            "the slot is the same, the sleep is not"
        );
    }
}
