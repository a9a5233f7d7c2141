//! The instrument: paces, times and records what happens while the clock runs. It knows the `Driver` and
//! `Workload` interfaces, never a product's name.
//!
//! Read [`user::user_loop`] first: the loop of one user, and what everything else here serves. The rooms, each using only
//! those below it:
//!
//! - [`phases`] order a phase from its first session to its result; [`latency_probe`] is one session next to the load;
//! - [`threads`] are the operating system's;
//! - [`user`] is one user's loop, with its session and the watchdog that ends what takes too long;
//! - [`runner`] is what futures run on; [`record`] keeps times and counts; [`pace`] says when an operation is due;
//! - [`job`], [`control`], [`spec`], [`routes`], [`serving`], [`words`] and [`clock`] are small and on the ground.
pub mod clock;
pub mod control;
pub mod job;
pub mod latency_probe;
pub mod pace;
pub mod phases;
pub mod record;
pub mod routes;
pub mod runner;
pub mod serving;
pub mod spec;
pub mod threads;
pub mod user;
pub mod words;

pub use control::{Control, Sink};
pub use phases::execute::execute;
