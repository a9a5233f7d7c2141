//! Servers that the environment names, and files of SQLite: specs and drivers of them.
use super::*;
use bakeoff_drivers::cassandra::CassandraSpec;
use bakeoff_drivers::mysql::wire::WireDriver;
use bakeoff_drivers::mysql::{AccessPath, MysqlSpec};
use bakeoff_drivers::postgresql;
use bakeoff_drivers::postgresql::PostgresqlSpec;
use bakeoff_drivers::redis::{RedisDriver, RedisSpec};
use bakeoff_drivers::sqlite::{SqliteDriver, SqliteSpec};
use bakeoff_drivers::{Secret, TlsSpec};
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::run::Isolation;
use std::path::PathBuf;
use std::sync::OnceLock;

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
pub fn server_in(variable: &str, scheme: &str) -> Option<[String; 3]> {
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

pub fn password_in(variable: &str) -> Option<Secret> {
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
