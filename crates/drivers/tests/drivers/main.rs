//! Every driver against every system that is at hand, a file for each question. In one binary, because each binary
//! links all drivers. `../session_allocation.rs` and `../fuzz_wire.rs` are binaries of their own: they replace the allocator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // test code throughout
// Cases of all servers are compiled for each kind, which `super::client` names.
#![allow(clippy::duplicate_mod)]
mod acid;
mod avatica;
#[path = "../bench/mod.rs"]
mod bench;
mod bulk;
mod cassandra;
mod conformance;
mod couchdb;
mod documents;
mod duckdb;
mod embedded;
mod mongodb;
mod mysql_direct;
mod mysql_wire;
mod null;
mod pipelines;
mod postgresql_wire;
mod redis;
mod riak;
#[path = "../scripted/mod.rs"]
mod scripted;
mod simpledb;
mod sqlite;
mod values;
