//! Distributions over `0..n`, the readable records by number. All are plain arithmetic on an [`crate::rng::Random`]; none
//! allocates or locks. Formulas and their sources stand at each one.
//!
//! What changes with n (a growing table) is kept by the caller and resized with [`Zipfian::resized`].

mod exponential;
mod fnv;
mod hotspot;
mod latest;
mod scrambled;
mod sequential;
mod zipfian;
mod zipfian_exact;
mod zipfian_inversion;

pub use exponential::Exponential;
pub use fnv::{fnv1a, fnv64};
pub use hotspot::Hotspot;
pub use latest::latest;
pub use scrambled::Scrambled;
pub use sequential::{Sequential, SequentialCursor};
pub use zipfian::{Zipfian, zeta};
pub use zipfian_exact::Permutation;
pub use zipfian_inversion::ZipfianInversion;

/// The skew that YCSB means by "zipfian".
pub const THETA: f64 = 0.99;
