//! Operations drawn before their turn. A draw is a chain in which each step waits for the one before (a power, two
//! hashes, a division into digits); drawn one by one between two looks at the clock, nothing else fills the waiting.
//! Several draws side by side do. What is drawn is the same: an operation follows from its own seed alone, wherever
//! [`super::choose::KeySpace::is_fixed`] holds, and elsewhere nothing is drawn ahead.
use super::key_text::Key;
use crate::rng::{Random, mix};
use std::ops::{Deref, DerefMut};

/// Operations drawn at once: more than the few that overlap in a processor gain nothing and cost every user memory.
/// A power of two.
pub const AHEAD: usize = 8;

/// An operation as it was drawn: plain data, and what follows from its seed.
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

/// One operation, all but its values.
#[derive(Debug)]
pub struct Early {
    pub drawn: Drawn,
    /// What stands for the key in the stream's hash.
    pub named: u64,
    pub key: Key,
}

/// The operation drawn last, which this dereferences to, and those drawn ahead. They stay where they were drawn: handed
/// on, they would be copied twice.
#[derive(Debug)]
pub struct Ahead {
    operations: Box<[Early; AHEAD]>,
    current: usize,
    /// Operations that follow the current one.
    left: usize,
}

impl Ahead {
    pub fn new(key: &Key) -> Self {
        let early = |_| Early {
            drawn: Drawn::default(),
            named: 0,
            key: key.clone(),
        };
        Self {
            operations: Box::new(std::array::from_fn(early)),
            current: 0,
            left: 0,
        }
    }

    /// To the next one; false if it must be drawn first.
    #[inline]
    pub fn advance(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.current += 1;
        true
    }

    /// Places for as many operations as there are, of which the first is the current one. What only some kinds use is as in
    /// a default.
    #[inline]
    pub fn refill_all(&mut self) -> &mut [Early; AHEAD] {
        (self.current, self.left) = (0, AHEAD - 1);
        for place in &mut *self.operations {
            place.drawn = Drawn::default();
        }
        &mut self.operations
    }

    /// The same for one operation.
    #[inline]
    pub fn refill_one(&mut self) -> &mut Early {
        (self.current, self.left) = (0, 0);
        self.operations[0].drawn = Drawn::default();
        &mut self.operations[0]
    }

    #[inline]
    pub fn current(&self) -> &Early {
        &self.operations[self.current % AHEAD]
    }

    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.current().key
    }
}

impl Deref for Ahead {
    type Target = Drawn;
    #[inline]
    fn deref(&self) -> &Drawn {
        &self.current().drawn
    }
}

impl DerefMut for Ahead {
    #[inline]
    fn deref_mut(&mut self) -> &mut Drawn {
        &mut self.operations[self.current % AHEAD].drawn
    }
}
