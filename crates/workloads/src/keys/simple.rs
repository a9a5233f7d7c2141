//! Exponentially fewer requests the older a record is.
use super::Zipfian;
use crate::rng::Random;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    rate: f64,
}

impl Exponential {
    /// `percentile` percent of requests fall in the newest `records` x `fraction` records.
    pub fn new(percentile: f64, fraction: f64, records: u64) -> Self {
        Self {
            rate: -(1.0 - percentile / 100.0).ln() / (records as f64 * fraction),
        }
    }

    /// The newest of `items` minus the draw; redrawn while it falls before the first.
    #[inline]
    pub fn draw(&self, items: u64, rng: &mut Random) -> u64 {
        loop {
            // 1 - u is in (0, 1], so the logarithm is finite.
            let age = -(1.0 - rng.unit()).ln() / self.rate;
            if age < items as f64 {
                return items - 1 - age as u64;
            }
        }
    }
}

// A hot set of the lowest record numbers, and the rest.

#[derive(Clone, Copy, Debug)]
pub struct Hotspot {
    /// Share of records that are hot.
    pub data_fraction: f64,
    /// Share of operations that go to them.
    pub operation_fraction: f64,
}

impl Hotspot {
    #[inline]
    pub fn draw(&self, items: u64, rng: &mut Random) -> u64 {
        let hot = ((items as f64 * self.data_fraction) as u64).min(items);
        let wants_hot = rng.unit() < self.operation_fraction;
        // A set of no records cannot be drawn from, so the other one is.
        if (wants_hot && hot > 0) || hot == items {
            rng.below(hot)
        } else {
            hot + rng.below(items - hot)
        }
    }
}

// The newest records most often.

/// `zipfian` must have `readable - 1` items (at least 1): the newest record number minus a zipfian rank. As in the
/// original, the very oldest record is never drawn (unless it is the only one).
#[inline]
pub fn latest(zipfian: &Zipfian, readable: u64, rng: &mut Random) -> u64 {
    (readable - 1).saturating_sub(zipfian.draw(rng))
}

// One record after the other, over all users of a client.

/// Numbers a worker takes at once, so that workers do not write to one counter per operation.
const BLOCK: u64 = 64;

/// The counter of the client; each worker takes blocks from it.
#[derive(Debug, Default)]
pub struct Sequential {
    next_block: AtomicU64,
}

/// A worker's place in its block.
#[derive(Debug, Default)]
pub struct SequentialCursor {
    next: Cell<u64>,
    end: Cell<u64>,
}

impl Sequential {
    #[inline]
    pub fn draw(&self, cursor: &SequentialCursor, items: u64) -> u64 {
        if cursor.next.get() == cursor.end.get() {
            let first = self.next_block.fetch_add(1, Ordering::Relaxed) * BLOCK;
            cursor.next.set(first);
            cursor.end.set(first + BLOCK);
        }
        let number = cursor.next.get();
        cursor.next.set(number + 1);
        number % items
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::THETA;
    use proptest::prelude::*;

    #[test]
    fn the_stated_percentage_falls_in_the_newest_records() {
        let exponential = Exponential::new(95.0, 0.1, 10_000);
        let mut rng = Random::new(2);
        let newest = (0..100_000)
            .filter(|_| exponential.draw(10_000, &mut rng) >= 9_000)
            .count();
        assert!((newest as f64 / 100_000.0 - 0.95).abs() < 0.003, "{newest}");
    }

    #[test]
    fn the_default_of_the_original_stays_in_range() {
        let exponential = Exponential::new(95.0, 0.857_142_857_1, 10);
        let mut rng = Random::new(4);
        assert!((0..10_000).all(|_| exponential.draw(10, &mut rng) < 10));
    }

    #[test]
    fn the_hot_set_gets_its_share_evenly() {
        let spot = Hotspot {
            data_fraction: 0.2,
            operation_fraction: 0.8,
        };
        let mut rng = Random::new(9);
        let mut hits = [0u32; 10];
        for _ in 0..100_000 {
            hits[(spot.draw(1000, &mut rng) / 100) as usize] += 1;
        }
        for (decile, &hit) in hits.iter().enumerate() {
            let expected = if decile < 2 { 40_000.0 } else { 2_500.0 };
            assert!(
                (f64::from(hit) - expected).abs() < expected * 0.08,
                "decile {decile}: {hit}"
            );
        }
    }

    proptest! {
        #[test]
        fn draws_are_in_range(items in 1u64..1000, data in 0.0f64..=1.0, operations in 0.0f64..=1.0, seed: u64) {
            let spot = Hotspot { data_fraction: data, operation_fraction: operations };
            prop_assert!(spot.draw(items, &mut Random::new(seed)) < items);
        }
    }

    #[test]
    fn the_newest_is_the_hottest_and_all_stay_in_range() {
        let readable = 1000;
        let zipfian = Zipfian::new(readable - 1, THETA);
        let mut rng = Random::new(3);
        let mut hits = vec![0u32; readable as usize];
        for _ in 0..200_000 {
            hits[latest(&zipfian, readable, &mut rng) as usize] += 1;
        }
        assert_eq!(hits[0], 0);
        let share = f64::from(hits[999]) / 200_000.0;
        assert!(
            (share - 1.0 / crate::keys::zeta(999, THETA)).abs() < 0.005,
            "{share}"
        );
        assert!(hits[999] > hits[998] && hits[998] > hits[990]);
    }

    #[test]
    fn a_single_record_is_drawn() {
        assert_eq!(latest(&Zipfian::new(1, THETA), 1, &mut Random::new(0)), 0);
    }

    #[test]
    fn one_worker_goes_through_all_records_in_order_and_begins_again() {
        let (sequential, cursor) = (Sequential::default(), SequentialCursor::default());
        let drawn: Vec<u64> = (0..250).map(|_| sequential.draw(&cursor, 100)).collect();
        assert_eq!(drawn, (0..250).map(|i| i % 100).collect::<Vec<_>>());
    }

    #[test]
    fn two_workers_never_draw_the_same_number_in_one_pass() {
        let sequential = Sequential::default();
        let (a, b) = (SequentialCursor::default(), SequentialCursor::default());
        let mut drawn: Vec<u64> = (0..500)
            .flat_map(|_| [sequential.draw(&a, 100_000), sequential.draw(&b, 100_000)])
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 1000);
    }
}
