//! What every SQL session must do with values, purposes and transactions, on every SQL system that is at hand.
use crate::bench::System;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::{Ask, Done, SqlSession};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::{Decimal, Timestamp, Value};
use std::sync::atomic::{AtomicU32, Ordering};

const COLUMNS: [&str; 7] = ["id", "i", "f", "d", "t", "b", "moment"];

async fn fresh<S: SqlSession>(session: &mut S, columns: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let table = format!("values{}_{number}", std::process::id());
    sql(session, &format!("DROP TABLE IF EXISTS {table}")).await;
    sql(session, &format!("CREATE TABLE {table} ({columns})")).await;
    table
}

/// A column of each type that workloads have.
async fn typed<S: SqlSession>(session: &mut S) -> String {
    let dialect = session.dialect();
    let (text, bytes, at) = (dialect.text_type, dialect.bytes_type, dialect.timestamp_type);
    let columns = format!(
        "id BIGINT NOT NULL PRIMARY KEY, i BIGINT, f DOUBLE PRECISION, d DECIMAL(18, 4), t {text}, b {bytes}, moment {at}"
    );
    fresh(session, &columns).await
}

async fn sql(session: &mut impl SqlSession, text: &str) {
    session.execute_text(text).await.unwrap();
}

async fn write<S: SqlSession>(session: &mut S, text: &str, params: &[Value<'_>]) -> Result<Done, OpError> {
    let statement = session.prepare(&Ask::write(text)).await?;
    session.execute(statement, params).await
}

async fn number(session: &mut impl SqlSession, text: &str) -> i64 {
    let statement = session.prepare(&Ask::read(text)).await.unwrap();
    let row = session.query_one(statement, &[]).await.unwrap().unwrap();
    row.cell(0).and_then(Value::whole_number).unwrap()
}

fn rows() -> [[Value<'static>; 7]; 4] {
    let decimal = |units| Value::Decimal(Decimal { units, scale: 4 });
    let at = |us| Value::Timestamp(Timestamp { us });
    let (text, bytes): (_, &[u8]) = (Value::Text("it's\t\\x".as_bytes()), &[0, 0xff, b'\'', b'\\']);
    [
        [
            Value::Int(1),
            Value::Int(i64::MIN),
            Value::Float(0.1),
            decimal(-1_234_567_891),
            text,
            Value::Bytes(bytes),
            at(1_795_248_062_000_003),
        ],
        [
            Value::Int(2),
            Value::Int(0),
            Value::Float(-1.5e300),
            decimal(5),
            Value::Text(b""),
            Value::Bytes(b""),
            at(951_868_799_999_999),
        ],
        [
            Value::Int(3),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
        ],
        [
            Value::Int(4),
            Value::Int(7),
            Value::Float(0.0),
            decimal(0),
            Value::Text(b"x"),
            Value::Bytes(b"x"),
            at(0),
        ],
    ]
}

async fn stored<S: SqlSession>(session: &mut S, table: &str) -> Vec<String> {
    let text = format!("SELECT {} FROM {table} ORDER BY id", COLUMNS.join(", "));
    let select = session.prepare(&Ask::read(&text)).await.unwrap();
    let mut found = Vec::new();
    let mut each = |row: &RowBuf| found.push(format!("{:?}", row.cells().collect::<Vec<_>>()));
    session.query(select, &[], &mut each).await.unwrap();
    found
}

async fn every_value_comes_back_as_it_was_given<S: SqlSession>(session: &mut S) {
    let table = typed(session).await;
    let places: Vec<String> = (1..=COLUMNS.len())
        .map(|i| session.dialect().placeholder(i))
        .collect();
    let insert = format!("INSERT INTO {table} VALUES ({})", places.join(", "));
    let insert = session.prepare(&Ask::write(&insert)).await.unwrap();
    for row in rows() {
        let done = session.execute(insert, &row).await.unwrap();
        assert_eq!(done.affected, Some(1));
    }
    let mut given = rows();
    if session.dialect().name == "hsqldb" {
        for value in given.as_flattened_mut() {
            if let Value::Timestamp(at) = value {
                at.us -= at.us.rem_euclid(1000); // an answer of Avatica's has milliseconds
            }
        }
    }
    let given: Vec<String> = given.iter().map(|row| format!("{row:?}")).collect();
    assert_eq!(stored(session, &table).await, given);

    sql(session, &format!("DELETE FROM {table}")).await;
    let mut rest = rows().into_iter();
    let mut next = |buffer: &mut RowBuf| match rest.next() {
        Some(row) => {
            row.iter().for_each(|value| buffer.push(*value));
            true
        }
        None => false,
    };
    assert_eq!(session.bulk_insert(&table, &COLUMNS, &mut next).await.unwrap(), 4);
    assert_eq!(stored(session, &table).await, given, "loaded in bulk");
    sql(session, &format!("DROP TABLE {table}")).await;
}

async fn a_new_rows_number_is_reported<S: SqlSession>(session: &mut S) {
    let key = session.dialect().auto_key;
    let table = fresh(session, &format!("id {key}, v BIGINT, PRIMARY KEY (id)")).await;
    let insert = format!("INSERT INTO {table} (v) VALUES (7)");
    let first = write(session, &insert, &[]).await.unwrap();
    let second = session.execute_text(&insert).await.unwrap();
    let told = match session.dialect().name {
        "postgresql" | "duckdb" => (None, None), // it is asked for with RETURNING
        "hsqldb" => (None, None),                // Avatica's protocol has no place for it
        _ => (Some(1), Some(2)),
    };
    assert_eq!((first.insert_id, second.insert_id), told, "prepared, and as text");
    let update = format!("UPDATE {table} SET v=8");
    let done = write(session, &update, &[]).await.unwrap();
    assert_eq!((done.affected, done.insert_id), (Some(2), None));
    sql(session, &format!("DROP TABLE {table}")).await;
}

async fn a_row_that_exists_gets_the_new_values<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "id BIGINT PRIMARY KEY, v BIGINT").await;
    let upsert = session.dialect().upsert("id", &["v"]);
    for value in [1, 2] {
        sql(
            session,
            &format!("INSERT INTO {table} (id, v) VALUES (9, {value}){upsert}"),
        )
        .await;
    }
    let (rows, value) = (
        number(session, &format!("SELECT COUNT(*) FROM {table}")).await,
        number(session, &format!("SELECT v FROM {table}")).await,
    );
    assert_eq!((rows, value), (1, 2));
    sql(session, &format!("DROP TABLE {table}")).await;
}

