//! What is stored in a record: the length and the bytes of each value.
//!
//! A loaded value is a function of (data seed, record number, field) and of nothing else, so that the same data is
//! loaded whatever the number of threads, chunks and clients, and so that a check can tell what must be there.
use super::integrity::IntegrityValue;
use crate::keys::{THETA, Zipfian};
use crate::rng::{Random, mix};
use bakeoff_model::run::{FieldLength, Payload, YcsbSpec};

/// Printable ASCII, 0x20..=0x7E.
const PRINTABLE: u128 = 95;

#[derive(Clone, Debug)]
enum Length {
    Constant(usize),
    Uniform {
        min: u64,
        span: u64,
    },
    Zipfian {
        min: u64,
        zipfian: Zipfian,
    },
    /// Cumulative counts, and the length each bucket stands for.
    Histogram {
        total: u64,
        upto: Vec<(u64, u64)>,
    },
}

impl Length {
    fn new(spec: &YcsbSpec) -> Self {
        let (min, max) = (u64::from(spec.min_field_length), u64::from(spec.field_length));
        match &spec.field_length_distribution {
            FieldLength::Constant => Self::Constant(max as usize),
            FieldLength::Uniform => Self::Uniform {
                min,
                span: max - min + 1,
            },
            FieldLength::Zipfian => Self::Zipfian {
                min,
                zipfian: Zipfian::new(max - min + 1, THETA),
            },
            FieldLength::Histogram { block_size, buckets } => {
                let mut total = 0;
                let length = |bucket: u32| (u64::from(bucket) + 1) * u64::from(*block_size);
                let upto = buckets
                    .iter()
                    .map(|&(bucket, count)| {
                        total += count;
                        (total, length(bucket))
                    })
                    .collect();
                Self::Histogram { total, upto }
            }
        }
    }

    #[inline]
    fn draw(&self, rng: &mut Random) -> usize {
        match self {
            Self::Constant(length) => *length,
            Self::Uniform { min, span } => (min + rng.below(*span)) as usize,
            Self::Zipfian { min, zipfian } => (min + zipfian.draw(rng)) as usize,
            Self::Histogram { total, upto } => {
                let place = rng.below(*total);
                let index = upto.partition_point(|&(end, _)| end <= place);
                upto.get(index).map_or(0, |&(_, length)| length as usize)
            }
        }
    }

    /// Shortest and longest value there can be.
    fn bounds(&self) -> (usize, usize) {
        match self {
            Self::Constant(length) => (*length, *length),
            Self::Uniform { min, span } => (*min as usize, (min + span - 1) as usize),
            Self::Zipfian { min, zipfian } => (*min as usize, (min + zipfian.items() - 1) as usize),
            Self::Histogram { upto, .. } => {
                let lengths = || upto.iter().map(|&(_, length)| length as usize);
                (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0))
            }
        }
    }
}

/// Bytes of the longest value that there can be.
pub fn longest(spec: &YcsbSpec) -> u64 {
    match &spec.field_length_distribution {
        FieldLength::Histogram { block_size, buckets } => {
            let longest = buckets.iter().map(|(bucket, _)| bucket).max();
            longest.map_or(0, |bucket| (u64::from(*bucket) + 1) * u64::from(*block_size))
        }
        _ => spec.field_length.into(),
    }
}

/// Makes values. Appends to the buffer it is given; allocates only while that grows.
#[derive(Clone, Debug)]
pub struct FieldMaker {
    data_seed: u64,
    field_count: u32,
    length: Length,
    payload: Payload,
    integrity: Option<IntegrityValue>,
}

impl FieldMaker {
    pub fn new(spec: &YcsbSpec, data_seed: u64) -> Self {
        Self {
            data_seed,
            field_count: spec.field_count,
            length: Length::new(spec),
            payload: spec.payload,
            integrity: spec.data_integrity.then(|| IntegrityValue::new(spec)),
        }
    }

    pub fn length_bounds(&self) -> (usize, usize) {
        self.length.bounds()
    }

    pub fn field_count(&self) -> u32 {
        self.field_count
    }

    pub fn integrity(&self) -> Option<&IntegrityValue> {
        self.integrity.as_ref()
    }

    /// The value that a load or an insert stores.
    #[inline]
    pub fn loaded(&self, keynum: u64, key: &[u8], field: u32, out: &mut Vec<u8>) {
        self.value(
            mix(mix(self.data_seed, keynum), u64::from(field)),
            key,
            field,
            out,
        );
    }

    /// The value that an update with this seed stores. About 0.7 ns a byte.
    #[inline]
    pub fn value(&self, seed: u64, key: &[u8], field: u32, out: &mut Vec<u8>) {
        if let Some(integrity) = &self.integrity {
            return integrity.append(key, field, out);
        }
        let mut rng = Random::new(seed);
        let length = self.length.draw(&mut rng);
        match self.payload {
            Payload::Printable => append_printable(&mut rng, length, out),
            Payload::Compat => append_compat(&mut rng, length, out),
        }
    }

    /// All values of a record as loaded, end to end; `ends` gets where each one ends, counted from `out`'s length at
    /// the call.
    pub fn loaded_record(&self, keynum: u64, key: &[u8], out: &mut Vec<u8>, ends: &mut Vec<u32>) {
        let start = out.len();
        for field in 0..self.field_count {
            self.loaded(keynum, key, field, out);
            ends.push((out.len() - start) as u32);
        }
    }
}

