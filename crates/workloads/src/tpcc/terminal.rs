//! Where a terminal stands: at one warehouse for its life (clause 2.1.4 ...), and for stock levels at one district.
use super::sizes::DISTRICTS;
use crate::rng::{Random, mix};
use bakeoff_model::run::tpcc::{TpccSpec, TpccVariant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// The first of its warehouses, from 1; the others follow at this distance.
    first: i64,
    distance: i64,
    warehouses: u64,
    pub district: i64,
}

impl Terminal {
    /// Number `number` of `users` over all clients: warehouses in turn, then the districts of each in turn.
    pub fn new(spec: &TpccSpec, seed: u64, number: u64, users: u64) -> Self {
        let warehouses = u64::from(spec.warehouses);
        let mut first = 1 + number % warehouses;
        let mut district = 1 + number / warehouses % DISTRICTS;
        if spec.variant == TpccVariant::TprocC && !spec.all_warehouses {
            // As HammerDB's users do.
            let mut rng = Random::new(mix(seed, number));
            first = 1 + rng.below(warehouses);
            district = 1 + rng.below(DISTRICTS);
        }
        Self {
            first: first as i64,
            distance: users as i64,
            warehouses: match spec.all_warehouses {
                true => 1 + (warehouses - first) / users.max(1),
                false => 1,
            },
            district: district as i64,
        }
    }

    #[inline]
    pub fn warehouse(&self, rng: &mut Random) -> i64 {
        match self.warehouses {
            1 => self.first,
            several => self.first + rng.below(several) as i64 * self.distance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn spec(warehouses: u32) -> TpccSpec {
        TpccSpec {
            warehouses,
            ..TpccSpec::default()
        }
    }

    #[test]
    fn terminals_are_spread_evenly_over_warehouses_and_their_districts() {
        let mut rng = Random::new(1);
        let mut places = BTreeMap::new();
        for number in 0..60 {
            let terminal = Terminal::new(&spec(3), 1, number, 60);
            *places
                .entry((terminal.warehouse(&mut rng), terminal.district))
                .or_insert(0) += 1;
        }
        assert_eq!(places.len(), 30);
        assert!(places.values().all(|&count| count == 2));
    }

    #[test]
    fn all_warehouses_are_shared_among_the_users() {
        let all = TpccSpec {
            all_warehouses: true,
            ..spec(7)
        };
        let mut rng = Random::new(1);
        let mut seen = BTreeMap::new();
        for number in 0..3 {
            let terminal = Terminal::new(&all, 1, number, 3);
            for _ in 0..200 {
                let warehouse = terminal.warehouse(&mut rng);
                assert!((1..=7).contains(&warehouse));
                assert_eq!(*seen.entry(warehouse).or_insert(number), number);
            }
        }
        assert_eq!(seen.len(), 7);
        let one_too_many = Terminal::new(&all, 1, 8, 9);
        assert_eq!(one_too_many.warehouse(&mut rng), 2);
    }
}
