//! Times and counts, from one operation to all workers' sums.
pub mod event_log;
pub mod interval;
pub mod merged;
pub mod nodes;
pub mod pages;
pub mod recorder;
pub mod refusals;
pub mod samples;
pub mod seconds;
pub mod tally;
pub mod times;
