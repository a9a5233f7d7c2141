//! What happened in each second of the run's axis: buffers that the worker fills and the reporter empties. The worker
//! takes the lock once a second, the reporter long after that second has ended.
use crate::record::nodes::{NodeSet, NodeTotals};
use crate::record::tally::{Tally, Totals};
use crate::record::times::{Times, TimesSet, add};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Parts of a second in which operations are counted, so that gaps are known more closely than to a second.
pub const TENTHS: usize = 10;

/// What there is to count.
#[derive(Clone, Copy)]
pub struct Size {
    pub series: usize,
    pub endpoints: usize,
}

/// One second of one worker.
pub struct Second {
    /// By series; behind them the service times of whole operations that ended ok, where those are kept.
    pub times: TimesSet,
    pub tally: Tally,
    pub nodes: Option<NodeSet>,
    /// Whole operations that ended, by tenth and, within it, by series.
    tenths: Box<[AtomicU64]>,
}

impl Second {
    pub fn new(size: Size) -> Self {
        Self {
            times: TimesSet::new(size.series + 1),
            tally: Tally::default(),
            nodes: NodeSet::of_several(size.endpoints),
            tenths: (0..TENTHS * size.series).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// `place`: that of a series in a tenth.
    #[inline]
    pub fn in_tenth(&self, place: usize) {
        add(&self.tenths[place], 1);
    }

    /// Only while the writer is known not to write.
    fn clear(&self) {
        self.times.clear();
        self.tally.clear();
        self.nodes.iter().for_each(NodeSet::clear);
        self.tenths.iter().for_each(|count| count.store(0, Relaxed));
    }
}

/// One second of all workers.
pub struct SecondTotals {
    /// By series; `None`: nothing of it ended in this second.
    pub times: Vec<Option<Times>>,
    /// Of whole operations that ended ok; `None`: not kept, or nothing did.
    pub service: Option<Times>,
    pub totals: Totals,
    /// Of several nodes; else not counted.
    pub nodes: Vec<NodeTotals>,
    tenths: Vec<u64>,
}

impl SecondTotals {
    pub fn new(size: Size) -> Self {
        Self {
            times: vec![None; size.series],
            service: None,
            totals: Totals::default(),
            nodes: NodeTotals::of_several(size.endpoints),
            tenths: vec![0; TENTHS * size.series],
        }
    }

    /// Operations of these series that ended in each tenth.
    pub fn in_tenths(&self, wanted: impl Fn(usize) -> bool) -> Vec<u64> {
        let tenths = self.tenths.chunks(self.times.len().max(1));
        let of = |counts: &[u64]| {
            (0..)
                .zip(counts)
                .filter(|(series, _)| wanted(*series))
                .map(|(_, n)| n)
                .sum()
        };
        tenths.map(of).collect()
    }

    fn add(&mut self, second: &Second) {
        let totals = self.times.iter_mut().chain([&mut self.service]);
        for (series, total) in totals.enumerate() {
            if !second.times.is_empty(series) {
                second.times.add_to(series, total.get_or_insert_default());
            }
        }
        second.tally.add_to(&mut self.totals);
        second
            .nodes
            .iter()
            .for_each(|nodes| nodes.add_to(&mut self.nodes));
        for (total, count) in self.tenths.iter_mut().zip(&second.tenths) {
            *total += count.load(Relaxed);
        }
    }
}

pub struct Seconds {
    size: Size,
    buffers: Mutex<Buffers>,
}

struct Buffers {
    filled: Vec<(u64, Arc<Second>)>,
    free: Vec<Arc<Second>>,
}

impl Seconds {
    pub fn new(size: Size) -> Self {
        Self {
            size,
            buffers: Mutex::new(Buffers {
                filled: Vec::with_capacity(4),
                free: (0..2).map(|_| Arc::new(Second::new(size))).collect(),
            }),
        }
    }

    pub fn series(&self) -> usize {
        self.size.series
    }

    fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The buffer to fill during `second`.
    pub fn begin(&self, second: u64) -> Arc<Second> {
        let mut buffers = self.buffers();
        let buffer = match buffers.free.pop() {
            Some(buffer) => buffer,
            None => Arc::new(Second::new(self.size)),
        };
        buffers.filled.push((second, buffer.clone()));
        buffer
    }

    /// Adds everything up to `second` to `totals` and frees its buffers, which nobody may be writing to any more.
    pub fn take(&self, second: u64, totals: &mut SecondTotals) {
        let mut buffers = self.buffers();
        while let Some(found) = buffers.filled.iter().position(|(of, _)| *of <= second) {
            let (_, buffer) = buffers.filled.swap_remove(found);
            totals.add(&buffer);
            buffer.clear();
            buffers.free.push(buffer);
        }
    }
}
