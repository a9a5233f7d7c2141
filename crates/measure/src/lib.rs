//! The instrument: paces, times, records and judges what happens while the clock runs. It knows the `Driver` and
//! `Workload` interfaces, never a product's name.
//!
//! Read [`worker`] first: the loop of one user, and what everything else here serves. [`pacer`] says when an operation
//! is due and [`schedule`] hands due operations to free users; [`session`] keeps connections; [`watchdog`] ends what
//! takes too long; [`recorder`] keeps the times and counts, [`interval`] reports them each second. [`runner`] is what futures run
//! on. [`run`], [`load`] and [`single`] order the phases; [`client_cost`], [`witness`] and [`verdict`] put the
//! measuring client itself on trial.
pub mod affinity;
pub mod attempt;
pub mod client_cost;
pub mod clock;
pub mod control;
pub mod finish;
pub mod gate;
pub mod gather;
pub mod interval;
pub mod load;
pub mod pacer;
pub mod pages;
pub mod phase;
pub mod pool;
pub mod probe;
pub mod recorder;
pub mod run;
pub mod runner;
pub mod samples;
pub mod schedule;
pub mod seconds;
pub mod session;
pub mod single;
pub mod spec;
pub mod tally;
pub mod team;
pub mod thread_limits;
pub mod times;
pub mod verdict;
pub mod watchdog;
pub mod witness;
pub mod worker;

pub use control::{Control, Sink};
pub use phase::execute;
