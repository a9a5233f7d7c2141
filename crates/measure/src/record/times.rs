//! Histograms of times: unit ns, 1 ns to 1 h, 3 significant digits, the bucket layout of HdrHistogram.
//!
//! Two forms. [`TimesSet`] is written by exactly one thread and may be read by others at any time: plain loads and
//! stores of atomics, so an increment costs what it costs on ordinary memory (record: 2-4 ns, no branch taken but for
//! a new minimum or maximum). [`Times`] is the ordinary value it is merged into, and what becomes an event.
use crate::record::pages::Pages;
use bakeoff_model::event;
use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One hour. Longer times are counted as this one, and apart; the exact maximum is kept.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Buckets per histogram.
pub const BUCKETS: usize = bucket(HIGHEST_NS) + 1;

/// 2048 linear buckets, then 1024 for each doubling: at most 0.1 % wide.
#[inline]
pub const fn bucket(value_ns: u64) -> usize {
    let exponent = 53 - (value_ns | 2047).leading_zeros();
    ((exponent as usize) << 10) + (value_ns >> exponent) as usize
}

/// The lowest value in a bucket.
pub const fn bucket_start_ns(bucket: usize) -> u64 {
    if bucket < 2048 {
        return bucket as u64;
    }
    let exponent = (bucket >> 10) - 1;
    ((bucket - (exponent << 10)) as u64) << exponent
}

/// `counter += by` by its only writer: no lock prefix, no other core's write to wait for.
#[inline]
pub fn add(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed) + by, Relaxed);
}

struct Head {
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    out_of_range: AtomicU64,
}

/// Several histograms of one writer.
pub struct TimesSet {
    counts: Pages,
    heads: Box<[Head]>,
}

impl TimesSet {
    pub fn new(histograms: usize) -> Self {
        let head = |_| Head {
            min_ns: AtomicU64::new(u64::MAX),
            max_ns: AtomicU64::new(0),
            out_of_range: AtomicU64::new(0),
        };
        Self {
            counts: Pages::new(histograms * BUCKETS),
            heads: (0..histograms).map(head).collect(),
        }
    }

    /// By the one writer. Neither allocates nor fails. A time of 0 (two reads of the clock within its resolution)
    /// counts as 1 ns.
    #[inline]
    pub fn record(&self, histogram: usize, value_ns: u64) {
        let value_ns = value_ns.max(1);
        self.record_in(histogram, value_ns, bucket(value_ns.min(HIGHEST_NS)));
    }

    /// `value_ns` is at least 1 and `bucket` its own, for who records it more than once.
    #[inline]
    pub fn record_in(&self, histogram: usize, value_ns: u64, bucket: usize) {
        let head = &self.heads[histogram];
        if value_ns < head.min_ns.load(Relaxed) {
            head.min_ns.store(value_ns, Relaxed);
        }
        if value_ns > head.max_ns.load(Relaxed) {
            head.max_ns.store(value_ns, Relaxed);
        }
        if value_ns > HIGHEST_NS {
            add(&head.out_of_range, 1);
        }
        add(&self.counts[histogram * BUCKETS + bucket], 1);
    }

    pub fn is_empty(&self, histogram: usize) -> bool {
        self.heads[histogram].max_ns.load(Relaxed) == 0
    }

    /// Touches only the part of the range that holds values.
    pub fn add_to(&self, histogram: usize, total: &mut Times) {
        if self.is_empty(histogram) {
            return;
        }
        let head = &self.heads[histogram];
        total.out_of_range += head.out_of_range.load(Relaxed);
        total.min_ns = total.min_ns.min(head.min_ns.load(Relaxed));
        total.max_ns = total.max_ns.max(head.max_ns.load(Relaxed));
        for bucket in self.used(histogram) {
            let count = self.counts[histogram * BUCKETS + bucket].load(Relaxed);
            total.counts[bucket] += count;
            total.count += count;
        }
    }

    /// Only while the writer is known not to write.
    pub fn clear(&self) {
        for histogram in 0..self.heads.len() {
            if self.is_empty(histogram) {
                continue;
            }
            for bucket in self.used(histogram) {
                self.counts[histogram * BUCKETS + bucket].store(0, Relaxed);
            }
            let head = &self.heads[histogram];
            head.min_ns.store(u64::MAX, Relaxed);
            head.max_ns.store(0, Relaxed);
            head.out_of_range.store(0, Relaxed);
        }
    }

    fn used(&self, histogram: usize) -> std::ops::RangeInclusive<usize> {
        let head = &self.heads[histogram];
        let (low, high) = (head.min_ns.load(Relaxed), head.max_ns.load(Relaxed));
        bucket(low.min(HIGHEST_NS))..=bucket(high.min(HIGHEST_NS))
    }
}

