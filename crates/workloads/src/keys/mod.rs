//! Distributions over `0..n`, the readable records by number. All are plain arithmetic on an [`crate::rng::Random`]; none
//! allocates or locks. Formulas and their sources stand at each one.
//!
//! What changes with n (a growing table) is kept by the caller and resized with [`Zipfian::resized`].

mod fnv;
mod scrambled;
mod simple;
mod zipfian;

pub use fnv::{fnv1a, fnv64};
pub use scrambled::Scrambled;
pub use simple::Exponential;
pub use simple::Hotspot;
pub use simple::latest;
pub use simple::{Sequential, SequentialCursor};
pub use zipfian::Permutation;
pub use zipfian::ZipfianInversion;
pub use zipfian::{Zipfian, zeta};

/// The skew that YCSB means by "zipfian".
pub const THETA: f64 = 0.99;
