//! What is the MySQL protocol's own: logging in, lost connections, settings, locks. Against a real server.
use crate::bench::{self, endpoint, mysql_spec, open, row, table};
use crate::client::{Session, driver, driver_within, run};
use bakeoff_model::driver::Driver;
use bakeoff_model::needs::{Affected, Needs};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table, TableSpec, ValueType};
use bakeoff_model::run::{Isolation, MysqlSpec, Secret};
use bakeoff_model::sql::{Ask, SpeaksSql, SqlSession};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::{Timestamp, Value};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::time::Duration;

const T: Table = Table(0);

pub async fn session(spec: MysqlSpec) -> Session {
    open(&driver(spec, None)).await.unwrap()
}

async fn on_table(mysql: MysqlSpec, spec: &TableSpec) -> Session {
    let mut session = session(mysql).await;
    session.attach(std::slice::from_ref(spec)).await.unwrap();
    session.drop_table(spec).await.unwrap();
    session.create_table(spec).await.unwrap();
    session
}

/// The first cell that a query answers, as text.
pub async fn ask(session: &mut Session, sql: &str) -> Result<String, OpError> {
    let statement = session.sql().prepare(&Ask::read(sql)).await?;
    let row = session.sql().query_one(statement, &[]).await?.expect("one row");
    Ok(row.cell(0).expect("one cell").to_string())
}

fn assert_lost(error: &OpError) {
    assert_eq!(error.outcome, Outcome::Unknown, "{error}");
    assert!(error.connection_lost, "{error}");
}

#[test]
fn a_wrong_password_is_told_without_the_password() {
    let Some(spec) = mysql_spec() else { return };
    let file = bench::sqlite_file().with_extension("password");
    std::fs::write(&file, "hunter2-is-wrong\n").unwrap();
    let spec = MysqlSpec {
        password: Some(Secret::File(file.display().to_string())),
        ..spec
    };
    let (address, user) = (spec.endpoints[0].address.clone(), spec.user.clone());
    let error = run(open(&driver(spec, None))).err().unwrap();
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
    assert!(
        error.message.contains(&address) && error.message.contains(&user),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

/// An account at an address where no server need be.
fn at(address: &str) -> MysqlSpec {
    MysqlSpec {
        endpoints: vec![endpoint(address)],
        user: "u".into(),
        password: None,
        schema: "s".into(),
        tls: None,
        session_variables: BTreeMap::new(),
        client: None,
        server_public_key_file: None,
        throwaway_password: true,
    }
}

#[test]
fn a_refused_connection_names_host_and_port() {
    let closed = "127.0.0.1:1"; // a port that nobody is given by chance
    let error = run(open(&driver(at(closed), None))).err().unwrap();
    assert!(error.message.contains(closed), "{error}");
    assert!(
        !error.connection_lost && matches!(error.outcome, Outcome::Fail(_)),
        "{error:?}"
    );
}

#[test]
fn a_server_that_says_nothing_is_given_up_after_the_timeout() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let driver = driver_within(
        at(&silent.local_addr().unwrap().to_string()),
        Duration::from_millis(100),
    );
    let error = run(open(&driver)).err().unwrap();
    assert_eq!(error.code, "CONNECT_TIMEOUT", "{error}");
}

/// What is told of somebody who says this to every client and hangs up.
fn told_of(said: &'static [u8]) -> OpError {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(said).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read(&mut [0; 1000]);
    });
    let error = run(open(&driver(at(&address), None))).err().unwrap();
    serving.join().unwrap();
    assert!(error.message.contains(&address), "{error}");
    assert!(!error.message.contains(char::is_control), "{error}");
    error
}

#[test]
fn what_is_no_server_is_told_as_what_it_is() {
    for said in [
        b"".as_slice(),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x15\x03\x03\x00\x02\x02\x28", // a TLS alert
        b"\x1b[2J\x1b[31m garbage \x00\xff",
    ] {
        let error = told_of(said);
        assert!(error.message.contains("MariaDB or MySQL server"), "{error}");
    }
    let thrown_out = told_of(b"\x1a\x00\x00\x00\xff\x10\x04#08004\x1b[31mToo many\x1b[0m");
    assert_eq!(thrown_out.code, "1040");
    assert!(thrown_out.message.contains("Too many"), "{thrown_out}");
}

#[test]
fn an_unknown_schema_is_refused_by_name() {
    let Some(spec) = mysql_spec() else { return };
    let error = run(open(&driver(
        MysqlSpec {
            schema: "no_such_schema".into(),
            ..spec
        },
        None,
    )))
    .err()
    .unwrap();
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
    assert!(error.message.contains("no_such_schema"), "{error}");
}