/// One histogram as a value.
#[derive(Clone, PartialEq)]
pub struct Times {
    counts: Vec<u64>,
    count: u64,
    out_of_range: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            count: 0,
            out_of_range: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl Times {
    pub fn record(&mut self, value_ns: u64) {
        self.record_many(value_ns, 1);
    }

    pub fn record_many(&mut self, value_ns: u64, times: u64) {
        let value_ns = value_ns.max(1);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        self.out_of_range += if value_ns > HIGHEST_NS { times } else { 0 };
        self.counts[bucket(value_ns.min(HIGHEST_NS))] += times;
        self.count += times;
    }

    pub fn merge(&mut self, other: &Times) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.out_of_range += other.out_of_range;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Lowest value that at least this share of all values does not exceed; 0 when there are none. Within 0.1 %.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let wanted = ((share * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                // The bucket's end, as HdrHistogram reports it, but never above what was really seen.
                return (bucket_start_ns(bucket + 1) - 1).min(self.max_ns);
            }
        }
        0
    }

    /// Sum of all values, within 0.05 %: each stands at the middle of its bucket.
    pub fn sum_ns(&self) -> f64 {
        let middle = |bucket| (bucket_start_ns(bucket) + bucket_start_ns(bucket + 1) - 1) as f64 / 2.0;
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(bucket, count)| middle(bucket) * *count as f64).sum()
    }

    pub fn to_event(&self) -> event::Histogram {
        event::Histogram {
            count: self.count,
            out_of_range: self.out_of_range,
            min_ns: if self.count == 0 { 0 } else { self.min_ns },
            mean_ns: if self.count == 0 {
                0.0
            } else {
                self.sum_ns() / self.count as f64
            },
            p50_ns: self.quantile_ns(0.5),
            p95_ns: self.quantile_ns(0.95),
            p99_ns: self.quantile_ns(0.99),
            p999_ns: self.quantile_ns(0.999),
            max_ns: self.max_ns,
            hdr: self.encode(),
        }
    }

    /// The standard compressed form, base64. Empty only if the encoder refused, which fixed bounds rule out.
    fn encode(&self) -> String {
        let Ok(mut histogram) = Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3) else {
            return String::new();
        };
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.saturating_record_n(bucket_start_ns(bucket), *count);
        }
        let mut bytes = Vec::new();
        match V2DeflateSerializer::new().serialize(&histogram, &mut bytes) {
            Ok(_) => base64::engine::general_purpose::STANDARD.encode(bytes),
            Err(_) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times(values: &[u64]) -> Times {
        let mut times = Times::default();
        values.iter().for_each(|v| times.record(*v));
        times
    }

    fn decode(encoded: &str) -> Histogram<u64> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
        hdrhistogram::serialization::Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .unwrap()
    }

    proptest! {
        #[test]
        fn merging_histograms_is_the_histogram_of_the_merge(
            a in prop::collection::vec(0..2 * HIGHEST_NS, 0..200),
            b in prop::collection::vec(0..2 * HIGHEST_NS, 0..200),
        ) {
            let mut merged = times(&a);
            merged.merge(&times(&b));
            prop_assert!(merged == times(&[a, b].concat()));
        }

        #[test]
        fn a_set_holds_what_its_writer_recorded(values in prop::collection::vec(0..2 * HIGHEST_NS, 0..200)) {
            let set = TimesSet::new(2);
            values.iter().for_each(|v| set.record(1, *v));
            let mut total = Times::default();
            set.add_to(1, &mut total);
            prop_assert!(total == times(&values));
            prop_assert!(set.is_empty(0));
            set.clear();
            prop_assert!(set.is_empty(1));
        }

        #[test]
        fn quantiles_agree_with_hdrhistogram(values in prop::collection::vec(1..HIGHEST_NS, 1..300)) {
            let ours = times(&values);
            let mut theirs = Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3).unwrap();
            values.iter().for_each(|v| theirs.record(*v).unwrap());
            for share in [0.5, 0.95, 0.99, 0.999, 1.0] {
                prop_assert_eq!(ours.quantile_ns(share), theirs.value_at_quantile(share).min(ours.max_ns));
            }
            prop_assert!((ours.sum_ns() / ours.count() as f64 / theirs.mean() - 1.0).abs() < 1e-3);
            prop_assert_eq!(decode(&ours.to_event().hdr), theirs);
        }

        #[test]
        fn a_bucket_begins_at_or_below_its_values(value in 1..HIGHEST_NS) {
            prop_assert!(bucket_start_ns(bucket(value)) <= value);
            prop_assert!(bucket_start_ns(bucket(value) + 1) > value);
            prop_assert!((value - bucket_start_ns(bucket(value))) as f64 <= value as f64 * 0.001);
        }
    }

    #[test]
    fn a_value_out_of_range_is_counted_and_its_maximum_kept_exactly() {
        let event = times(&[5, HIGHEST_NS + 7]).to_event();
        assert_eq!(
            (event.count, event.out_of_range, event.max_ns),
            (2, 1, HIGHEST_NS + 7)
        );
        assert_eq!(decode(&event.hdr).len(), 2);
    }

    #[test]
    fn an_empty_histogram_is_all_zeros() {
        let event = Times::default().to_event();
        assert_eq!(
            (event.count, event.min_ns, event.p50_ns, event.max_ns),
            (0, 0, 0, 0)
        );
        assert_eq!(decode(&event.hdr).len(), 0);
    }
}
