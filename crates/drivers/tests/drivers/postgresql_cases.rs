//! What is PostgreSQL's own: cancelling, settings, conflicts, types, and what the cases of every server need to know of
//! it.
use super::client::{Session, driver, run};
use super::server_cases::{CHANGE, T, ask, on_table, session, with};
use crate::bench::{endpoint, open, row, table};
use bakeoff_drivers::postgresql::PostgresqlSpec;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::record::{Fields, RecordSession, TableSpec};
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::{Decimal, Timestamp, Value};

pub use crate::bench::postgresql_spec as spec;
pub type Spec = PostgresqlSpec;

pub const SERVER: &str = "PostgreSQL server";
pub const SOCKET_VARIABLE: &str = "BAKEOFF_TEST_POSTGRESQL_SOCKET";
/// Somebody who is not one.
pub const ANOTHER_GREETING: &[u8] = b"J\0\0\0\x0a8.0.36\0";
/// A server that throws a client out, and its code.
pub const TOO_MANY: (&[u8], &str) = (
    b"E\0\0\0\x2aSFATAL\0VFATAL\0C53300\0Mtoo many \x1b[31m\0\0",
    "53300",
);
pub const SHORT_LOCK_WAIT: (&str, &str) = ("lock_timeout", "50ms");

/// An account at an address where no server need be.
pub fn at(address: &str) -> Spec {
    PostgresqlSpec {
        endpoints: vec![endpoint(address)],
        user: "u".into(),
        password: None,
        database: "d".into(),
        tls: None,
        session_variables: Default::default(),
        client: None,
    }
}

pub fn in_database(spec: Spec, name: &str) -> Spec {
    PostgresqlSpec {
        database: name.into(),
        ..spec
    }
}

/// It changes no value as it is.
pub fn strict(spec: Spec) -> Spec {
    spec
}

pub const SLEEP: &str = "SELECT pg_sleep(600)";
/// A read without an end.
pub const ENDLESS: &str = SLEEP;

/// One row while this session is busy with a statement.
pub fn busy(number: &str) -> String {
    format!("SELECT 1 FROM pg_stat_activity WHERE pid = {number} AND state = 'active'")
}

/// The statement that ends the one which this session is at.
pub fn cancel(number: &str) -> String {
    format!("SELECT pg_cancel_backend({number})")
}

pub async fn is_encrypted(session: &mut Session) -> bool {
    let ssl = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    ask(session, ssl).await.unwrap() == "t"
}

/// As little time as may be for each statement.
pub async fn in_a_hurry(spec: &Spec) -> Session {
    session(with(spec, "statement_timeout", "20ms")).await
}

/// The server's number of this session.
pub async fn number(session: &mut Session) -> String {
    ask(session, "SELECT pg_backend_pid()").await.unwrap()
}

/// The statement that ends this session, and waits until it has ended.
pub async fn kill(victim: &mut Session) -> String {
    format!("SELECT pg_terminate_backend({}, 10000)", number(victim).await)
}

#[test]
fn isolation_is_set_and_read_back() {
    let Some(spec) = spec() else { return };
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
    let Some(spec) = spec() else { return };
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
fn a_row_changed_since_it_was_read_is_a_conflict() {
    let Some(spec) = spec() else { return };
    let table = table("pg_conflicts");
    run(async {
        let mut holder = on_table(spec.clone(), &table).await;
        holder
            .insert(T, row("k", [b"", b"", b""]).record())
            .await
            .unwrap();
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
fn numbers_dates_and_nothing_keep_their_meaning() {
    let Some(spec) = spec() else { return };
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
    let Some(spec) = spec() else { return };
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
    let Some(spec) = spec() else { return };
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
fn every_kind_of_value_goes_there_and_back_in_its_own_form() {
    let Some(spec) = spec() else { return };
    let at = Value::Timestamp(Timestamp {
        us: -62_135_596_799_999_999,
    });
    let day = Value::Timestamp(Timestamp {
        us: 951_782_400_000_000,
    });
    let values = [
        ("bool", Value::Bool(true), "true"),
        ("int2", Value::Int(i16::MIN.into()), "-32768"),
        ("int4", Value::Int(i32::MIN.into()), "-2147483648"),
        ("int8", Value::Int(i64::MIN), "-9223372036854775808"),
        ("float4", Value::Float(-0.5), "-0.5"),
        ("float8", Value::Float(0.1), "0.1"),
        ("text", Value::Text("Grün\t'".as_bytes()), "Grün\t'"),
        ("varchar", Value::Text(b""), ""),
        ("bpchar", Value::Text(b"ab "), "ab"),
        ("bytea", Value::Bytes(b"\0\xff"), "\\x00ff"),
        ("timestamp", at, "0001-01-01 00:00:00.000001"),
        ("timestamptz", at, "0001-01-01 00:00:00.000001+00"),
        ("date", day, "2000-02-29"),
        (
            "uuid",
            Value::Uuid([7; 16]),
            "07070707-0707-0707-0707-070707070707",
        ),
        ("json", Value::Text(b"{\"a\": 1}"), "{\"a\": 1}"),
    ];
    run(async {
        let mut session = session(with(&spec, "TimeZone", "UTC")).await;
        for (kind, value, text) in values {
            for value in [value, Value::Null] {
                let read = there_and_back(&mut session, kind, value).await;
                let text = if value == Value::Null { "NULL" } else { text };
                assert_eq!(read, format!("{value:?} {text}"), "{kind}");
            }
        }
    });
}

#[test]
fn numbers_of_every_scale_go_there_and_back() {
    let Some(spec) = spec() else { return };
    run(async {
        let mut session = session(spec).await;
        for units in [0, 5, -1, 10_000, 12_345_678, i64::MAX, i64::MIN] {
            for scale in 0..=20 {
                let decimal = Decimal { units, scale };
                let read = there_and_back(&mut session, "numeric", Value::Decimal(decimal)).await;
                assert_eq!(read, format!("{:?} {decimal}", Value::Decimal(decimal)));
            }
        }
        let long = "123456789012345678901234567890.5";
        for text in ["NaN", long] {
            let value = Value::Text(text.as_bytes());
            let read = there_and_back(&mut session, "numeric", value).await;
            assert_eq!(read, format!("{value:?} {text}"));
        }
    });
}

/// A value as it is read back, and as the server writes it.
async fn there_and_back(session: &mut Session, kind: &str, value: Value<'_>) -> String {
    let sql = session.sql();
    let echo = format!("SELECT $1::{kind}, ($1::{kind})::text");
    let echo = sql.prepare(&Ask::read(&echo)).await.unwrap();
    let row = sql.query_one(echo, &[value]).await.unwrap().unwrap();
    format!("{:?} {}", row.cell(0).unwrap(), row.cell(1).unwrap())
}

#[test]
fn a_transaction_that_may_only_read_refuses_a_write_and_its_node_is_left() {
    let Some(spec) = spec() else { return };
    run(async {
        let mut session = session(with(&spec, "default_transaction_read_only", "on")).await;
        let error = ask(&mut session, "CREATE TABLE never (a int)").await.unwrap_err();
        assert_eq!(
            (error.outcome, &*error.code, error.leave_node),
            (Outcome::Fail(FailClass::Refused), "25006", true)
        );
    });
}
