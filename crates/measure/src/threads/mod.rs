//! Threads of the operating system: who is on which, and what they cost.
pub mod affinity;
pub mod client_cost;
pub mod ready;
pub mod team;
pub mod thread_limits;
