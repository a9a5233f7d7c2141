//! The engine from end to end, a file for each question. One binary: all they share is the engine, a process they start.
#![allow(clippy::unwrap_used)] // test code throughout
mod database;
mod hatshop;
mod linkbench;
mod null_store;
mod process;
mod registry;
mod schema;
mod sysbench;
mod tpcc;
mod tpcc_transactions;
