//! What the tests of drivers share: databases to test against, and small builders.
#![allow(dead_code)] // every test file uses its own part of it
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // test code throughout

use bakeoff_drivers::avatica::{AvaticaDriver, AvaticaSpec};
use bakeoff_drivers::cassandra::CassandraSpec;
use bakeoff_drivers::couchdb::{CouchdbDriver, CouchdbSpec};
use bakeoff_drivers::mongodb::{MongodbDriver, MongodbSpec};
use bakeoff_drivers::mysql::wire::WireDriver;
use bakeoff_drivers::mysql::wire::direct::DirectDriver;
use bakeoff_drivers::mysql::{AccessPath, MysqlSpec};
use bakeoff_drivers::postgresql;
use bakeoff_drivers::postgresql::PostgresqlSpec;
use bakeoff_drivers::redis::{RedisDriver, RedisSpec};
use bakeoff_drivers::registration::{ClientLibrary, Registration};
use bakeoff_drivers::sqlite::SqliteDriver;
use bakeoff_drivers::sqlite::SqliteSpec;
use bakeoff_drivers::{DRIVERS, Secret, TlsSpec};
use bakeoff_model::any::{AnyDocuments, AnyRecords, AnySql};
use bakeoff_model::driver::{AnyDriver, Driver, Make};
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::needs::{Needs, Offer};
use bakeoff_model::outcome::OpError;
use bakeoff_model::record::{Record, TableSpec, ValueType};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::{IoKind, Isolation, RunSpec, RunnerKind};
use bakeoff_model::value::Value;
use schemars::SchemaGenerator;
use serde_json::{Value as Document, json};
use std::fs::OpenOptions;
use std::future::Future;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Of what must succeed, however slow the machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A driver to test, or nothing where this machine has no such system.
pub trait Bench {
    type Driver: Driver;
    fn driver() -> Option<Self::Driver>;
    /// Before a session is used.
    fn set_up(_session: &mut <Self::Driver as Driver>::Session) {}
    /// Runs a test's future on a runner that suits the driver.
    fn run<T>(test: impl Future<Output = T>) -> T {
        run(test)
    }
}

pub struct Sqlite;

impl Bench for Sqlite {
    type Driver = SqliteDriver;
    fn driver() -> Option<SqliteDriver> {
        let pragmas = [("journal_mode", "WAL"), ("synchronous", "OFF")];
        Some(sqlite_driver(&sqlite_file(), &pragmas, TIMEOUT))
    }
}

/// A MariaDB or MySQL server that the environment names:
/// `BAKEOFF_TEST_MYSQL=mysql://user@host:port/schema` (the schema may be written to), `BAKEOFF_TEST_MYSQL_PASSWORD`; and
/// `BAKEOFF_TEST_MYSQL_CA`, the file of the authority that signed its certificate, where it is to be spoken to by TLS.
pub struct MysqlWire;

impl Bench for MysqlWire {
    type Driver = WireDriver;
    fn driver() -> Option<WireDriver> {
        mysql_spec().map(|spec| wire_driver(spec, None))
    }
    fn run<T>(test: impl Future<Output = T>) -> T {
        run_on_reactor(test)
    }
}

/// The same below SQL.
pub struct MysqlDirect;

impl Bench for MysqlDirect {
    type Driver = DirectDriver;
    fn driver() -> Option<DirectDriver> {
        MysqlWire::driver().map(DirectDriver::new)
    }
    fn run<T>(test: impl Future<Output = T>) -> T {
        run_on_reactor(test)
    }
}

/// The same as if the server took no arrays of parameters (MySQL).
pub struct MysqlWireWithoutArrays;

impl Bench for MysqlWireWithoutArrays {
    type Driver = WireDriver;
    fn driver() -> Option<WireDriver> {
        MysqlWire::driver()
    }
    fn set_up(session: &mut <WireDriver as Driver>::Session) {
        session.sql().decline_arrays();
    }
    fn run<T>(test: impl Future<Output = T>) -> T {
        MysqlWire::run(test)
    }
}

/// A PostgreSQL server that the environment names:
/// `BAKEOFF_TEST_POSTGRESQL=postgresql://user@host:port/database` (the database may be written to),
/// `BAKEOFF_TEST_POSTGRESQL_PASSWORD`, `BAKEOFF_TEST_POSTGRESQL_CA` as above.
pub struct PostgresqlWire;

