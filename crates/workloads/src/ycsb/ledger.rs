//! Which inserts of a run were acknowledged, key by key: ranges of the indices that one client stored. Made when the run
//! has ended, of what the insert sequence knows already.
use super::insert_sequence::InsertSequence;
use crate::account::Evidence;
use serde::{Deserialize, Serialize};

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

/// Key numbers of acknowledged inserts: all, or so many of them, drawn evenly.
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
    use super::super::insert_sequence::InsertCursor;
    use super::*;

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
