//! What a user asked, in one number: two runs that asked the same have the same.
use crate::rng::mix;

/// Operations that go into a stream's hash.
const HASHED_OPERATIONS: u32 = 10_000;

/// Hash over the first 10,000 operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamHash {
    value: u64,
    operations: u32,
}

impl StreamHash {
    #[inline]
    pub fn add<const N: usize>(&mut self, parts: [u64; N]) {
        if self.is_open() {
            self.operations += 1;
            self.value = parts.into_iter().fold(self.value, mix);
        }
    }

    /// Further operations still go into it.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.operations < HASHED_OPERATIONS
    }

    pub fn value(&self) -> u64 {
        self.value
    }
}
