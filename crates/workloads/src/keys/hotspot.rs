//! A hot set of the lowest record numbers, and the rest.
use crate::rng::Random;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
