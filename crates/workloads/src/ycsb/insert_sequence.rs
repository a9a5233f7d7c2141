//! Which record a run-phase insert stores, and which inserted records may be read.
//!
//! Client c of n inserts records first + c, + n, + 2n, ...; number i of that sequence is an *insert index* here.
//! Workers take indices in blocks of [`BLOCK`], so that they share one counter only once per block. An index is
//! settled when its insert has ended; a block is readable when all its indices and those of all blocks before it are
//! settled. Indices whose insert failed or may have failed stay behind as holes and are never read.
//!
//! Blocks are small because a block that its worker has not used up holds back everything after it, and `latest`
//! is meant to read what has just been written.
use crate::account::Evidence;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Bits of one byte: one settled bit and one hole bit per index.
pub const BLOCK: u64 = 8;

#[derive(Debug)]
pub struct InsertSequence {
    first_keynum: u64,
    stride: u64,
    next_block: AtomicU64,
    readable_blocks: AtomicU64,
    settled: BlockBits,
    holes: BlockBits,
    hole_count: AtomicU64,
}

/// A worker's place in its block.
#[derive(Debug, Default)]
pub struct InsertCursor {
    next: Cell<u64>,
    end: Cell<u64>,
}

impl InsertSequence {
    pub fn new(records: u64, client: u32, clients: u32) -> Self {
        Self {
            first_keynum: records + u64::from(client),
            stride: u64::from(clients.max(1)),
            next_block: AtomicU64::new(0),
            readable_blocks: AtomicU64::new(0),
            settled: BlockBits::new(),
            holes: BlockBits::new(),
            hole_count: AtomicU64::new(0),
        }
    }

    /// The next index of this worker. One shared counter per block.
    #[inline]
    pub fn take(&self, cursor: &InsertCursor) -> u64 {
        if cursor.next.get() == cursor.end.get() {
            let first = self.next_block.fetch_add(1, Ordering::Relaxed) * BLOCK;
            cursor.next.set(first);
            cursor.end.set(first + BLOCK);
        }
        let index = cursor.next.get();
        cursor.next.set(index + 1);
        index
    }

    #[inline]
    pub fn keynum(&self, index: u64) -> u64 {
        self.first_keynum + index * self.stride
    }

    /// Indices below this may be read, holes excepted.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.readable_blocks.load(Ordering::Acquire) * BLOCK
    }

    #[inline]
    pub fn is_hole(&self, index: u64) -> bool {
        self.hole_count.load(Ordering::Relaxed) > 0 && self.holes.get(index / BLOCK) & bit(index) != 0
    }

    /// Indices below this were taken by workers, who need not have used all of them.
    pub fn taken(&self) -> u64 {
        self.next_block.load(Ordering::Relaxed) * BLOCK
    }

    /// Whether the insert of this index was acknowledged.
    pub fn is_stored(&self, index: u64) -> bool {
        self.settled.get(index / BLOCK) & bit(index) != 0 && !self.is_hole(index)
    }

    /// The insert of this index has ended; `stored` only when it was acknowledged.
    pub fn settle(&self, index: u64, stored: bool) {
        if !stored {
            self.holes.set(index / BLOCK, bit(index));
            self.hole_count.fetch_add(1, Ordering::SeqCst);
        }
        if self.settled.set(index / BLOCK, bit(index)) == u8::MAX {
            self.publish();
        }
    }

    /// Moves the watermark over all whole blocks. Sequentially consistent, so that of two workers that finish
    /// adjacent blocks at once, at least one sees the other's.
    fn publish(&self) {
        let mut block = self.readable_blocks.load(Ordering::SeqCst);
        while self.settled.get(block) == u8::MAX {
            match self
                .readable_blocks
                .compare_exchange(block, block + 1, Ordering::SeqCst, Ordering::SeqCst)
            {
                Ok(_) => block += 1,
                Err(moved) => block = moved,
            }
        }
    }
}

fn bit(index: u64) -> u8 {
    1 << (index % BLOCK)
}

/// One byte per block, in segments made when first written to (once per half a million inserts).
#[derive(Debug)]
struct BlockBits {
    segments: Box<[OnceLock<Box<[AtomicU8]>>]>,
}