#[test]
fn a_connection_killed_between_operations_is_lost() {
    let Some(spec) = mysql_spec() else { return };
    let table = table("killed_idle");
    run(async {
        let mut victim = on_table(spec.clone(), &table).await;
        victim
            .insert(T, row("k", [b"", b"", b""]).record())
            .await
            .unwrap();
        let kill = format!("KILL {}", victim.sql().connection_id());
        let mut killer = session(spec).await;
        killer.sql().execute_text(&kill).await.unwrap();
        assert_lost(
            &victim
                .insert(T, row("k2", [b"", b"", b""]).record())
                .await
                .unwrap_err(),
        );
        assert_lost(&victim.read(T, b"k", Fields::All).await.unwrap_err());
        killer.drop_table(&table).await.unwrap();
    });
}

#[test]
fn a_connection_killed_in_the_middle_of_an_operation_is_lost() {
    let Some(spec) = mysql_spec() else { return };
    run(async {
        let mut victim = session(spec.clone()).await;
        let kill = format!("KILL {}", victim.sql().connection_id());
        let mut killer = session(spec).await;
        let killing = async {
            bakeoff_model::time::sleep(Duration::from_millis(100)).await;
            killer.sql().execute_text(&kill).await.unwrap();
        };
        let (slept, ()) = tokio::join!(ask(&mut victim, "SELECT SLEEP(5)"), killing);
        assert_lost(&slept.unwrap_err());
    });
}

#[test]
fn isolation_is_set_and_read_back() {
    let Some(spec) = mysql_spec() else { return };
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
    let Some(spec) = mysql_spec() else { return };
    let with = |name: &str, value: &str| MysqlSpec {
        session_variables: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..spec.clone()
    };
    run(async {
        let mut set = session(with("sql_mode", "STRICT_ALL_TABLES")).await;
        assert_eq!(
            ask(&mut set, "SELECT @@SESSION.sql_mode").await.unwrap(),
            "STRICT_ALL_TABLES"
        );
        let error = open(&driver(with("max_sort_length", "1"), None))
            .await
            .err()
            .unwrap();
        assert!(error.message.contains("max_sort_length"), "{error}");
        let error = open(&driver(with("no_such_variable", "1"), None))
            .await
            .err()
            .unwrap();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
        assert!(error.message.contains("no_such_variable"), "{error}");
    });
}

#[test]
fn a_row_locked_by_another_is_a_conflict() {
    let Some(spec) = mysql_spec() else { return };
    let table = table("locked");
    run(async {
        let mut holder = on_table(spec.clone(), &table).await;
        holder
            .insert(T, row("k", [b"", b"", b""]).record())
            .await
            .unwrap();
        let wait = BTreeMap::from([("innodb_lock_wait_timeout".to_owned(), "1".to_owned())]);
        let mut waiter = session(MysqlSpec {
            session_variables: wait,
            ..spec
        })
        .await;
        waiter.attach(std::slice::from_ref(&table)).await.unwrap();
        let change = [FieldValue {
            field: 0,
            value: b"x",
        }];
        holder.begin(Access::default()).await.unwrap();
        holder.update(T, b"k", &change).await.unwrap();
        let error = waiter.update(T, b"k", &change).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict), "{error}");
        assert!(!error.connection_lost);
        holder.rollback().await.unwrap();
        assert_eq!(waiter.update(T, b"k", &change).await.unwrap(), Some(1));
        waiter.drop_table(&table).await.unwrap();
    });
}

#[test]
fn a_value_too_long_is_a_constraint_and_names_its_statement() {
    let Some(spec) = mysql_spec() else { return };
    let table = TableSpec {
        value_type: ValueType::Varchar(3),
        ..table("too_long")
    };
    run(async {
        let strict = BTreeMap::from([("sql_mode".to_owned(), "STRICT_ALL_TABLES".to_owned())]);
        let mut session = on_table(
            MysqlSpec {
                session_variables: strict,
                ..spec
            },
            &table,
        )
        .await;
        let error = session
            .insert(T, row("k", [b"four", b"", b""]).record())
            .await
            .unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
        assert!(error.statement.as_deref().unwrap().starts_with("INSERT INTO"));
        session.drop_table(&table).await.unwrap();
    });
}

#[test]
fn numbers_dates_and_nothing_keep_their_meaning() {
    let Some(spec) = mysql_spec() else { return };
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
fn a_unix_socket_works_where_the_environment_names_one() {
    let Some(spec) = mysql_spec() else { return };
    let Ok(path) = std::env::var("BAKEOFF_TEST_MYSQL_SOCKET") else {
        println!("skipped: no unix socket to test with (BAKEOFF_TEST_MYSQL_SOCKET is not set)");
        return;
    };
    run(async {
        let mut session = session(MysqlSpec {
            endpoints: vec![endpoint(&path)],
            ..spec
        })
        .await;
        assert_eq!(ask(&mut session, "SELECT 'there'").await.unwrap(), "there");
    });
}

#[test]
fn an_update_counts_what_the_workload_needs_it_to() {
    let Some(spec) = mysql_spec() else { return };
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
