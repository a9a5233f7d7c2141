//! Capacity units: what a cloud service charges for, as it says with each answer.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

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

/// Adds up what the sessions of a driver consume.
#[derive(Debug, Default)]
pub struct CapacityMeter {
    read_thousandths: AtomicU64,
    write_thousandths: AtomicU64,
}

impl CapacityMeter {
    #[inline]
    pub fn add(&self, units: CapacityUnits) {
        let add = |sum: &AtomicU64, units: f64| {
            if units > 0.0 {
                sum.fetch_add((units * 1000.0).round() as u64, Relaxed);
            }
        };
        add(&self.read_thousandths, units.read);
        add(&self.write_thousandths, units.write);
    }

    pub fn so_far(&self) -> CapacityUnits {
        let units = |sum: &AtomicU64| sum.load(Relaxed) as f64 / 1000.0;
        CapacityUnits {
            read: units(&self.read_thousandths),
            write: units(&self.write_thousandths),
        }
    }
}
