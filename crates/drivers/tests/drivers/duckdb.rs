//! What is DuckDB's own: conflicts without waiting, statements that are interrupted, sessions that stay in their file.
use crate::bench::System;
use bakeoff_model::any::AnySql;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::sql::SqlSession;
use bakeoff_model::time::{now_ns, set_deadline_ns};
use bakeoff_model::transaction::{Access, Transactional};

/// Two sessions of one database; nothing happens where there is no library.
fn two_sessions(test: impl AsyncFn(&mut AnySql, &mut AnySql)) {
    if let Some(system) = System::of_kind("duckdb") {
        system.run(async {
            let (mut one, mut other) = (system.sql().await, system.sql().await);
            test(&mut one, &mut other).await;
        });
    }
}

async fn said(session: &mut AnySql, sql: &str) {
    session.execute_text(sql).await.unwrap();
}

#[test]
fn the_second_of_two_that_change_a_row_fails_at_once_and_its_session_goes_on() {
    two_sessions(async |one, other| {
        said(one, "CREATE TABLE c (id INTEGER PRIMARY KEY, n INTEGER)").await;
        said(one, "INSERT INTO c VALUES (1, 0)").await;
        one.begin(Access::default()).await.unwrap();
        other.begin(Access::default()).await.unwrap();
        said(one, "UPDATE c SET n = 1").await;
        let error = other.execute_text("UPDATE c SET n = 2").await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict), "{error}");
        other.rollback().await.unwrap();
        one.commit().await.unwrap();
        said(other, "UPDATE c SET n = 3").await;
        let twice = other
            .execute_text("INSERT INTO c VALUES (1, 1)")
            .await
            .unwrap_err();
        assert_eq!(twice.outcome, Outcome::Fail(FailClass::Constraint), "{twice}");
    });
}

#[test]
fn a_commit_of_a_transaction_that_was_undone_is_an_error() {
    two_sessions(async |one, other| {
        said(one, "CREATE TABLE u (id INTEGER PRIMARY KEY)").await;
        one.begin(Access::default()).await.unwrap();
        said(one, "INSERT INTO u VALUES (1)").await;
        one.execute_text("INSERT INTO u VALUES (1)").await.unwrap_err();
        let error = one.commit().await.unwrap_err();
        assert_eq!(
            (error.outcome, &*error.code),
            (Outcome::Fail(FailClass::Other), "ABORTED"),
            "{error}"
        );
        assert_eq!(other.query_text("SELECT * FROM u", &mut |_| {}).await.unwrap(), 0);
        // One that was refused before it did anything undoes nothing.
        one.begin(Access::default()).await.unwrap();
        said(one, "INSERT INTO u VALUES (1)").await;
        one.execute_text("INSERT INTO nowhere VALUES (1)")
            .await
            .unwrap_err();
        one.commit().await.unwrap();
        assert_eq!(other.query_text("SELECT * FROM u", &mut |_| {}).await.unwrap(), 1);
    });
}

#[test]
fn of_two_transactions_that_insert_a_key_the_second_to_commit_is_in_conflict() {
    two_sessions(async |one, other| {
        said(one, "CREATE TABLE k (id INTEGER PRIMARY KEY)").await;
        one.begin(Access::default()).await.unwrap();
        other.begin(Access::default()).await.unwrap();
        said(one, "INSERT INTO k VALUES (1)").await;
        said(other, "INSERT INTO k VALUES (1)").await;
        one.commit().await.unwrap();
        let error = other.commit().await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict), "{error}");
        assert_eq!(other.query_text("SELECT * FROM k", &mut |_| {}).await.unwrap(), 1);
    });
}

#[test]
fn a_value_of_a_type_that_is_not_read_is_an_error() {
    two_sessions(async |one, _| {
        let error = one.query_text("SELECT 1, [1, 2]", &mut |_| {}).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
        assert!(error.message.starts_with("column 2 of the answer"), "{error}");
        let mut seen = Vec::new();
        let sql = "SELECT NULL, TIMESTAMPTZ '1970-01-01 00:00:01+00'";
        one.query_text(sql, &mut |row| {
            seen.extend(row.cells().map(|cell| cell.to_string()))
        })
        .await
        .unwrap();
        assert_eq!(seen, ["NULL", "1970-01-01 00:00:01.000000"]);
    });
}

#[test]
fn a_statement_that_computes_past_the_deadline_is_ended_and_its_session_goes_on() {
    two_sessions(async |one, _| {
        set_deadline_ns(now_ns() + 100_000_000);
        let began = now_ns();
        let endless =
            "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range + b.range = -1";
        let error = one.query_text(endless, &mut |_| {}).await.unwrap_err();
        set_deadline_ns(u64::MAX);
        assert_eq!(
            (error.outcome, &*error.code),
            (Outcome::Fail(FailClass::Other), "INTERRUPT"),
            "{error}"
        );
        assert!(now_ns() - began < 10_000_000_000);
        assert_eq!(one.query_text("SELECT 1", &mut |_| {}).await.unwrap(), 1);
    });
}

#[test]
fn a_session_stays_in_its_file() {
    two_sessions(async |one, _| {
        for sql in [
            "COPY (SELECT 1) TO '/tmp/x.csv'",
            "ATTACH '/tmp/x.db'",
            "SELECT * FROM read_csv('/etc/passwd')",
        ] {
            let error = one.execute_text(sql).await.unwrap_err();
            assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{sql}: {error}");
        }
    });
}

#[test]
fn a_load_that_fails_leaves_nothing() {
    two_sessions(async |one, _| {
        said(one, "CREATE TABLE l (id INTEGER PRIMARY KEY, t VARCHAR)").await;
        let mut left = 3;
        let loaded = one
            .bulk_insert("l", &["t", "id"], &mut |row| {
                left -= 1;
                row.push(bakeoff_model::value::Value::Text(b"x"));
                row.push(bakeoff_model::value::Value::Int(7));
                left >= 0
            })
            .await;
        let error = loaded.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
        assert_eq!(one.query_text("SELECT * FROM l", &mut |_| {}).await.unwrap(), 0);
    });
}
