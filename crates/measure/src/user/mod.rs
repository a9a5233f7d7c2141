//! The loop of one user: the hot path.
pub mod attempt;
pub mod finish;
pub mod gate;
pub mod opened;
pub mod pool;
pub mod probe;
pub mod session;
pub mod user_loop;
pub mod watchdog;
pub mod worker;