impl Bench for PostgresqlWire {
    type Driver = postgresql::wire::WireDriver;
    fn driver() -> Option<Self::Driver> {
        postgresql_spec().map(|spec| postgresql_wire_driver(spec, None))
    }
    fn run<T>(test: impl Future<Output = T>) -> T {
        run_on_reactor(test)
    }
}

/// A Redis server that the environment names: `BAKEOFF_TEST_REDIS=redis://user@host:port/` (all of it may be written to),
/// `BAKEOFF_TEST_REDIS_PASSWORD`, `BAKEOFF_TEST_REDIS_CA` as above.
pub struct RedisWire;

impl Bench for RedisWire {
    type Driver = RedisDriver;
    fn driver() -> Option<RedisDriver> {
        Some(redis_driver(redis_spec()?))
    }
    fn run<T>(test: impl Future<Output = T>) -> T {
        run_on_reactor(test)
    }
}

/// An Avatica server on HSQLDB that the environment names: `BAKEOFF_TEST_AVATICA=avatica://user@host:port/` (all of it may
/// be written to), `BAKEOFF_TEST_AVATICA_PASSWORD`.
pub struct AvaticaWire;

impl Bench for AvaticaWire {
    type Driver = AvaticaDriver;
    fn driver() -> Option<AvaticaDriver> {
        let [user, address, _] = server_in("BAKEOFF_TEST_AVATICA", "avatica")?;
        let spec = AvaticaSpec {
            endpoints: vec![endpoint(&address)],
            user,
            password: password_in("BAKEOFF_TEST_AVATICA_PASSWORD"),
            tls: None,
        };
        Some(AvaticaDriver::new(&spec, None, TIMEOUT).unwrap())
    }
    fn run<T>(test: impl Future<Output = T>) -> T {
        run_on_reactor(test)
    }
}

/// A MongoDB server that the environment names: `BAKEOFF_TEST_MONGODB=mongodb://user@host:port/database` (the database may be
/// written to), `BAKEOFF_TEST_MONGODB_PASSWORD`.
pub struct MongodbWire;

impl Bench for MongodbWire {
    type Driver = MongodbDriver;
    fn driver() -> Option<MongodbDriver> {
        let [user, address, database] = server_in("BAKEOFF_TEST_MONGODB", "mongodb")?;
        let spec = MongodbSpec {
            endpoints: vec![endpoint(&address)],
            user: Some(user),
            password: password_in("BAKEOFF_TEST_MONGODB_PASSWORD"),
            database,
            ..MongodbSpec::default()
        };
        Some(MongodbDriver::new(spec, TIMEOUT).unwrap())
    }
    fn run<T>(test: impl Future<Output = T>) -> T {
        run_on_reactor(test)
    }
}

/// A server of CouchDB's protocol that the environment names: `BAKEOFF_TEST_COUCHDB=couchdb://user@host:port/` (it may be
/// written to), `BAKEOFF_TEST_COUCHDB_PASSWORD`.
pub struct CouchdbWire;

impl Bench for CouchdbWire {
    type Driver = CouchdbDriver;
    fn driver() -> Option<CouchdbDriver> {
        let [user, address, _] = server_in("BAKEOFF_TEST_COUCHDB", "couchdb")?;
        let spec = CouchdbSpec {
            endpoints: vec![endpoint(&address)],
            user: Some(user),
            password: password_in("BAKEOFF_TEST_COUCHDB_PASSWORD"),
            ..CouchdbSpec::default()
        };
        Some(CouchdbDriver::new(spec, TIMEOUT).unwrap())
    }
    fn run<T>(test: impl Future<Output = T>) -> T {
        run_on_reactor(test)
    }
}

/// A client of the build, and a system that it can speak to.
pub struct System {
    pub client: &'static ClientLibrary,
    /// Levels of isolation that it has.
    pub levels: &'static [Isolation],
    /// Its sessions read below SQL. What they read they hold open: another session's DROP TABLE waits for them.
    pub direct: bool,
    spec: RunSpec,
    /// Its records are documents.
    as_documents: bool,
}

