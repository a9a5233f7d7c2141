//! Which record an operation addresses.
//!
//! Records are counted twice. Their *number* is dense: 0..base for the loaded slice, and from there on this client's
//! own run-phase inserts; distributions draw numbers. Their *keynum* is what the key is made of, unique over clients.
use super::ahead::AHEAD;
use super::insert_sequence::{InsertCursor, InsertSequence};
use super::key_text::KeyText;
use crate::keys::{
    Exponential, Hotspot, Permutation, Scrambled, Sequential, SequentialCursor, Zipfian, latest,
};
use crate::rng::Random;
use bakeoff_model::run::{ClientSpec, RequestDistribution, YcsbSpec};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// After this many draws that were not readable, a loaded record is taken evenly; reached only when the range is far
/// above the table, or when nearly everything inserted has failed.
const MOST_DRAWS: u32 = 10_000;

#[derive(Debug)]
pub struct KeySpace {
    start: u64,
    base: u64,
    /// Present when the mix inserts.
    inserts: Option<InsertSequence>,
    chooser: Chooser,
}

#[derive(Debug)]
enum Chooser {
    Uniform,
    Scrambled(Scrambled),
    Exact(Permutation),
    Latest,
    Hotspot(Hotspot),
    Sequential(Sequential),
    Exponential(Exponential),
}

/// What a worker keeps: places in its blocks, and the zipfian for the table's size when it last looked.
#[derive(Debug)]
pub struct KeyCursor {
    zipfian: Cell<Zipfian>,
    sequential: SequentialCursor,
    insert: InsertCursor,
}

impl KeySpace {
    pub fn new(spec: &YcsbSpec, client: ClientSpec) -> Self {
        let base = spec.insert_count.unwrap_or(spec.records - spec.insert_start);
        let inserts = (spec.insert_proportion > 0.0)
            .then(|| InsertSequence::new(spec.records, client.index, client.count));
        Self {
            start: spec.insert_start,
            base,
            inserts,
            chooser: Chooser::new(spec, base),
        }
    }

    pub fn cursor(&self, distribution: &RequestDistribution) -> KeyCursor {
        let theta = match distribution {
            RequestDistribution::ZipfianExact { theta } => *theta,
            _ => crate::keys::THETA,
        };
        KeyCursor {
            zipfian: Cell::new(Zipfian::new(self.base, theta)),
            sequential: SequentialCursor::default(),
            insert: InsertCursor::default(),
        }
    }

    /// Records of the loaded slice.
    pub fn base(&self) -> u64 {
        self.base
    }

    pub fn inserts(&self) -> Option<&InsertSequence> {
        self.inserts.as_ref()
    }

    /// Whether the record drawn follows from the operation's seed alone, and not from what other users did meanwhile.
    pub fn is_fixed(&self) -> bool {
        self.inserts.is_none() && !matches!(self.chooser, Chooser::Sequential(_))
    }

    #[inline]
    pub fn keynum(&self, number: u64) -> u64 {
        match &self.inserts {
            Some(inserts) if number >= self.base => inserts.keynum(number - self.base),
            _ => self.start + number,
        }
    }

    /// What [`KeySpace::draw`] gives for each. The usual distribution is drawn step by step for all of them.
    #[inline]
    pub fn draw_all(&self, cursor: &KeyCursor, mut rngs: [Random; AHEAD]) -> [u64; AHEAD] {
        let (Chooser::Scrambled(scrambled), None) = (&self.chooser, &self.inserts) else {
            return rngs.map(|mut rng| self.draw(cursor, &mut rng));
        };
        let mut keynums = scrambled.draw_all(&mut rngs);
        for (keynum, rng) in keynums.iter_mut().zip(&mut rngs) {
            *keynum = if *keynum < self.base {
                self.start + *keynum
            } else {
                self.draw(cursor, rng)
            };
        }
        keynums
    }

    /// The keynum of a record that can be read. Costs what the distribution costs: 3 (uniform) to 50 ns.
    #[inline(never)]
    pub fn draw(&self, cursor: &KeyCursor, rng: &mut Random) -> u64 {
        let readable = self.base + self.inserts.as_ref().map_or(0, InsertSequence::readable);
        for _ in 0..MOST_DRAWS {
            let number = self.chooser.draw(cursor, readable, rng);
            if number < readable && !self.is_hole(number) {
                return self.keynum(number);
            }
        }
        self.start + rng.below(self.base)
    }

