//! Capacity units: what a cloud service charges for, as it says with each answer.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Units that requests have consumed.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct CapacityUnits {
    pub read: f64,
    pub write: f64,
}

impl CapacityUnits {
    pub fn since(self, before: Self) -> Self {
        Self {
            read: self.read - before.read,
            write: self.write - before.write,
        }
    }
}

/// What one session has consumed: written by its own thread alone, in thousandths.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the adjacent one is not fetched along
pub struct CapacityTally {
    read: AtomicU64,
    write: AtomicU64,
}

impl CapacityTally {
    #[inline]
    pub fn add(&self, units: CapacityUnits) {
        let add = |sum: &AtomicU64, units: f64| {
            sum.store(sum.load(Relaxed) + (units * 1000.0).round() as u64, Relaxed);
        };
        add(&self.read, units.read);
        add(&self.write, units.write);
    }
}

/// What all sessions of a driver have consumed.
#[derive(Debug, Default)]
pub struct CapacityMeter(Mutex<Vec<Arc<CapacityTally>>>);

impl CapacityMeter {
    /// Of a session that is opened.
    pub fn open(&self) -> Arc<CapacityTally> {
        let tally = Arc::new(CapacityTally::default());
        self.all().push(tally.clone());
        tally
    }

    pub fn so_far(&self) -> CapacityUnits {
        let all = self.all();
        let units = |sum: fn(&CapacityTally) -> &AtomicU64| {
            all.iter().map(|tally| sum(tally).load(Relaxed)).sum::<u64>() as f64 / 1000.0
        };
        CapacityUnits {
            read: units(|tally| &tally.read),
            write: units(|tally| &tally.write),
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<CapacityTally>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_all_sessions_are_added_up() {
        let meter = CapacityMeter::default();
        let (one, other) = (meter.open(), meter.open());
        let units = |read, write| CapacityUnits { read, write };
        one.add(units(0.5, 0.0));
        let before = meter.so_far();
        other.add(units(0.5, 2.0));
        one.add(units(0.0, 1.0));
        assert_eq!((before, meter.so_far()), (units(0.5, 0.0), units(1.0, 3.0)));
        assert_eq!(meter.so_far().since(before), units(0.5, 3.0));
    }
}
