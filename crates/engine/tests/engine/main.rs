//! The engine from end to end, a file for each question. One binary: all they share is the engine, a process they start.
#![allow(clippy::unwrap_used)] // test code throughout
#[cfg(feature = "sqlite")]
mod database;
#[cfg(feature = "sqlite")]
mod hatshop;
#[cfg(feature = "sqlite")]
mod linkbench;
mod null_store;
#[cfg(feature = "mysql")]
mod process;
mod registry;
mod schema;
#[cfg(feature = "sqlite")]
mod sysbench;
#[cfg(feature = "sqlite")]
mod tpcc;
#[cfg(feature = "sqlite")]
mod tpcc_transactions;