    #[inline]
    fn is_hole(&self, number: u64) -> bool {
        match &self.inserts {
            Some(inserts) if number >= self.base => inserts.is_hole(number - self.base),
            _ => false,
        }
    }

    /// The insert index of the next record to insert.
    #[inline]
    pub fn take_insert(&self, cursor: &KeyCursor) -> u64 {
        self.inserts
            .as_ref()
            .map_or(0, |inserts| inserts.take(&cursor.insert))
    }
}

impl Chooser {
    fn new(spec: &YcsbSpec, base: u64) -> Self {
        match spec.request_distribution {
            RequestDistribution::Uniform => Self::Uniform,
            RequestDistribution::Zipfian => Self::Scrambled(Scrambled::new(scrambled_range(spec, base))),
            RequestDistribution::ZipfianExact { .. } => Self::Exact(Permutation::new(base)),
            RequestDistribution::Latest => Self::Latest,
            RequestDistribution::Hotspot {
                data_fraction,
                operation_fraction,
            } => Self::Hotspot(Hotspot {
                data_fraction,
                operation_fraction,
            }),
            RequestDistribution::Sequential => Self::Sequential(Sequential::default()),
            RequestDistribution::Exponential { percentile, fraction } => {
                Self::Exponential(Exponential::new(percentile, fraction, spec.records))
            }
        }
    }

    /// A number, perhaps at or above `readable`.
    #[inline]
    fn draw(&self, cursor: &KeyCursor, readable: u64, rng: &mut Random) -> u64 {
        match self {
            Self::Uniform => rng.below(readable),
            Self::Scrambled(scrambled) => scrambled.draw(rng),
            Self::Exact(permutation) => permutation.of(cursor.zipfian_over(readable).draw(rng)),
            Self::Latest => latest(&cursor.zipfian_over((readable - 1).max(1)), readable, rng),
            Self::Hotspot(hotspot) => hotspot.draw(readable, rng),
            Self::Sequential(sequential) => sequential.draw(&cursor.sequential, readable),
            Self::Exponential(exponential) => exponential.draw(readable, rng),
        }
    }
}

/// The original spans the loaded slice, room for twice the inserts expected, and one more.
fn scrambled_range(spec: &YcsbSpec, base: u64) -> u64 {
    let weights: f64 = super::validate::Proportions::proportions(spec).iter().sum();
    let inserts = spec.operation_count.unwrap_or(0) as f64 * spec.insert_proportion / weights;
    base + (inserts * 2.0) as u64 + 1
}

impl KeyCursor {
    #[inline]
    fn zipfian_over(&self, items: u64) -> Zipfian {
        let zipfian = self.zipfian.get();
        if zipfian.items() == items {
            return zipfian;
        }
        let resized = zipfian.resized(items);
        self.zipfian.set(resized);
        resized
    }
}

// The last keys of the table in key order, for scans from there to its end.

