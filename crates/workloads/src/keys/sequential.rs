//! One record after the other, over all users of a client.
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers a worker takes at once, so that workers do not write to one counter per operation.
const BLOCK: u64 = 64;

/// The counter of the client; each worker takes blocks from it.
#[derive(Debug, Default)]
pub struct Sequential {
    next_block: AtomicU64,
}

/// A worker's place in its block.
#[derive(Debug, Default)]
pub struct SequentialCursor {
    next: Cell<u64>,
    end: Cell<u64>,
}

impl Sequential {
    #[inline]
    pub fn draw(&self, cursor: &SequentialCursor, items: u64) -> u64 {
        if cursor.next.get() == cursor.end.get() {
            let first = self.next_block.fetch_add(1, Ordering::Relaxed) * BLOCK;
            cursor.next.set(first);
            cursor.end.set(first + BLOCK);
        }
        let number = cursor.next.get();
        cursor.next.set(number + 1);
        number % items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_worker_goes_through_all_records_in_order_and_begins_again() {
        let (sequential, cursor) = (Sequential::default(), SequentialCursor::default());
        let drawn: Vec<u64> = (0..250).map(|_| sequential.draw(&cursor, 100)).collect();
        assert_eq!(drawn, (0..250).map(|i| i % 100).collect::<Vec<_>>());
    }

    #[test]
    fn two_workers_never_draw_the_same_number_in_one_pass() {
        let sequential = Sequential::default();
        let (a, b) = (SequentialCursor::default(), SequentialCursor::default());
        let mut drawn: Vec<u64> = (0..500)
            .flat_map(|_| [sequential.draw(&a, 100_000), sequential.draw(&b, 100_000)])
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 1000);
    }
}