const SEGMENT_BLOCKS: u64 = 1 << 16;
/// Enough for 8.6 billion inserts of one client; later ones are stored, but never become readable.
const SEGMENTS: usize = 1 << 14;

impl BlockBits {
    fn new() -> Self {
        Self {
            segments: (0..SEGMENTS).map(|_| OnceLock::new()).collect(),
        }
    }

    fn get(&self, block: u64) -> u8 {
        let segment = self
            .segments
            .get((block / SEGMENT_BLOCKS) as usize)
            .and_then(OnceLock::get);
        segment.map_or(0, |bytes| {
            bytes[(block % SEGMENT_BLOCKS) as usize].load(Ordering::SeqCst)
        })
    }

    /// Returns the block's byte with the bit set.
    fn set(&self, block: u64, bit: u8) -> u8 {
        let Some(segment) = self.segments.get((block / SEGMENT_BLOCKS) as usize) else {
            return 0;
        };
        let bytes = segment.get_or_init(|| (0..SEGMENT_BLOCKS).map(|_| AtomicU8::new(0)).collect());
        bytes[(block % SEGMENT_BLOCKS) as usize].fetch_or(bit, Ordering::SeqCst) | bit
    }
}

// Which inserts of a run were acknowledged, key by key: ranges of the indices that one client stored. Made when the run
// has ended, of what the insert sequence knows already.

/// Of ranges, and of open indices: what the evidence of a run keeps is bounded, however many inserts failed.
const MOST: usize = 10_000;

/// What one client's run did: counts, and the keys that it inserted.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct Did {
    #[serde(flatten)]
    pub counts: Evidence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Ledger>,
}

/// Insert index i is that of the key number `first_keynum` + i * `stride`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub first_keynum: u64,
    pub stride: u64,
    /// Indices of acknowledged inserts: the first, and how many follow each other.
    pub acknowledged: Vec<(u64, u64)>,
    /// Indices without an acknowledgement: failed, unknown, or never sent.
    pub open: Vec<u64>,
}

impl Ledger {
    pub fn of(inserts: &InsertSequence) -> Self {
        let mut ledger = Self {
            first_keynum: inserts.keynum(0),
            stride: inserts.keynum(1) - inserts.keynum(0),
            ..Self::default()
        };
        for index in 0..inserts.taken() {
            if !inserts.is_stored(index) {
                if ledger.open.len() < MOST {
                    ledger.open.push(index);
                }
                continue;
            }
            let ranges = ledger.acknowledged.len();
            match ledger.acknowledged.last_mut() {
                Some((first, count)) if *first + *count == index => *count += 1,
                _ if ranges < MOST => ledger.acknowledged.push((index, 1)),
                _ => {}
            }
        }
        ledger
    }

    fn keynum(&self, index: u64) -> u64 {
        self.first_keynum + index * self.stride
    }

    pub fn open_keynums(&self) -> impl Iterator<Item = u64> {
        self.open.iter().map(|&index| self.keynum(index))
    }
}

