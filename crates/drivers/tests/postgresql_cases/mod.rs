//! What is PostgreSQL's own: logging in, lost connections, settings, locks, types. Against a real server.
use crate::bench::{self, endpoint, open, postgresql_spec, row, table};
use crate::client::{Session, driver, driver_within, run};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table, TableSpec, ValueType};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::{Isolation, PostgresqlSpec, Secret};
use bakeoff_model::sql::{Ask, SpeaksSql, SqlSession};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::time::Duration;

const T: Table = Table(0);

pub async fn session(spec: PostgresqlSpec) -> Session {
    open(&driver(spec, None)).await.unwrap()
}

async fn on_table(server: PostgresqlSpec, spec: &TableSpec) -> Session {
    let mut session = session(server).await;
    session.attach(std::slice::from_ref(spec)).await.unwrap();
    session.drop_table(spec).await.unwrap();
    session.create_table(spec).await.unwrap();
    session
}

fn with(spec: &PostgresqlSpec, name: &str, value: &str) -> PostgresqlSpec {
    PostgresqlSpec {
        session_variables: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..spec.clone()
    }
}

/// The first cell that a query answers, as text.
pub async fn ask(session: &mut Session, sql: &str) -> Result<String, OpError> {
    let mut found = String::new();
    let mut each = |row: &RowBuf| {
        found = row.cell(0).expect("one cell").to_string();
    };
    session.sql().query_text(sql, &mut each).await?;
    Ok(found)
}

async fn process(session: &mut Session) -> String {
    ask(session, "SELECT pg_backend_pid()").await.unwrap()
}

const CHANGE: [FieldValue<'static>; 1] = [FieldValue {
    field: 0,
    value: b"x",
}];