/// Uniform over 0x20..=0x7E: six digits to base 95 from each draw, the first one from its uppermost bits. The sixth
/// still has 31 bits to come from, so no character is favoured by more than 1e-7.
fn append_printable(rng: &mut Random, length: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + length, 0);
    let mut sixes = out[start..].chunks_exact_mut(6);
    for six in &mut sixes {
        fill_printable(rng.bits(), six);
    }
    fill_printable(rng.bits(), sixes.into_remainder());
}

#[inline]
fn fill_printable(mut bits: u64, out: &mut [u8]) {
    for byte in out {
        let scaled = u128::from(bits) * PRINTABLE;
        *byte = b' ' + (scaled >> 64) as u8;
        bits = scaled as u64;
    }
}

/// The original's masks (`RandomByteIterator`): six bytes from 32 bits, adjacent bytes sharing some of them.
fn append_compat(rng: &mut Random, length: usize, out: &mut Vec<u8>) {
    const MASKS: [u32; 6] = [31, 63, 95, 31, 63, 95];
    let start = out.len();
    out.resize(start + length, 0);
    for six in out[start..].chunks_mut(6) {
        let bits = rng.bits() as u32;
        for (i, byte) in six.iter_mut().enumerate() {
            *byte = b' ' + ((bits >> (5 * i)) & MASKS[i]) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn maker(spec: &YcsbSpec) -> FieldMaker {
        FieldMaker::new(spec, 11)
    }

    fn value(maker: &FieldMaker, seed: u64) -> Vec<u8> {
        let mut out = Vec::new();
        maker.value(seed, b"user1", 0, &mut out);
        out
    }

    #[test]
    fn printable_values_use_all_95_characters_evenly() {
        let maker = maker(&YcsbSpec::default());
        let mut hits = [0u32; 256];
        for seed in 0..5000 {
            for byte in value(&maker, mix(3, seed)) {
                hits[byte as usize] += 1;
            }
        }
        let expected = 500_000.0 / 95.0;
        let chi: f64 = hits[0x20..0x7F]
            .iter()
            .map(|&h| (f64::from(h) - expected).powi(2) / expected)
            .sum();
        assert_eq!(
            hits[0x20..0x7F].iter().sum::<u32>(),
            500_000,
            "something outside 0x20..=0x7E"
        );
        assert!(chi < 143.0, "chi-square {chi} with 94 degrees of freedom");
    }

    #[test]
    fn compat_values_stay_within_the_masks_of_the_original() {
        let maker = maker(&YcsbSpec {
            payload: Payload::Compat,
            ..Default::default()
        });
        let mut highest = [0u8; 6];
        for seed in 0..2000 {
            for (i, byte) in value(&maker, mix(4, seed)).into_iter().enumerate() {
                highest[i % 6] = highest[i % 6].max(byte);
                assert!(byte >= b' ' && (byte - b' ') & !([31, 63, 95][i % 3]) == 0);
            }
        }
        assert_eq!(highest, [0x3F, 0x5F, 0x7F, 0x3F, 0x5F, 0x7F]);
    }

    #[test]
    fn a_loaded_value_depends_on_seed_record_and_field_alone() {
        let spec = YcsbSpec::default();
        let load = |seed: u64, keynum: u64, field: u32| {
            let mut out = b"already there".to_vec();
            FieldMaker::new(&spec, seed).loaded(keynum, b"k", field, &mut out);
            out
        };
        assert_eq!(load(1, 2, 3), load(1, 2, 3));
        for other in [load(2, 2, 3), load(1, 3, 3), load(1, 2, 4)] {
            assert_ne!(load(1, 2, 3), other);
        }
    }

    #[test]
    fn histogram_lengths_come_in_the_proportion_of_their_counts() {
        let distribution = FieldLength::Histogram {
            block_size: 10,
            buckets: vec![(0, 1), (4, 3)],
        };
        let maker = maker(&YcsbSpec {
            field_length_distribution: distribution,
            ..Default::default()
        });
        let long = (0..10_000)
            .filter(|&s| value(&maker, mix(8, s)).len() == 50)
            .count();
        let short = (0..10_000)
            .filter(|&s| value(&maker, mix(8, s)).len() == 10)
            .count();
        assert_eq!(long + short, 10_000);
        assert!((long as f64 / 10_000.0 - 0.75).abs() < 0.02, "{long}");
        assert_eq!(maker.length_bounds(), (10, 50));
    }

    #[test]
    fn zipfian_lengths_favour_the_short() {
        let maker = maker(&YcsbSpec {
            field_length_distribution: FieldLength::Zipfian,
            ..Default::default()
        });
        let shortest = (0..10_000)
            .filter(|&s| value(&maker, mix(9, s)).len() == 1)
            .count();
        let expected = 1.0 / crate::keys::zeta(100, THETA);
        assert!((shortest as f64 / 10_000.0 - expected).abs() < 0.02, "{shortest}");
    }

    proptest! {
        #[test]
        fn lengths_stay_within_their_bounds(min in 1u32..50, span in 0u32..50, seed: u64, zipfian: bool) {
            let distribution = if zipfian { FieldLength::Zipfian } else { FieldLength::Uniform };
            let maker = maker(&YcsbSpec {
                min_field_length: min, field_length: min + span, field_length_distribution: distribution,
                ..Default::default()
            });
            let length = value(&maker, seed).len();
            prop_assert!((min as usize..=(min + span) as usize).contains(&length));
            prop_assert_eq!(maker.length_bounds(), (min as usize, (min + span) as usize));
        }
    }
}
