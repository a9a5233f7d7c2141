//! Workloads against sessions that answer at once, a file for each. `../no_allocation.rs` is a binary of its own, because
//! it replaces the allocator.
#![allow(clippy::unwrap_used)] // test code throughout
mod hatshop;
mod linkbench;
#[path = "../session/mod.rs"]
mod session;
mod tpcc;
