//! Drivers: our files that speak to kinds of systems. One kind, one file (or folder), and a Cargo feature of the same name
//! where the client library is heavy.
//!
//! Copy [`null`] to begin a new one: it is the smallest complete driver. SQL systems implement
//! [`bakeoff_model::sql::SqlSession`] and get records from [`bakeoff_model::sql_records`]. Its [`Registration`] says the rest.

#[cfg(feature = "avatica")]
pub mod avatica;
#[cfg(feature = "cassandra")]
pub mod cassandra;
#[cfg(feature = "couchdb")]
pub mod couchdb;
#[cfg(feature = "duckdb")]
pub mod duckdb;
#[cfg(feature = "dynamodb")]
pub mod dynamodb;
#[cfg(feature = "embedded")]
mod embedded;
#[cfg(feature = "fjall")]
pub mod fjall;
#[cfg(feature = "lmdb")]
pub mod lmdb;
#[cfg(feature = "loaded")]
mod loaded;
#[cfg(feature = "mongodb")]
pub mod mongodb;
#[cfg(feature = "mysql")]
pub mod mysql;
pub mod null;
#[cfg(feature = "postgresql")]
pub mod postgresql;
#[cfg(feature = "redb")]
pub mod redb;
#[cfg(feature = "redis")]
pub mod redis;
pub mod reference;
pub mod registration;
pub mod resolve;
#[cfg(feature = "riak")]
pub mod riak;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "simpledb")]
pub mod simpledb;
#[cfg(feature = "sqlite")]
pub mod sqlite;

use registration::Registration;
#[cfg(feature = "server")]
pub use server::account::{Secret, TlsSpec};
/// For `examples/http_cost.rs`.
#[cfg(feature = "http")]
#[doc(hidden)]
pub use server::{http, target::Protocol};

/// The drivers in this build.
pub const DRIVERS: &[&Registration] = &[
    &null::DRIVER,
    &reference::DRIVER,
    #[cfg(feature = "sqlite")]
    &sqlite::DRIVER,
    #[cfg(feature = "mysql")]
    &mysql::DRIVER,
    #[cfg(feature = "postgresql")]
    &postgresql::DRIVER,
    #[cfg(feature = "cassandra")]
    &cassandra::DRIVER,
    #[cfg(feature = "redis")]
    &redis::DRIVER,
    #[cfg(feature = "couchdb")]
    &couchdb::DRIVER,
    #[cfg(feature = "dynamodb")]
    &dynamodb::DRIVER,
    #[cfg(feature = "redb")]
    &redb::DRIVER,
    #[cfg(feature = "lmdb")]
    &lmdb::DRIVER,
    #[cfg(feature = "fjall")]
    &fjall::DRIVER,
    #[cfg(feature = "rocksdb")]
    &rocksdb::DRIVER,
    #[cfg(feature = "duckdb")]
    &duckdb::DRIVER,
    #[cfg(feature = "avatica")]
    &avatica::DRIVER,
    #[cfg(feature = "mongodb")]
    &mongodb::DRIVER,
    #[cfg(feature = "simpledb")]
    &simpledb::DRIVER,
    #[cfg(feature = "simpledb")]
    &simpledb::EMULATOR,
    #[cfg(feature = "riak")]
    &riak::DRIVER,
];
