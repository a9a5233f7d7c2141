//! Lists that were cut off, of which more can be asked.
use crate::rng::Random;

/// As many are kept of each user, as in the original.
const KEPT: usize = 2048;

/// Where a list was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    pub id: u64,
    pub of_type: u64,
    /// Of the last link seen.
    pub time_ms: i64,
}

/// The newest go in the place of the oldest. Takes memory when the first list is cut off, all that it ever needs.
#[derive(Debug, Default)]
pub struct History {
    tails: Vec<Tail>,
    oldest: usize,
}

impl History {
    pub fn is_empty(&self) -> bool {
        self.tails.is_empty()
    }

    pub fn keep(&mut self, tail: Tail) {
        if self.tails.len() < KEPT {
            self.tails.reserve_exact(KEPT - self.tails.len());
            self.tails.push(tail);
        } else {
            self.tails[self.oldest] = tail;
            self.oldest = (self.oldest + 1) % KEPT;
        }
    }

    /// Any of them, with its place.
    pub fn draw(&self, rng: &mut Random) -> Option<(usize, Tail)> {
        let place = rng.below(self.tails.len() as u64) as usize;
        self.tails.get(place).map(|tail| (place, *tail))
    }

    /// The list was cut off again, further back, or had its end.
    pub fn went_on(&mut self, place: usize, cut_off: Option<i64>) {
        match (cut_off, self.tails.get_mut(place)) {
            (Some(time_ms), Some(tail)) => tail.time_ms = time_ms,
            (None, Some(_)) => {
                self.tails.swap_remove(place);
                self.oldest = 0;
            }
            (_, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(id: u64) -> Tail {
        Tail {
            id,
            of_type: 0,
            time_ms: 7,
        }
    }

    #[test]
    fn the_oldest_make_room_and_lists_at_their_end_go() {
        let mut history = History::default();
        let mut rng = Random::new(1);
        assert!(history.is_empty() && history.draw(&mut rng).is_none());
        (0..KEPT as u64 + 2).for_each(|id| history.keep(tail(id)));
        let ids: Vec<u64> = history.tails.iter().map(|tail| tail.id).collect();
        assert_eq!(ids[..3], [KEPT as u64, KEPT as u64 + 1, 2]);
        assert_eq!(ids.len(), KEPT);
        history.went_on(0, Some(5));
        assert_eq!(history.tails[0].time_ms, 5);
        history.went_on(0, None);
        assert_eq!(
            (history.tails.len(), history.tails[0].id),
            (KEPT - 1, KEPT as u64 - 1)
        );
    }
}