/// Key numbers of acknowledged inserts: all, or at most `most`, drawn evenly.
pub fn acknowledged(ledgers: &[&Ledger], most: u64) -> Vec<u64> {
    let total: u64 = ledgers
        .iter()
        .flat_map(|ledger| &ledger.acknowledged)
        .map(|(_, count)| count)
        .sum();
    let wanted = most.min(total);
    let (mut keynums, mut before) = (Vec::new(), 0);
    for ledger in ledgers {
        for &(first, count) in &ledger.acknowledged {
            while (keynums.len() as u64) < wanted {
                let place = (keynums.len() as u128 * u128::from(total) / u128::from(wanted)) as u64;
                if place >= before + count {
                    break;
                }
                keynums.push(ledger.keynum(first + place - before));
            }
            before += count;
        }
    }
    keynums
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn clients_never_collide() {
        let mut seen = HashSet::new();
        for client in 0..3 {
            let sequence = InsertSequence::new(1000, client, 3);
            let cursor = InsertCursor::default();
            for _ in 0..100 {
                let keynum = sequence.keynum(sequence.take(&cursor));
                assert!(keynum >= 1000 && seen.insert(keynum), "{keynum} twice");
            }
        }
        assert_eq!(seen, (1000..1300).collect());
    }

    #[test]
    fn workers_take_blocks_of_their_own() {
        let sequence = InsertSequence::new(0, 0, 1);
        let (a, b) = (InsertCursor::default(), InsertCursor::default());
        let taken: Vec<u64> = (0..10)
            .flat_map(|_| [sequence.take(&a), sequence.take(&b)])
            .collect();
        assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 20);
        assert_eq!(&taken[..4], &[0, 8, 1, 9]);
    }

    #[test]
    fn a_block_is_readable_once_it_and_all_before_it_are_settled() {
        let sequence = InsertSequence::new(0, 0, 1);
        (8..16).for_each(|i| sequence.settle(i, true));
        assert_eq!(sequence.readable(), 0);
        (0..7).for_each(|i| sequence.settle(i, true));
        assert_eq!(sequence.readable(), 0);
        sequence.settle(7, true);
        assert_eq!(sequence.readable(), 16);
    }

    #[test]
    fn what_was_not_stored_is_a_hole_and_does_not_hold_back_the_rest() {
        let sequence = InsertSequence::new(0, 0, 1);
        (0..16).for_each(|i| sequence.settle(i, i != 3));
        assert_eq!(sequence.readable(), 16);
        assert!(sequence.is_hole(3));
        assert_eq!((0..16).filter(|&i| sequence.is_hole(i)).count(), 1);
    }

    #[test]
    fn the_watermark_reaches_the_end_whatever_order_workers_settle_in() {
        for _ in 0..50 {
            let sequence = InsertSequence::new(0, 0, 1);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let cursor = InsertCursor::default();
                        for _ in 0..BLOCK * 50 {
                            sequence.settle(sequence.take(&cursor), true);
                        }
                    });
                }
            });
            assert_eq!(sequence.readable(), 4 * BLOCK * 50);
        }
    }

    fn ledger(stored: impl Fn(u64) -> Option<bool>, count: u64) -> Ledger {
        let inserts = InsertSequence::new(1000, 1, 2);
        let cursor = InsertCursor::default();
        for _ in 0..count {
            let index = inserts.take(&cursor);
            if let Some(stored) = stored(index) {
                inserts.settle(index, stored);
            }
        }
        Ledger::of(&inserts)
    }

    #[test]
    fn acknowledged_inserts_are_ranges_and_all_others_stay_open() {
        let found = ledger(|index| (index != 20).then_some(index != 3), 30);
        assert_eq!((found.first_keynum, found.stride), (1001, 2));
        assert_eq!(found.acknowledged, [(0, 3), (4, 16), (21, 9)]);
        assert_eq!(found.open, [3, 20, 30, 31]);
        assert_eq!(found.open_keynums().collect::<Vec<_>>(), [1007, 1041, 1061, 1063]);
    }

    #[test]
    fn all_keys_or_an_even_sample_of_them_are_looked_up() {
        let one = ledger(|index| Some(index != 3), 12);
        let other = Ledger {
            first_keynum: 0,
            stride: 1,
            acknowledged: vec![(0, 1000)],
            open: vec![],
        };
        let all = acknowledged(&[&one], 100);
        assert_eq!(all.len(), 11);
        assert!(!all.contains(&1007) && all[..4] == [1001, 1003, 1005, 1009]);
        let sample = acknowledged(&[&other, &one], 5);
        assert_eq!(sample, [0, 202, 404, 606, 808]);
        assert!(acknowledged(&[&other], 0).is_empty() && acknowledged(&[], 5).is_empty());
    }

    #[test]
    fn a_ledger_is_bounded_and_evidence_without_one_is_read() {
        let found = ledger(|index| Some(index % 2 == 0), 50_000);
        assert_eq!((found.acknowledged.len(), found.open.len()), (MOST, MOST));
        let counts = Evidence {
            inserts_acknowledged: 5,
            ..Evidence::default()
        };
        let old: Did = serde_json::from_value(serde_json::to_value(counts).unwrap()).unwrap();
        assert_eq!((old.counts, old.ledger), (counts, None));
    }
}
