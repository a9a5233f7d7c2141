//! What happened in each second of the run's axis: buffers that the worker fills and the reporter empties. The worker
//! takes the lock once a second, the reporter long after that second has ended.
use crate::record::tally::{Tally, Totals};
use crate::record::times::{Times, TimesSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One second of one worker.
pub struct Second {
    pub times: TimesSet,
    pub tally: Tally,
}

impl Second {
    pub fn new(series: usize) -> Self {
        Self {
            times: TimesSet::new(series),
            tally: Tally::default(),
        }
    }
}

/// One second of all workers.
pub struct SecondTotals {
    /// By series; `None`: nothing of it ended in this second.
    pub times: Vec<Option<Times>>,
    pub totals: Totals,
}

impl SecondTotals {
    pub fn new(series: usize) -> Self {
        Self {
            times: vec![None; series],
            totals: Totals::default(),
        }
    }

    fn add(&mut self, second: &Second) {
        for (series, total) in self.times.iter_mut().enumerate() {
            if !second.times.is_empty(series) {
                second.times.add_to(series, total.get_or_insert_default());
            }
        }
        second.tally.add_to(&mut self.totals);
    }
}

pub struct Seconds {
    series: usize,
    buffers: Mutex<Buffers>,
}

struct Buffers {
    filled: Vec<(u64, Arc<Second>)>,
    free: Vec<Arc<Second>>,
}

impl Seconds {
    pub fn new(series: usize) -> Self {
        Self {
            series,
            buffers: Mutex::new(Buffers {
                filled: Vec::with_capacity(4),
                free: (0..2).map(|_| Arc::new(Second::new(series))).collect(),
            }),
        }
    }

    fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The buffer to fill during `second`.
    pub fn begin(&self, second: u64) -> Arc<Second> {
        let mut buffers = self.buffers();
        let buffer = match buffers.free.pop() {
            Some(buffer) => buffer,
            None => Arc::new(Second::new(self.series)),
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
            buffer.times.clear();
            buffer.tally.clear();
            buffers.free.push(buffer);
        }
    }
}
