//! Drivers to test by their own types, for what no other driver has.
use super::*;
use bakeoff_drivers::avatica::{AvaticaDriver, AvaticaSpec};
use bakeoff_drivers::couchdb::{CouchdbDriver, CouchdbSpec};
use bakeoff_drivers::mongodb::{MongodbDriver, MongodbSpec};
use bakeoff_drivers::mysql::wire::WireDriver;
use bakeoff_drivers::mysql::wire::direct::DirectDriver;
use bakeoff_drivers::postgresql;
use bakeoff_drivers::redis::RedisDriver;
use bakeoff_drivers::sqlite::SqliteDriver;

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
