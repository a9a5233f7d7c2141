//! DuckDB, embedded (its shared library, loaded at run time): columns in one file, and a log in another.
//!
//! A process opens a file once, and each session is a connection to it; every call blocks its OS thread, which also does
//! DuckDB's work (its own threads help with large questions). Isolation is snapshot: writers wait for nobody, and of two
//! that change a row at the same time the second fails at once, as a conflict. A statement that computes longer than the
//! run's timeout is interrupted, and what it has written is undone. In Rust nothing is allocated per operation; DuckDB
//! allocates each answer.
//!
//! Sources: duckdb.h; DuckDB documentation, "Concurrency", "C API: Overview".
mod errors;
mod json;
mod library;
mod session;
mod values;

use crate::embedded::{RUNNERS, Shared, not_opened};
use crate::loaded::not_loaded;
use crate::registration::{self, ClientLibrary, Options, Registration};
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble, TroubleKind};
use bakeoff_model::run::{Isolation, RunSpec, RunnerKind};
use bakeoff_model::sql::Dialect;
use bakeoff_model::sql_records::SqlRecords;
use library::{Api, Database};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use session::DuckdbSession;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

pub const DRIVER: Registration = Registration {
    kind: "duckdb",
    options: Options::of::<DuckdbSpec>(),
    library: || "DuckDB (its C API, loaded at run time)".into(),
    isolation: &[Isolation::Snapshot],
    client: ClientLibrary {
        name: "duckdb",
        runners: RUNNERS,
        offers: OFFERS,
        make: Make::Sql(|spec| Ok(object(driver(spec)?, AnySql::beneath))),
    },
};

/// No row locks: SELECT has no FOR UPDATE.
const OFFERS: Offers = Offers::of(&[
    Offer::Transactions,
    Offer::Scan,
    Offer::CountsFound,
    Offer::Patch,
    Offer::Revisions,
    Offer::Find,
]);

static DIALECT: Dialect = Dialect {
    name: "duckdb",
    byte_type: "TINYINT",
    auto_key: "INTEGER DEFAULT nextval('bakeoff_numbers')",
    auto_key_big: "BIGINT DEFAULT nextval('bakeoff_numbers')",
    // A row that others referred to cannot be deleted before the transaction has ended that deleted those.
    constraints: false,
    table_exists: "SELECT 1 FROM duckdb_tables() WHERE schema_name = current_schema() AND table_name = ?",
    settings: "SELECT name, value FROM duckdb_settings() \
        WHERE name IN ('access_mode', 'checkpoint_threshold', 'threads', 'wal_autocheckpoint')",
    json: Some(&json::JSON),
    ..Dialect::STANDARD
};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields, default)]
pub struct DuckdbSpec {
    /// The database's folder.
    #[schemars(extend("system" = true))]
    pub path: String,
    /// DuckDB's shared library.
    #[schemars(extend("system" = true))]
    pub library: String,
    /// DuckDB's own configuration, by its names (`threads`, `memory_limit`, ...).
    #[schemars(extend("system" = true))]
    pub settings: BTreeMap<String, String>,
}

fn driver(spec: &RunSpec) -> Result<DuckdbDriver, Trouble> {
    let options: DuckdbSpec = registration::options(spec)?;
    if spec.isolation.is_some_and(|level| level != Isolation::Snapshot) {
        return Err(Trouble::new(
            TroubleKind::Usage,
            "DuckDB has no isolation level but snapshot",
            format!("duckdb {}", options.path),
            "leave `isolation` out, or ask for `snapshot`",
        ));
    }
    Ok(DuckdbDriver {
        spec: options,
        kept: Mutex::new(None),
    })
}

fn refused(why: &OpError) -> Trouble {
    let what = format!("DuckDB does not open with these settings: {why}");
    let hint =
        "settings have the names and values of DuckDB's own configuration: SELECT * FROM duckdb_settings()";
    Trouble::new(TroubleKind::Usage, what, "settings of duckdb", hint)
}

/// The databases that this process has open.
static OPENED: Shared<Database> = Shared::none();

pub struct DuckdbDriver {
    spec: DuckdbSpec,
    /// Open from the first worker on, until the phase ends.
    kept: Mutex<Option<Arc<Database>>>,
}

impl DuckdbDriver {
    /// The open one. After an error that ended it, it is opened again: as soon as no session has it, since a process may not open a
    /// file twice.
    fn database(&self) -> Result<Arc<Database>, Trouble> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        drop(kept.take_if(|kept| kept.is_over()));
        if let Some(kept) = &*kept {
            return Ok(kept.clone());
        }
        let (folder, library) = (Path::new(&self.spec.path), &self.spec.library);
        let opened = OPENED.at(folder, || {
            let api = Api::load(library).map_err(|error| not_loaded("DuckDB", "duckdb", library, &error))?;
            Database::open(api, &self.spec).map_err(|error| match error.outcome {
                Outcome::Fail(FailClass::Refused) => refused(&error),
                _ => not_opened("DuckDB", folder, error),
            })
        })?;
        if opened.is_over() {
            let why = "an error has ended it, and not all sessions have noticed yet";
            return Err(not_opened("DuckDB", folder, why));
        }
        *kept = Some(opened.clone());
        Ok(opened)
    }
}

impl Driver for DuckdbDriver {
    const RUNNERS: &'static [RunnerKind] = RUNNERS;
    type Client = ();
    type Session = SqlRecords<DuckdbSession>;

    fn offers(&self) -> Offers {
        OFFERS
    }
    fn client(&self) -> &'static str {
        "duckdb"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        self.database().map(drop)
    }
    async fn session(&self, _client: &(), _endpoint: usize, _needs: Needs) -> Result<Self::Session, OpError> {
        let database = self.database();
        let database = database.map_err(|why| OpError::fail(FailClass::Other, "OPEN", why.what))?;
        Ok(SqlRecords::new(DuckdbSession::new(database)?))
    }
    /// The last to let go of it writes the log into the file.
    fn close(&self) -> Result<(), Trouble> {
        drop(self.kept.lock().unwrap_or_else(PoisonError::into_inner).take());
        Ok(())
    }
}