impl System {
    /// Those of which this machine, or one that the environment names, has a system. They have these offers.
    pub fn at_hand(offers: &[Offer]) -> Vec<Self> {
        let mut found = vec![];
        for &driver in DRIVERS {
            let Some(document) = document(driver) else {
                continue;
            };
            let mut add = |document: Document| {
                let has = driver.capabilities_with(document.as_object().unwrap()).offers;
                if offers.iter().all(|offer| has.has(*offer)) {
                    found.push(Self::new(driver, document));
                }
            };
            let schema = driver.schema(&mut SchemaGenerator::default()).to_value();
            for (option, value) in [("access", "direct"), ("layout", "clustered")] {
                if schema["properties"].get(option).is_some() {
                    let mut other = document.clone();
                    other[option] = value.into();
                    add(other);
                }
            }
            add(document);
        }
        found
    }

    /// The one of this kind.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Self::with(kind, &[])
    }

    /// With options of the driver's.
    pub fn with(kind: &str, options: &[(&str, Document)]) -> Option<Self> {
        let driver = *DRIVERS.iter().find(|driver| driver.kind == kind)?;
        let mut document = document(driver)?;
        for (name, value) in options {
            document[name] = value.clone();
        }
        Some(Self::new(driver, document))
    }

    /// An embedded one of this durability, in this place.
    pub fn at(kind: &str, level: &str, path: &std::path::Path) -> Option<Self> {
        let path = path.display().to_string();
        Self::with(kind, &[("durability", level.into()), ("path", path.into())])
    }

    /// Of SQL and transactions.
    pub fn of_sql() -> impl Iterator<Item = Self> {
        let found = Self::at_hand(&[Offer::Transactions]).into_iter();
        found.filter(|system| system.client.make.sql().is_some() && !system.direct)
    }

    /// Those whose records can be kept as documents too, and are.
    pub fn with_records_as_documents(offers: &[Offer]) -> impl Iterator<Item = Self> {
        let found = Self::at_hand(offers).into_iter();
        let able = found.filter(|system| {
            let offers = system.client.offers;
            let patches = offers.has(Offer::Patch) || offers.has(Offer::Revisions);
            patches && !matches!(system.client.make, Make::Documents(_))
        });
        able.map(|system| Self {
            as_documents: true,
            ..system
        })
    }

    fn new(driver: &'static Registration, document: Document) -> Self {
        let direct = document.get("access").is_some_and(|access| access == "direct");
        let run = json!({
            "format": 1, "phase": "run", "driver": document, "workload": { "kind": "ycsb" },
            "timeout_s": TIMEOUT.as_secs(),
        });
        Self {
            client: &driver.client,
            levels: driver.isolation,
            direct,
            spec: serde_json::from_value(run).unwrap(),
            as_documents: false,
        }
    }

    /// Notes that a case has passed, in the file that `BAKEOFF_CONFORMANCE` names: docs/reference/conformance.md is made of it.
    pub fn passed(&self, shape: &str, case: &str) {
        let Ok(path) = std::env::var("BAKEOFF_CONFORMANCE") else {
            return;
        };
        let line = json!({ "driver": self.spec.driver.kind, "shape": shape, "case": case });
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        // Tests of several processes append at the same time: a line is one write.
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn run<T>(&self, test: impl Future<Output = T>) -> T {
        match self.client.runners[0] {
            RunnerKind::Reactor => run_on_reactor(test),
            _ => run(test),
        }
    }

    /// A session of its own.
    pub async fn records(&self) -> AnyRecords {
        if self.as_documents {
            return AnyRecords::of_documents(self.documents().await);
        }
        session(&*self.client.make.records(&self.spec).unwrap()).await
    }

    /// Where [`ClientLibrary::has_documents`].
    pub async fn documents(&self) -> AnyDocuments {
        session(&*self.client.make.documents(&self.spec).unwrap()).await
    }

    pub async fn sql(&self) -> AnySql {
        let make = self.client.make.sql().expect("it speaks SQL");
        session(&*make(&self.spec).unwrap()).await
    }
}

async fn session<S>(driver: &dyn AnyDriver<S>) -> S {
    let client = driver.open(0).await.expect("open");
    client.session(0, Needs::default()).await.unwrap()
}

