//! `next`: draws an operation and lays its bytes ready. Everything follows from one seed of the user's stream; the
//! key is drawn last, because how often it is redrawn depends on how far the table has grown.
use super::ahead::Drawn;
use super::choose::KeyCursor;
use super::thread::Thread;
use super::validate::Proportions;
use super::{INSERT, READ, READ_MODIFY_WRITE, SCAN, UPDATE, Ycsb};
use crate::keys::{THETA, Zipfian};
use crate::rng::{Random, mix};
use bakeoff_model::run::{ScanLength, YcsbSpec};

/// Chooses the kind of operation: one draw against the cumulative weights.
#[derive(Debug)]
pub struct Mix {
    upto: [f64; 5],
    /// The last kind with a weight, which takes what rounding leaves.
    last: usize,
}

const KINDS: [usize; 5] = [READ, UPDATE, INSERT, SCAN, READ_MODIFY_WRITE];

impl Mix {
    pub fn new(spec: &YcsbSpec) -> Self {
        let weights = spec.proportions();
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let upto = weights.map(|weight| {
            sum += weight / total;
            sum
        });
        Self {
            upto,
            last: weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0),
        }
    }

    #[inline]
    fn pick(&self, u: f64) -> usize {
        if self.last == 0 {
            return KINDS[0];
        }
        // Counts without branching, because which kind comes next cannot be predicted.
        let passed: usize = self.upto.iter().map(|&end| usize::from(u >= end)).sum();
        KINDS[passed.min(self.last)]
    }
}

/// How many rows a scan asks for.
#[derive(Debug)]
pub struct ScanLimit {
    min: u32,
    span: u32,
    zipfian: Option<Zipfian>,
}

impl ScanLimit {
    pub fn new(spec: &YcsbSpec) -> Self {
        let span = spec.max_scan_length - spec.min_scan_length + 1;
        let zipfian = matches!(spec.scan_length_distribution, ScanLength::Zipfian)
            .then(|| Zipfian::new(u64::from(span), THETA));
        Self {
            min: spec.min_scan_length,
            span,
            zipfian,
        }
    }

    #[inline]
    fn draw(&self, rng: &mut Random) -> u32 {
        let above = match &self.zipfian {
            Some(zipfian) => zipfian.draw(rng),
            None => rng.below(u64::from(self.span)),
        };
        self.min + above as u32
    }
}

impl Ycsb {
    /// About 25 ns for a zipfian read; plus 0.7 ns per byte that will be written. Allocates nothing.
    #[inline]
    pub(super) fn draw(&self, cursor: &KeyCursor, thread: &mut Thread) -> usize {
        if !thread.drawn.advance() {
            self.draw_ahead(cursor, thread);
        }
        if thread.hash.is_open() {
            self.hash_drawn(thread);
        }
        thread.values.clear();
        thread.ends.clear();
        let kind = thread.drawn.kind;
        if kind != READ && kind != SCAN {
            self.lay_out_values(thread, kind);
        }
        kind
    }

    /// Step by step for all operations at once, so that those of different operations overlap.
    #[inline(never)]
    fn draw_ahead(&self, cursor: &KeyCursor, thread: &mut Thread) {
        if !self.space.is_fixed() {
            return self.draw_one(cursor, thread);
        }
        let operations = thread.drawn.refill_all();
        for early in &mut *operations {
            early.drawn.seed = thread.stream.next_seed();
            early.drawn.kind = self.kind(&early.drawn, thread.latency_probe);
        }
        let rngs = std::array::from_fn(|i| operations[i].drawn.rng_for_key());
        let keynums = self.space.draw_all(cursor, rngs);
        for (early, keynum) in operations.iter_mut().zip(keynums) {
            early.drawn.keynum = keynum;
            early.named = keynum;
            if early.drawn.kind == SCAN {
                early.named = self.draw_scan(cursor, &mut early.drawn);
            }
        }
        let numbers = operations
            .each_ref()
            .map(|early| self.key_text.number(early.drawn.keynum));
        for (early, number) in operations.iter_mut().zip(numbers) {
            self.key_text.write_number(number, &mut early.key);
        }
    }

    /// Where what is drawn depends on when.
    fn draw_one(&self, cursor: &KeyCursor, thread: &mut Thread) {
        let early = thread.drawn.refill_one();
        early.drawn.seed = thread.stream.next_seed();
        early.drawn.kind = self.kind(&early.drawn, thread.latency_probe);
        early.named = self.draw_key(cursor, &mut early.drawn);
        self.key_text.write(early.drawn.keynum, &mut early.key);
    }

    #[inline]
    fn kind(&self, drawn: &Drawn, latency_probe: bool) -> usize {
        let kind = self.mix.pick(drawn.unit_for_kind());
        if latency_probe { READ } else { kind }
    }

