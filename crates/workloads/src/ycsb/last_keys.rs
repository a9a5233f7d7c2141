//! The last keys of the table in key order, for scans from there to its end.
use super::choose::KeySpace;
use super::key_text::KeyText;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
