//! What is the MySQL protocol's own: settings, counts, values, and what the cases of every server need to know of it.
use super::client::{Session, driver, run};
use super::server_cases::{T, ask, assert_lost, session, with};
use crate::bench::{endpoint, open, row, table};
use bakeoff_drivers::mysql::{AccessPath, MysqlSpec};
use bakeoff_model::driver::Driver;
use bakeoff_model::needs::{Affected, Needs};
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::record::{FieldValue, RecordSession};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::value::{Timestamp, Value};
use std::time::Duration;

pub use crate::bench::mysql_spec as spec;
pub type Spec = MysqlSpec;

pub const SERVER: &str = "MariaDB or MySQL server";
pub const SOCKET_VARIABLE: &str = "BAKEOFF_TEST_MYSQL_SOCKET";
/// Somebody who is not one.
pub const ANOTHER_GREETING: &[u8] = b"R\0\0\0\x08\0\0\0\0";
/// A server that throws a client out, and its code.
pub const TOO_MANY: (&[u8], &str) = (
    b"\x1a\x00\x00\x00\xff\x10\x04#08004\x1b[31mtoo many\x1b[0m",
    "1040",
);
pub const SHORT_LOCK_WAIT: (&str, &str) = ("innodb_lock_wait_timeout", "1");

/// An account at an address where no server need be.
pub fn at(address: &str) -> Spec {
    MysqlSpec {
        endpoints: vec![endpoint(address)],
        user: "u".into(),
        password: None,
        schema: "s".into(),
        tls: None,
        session_variables: Default::default(),
        client: None,
        server_public_key_file: None,
        access: AccessPath::Sql,
        table_options: String::new(),
    }
}

pub fn in_database(spec: Spec, name: &str) -> Spec {
    MysqlSpec {
        schema: name.into(),
        ..spec
    }
}

/// What changes a value refuses it instead.
pub fn strict(spec: Spec) -> Spec {
    with(&spec, "sql_mode", "STRICT_ALL_TABLES")
}

pub const SLEEP: &str = "SELECT SLEEP(600)";
/// A read without an end. (When MySQL's limit ends a SLEEP, it reports success.)
pub const ENDLESS: &str = "SELECT COUNT(*) FROM information_schema.COLLATIONS a, information_schema.COLLATIONS b, \
    information_schema.COLLATIONS c, information_schema.COLLATIONS d";

/// The server's number of this session.
pub async fn number(session: &mut Session) -> String {
    session.sql().connection_id().to_string()
}

/// One row while this session is busy with a statement.
pub fn busy(number: &str) -> String {
    format!("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {number} AND COMMAND <> 'Sleep'")
}

/// The statement that ends the one which this session is at.
pub fn cancel(number: &str) -> String {
    format!("KILL QUERY {number}")
}

pub async fn is_encrypted(session: &mut Session) -> bool {
    let mut cipher = String::new();
    let mut each = |row: &RowBuf| cipher = row.cell(1).unwrap().to_string();
    let status = "SHOW SESSION STATUS LIKE 'Ssl_cipher'";
    session.sql().query_text(status, &mut each).await.unwrap();
    !cipher.is_empty()
}

/// As little time as may be for each statement that reads.
pub async fn in_a_hurry(spec: &Spec) -> Session {
    let mut session = session(spec.clone()).await;
    let mariadb = ask(&mut session, "SELECT @@version")
        .await
        .unwrap()
        .contains("MariaDB");
    let set = match mariadb {
        true => "SET SESSION max_statement_time = 0.02",
        false => "SET SESSION max_execution_time = 20",
    };
    session.sql().execute_text(set).await.unwrap();
    session
}

/// The statement that ends this session.
pub async fn kill(victim: &mut Session) -> String {
    format!("KILL {}", victim.sql().connection_id())
}