/// A driver's part of a run's document. A server is the one that the environment names by the driver's kind:
/// `BAKEOFF_TEST_MYSQL=mysql://user@host:port/database`, `BAKEOFF_TEST_MYSQL_PASSWORD`.
fn document(driver: &Registration) -> Option<Document> {
    let schema = driver.schema(&mut SchemaGenerator::default()).to_value();
    let mut document = json!({ "kind": driver.kind });
    let mut give = |option: &str, value: Document| {
        if schema["properties"].get(option).is_some() {
            document[option] = value;
        }
    };
    if schema["properties"].get("endpoints").is_some() {
        let variable = format!("BAKEOFF_TEST_{}", driver.kind.to_uppercase().replace('-', "_"));
        let [user, address, database] = server_in(&variable, driver.kind)?;
        let password = format!("{variable}_PASSWORD");
        let says_who = std::env::var(&password).is_ok();
        give("endpoints", json!([endpoint(&address)]));
        for name in ["schema", "database", "keyspace"] {
            if !database.is_empty() {
                give(name, database.clone().into());
            }
        }
        if says_who {
            give("password", json!({ "env": password }));
        }
        let must_say_who = schema["required"].as_array().unwrap().contains(&"user".into());
        if says_who || must_say_who {
            give("user", user.into());
        }
        if let Some(tls) = tls_in(&format!("{variable}_CA")) {
            give("tls", json!(tls));
        }
        give("replication_factor", 1.into());
        give("page_size", 100.into());
    }
    if schema["properties"].get("library").is_some() {
        let variable = format!("BAKEOFF_TEST_{}_LIBRARY", driver.kind.to_uppercase());
        let Ok(library) = std::env::var(&variable) else {
            println!(
                "skipped: no library of {} to test with ({variable} is not set)",
                driver.kind
            );
            return None;
        };
        give("library", library.into());
    }
    give("path", sqlite_file().display().to_string().into());
    give("durability", "none".into());
    give("pragmas", json!({ "journal_mode": "WAL", "synchronous": "OFF" }));
    give("store", true.into());
    Some(document)
}

pub fn sqlite_file() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let folder = FOLDER.get_or_init(|| PathBuf::from(option_env!("CARGO_TARGET_TMPDIR").unwrap_or("/tmp")));
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let file = folder.join(format!("test-{}-{number}.db", std::process::id()));
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", file.display()));
    }
    file
}

pub fn sqlite_driver(file: &std::path::Path, pragmas: &[(&str, &str)], timeout: Duration) -> SqliteDriver {
    let pragmas = pragmas
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    SqliteDriver::new(
        SqliteSpec {
            path: file.display().to_string(),
            pragmas,
            ..SqliteSpec::default()
        },
        None,
        timeout,
    )
    .unwrap()
}

pub const PASSWORD_VARIABLE: &str = "BAKEOFF_TEST_MYSQL_PASSWORD";
pub const CASSANDRA_PASSWORD_VARIABLE: &str = "BAKEOFF_TEST_CASSANDRA_PASSWORD";
pub const POSTGRESQL_PASSWORD_VARIABLE: &str = "BAKEOFF_TEST_POSTGRESQL_PASSWORD";

/// User, address and database of a server that the environment names as `scheme://user@host:port/database`.
fn server_in(variable: &str, scheme: &str) -> Option<[String; 3]> {
    let Ok(url) = std::env::var(variable) else {
        println!("skipped: no {scheme} server to test against ({variable} is not set)");
        return None;
    };
    let named = || {
        let rest = url.strip_prefix(scheme)?.strip_prefix("://")?;
        let (user, rest) = rest.split_once('@')?;
        let (address, database) = rest.split_once('/')?;
        Some([user, address, database].map(str::to_owned))
    };
    let form = format!("{variable} is {scheme}://user@host:port/database");
    Some(named().expect(&form))
}

fn password_in(variable: &str) -> Option<Secret> {
    std::env::var(variable)
        .is_ok()
        .then(|| Secret::Env(variable.into()))
}

/// By the authority whose file the environment names.
pub fn tls_in(variable: &str) -> Option<TlsSpec> {
    let ca_file = std::env::var(variable).ok()?;
    Some(TlsSpec {
        ca_file: Some(ca_file),
        verify: true,
    })
}

pub fn postgresql_spec() -> Option<PostgresqlSpec> {
    let [user, address, database] = server_in("BAKEOFF_TEST_POSTGRESQL", "postgresql")?;
    Some(PostgresqlSpec {
        endpoints: vec![endpoint(&address)],
        user,
        password: password_in(POSTGRESQL_PASSWORD_VARIABLE),
        database,
        tls: tls_in("BAKEOFF_TEST_POSTGRESQL_CA"),
        session_variables: Default::default(),
        client: None,
    })
}