#[test]
fn a_wrong_password_is_told_without_the_password() {
    let Some(spec) = postgresql_spec() else { return };
    let file = bench::sqlite_file().with_extension("password");
    std::fs::write(&file, "hunter2-is-wrong\n").unwrap();
    let spec = PostgresqlSpec {
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
pub fn at(address: &str) -> PostgresqlSpec {
    PostgresqlSpec {
        endpoints: vec![endpoint(address)],
        user: "u".into(),
        password: None,
        database: "d".into(),
        tls: None,
        session_variables: BTreeMap::new(),
        client: None,
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
    let address = silent.local_addr().unwrap().to_string();
    let error = run(open(&driver_within(at(&address), Duration::from_millis(100))))
        .err()
        .unwrap();
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
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = run(open(&driver(at(&address), None))).err().unwrap();
    serving.join().unwrap();
    assert!(error.message.contains(&address), "{error}");
    assert!(!error.message.contains(char::is_control), "{error}");
    error
}

#[test]
fn what_is_no_server_is_told_as_such() {
    for said in [
        b"".as_slice(),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"J\0\0\0\x0a8.0.36\0",
        b"\x15\x03\x03\x00\x02\x02\x28", // a TLS alert
    ] {
        let error = told_of(said);
        assert!(error.message.contains("PostgreSQL server"), "{error}");
    }
    let thrown_out = told_of(b"E\0\0\0\x2aSFATAL\0VFATAL\0C53300\0Mtoo many \x1b[31m\0\0");
    assert_eq!(thrown_out.code, "53300", "{thrown_out}");
    assert!(thrown_out.message.contains("too many"), "{thrown_out}");
}

#[test]
fn an_unknown_database_is_refused_by_name() {
    let Some(spec) = postgresql_spec() else { return };
    let spec = PostgresqlSpec {
        database: "no_such_database".into(),
        ..spec
    };
    let error = run(open(&driver(spec, None))).err().unwrap();
    assert!(error.message.contains("no_such_database"), "{error}");
    assert!(matches!(error.outcome, Outcome::Fail(_)), "{error:?}");
}

#[test]
fn a_connection_killed_between_operations_is_lost() {
    let Some(spec) = postgresql_spec() else { return };
    let table = table("pg_killed_idle");
    run(async {
        let mut victim = on_table(spec.clone(), &table).await;
        let kill = format!(
            "SELECT pg_terminate_backend({}, 10000)",
            process(&mut victim).await
        );
        let mut killer = session(spec).await;
        assert_eq!(ask(&mut killer, &kill).await.unwrap(), "t");
        let record = row("k", [b"", b"", b""]);
        for error in [
            victim.insert(T, record.record()).await.unwrap_err(),
            victim.read(T, b"k", Fields::All).await.unwrap_err(),
        ] {
            assert_eq!(
                (error.outcome, error.connection_lost),
                (Outcome::Unknown, true),
                "{error}"
            );
        }
        killer.drop_table(&table).await.unwrap();
    });
}

#[test]
fn an_operation_that_is_given_up_is_cancelled_on_the_server() {
    let Some(spec) = postgresql_spec() else { return };
    run(async {
        let mut victim = session(spec.clone()).await;
        let process = process(&mut victim).await;
        let mut asleep = Box::pin(async move {
            let _ = victim.sql().query_text("SELECT pg_sleep(600)", &mut |_| {}).await;
            victim
        });
        let active =
            format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {process} AND state = 'active'");
        let mut other = session(spec).await;
        // The sleeper is polled as long as it takes to be seen asleep.
        tokio::select! {
            biased;
            _ = &mut asleep => panic!("it slept through"),
            () = async { while ask(&mut other, &active).await.unwrap() != "1" {} } => {}
        }
        drop(asleep);
        while ask(&mut other, &active).await.unwrap() != "0" {
            bakeoff_model::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

#[test]
fn isolation_is_set_and_read_back() {
    let Some(spec) = postgresql_spec() else { return };
    run(async {
        for (level, name) in [
            (Isolation::ReadCommitted, "read committed"),
            (Isolation::RepeatableRead, "repeatable read"),
            (Isolation::Snapshot, "repeatable read"),
            (Isolation::Serializable, "serializable"),
        ] {
            let mut session = open(&driver(spec.clone(), Some(level))).await.unwrap();
            session.begin(Access::default()).await.unwrap();
            assert_eq!(
                ask(&mut session, "SHOW transaction_isolation").await.unwrap(),
                name
            );
            session.rollback().await.unwrap();
        }
    });
}

#[test]
fn session_variables_are_set_and_those_that_do_not_exist_are_refused() {
    let Some(spec) = postgresql_spec() else { return };
    run(async {
        let mut set = session(with(&spec, "work_mem", "65536kB")).await;
        assert_eq!(ask(&mut set, "SHOW work_mem").await.unwrap(), "64MB");
        for (name, value) in [("no_such_variable", "1"), ("work_mem", "1kB")] {
            let error = open(&driver(with(&spec, name, value), None)).await.err().unwrap();
            assert!(matches!(error.outcome, Outcome::Fail(_)), "{error}");
            assert!(error.message.contains(name), "{error}");
        }
    });
}

#[test]
fn a_row_locked_by_another_and_a_write_skew_are_conflicts() {
    let Some(spec) = postgresql_spec() else { return };
    let table = table("pg_conflicts");
    run(async {
        let mut holder = on_table(spec.clone(), &table).await;
        holder
            .insert(T, row("k", [b"", b"", b""]).record())
            .await
            .unwrap();
        let mut waiter = session(with(&spec, "lock_timeout", "50ms")).await;
        waiter.attach(std::slice::from_ref(&table)).await.unwrap();
        holder.begin(Access::default()).await.unwrap();
        holder.update(T, b"k", &CHANGE).await.unwrap();
        let error = waiter.update(T, b"k", &CHANGE).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict), "{error}");
        assert!(!error.connection_lost);
        holder.rollback().await.unwrap();
        assert_eq!(waiter.update(T, b"k", &CHANGE).await.unwrap(), Some(1));

        let mut late = open(&driver(spec, Some(Isolation::RepeatableRead)))
            .await
            .unwrap();
        late.attach(std::slice::from_ref(&table)).await.unwrap();
        late.begin(Access::default()).await.unwrap();
        late.read(T, b"k", Fields::All).await.unwrap();
        holder.update(T, b"k", &CHANGE).await.unwrap();
        let error = late.update(T, b"k", &CHANGE).await.unwrap_err();
        assert_eq!(
            (&*error.code, error.outcome),
            ("40001", Outcome::Fail(FailClass::Conflict))
        );
        // The server takes COMMIT for ROLLBACK now, and that is no success.
        let error = late.commit().await.unwrap_err();
        assert!(matches!(error.outcome, Outcome::Fail(_)), "{error}");
        late.drop_table(&table).await.unwrap();
    });
}

#[test]
fn a_value_too_long_is_a_constraint_and_names_its_statement() {
    let Some(spec) = postgresql_spec() else { return };
    let table = TableSpec {
        value_type: ValueType::Varchar(3),
        ..table("pg_too_long")
    };
    run(async {
        let mut session = on_table(spec, &table).await;
        let record = row("k", [b"four", b"", b""]);
        let error = session.insert(T, record.record()).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
        assert!(error.statement.as_deref().unwrap().starts_with("INSERT INTO"));
        session.drop_table(&table).await.unwrap();
    });
}

#[test]
fn numbers_dates_and_nothing_keep_their_meaning() {
    let Some(spec) = postgresql_spec() else { return };
    run(async {
        let mut session = session(spec).await;
        let values = "-5::int2, 7::int4, 9223372036854775807, 0.5::float8, 0.5::float4, true, NULL, 'text', \
                      '\\xff00'::bytea";
        let written = [
            "-120345.60",
            "'NaN'",
            "1e20",
            "0.00000012",
            "12345678901234567890.5",
        ];
        let numerics: Vec<String> = written.iter().map(|value| format!("{value}::numeric")).collect();
        let texts: Vec<String> = numerics.iter().map(|value| format!("({value})::text")).collect();
        let sql = format!("SELECT {values}, {}, {}", numerics.join(", "), texts.join(", "));
        let statement = session.sql().prepare(&Ask::read(&sql)).await.unwrap();
        let row = session.sql().query_one(statement, &[]).await.unwrap().unwrap();
        let cells: Vec<Value<'_>> = row.cells().collect();
        let (plain, numbers) = cells.split_at(9);
        let (half, int) = (Value::Float(0.5), Value::Int);
        let expected = [
            int(-5),
            int(7),
            int(i64::MAX),
            half,
            half,
            Value::Bool(true),
            Value::Null,
        ];
        assert_eq!(plain[..7], expected);
        assert_eq!(plain[7..], [Value::Text(b"text"), Value::Bytes(b"\xff\0")]);
        // As the server itself writes them.
        let (binary, text) = numbers.split_at(written.len());
        for (index, value) in written.iter().enumerate() {
            assert_eq!(binary[index].to_string(), text[index].to_string(), "{value}");
        }
    });
}

#[test]
fn parameters_are_taken_by_the_types_that_the_server_wants() {
    let Some(spec) = postgresql_spec() else { return };
    run(async {
        let mut session = session(spec).await;
        let sql = "SELECT ($1::int2 + $2::int8)::text, ($3::numeric * 2)::text, $4::float4::text, $5::text, $6::bytea::text, \
                   $7::bool::text, $8::date::text, $9::int4 IS NULL";
        let statement = session.sql().prepare(&Ask::read(sql)).await.unwrap();
        let params = [
            Value::Int(1),
            Value::Int(2),
            Value::Float(0.25),
            Value::Float(0.5),
            Value::Int(7),
            Value::Bytes(b"\0\xff"),
            Value::Int(1),
            Value::Text(b"2026-11-21"),
            Value::Null,
        ];
        let row = session
            .sql()
            .query_one(statement, &params)
            .await
            .unwrap()
            .unwrap();
        let expected = ["3", "0.50", "0.5", "7", "\\x00ff", "true", "2026-11-21"];
        for (index, text) in expected.iter().enumerate() {
            assert_eq!(row.cell(index), Some(Value::Text(text.as_bytes())), "{index}");
        }
        assert_eq!(row.cell(7), Some(Value::Bool(true)));

        let too_large = [
            Value::Int(1 << 40),
            params[1],
            params[2],
            params[3],
            params[4],
            params[5],
            params[6],
            params[7],
            params[8],
        ];
        let error = session.sql().query_one(statement, &too_large).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
        let error = session
            .sql()
            .query_one(statement, &params[..2])
            .await
            .unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
        // The session is as good as before.
        session
            .sql()
            .query_one(statement, &params)
            .await
            .unwrap()
            .unwrap();
    });
}

#[test]
fn tables_of_tools_that_do_not_quote_are_found() {
    let Some(spec) = postgresql_spec() else { return };
    let table = TableSpec {
        name: format!("T{}_Unquoted", std::process::id()),
        ..table("")
    };
    run(async {
        let mut session = session(spec).await;
        session.attach(std::slice::from_ref(&table)).await.unwrap();
        let sql = format!(
            "CREATE TABLE {} (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT, FIELD2 TEXT)",
            table.name
        );
        session.sql().execute_text(&sql).await.unwrap();
        assert!(session.table_exists(&table).await.unwrap());
        session
            .insert(T, row("k", [b"a", b"b", b"c"]).record())
            .await
            .unwrap();
        assert!(session.read(T, b"k", Fields::One(1)).await.unwrap().is_some());
        session.drop_table(&table).await.unwrap();
    });
}

#[test]
fn a_unix_socket_works_where_the_environment_names_one() {
    let Some(spec) = postgresql_spec() else { return };
    let Ok(path) = std::env::var("BAKEOFF_TEST_POSTGRESQL_SOCKET") else {
        println!("skipped: no unix socket to test with (BAKEOFF_TEST_POSTGRESQL_SOCKET is not set)");
        return;
    };
    run(async {
        let spec = PostgresqlSpec {
            endpoints: vec![endpoint(&path)],
            ..spec
        };
        assert_eq!(
            ask(&mut session(spec).await, "SELECT 'there'").await.unwrap(),
            "there"
        );
    });
}
