//! What is Avatica's own: rows that come in frames, sessions that the server would keep, transactions over autocommit.
use crate::bench::{AvaticaWire, Bench, open};
use bakeoff_drivers::avatica::AvaticaDriver;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::time::sleep;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::time::Duration;

async fn number(session: &mut impl SqlSession, sql: &str) -> i64 {
    let mut found = None;
    let mut each = |row: &RowBuf| found = row.cell(0).and_then(Value::whole_number);
    session.query_text(sql, &mut each).await.unwrap();
    found.unwrap()
}

fn on_server(test: impl AsyncFnOnce(&AvaticaDriver)) {
    let Some(driver) = AvaticaWire::driver() else {
        return;
    };
    AvaticaWire::run(test(&driver));
}

async fn fresh(session: &mut impl SqlSession, name: &str) -> String {
    let table = format!("{name}_{}", std::process::id());
    let sql = format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, n BIGINT, t TIME, made TIMESTAMP(6))");
    session.execute_text(&sql).await.unwrap();
    table
}

#[test]
fn rows_of_a_long_answer_come_frame_by_frame() {
    on_server(async |driver| {
        let mut session = open(driver).await.unwrap();
        let session = session.sql();
        let table = fresh(session, "frames").await;
        let mut left = 0..2500;
        let mut next = |row: &mut RowBuf| {
            let Some(id) = left.next() else { return false };
            row.push(Value::Int(id));
            row.push(Value::Int(-id));
            row.push(Value::Text(b"01:02:03"));
            row.push(Value::Text(b"2026-11-21 08:01:00"));
            true
        };
        let columns = ["id", "n", "t", "made"];
        assert_eq!(
            session.bulk_insert(&table, &columns, &mut next).await.unwrap(),
            2500
        );
        let sql = format!("SELECT id, n, t, made FROM {table} ORDER BY id");
        let select = session.prepare(&Ask::read(&sql)).await.unwrap();
        for prepared in [true, false] {
            let mut seen = 0;
            let mut each = |row: &RowBuf| {
                let told: Vec<String> = row.cells().map(|cell| cell.to_string()).collect();
                let id = seen.to_string();
                let minus = (-seen).to_string();
                assert_eq!(told, [&*id, &minus, "01:02:03", "2026-11-21 08:01:00.000000"]);
                seen += 1;
            };
            let rows = match prepared {
                true => session.query(select, &[], &mut each).await,
                false => session.query_text(&sql, &mut each).await,
            };
            assert_eq!((rows.unwrap(), seen), (2500, 2500i64));
        }
        session
            .execute_text(&format!("DROP TABLE {table}"))
            .await
            .unwrap();
    });
}

#[test]
fn a_transaction_and_what_follows_it_are_kept_apart() {
    on_server(async |driver| {
        let mut sessions = (open(driver).await.unwrap(), open(driver).await.unwrap());
        let (first, second) = (sessions.0.sql(), sessions.1.sql());
        let table = fresh(first, "apart").await;
        let (insert, count) = (
            format!("INSERT INTO {table} (id) VALUES"),
            format!("SELECT COUNT(*) FROM {table}"),
        );
        first.begin(Access::default()).await.unwrap();
        first.execute_text(&format!("{insert} (1)")).await.unwrap();
        assert_eq!(number(second, &count).await, 0);
        first.commit().await.unwrap();
        first.execute_text(&format!("{insert} (2)")).await.unwrap();
        assert_eq!(number(second, &count).await, 2, "it committed itself");
        first.begin(Access::default()).await.unwrap();
        first.execute_text(&format!("{insert} (3)")).await.unwrap();
        first.rollback().await.unwrap();
        let twice = first.execute_text(&format!("{insert} (2)")).await.unwrap_err();
        assert_eq!(twice.outcome, Outcome::Fail(FailClass::Constraint));
        assert_eq!(number(second, &count).await, 2);
        first.execute_text(&format!("DROP TABLE {table}")).await.unwrap();
    });
}

#[test]
fn a_session_that_is_given_up_does_not_stay_at_the_server() {
    on_server(async |driver| {
        let mut sessions = (open(driver).await.unwrap(), open(driver).await.unwrap());
        let (first, second) = (sessions.0.sql(), sessions.1.sql());
        let table = fresh(first, "given_up").await;
        first
            .execute_text(&format!("INSERT INTO {table} (id, n) VALUES (1, 0)"))
            .await
            .unwrap();
        let change = format!("UPDATE {table} SET n = n + 1");
        first.begin(Access::default()).await.unwrap();
        first.execute_text(&change).await.unwrap();
        second.begin(Access::default()).await.unwrap();
        {
            // It waits for the row.
            let mut waiting = Box::pin(second.execute_text(&change));
            let mut patience = Box::pin(sleep(Duration::from_millis(100)));
            std::future::poll_fn(|cx| {
                assert!(waiting.as_mut().poll(cx).is_pending());
                patience.as_mut().poll(cx)
            })
            .await;
        }
        drop(sessions.1);
        let first = sessions.0.sql();
        first.commit().await.unwrap();
        // It had a transaction, which is undone with it: the row is free again.
        let mine = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS WHERE TRANSACTION AND SESSION_ID <> SESSION_ID()";
        while number(first, mine).await > 0 {
            sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(number(first, &format!("SELECT n FROM {table}")).await, 1);
        first.execute_text(&format!("DROP TABLE {table}")).await.unwrap();
    });
}
