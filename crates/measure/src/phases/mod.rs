//! One phase of a run, from its first session to its result.
pub mod collect;
pub mod execute;
pub mod load;
pub mod result;
pub mod run;
pub mod single;
