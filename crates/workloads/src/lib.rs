//! What is asked of a database: schema, load, operations, checks.
//!
//! One workload, one room with its name (`ycsb`); [`keys`] are the distributions they draw keys from, [`rng`] is
//! where every random number comes from; [`kinds`] lists the workloads, and `resolve` decides their options before a run. A
//! workload knows the session traits of the model and no product's name.

mod account;
mod collections;
pub mod documents;
pub mod faults;
mod functions;
pub mod hatshop;
pub mod keys;
pub mod kinds;
pub mod linkbench;
pub mod lua;
mod numbers;
pub mod prelude;
mod prepared;
pub mod replay;
mod resolve;
pub mod rng;
pub mod script;
pub mod sql;
mod statement_kind;
pub mod sysbench;
mod table_options;
mod tables;
pub mod tpcc;
mod trouble;
pub mod ycsb;
