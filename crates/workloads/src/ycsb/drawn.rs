//! One operation as it was drawn: plain data, and what follows from its seed.
use crate::rng::{Random, mix};

/// An operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drawn {
    /// Index into the operations.
    pub kind: usize,
    /// What all else of it follows from.
    pub seed: u64,
    pub keynum: u64,
    /// Of an insert: its place in the insert sequence.
    pub insert: u64,
    pub limit: Option<u32>,
    /// Of a scan: rows that must come at least.
    pub rows_min: u64,
    /// User bytes it writes.
    pub bytes: u64,
    /// It was sent at least once.
    pub begun: bool,
}

/// What one seed is drawn from, in this order: the kind, the field, the key and what belongs to it. A step that is not
/// needed is not computed (a read of all fields never asks for its field).
impl Drawn {
    #[inline]
    pub fn unit_for_kind(&self) -> f64 {
        Random::new(self.seed).unit()
    }

    /// Of 0..`field_count`: the field that an operation on one field names.
    #[inline]
    pub fn field(&self, field_count: u32) -> u32 {
        let mut rng = Random::new(self.seed);
        rng.bits();
        rng.below(u64::from(field_count)) as u32
    }

    #[inline]
    pub fn rng_for_key(&self) -> Random {
        let mut rng = Random::new(self.seed);
        rng.bits();
        rng.bits();
        rng
    }

    #[inline]
    pub fn value_seed(&self) -> u64 {
        mix(self.seed, 1)
    }
}
