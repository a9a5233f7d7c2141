//! Drivers: our files that speak to kinds of systems. One kind, one file, and a Cargo feature of the same name where
//! the client library is heavy.
//!
//! Copy [`null`] to begin a new one: it is the smallest complete driver. SQL systems implement
//! [`bakeoff_model::sql::SqlSession`] and get records from [`records::SqlRecords`]. Then add its entry
//! in [`resolve::KINDS`].

#[cfg(feature = "cassandra")]
pub mod cassandra;
#[cfg(feature = "mysql")]
pub mod mysql;
pub mod null;
#[cfg(feature = "postgresql")]
pub mod postgresql;
pub mod records;
pub mod resolve;
#[cfg(any(feature = "cassandra", feature = "mysql", feature = "postgresql"))]
mod server;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod way;
