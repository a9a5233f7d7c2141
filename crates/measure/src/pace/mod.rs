//! When an operation is due: arithmetic, no clock.
pub mod arrivals;
pub mod pacer;
pub mod schedule;
pub mod stages;
pub mod think;
