//! Drivers: our files that speak to kinds of systems. One kind, one file, and a Cargo feature of the same name where
//! the client library is heavy.
//!
//! Copy [`null`] to begin a new one: it is the smallest complete driver. SQL systems implement
//! [`bakeoff_model::sql::SqlSession`] and get records from [`records::SqlRecords`]. Then add the entry below.

#[cfg(feature = "mysql")]
pub mod mysql;
pub mod null;
#[cfg(feature = "postgresql")]
pub mod postgresql;
pub mod records;
#[cfg(any(feature = "mysql", feature = "postgresql"))]
mod server;
#[cfg(feature = "sqlite")]
pub mod sqlite;

use bakeoff_model::needs::Capabilities;
use bakeoff_model::run::RunnerKind;

/// What one kind of driver is and can do, known without opening anything.
#[derive(Clone, Debug)]
pub struct Listed {
    /// As in the run's `driver.kind`.
    pub kind: &'static str,
    pub runners: &'static [RunnerKind],
    pub capabilities: Capabilities,
    /// Name and, where it tells, version of the client library or of the embedded database. Empty: our own code.
    pub library: String,
}

/// The drivers in this build.
pub fn list() -> Vec<Listed> {
    vec![
        Listed {
            kind: "null",
            runners: null::RUNNERS,
            capabilities: null::capabilities(),
            library: String::new(),
        },
        #[cfg(feature = "sqlite")]
        Listed {
            kind: "sqlite",
            runners: sqlite::RUNNERS,
            capabilities: sqlite::capabilities(),
            library: format!("SQLite {}", rusqlite::version()),
        },
        #[cfg(feature = "mysql")]
        Listed {
            kind: "mysql",
            runners: mysql::ALL_RUNNERS,
            capabilities: mysql::capabilities(),
            library: "wire (our own, on the reactor) or mysql_async (on tokio)".into(),
        },
        #[cfg(feature = "postgresql")]
        Listed {
            kind: "postgresql",
            runners: postgresql::ALL_RUNNERS,
            capabilities: postgresql::capabilities(),
            library: postgresql::LIBRARY.into(),
        },
    ]
}