/// Keynums of the `count` greatest keys among the loaded records, in key order. Keeps `count` keys in memory,
/// whatever the table's size; about 0.1 us per record.
pub fn last_keys(key_text: &KeyText, space: &KeySpace, count: usize) -> Vec<u64> {
    let mut greatest: BinaryHeap<Reverse<(Vec<u8>, u64)>> = BinaryHeap::with_capacity(count + 1);
    let mut key = key_text.key();
    for number in 0..space.base() {
        let keynum = space.keynum(number);
        key_text.write(keynum, &mut key);
        if greatest.len() < count {
            greatest.push(Reverse((key.to_vec(), keynum)));
        } else if let Some(mut least) = greatest.peek_mut()
            && *key > *least.0.0
        {
            *least = Reverse((key.to_vec(), keynum));
        }
    }
    let mut sorted: Vec<_> = greatest.into_iter().map(|Reverse(entry)| entry).collect();
    sorted.sort_unstable();
    sorted.into_iter().map(|(_, keynum)| keynum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::{ClientSpec, InsertOrder, YcsbSpec};
    use proptest::prelude::*;

    fn distributions() -> Vec<RequestDistribution> {
        vec![
            RequestDistribution::Uniform,
            RequestDistribution::Zipfian,
            RequestDistribution::ZipfianExact { theta: 0.8 },
            RequestDistribution::Latest,
            RequestDistribution::Hotspot {
                data_fraction: 0.2,
                operation_fraction: 0.8,
            },
            RequestDistribution::Sequential,
            RequestDistribution::Exponential {
                percentile: 95.0,
                fraction: 0.857_142_857_1,
            },
        ]
    }

    proptest! {
        #[test]
        fn every_key_drawn_is_loaded(which in 0usize..7, start in 0u64..50, base in 1u64..500, seed: u64) {
            let spec = YcsbSpec {
                records: start + base, insert_start: start, request_distribution: distributions()[which],
                ..Default::default()
            };
            let space = KeySpace::new(&spec, ClientSpec::default());
            let cursor = space.cursor(&spec.request_distribution);
            let mut rng = Random::new(seed);
            for _ in 0..50 {
                let keynum = space.draw(&cursor, &mut rng);
                prop_assert!((start..start + base).contains(&keynum), "{keynum}");
            }
        }

        #[test]
        fn while_the_table_grows_only_stored_keys_are_drawn(
            which in 0usize..7, seed: u64, client in 0u32..3, stored in proptest::collection::vec(any::<bool>(), 100),
        ) {
            let spec = YcsbSpec {
                records: 50, insert_proportion: 0.5, operation_count: Some(200),
                request_distribution: distributions()[which], ..Default::default()
            };
            let space = KeySpace::new(&spec, ClientSpec { index: client, count: 3 });
            let cursor = space.cursor(&spec.request_distribution);
            let mut rng = Random::new(seed);
            let mut good: std::collections::HashSet<u64> = (0..50).collect();
            for ok in stored {
                let index = space.take_insert(&cursor);
                let inserts = space.inserts().unwrap();
                inserts.settle(index, ok);
                if ok {
                    good.insert(inserts.keynum(index));
                }
                let keynum = space.draw(&cursor, &mut rng);
                prop_assert!(good.contains(&keynum), "{keynum} was never stored");
            }
        }
    }

    fn grown(distribution: RequestDistribution) -> (KeySpace, KeyCursor) {
        let spec = YcsbSpec {
            records: 100,
            insert_proportion: 0.05,
            request_distribution: distribution,
            ..Default::default()
        };
        let space = KeySpace::new(&spec, ClientSpec::default());
        let cursor = space.cursor(&distribution);
        for _ in 0..80 {
            let index = space.take_insert(&cursor);
            space.inserts().unwrap().settle(index, true);
        }
        (space, cursor)
    }

    #[test]
    fn latest_follows_the_newest_insert() {
        let (space, cursor) = grown(RequestDistribution::Latest);
        let mut rng = Random::new(6);
        let newest = (0..10_000)
            .filter(|_| space.draw(&cursor, &mut rng) == 179)
            .count();
        assert!(
            (newest as f64 / 10_000.0 - 1.0 / crate::keys::zeta(179, 0.99)).abs() < 0.02,
            "{newest}"
        );
    }

    #[test]
    fn inserted_records_are_the_coldest_of_an_exact_zipfian() {
        let (space, cursor) = grown(RequestDistribution::ZipfianExact { theta: 0.99 });
        let mut rng = Random::new(6);
        let new = (0..10_000)
            .filter(|_| space.draw(&cursor, &mut rng) >= 100)
            .count();
        let expected = 1.0 - crate::keys::zeta(100, 0.99) / crate::keys::zeta(180, 0.99);
        assert!(
            (new as f64 / 10_000.0 - expected).abs() < 0.03,
            "{new} of 10000, expected {expected}"
        );
    }

    #[test]
    fn the_scrambled_range_has_room_for_twice_the_expected_inserts() {
        let spec = YcsbSpec {
            read_proportion: 0.95,
            update_proportion: 0.0,
            insert_proportion: 0.05,
            operation_count: Some(10_000),
            ..Default::default()
        };
        assert_eq!(scrambled_range(&spec, 1000), 1000 + 1000 + 1);
        assert_eq!(
            scrambled_range(
                &YcsbSpec {
                    operation_count: None,
                    ..spec
                },
                1000
            ),
            1001
        );
    }

    #[test]
    fn the_last_keys_are_those_a_full_sort_puts_last() {
        let key_text = KeyText {
            order: InsertOrder::Hashed,
            zero_padding: 1,
        };
        let spec = YcsbSpec {
            records: 5000,
            insert_start: 100,
            ..Default::default()
        };
        let space = KeySpace::new(&spec, ClientSpec::default());
        let mut all: Vec<u64> = (100..5000).collect();
        all.sort_by_key(|&keynum| key_text.text(keynum));
        assert_eq!(last_keys(&key_text, &space, 200), all[all.len() - 200..]);
    }
}