pub fn redis_spec() -> Option<RedisSpec> {
    let [user, address, _] = server_in("BAKEOFF_TEST_REDIS", "redis")?;
    Some(RedisSpec {
        endpoints: vec![endpoint(&address)],
        user: Some(user),
        password: password_in("BAKEOFF_TEST_REDIS_PASSWORD"),
        tls: tls_in("BAKEOFF_TEST_REDIS_CA"),
        ..RedisSpec::default()
    })
}

pub fn redis_driver(spec: RedisSpec) -> RedisDriver {
    RedisDriver::new(&spec, TIMEOUT).unwrap()
}

/// Without a password nobody is asked who they are.
pub fn cassandra_spec() -> Option<CassandraSpec> {
    let [user, address, keyspace] = server_in("BAKEOFF_TEST_CASSANDRA", "cassandra")?;
    let password = password_in(CASSANDRA_PASSWORD_VARIABLE);
    Some(CassandraSpec {
        endpoints: vec![endpoint(&address)],
        user: password.is_some().then_some(user),
        password,
        tls: tls_in("BAKEOFF_TEST_CASSANDRA_CA"),
        keyspace,
        replication_factor: Some(1),
        page_size: 100,
        ..CassandraSpec::default()
    })
}

pub fn mysql_spec() -> Option<MysqlSpec> {
    let [user, address, schema] = server_in("BAKEOFF_TEST_MYSQL", "mysql")?;
    Some(MysqlSpec {
        endpoints: vec![endpoint(&address)],
        user,
        password: password_in(PASSWORD_VARIABLE),
        schema,
        tls: tls_in("BAKEOFF_TEST_MYSQL_CA"),
        session_variables: Default::default(),
        client: None,
        server_public_key_file: None,
        access: AccessPath::Sql,
        table_options: String::new(),
    })
}

pub fn endpoint(address: &str) -> Endpoint {
    Endpoint {
        name: "n1".into(),
        role: "primary".into(),
        address: address.into(),
    }
}

pub fn postgresql_wire_driver(
    spec: PostgresqlSpec,
    isolation: Option<Isolation>,
) -> postgresql::wire::WireDriver {
    postgresql::wire::WireDriver::new(&spec, isolation, TIMEOUT).unwrap()
}

pub fn wire_driver(spec: MysqlSpec, isolation: Option<Isolation>) -> WireDriver {
    WireDriver::new(spec, isolation, TIMEOUT).unwrap()
}

/// io_uring where it is allowed, unless the environment says BAKEOFF_TEST_IO=epoll.
pub fn run_on_reactor<T>(test: impl Future<Output = T>) -> T {
    let epoll = std::env::var("BAKEOFF_TEST_IO").is_ok_and(|io| io == "epoll");
    let kind = if epoll || bakeoff_reactor::io_uring_usable().is_err() {
        IoKind::Epoll
    } else {
        IoKind::IoUring
    };
    bakeoff_reactor::block_on(kind, bakeoff_reactor::Margin::new(false), Box::new(|_| {}), test).unwrap()
}

/// Runs a test's future on the runner that suits most drivers.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test)
}

pub async fn open<D: Driver>(driver: &D) -> Result<D::Session, OpError> {
    let client = driver.open(0).await.expect("open");
    driver.session(&client, 0, Needs::default()).await
}

/// A table with three fields, of a name that no other test has.
pub fn table(test: &str) -> TableSpec {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    TableSpec {
        name: format!("t{}_{number}_{test}", std::process::id()),
        key_column: "YCSB_KEY".into(),
        key_length: 100,
        field_names: (0..3).map(|i| format!("FIELD{i}")).collect(),
        value_type: ValueType::Text,
    }
}

/// One record's values, laid end to end.
pub struct Row {
    key: Vec<u8>,
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

pub fn row(key: &str, values: [&[u8]; 3]) -> Row {
    let ends = values.iter().scan(0, |end, value| {
        *end += value.len() as u32;
        Some(*end)
    });
    Row {
        key: key.into(),
        ends: ends.collect(),
        bytes: values.concat(),
    }
}

impl Row {
    pub fn record(&self) -> Record<'_> {
        Record {
            key: &self.key,
            bytes: &self.bytes,
            ends: &self.ends,
        }
    }
}

pub fn texts(row: &RowBuf) -> Vec<Vec<u8>> {
    row.cells()
        .map(|cell| match cell {
            Value::Text(bytes) => bytes.to_vec(),
            other => panic!("not text: {other:?}"),
        })
        .collect()
}