    /// Only a stream's first operations.
    #[cold]
    fn hash_drawn(&self, thread: &mut Thread) {
        let early = thread.drawn.current();
        thread.hash.add([
            early.drawn.kind as u64,
            early.named,
            early.drawn.field(self.fields.field_count()).into(),
            early.drawn.limit.unwrap_or(0).into(),
            early.drawn.value_seed(),
        ]);
    }

    /// Returns what goes into the stream's hash for the key.
    fn draw_key(&self, cursor: &KeyCursor, drawn: &mut Drawn) -> u64 {
        match drawn.kind {
            INSERT => {
                drawn.insert = self.space.take_insert(cursor);
                drawn.keynum = self
                    .space
                    .inserts()
                    .map_or(0, |inserts| inserts.keynum(drawn.insert));
                0
            }
            SCAN => self.draw_scan(cursor, drawn),
            _ => {
                drawn.keynum = self.space.draw(cursor, &mut drawn.rng_for_key());
                0
            }
        }
    }

    /// Returns what goes into the stream's hash for the key.
    fn draw_scan(&self, cursor: &KeyCursor, drawn: &mut Drawn) -> u64 {
        let mut rng = drawn.rng_for_key();
        if self.last_keys.is_empty() {
            drawn.limit = Some(self.scan_limit.draw(&mut rng));
            drawn.rows_min = 1;
            drawn.keynum = self.space.draw(cursor, &mut rng);
            return if self.space.is_fixed() { drawn.keynum } else { 0 };
        }
        let place = rng.below(self.last_keys.len() as u64);
        drawn.rows_min = self.last_keys.len() as u64 - place;
        drawn.keynum = self.last_keys[place as usize];
        drawn.keynum
    }

    fn lay_out_values(&self, thread: &mut Thread, kind: usize) {
        let Thread {
            drawn, values, ends, ..
        } = thread;
        let (early, key) = (drawn.current(), drawn.key());
        match kind {
            INSERT => self.fields.loaded_record(early.drawn.keynum, key, values, ends),
            UPDATE | READ_MODIFY_WRITE => {
                for field in self.written_fields(&early.drawn) {
                    let seed = mix(early.drawn.value_seed(), u64::from(field));
                    self.fields.value(seed, key, field, values);
                    ends.push(values.len() as u32);
                }
            }
            _ => return,
        }
        drawn.bytes = (key.len() + values.len()) as u64;
    }

    /// The fields an update writes: all, or the one drawn.
    #[inline]
    pub(super) fn written_fields(&self, drawn: &Drawn) -> std::ops::Range<u32> {
        let count = self.fields.field_count();
        if self.spec.write_all_fields {
            return 0..count;
        }
        let field = drawn.field(count);
        field..field + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_in_the_proportion_of_their_weights() {
        let mix = Mix::new(&YcsbSpec {
            read_proportion: 2.0,
            update_proportion: 1.0,
            insert_proportion: 0.0,
            scan_proportion: 1.0,
            read_modify_write_proportion: 0.0,
            ..Default::default()
        });
        let mut rng = Random::new(12);
        let mut hits = [0u32; 5];
        for _ in 0..100_000 {
            hits[mix.pick(rng.unit())] += 1;
        }
        assert_eq!((hits[INSERT], hits[READ_MODIFY_WRITE]), (0, 0));
        for (kind, expected) in [(READ, 50_000.0), (UPDATE, 25_000.0), (SCAN, 25_000.0)] {
            assert!((f64::from(hits[kind]) - expected).abs() < 700.0, "{hits:?}");
        }
    }

    #[test]
    fn rounding_never_picks_a_kind_without_weight() {
        let mix = Mix::new(&YcsbSpec {
            read_proportion: 0.1,
            update_proportion: 0.7,
            insert_proportion: 0.2,
            ..Default::default()
        });
        assert_eq!(mix.pick(1.0 - f64::EPSILON / 2.0), INSERT);
    }

    #[test]
    fn scan_lengths_cover_their_range() {
        let lengths = |distribution| {
            let spec = YcsbSpec {
                min_scan_length: 5,
                max_scan_length: 8,
                scan_length_distribution: distribution,
                ..Default::default()
            };
            let limit = ScanLimit::new(&spec);
            let mut rng = Random::new(1);
            let mut hits = [0u32; 10];
            (0..40_000).for_each(|_| hits[limit.draw(&mut rng) as usize] += 1);
            hits
        };
        let uniform = lengths(ScanLength::Uniform);
        assert!(
            uniform[5..9].iter().all(|&h| (9_600..10_400).contains(&h)),
            "{uniform:?}"
        );
        let zipfian = lengths(ScanLength::Zipfian);
        assert!(
            zipfian[5] > zipfian[6] && zipfian[6] > zipfian[8] && zipfian[8] > 0,
            "{zipfian:?}"
        );
        assert_eq!(
            uniform[5..9].iter().sum::<u32>() + zipfian[5..9].iter().sum::<u32>(),
            80_000
        );
    }
}