async fn a_transaction_ends_as_what_was_done_in_it<S: SqlSession + Transactional>(session: &mut S) {
    let table = fresh(session, "id BIGINT PRIMARY KEY").await;
    let count = format!("SELECT COUNT(*) FROM {table}");
    session.begin(Access::default()).await.unwrap();
    let stored = write(session, &format!("INSERT INTO {table} VALUES (1)"), &[]).await;
    assert_eq!(session.end(stored).await.unwrap().affected, Some(1));

    session.begin(Access::default()).await.unwrap();
    sql(session, &format!("INSERT INTO {table} VALUES (2)")).await;
    let lock = format!(
        "SELECT id FROM {table} WHERE id = 2{}",
        session.dialect().for_update
    );
    assert_eq!(number(session, &lock).await, 2);
    let twice = write(session, &format!("INSERT INTO {table} VALUES (1)"), &[]).await;
    let error = session.end(twice).await.unwrap_err();
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
    assert!(!error.connection_lost);
    assert_eq!(number(session, &count).await, 1);

    let serializable = Access {
        read_only: true,
        isolation: Some(Isolation::Serializable),
    };
    session.begin(serializable).await.unwrap();
    assert_eq!(number(session, &count).await, 1);
    session.commit().await.unwrap();
    sql(session, &format!("DROP TABLE {table}")).await;
}

macro_rules! on_every_client {
    ($($case:ident),* $(,)?) => {
        mod every_client {
            use super::*;
            $(
                #[test]
                fn $case() {
                    for system in System::of_sql() {
                        system.run(async { super::$case(&mut system.sql().await).await });
                        system.passed("SQL", stringify!($case));
                    }
                }
            )*
        }
    };
}

on_every_client!(
    every_value_comes_back_as_it_was_given,
    a_new_rows_number_is_reported,
    a_row_that_exists_gets_the_new_values,
    a_transaction_ends_as_what_was_done_in_it,
);