#[test]
fn a_connection_killed_in_the_middle_of_an_operation_is_lost() {
    let Some(spec) = spec() else { return };
    run(async {
        let mut victim = session(spec.clone()).await;
        let kill = kill(&mut victim).await;
        let mut killer = session(spec).await;
        let killing = async {
            bakeoff_model::time::sleep(Duration::from_millis(100)).await;
            killer.sql().execute_text(&kill).await.unwrap();
        };
        let sleep = victim.sql().prepare(&Ask::read("SELECT SLEEP(5)")).await.unwrap();
        let (slept, ()) = tokio::join!(victim.sql().execute(sleep, &[]), killing);
        assert_lost(&slept.unwrap_err());
    });
}

#[test]
fn isolation_is_set_and_read_back() {
    let Some(spec) = spec() else { return };
    run(async {
        for (level, name) in [
            (Isolation::ReadUncommitted, "READ-UNCOMMITTED"),
            (Isolation::ReadCommitted, "READ-COMMITTED"),
            (Isolation::RepeatableRead, "REPEATABLE-READ"),
            (Isolation::Serializable, "SERIALIZABLE"),
        ] {
            let mut session = open(&driver(spec.clone(), Some(level))).await.unwrap();
            let level = match ask(&mut session, "SELECT @@SESSION.transaction_isolation").await {
                Ok(level) => level,
                Err(_) => ask(&mut session, "SELECT @@SESSION.tx_isolation").await.unwrap(),
            };
            assert_eq!(level, name);
        }
    });
}

#[test]
fn session_variables_are_set_and_one_that_is_clamped_is_an_error() {
    let Some(spec) = spec() else { return };
    run(async {
        let mut set = session(with(&spec, "sql_mode", "STRICT_ALL_TABLES")).await;
        assert_eq!(
            ask(&mut set, "SELECT @@SESSION.sql_mode").await.unwrap(),
            "STRICT_ALL_TABLES"
        );
        let error = open(&driver(with(&spec, "max_sort_length", "1"), None))
            .await
            .err()
            .unwrap();
        assert!(error.message.contains("max_sort_length"), "{error}");
        let error = open(&driver(with(&spec, "no_such_variable", "1"), None))
            .await
            .err()
            .unwrap();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
        assert!(error.message.contains("no_such_variable"), "{error}");
    });
}

#[test]
fn numbers_dates_and_nothing_keep_their_meaning() {
    let Some(spec) = spec() else { return };
    run(async {
        let mut session = session(spec).await;
        let sql = "SELECT -5, 18446744073709551615, 0.5E0, NULL, DATE '2026-11-21', 'text'";
        let statement = session.sql().prepare(&Ask::read(sql)).await.unwrap();
        let row = session.sql().query_one(statement, &[]).await.unwrap().unwrap();
        let cells: Vec<Value<'_>> = row.cells().collect();
        let digits = Value::Text(b"18446744073709551615");
        assert_eq!(
            cells[..4],
            [Value::Int(-5), digits, Value::Float(0.5), Value::Null]
        );
        let midnight = Timestamp {
            us: 1_795_219_200_000_000,
        };
        assert_eq!(cells[4], Value::Timestamp(midnight));
        assert_eq!(cells[5], Value::Text(b"text"));
    });
}

#[test]
fn an_update_counts_what_the_workload_needs_it_to() {
    let Some(spec) = spec() else { return };
    let table = table("counts");
    run(async {
        let driver = driver(spec, None);
        driver.open(0).await.unwrap();
        for (affected, counted) in [(Affected::Found, 1), (Affected::Changed, 0)] {
            let needs = Needs {
                affected,
                ..Needs::default()
            };
            let mut session = driver.session(&(), 0, needs).await.unwrap();
            session.attach(std::slice::from_ref(&table)).await.unwrap();
            session.create_table(&table).await.unwrap();
            let row = row("k", [b"same", b"", b""]);
            session.insert(T, row.record()).await.unwrap();
            let same = [FieldValue {
                field: 0,
                value: b"same",
            }];
            assert_eq!(session.update(T, b"k", &same).await.unwrap(), Some(counted));
            session.drop_table(&table).await.unwrap();
        }
    });
}
