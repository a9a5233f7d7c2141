//! Whole runs against a scripted system, a file for each question. In one binary, because each binary compiles the
//! harness again. Files of their own are `allocation.rs` (counts what the process allocates) and `stall.rs` (needs the
//! process's epoch for itself).
#![allow(clippy::unwrap_used)] // test code throughout
mod asides;
#[path = "../bench/mod.rs"]
mod bench;
mod closed_loop;
mod finish;
mod latency_probe;
mod names;
mod nodes;
mod open_loop;
mod phases;
mod run;
mod stops;
