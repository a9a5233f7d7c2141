//! Judges of histories: what sessions read and wrote, and what they were allowed to see.
//!
//! Pure functions: they read a history, start nothing and know no product. `docs/method/histories.md` has the
//! definitions. The rooms, each using only those below it:
//!
//! - [`question`] is the whole as one function;
//! - [`list_append`], [`register`] and [`bank`] are the judges, one to each kind of workload; [`convergence`] judges what
//!   copies hold afterwards;
//! - [`findings`] and [`proof`] keep the smallest example of what was found, and print it; [`level`] and [`verdict`]
//!   are their words; [`export`] writes a history for other checkers;
//! - [`graph`] and [`search`] find cycles; they know no database;
//! - [`history`] is the history in memory, with its [`lists`]; [`record`] is a line of its file.

pub mod bank;
pub mod convergence;
pub mod error;
pub mod export;
pub mod findings;
pub mod graph;
pub mod history;
pub mod level;
pub mod list_append;
pub mod lists;
pub mod proof;
pub mod question;
pub mod record;
pub mod register;
pub mod search;
pub mod verdict;

pub use error::Error;
pub use history::History;
pub use question::{Question, judge};
