//! What scatters the ranks of an exact zipfian over the table: a fixed permutation, computed and not stored.

/// A bijection on 0..n: a bijection on the next power of two, walked until it falls inside (fewer than two steps on
/// average). Needs no memory, whatever n. About 5 ns.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    items: u64,
    mask: u64,
    shift: u32,
}

/// Odd, so that multiplying by one is a bijection modulo a power of two.
const MULTIPLIERS: [u64; 3] = [
    0x9E37_79B9_7F4A_7C15,
    0xD6E8_FEB8_6659_FD93,
    0xA076_1D64_78BD_642F,
];

impl Permutation {
    /// items >= 1.
    pub fn new(items: u64) -> Self {
        let bits = items.next_power_of_two().trailing_zeros();
        Self {
            items,
            mask: (1u64 << bits) - 1,
            shift: (bits / 2).max(1),
        }
    }

    /// Where `rank` lies. Ranks of records that came after the permutation was fixed lie where they are: the newest
    /// are the coldest, and no hot key moves when the table grows.
    #[inline]
    pub fn of(&self, rank: u64) -> u64 {
        if rank >= self.items {
            return rank;
        }
        let mut x = rank;
        loop {
            x = self.scatter(x);
            if x < self.items {
                return x;
            }
        }
    }

    #[inline]
    fn scatter(&self, mut x: u64) -> u64 {
        for multiplier in MULTIPLIERS {
            x = x.wrapping_mul(multiplier).wrapping_add(multiplier >> 32) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_record_is_hit_exactly_once(items in 1u64..3_000) {
            let permutation = Permutation::new(items);
            let mut places: Vec<u64> = (0..items).map(|rank| permutation.of(rank)).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..items).collect::<Vec<_>>());
            prop_assert_eq!(permutation.of(items + 5), items + 5);
        }
    }

    #[test]
    fn neighbouring_ranks_are_scattered() {
        let permutation = Permutation::new(100_000);
        let near = (0..1000u64)
            .filter(|&r| permutation.of(r).abs_diff(permutation.of(r + 1)) < 100)
            .count();
        assert!(
            near < 20,
            "{near} of 1000 neighbouring ranks lie within 100 records"
        );
    }
}
