//! Statements sent together, through every client that offers it: answers in order, and nothing left of what follows an
//! error.
use crate::bench::System;
use bakeoff_model::any::AnySql;
use bakeoff_model::needs::Offer;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::pipeline::{Part, Pipeline};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, SqlSession, Statement};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::time::Duration;

/// An empty table `(id int PRIMARY KEY, t text)` and the statements that put a row into it and read those up to one.
pub async fn numbered(session: &mut impl SqlSession, test: &str) -> (String, [Statement; 2]) {
    let table = format!("pipe{}_{test}", std::process::id());
    for sql in [
        format!("DROP TABLE IF EXISTS {table}"),
        format!("CREATE TABLE {table} (id int PRIMARY KEY, t text)"),
    ] {
        session.execute_text(&sql).await.unwrap();
    }
    (table.clone(), prepared(session, &table).await)
}

async fn prepared(session: &mut impl SqlSession, table: &str) -> [Statement; 2] {
    let (one, two) = (session.dialect().placeholder(1), session.dialect().placeholder(2));
    let insert = format!("INSERT INTO {table} VALUES ({one}, {two})");
    let select = format!("SELECT id, t FROM {table} WHERE id <= {one} ORDER BY id");
    let insert = session.prepare(&Ask::write(&insert)).await.unwrap();
    [insert, session.prepare(&Ask::read(&select)).await.unwrap()]
}

/// What the sink received for each place: rows as `id:length`, an end as `rows/affected`, but of statements with rows as
/// `rows`: what those affect, systems count in their own ways.
pub async fn told(session: &mut impl SqlSession, pipeline: &Pipeline) -> (Vec<String>, Result<(), OpError>) {
    let mut told = Vec::new();
    let mut each = |place: usize, part: Part<'_>| {
        told.push(match part {
            Part::Row(row) => format!(
                "{place} {}:{}",
                row.cell(0).unwrap(),
                row.cell(1).and_then(Value::bytes).map_or(0, <[u8]>::len)
            ),
            Part::End(0, done) => format!("{place} 0/{}", done.affected.unwrap()),
            Part::End(rows, _) => format!("{place} {rows}"),
        });
    };
    let outcome = session.run_pipeline(pipeline, &mut each).await;
    (told, outcome)
}

fn add(pipeline: &mut Pipeline, insert: Statement, ids: &[i64], text: &[u8]) {
    for id in ids {
        pipeline.push(insert, &[Value::Int(*id), Value::Text(text)]);
    }
}

/// Begun, and not committed.
pub fn inserted(insert: Statement, ids: &[i64], text: &[u8]) -> Pipeline {
    let mut pipeline = Pipeline::default();
    pipeline.begin();
    add(&mut pipeline, insert, ids, text);
    pipeline
}

pub async fn count(session: &mut impl SqlSession, table: &str) -> String {
    let mut found = String::new();
    let mut each = |row: &RowBuf| found = row.cell(0).unwrap().to_string();
    let sql = format!("SELECT count(*) FROM {table}");
    session.query_text(&sql, &mut each).await.unwrap();
    found
}

async fn it_is_answered_in_its_order(
    _: &System,
    sql: &mut AnySql,
    table: &str,
    [insert, select]: [Statement; 2],
) {
    for _ in 0..2 {
        let mut pipeline = inserted(insert, &[1, 2], b"abc");
        pipeline.push(select, &[Value::Int(9)]);
        pipeline.commit();
        pipeline.push(select, &[Value::Int(1)]);
        let (told, outcome) = told(sql, &pipeline).await;
        outcome.unwrap();
        let expected = [
            "0 0/0", "1 0/1", "2 0/1", "3 1:3", "3 2:3", "3 2", "4 0/0", "5 1:3", "5 1",
        ];
        assert_eq!(told, expected);
        assert_eq!(count(sql, table).await, "2");
        sql.execute_text(&format!("DELETE FROM {table}")).await.unwrap();
    }
    let (told, outcome) = told(sql, &Pipeline::default()).await;
    assert!(told.is_empty() && outcome.is_ok());
}

/// Of pipelines that fit one piece, and of those that are sent in several.
async fn what_follows_a_statement_that_fails_leaves_nothing(
    system: &System,
    sql: &mut AnySql,
    table: &str,
    [insert, _]: [Statement; 2],
) {
    for text in [&[b'x'; 10][..], &[b'x'; 20_000]] {
        let mut pipeline = inserted(insert, &[1, 2, 1, 3, 4, 5, 6, 7, 8], text);
        pipeline.commit();
        add(&mut pipeline, insert, &[9], text);
        let (told, outcome) = told(sql, &pipeline).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
        assert!(
            error.statement.as_ref().unwrap().starts_with("INSERT"),
            "{error:?}"
        );
        assert_eq!(told, ["0 0/0", "1 0/1", "2 0/1"]);
        let error = sql.undo(error).await;
        assert!(!error.connection_lost);
        assert_eq!(count(sql, table).await, "0");
    }
    // The session is as it was: what it does now is stored.
    sql.execute(insert, &[Value::Int(1), Value::Text(b"")])
        .await
        .unwrap();
    assert_eq!(count(&mut system.sql().await, table).await, "1");
}

async fn outside_a_transaction_what_follows_a_write_that_fails_is_not_carried_out(
    _: &System,
    sql: &mut AnySql,
    table: &str,
    [insert, select]: [Statement; 2],
) {
    let mut pipeline = Pipeline::default();
    add(&mut pipeline, insert, &[1], b"abc");
    pipeline.push(select, &[Value::Int(9)]);
    add(&mut pipeline, insert, &[2, 2], b"");
    pipeline.push(select, &[Value::Int(9)]);
    add(&mut pipeline, insert, &[3], b"");
    let (told, outcome) = told(sql, &pipeline).await;
    assert_eq!(outcome.unwrap_err().outcome, Outcome::Fail(FailClass::Constraint));
    assert_eq!(told, ["0 0/1", "1 1:3", "1 1", "2 0/1"]);
    // PostgreSQL makes one transaction of what is sent up to a Sync.
    assert!(["0", "2"].contains(&&*count(sql, table).await));
}

/// Both sides' sockets would be full before either has read.
async fn it_may_be_longer_than_what_sockets_hold(
    _: &System,
    sql: &mut AnySql,
    _: &str,
    [insert, select]: [Statement; 2],
) {
    let long = vec![b'x'; 60_000];
    let mut pipeline = inserted(insert, &[1, 2, 3], &long);
    (0..100).for_each(|_| pipeline.push(select, &[Value::Int(9)]));
    // Longer than a piece, after something that has a long answer.
    add(&mut pipeline, insert, &[10, 11], &long);
    pipeline.push(select, &[Value::Int(9)]);
    pipeline.commit();
    let (told, outcome) = told(sql, &pipeline).await;
    outcome.unwrap();
    assert_eq!(told.len(), 1 + 3 + 4 * 101 + 2 + 1);
    assert_eq!(told[told.len() - 3..], ["106 3:60000", "106 3", "107 0/0"]);
}

/// Its server undoes the whole transaction in the middle, and what was sent behind must not be stored.
async fn of_a_deadlocks_victim_nothing_is_left(
    system: &System,
    victim: &mut AnySql,
    table: &str,
    [insert, _]: [Statement; 2],
) {
    let update = |session: &AnySql| {
        let one = session.dialect().placeholder(1);
        format!("UPDATE {table} SET t = 'locked' WHERE id = {one}")
    };
    let mut other = system.sql().await;
    let (mut of_victim, mut of_other) = (update(victim), update(&other));
    let own = victim
        .prepare(&Ask::write(&std::mem::take(&mut of_victim)))
        .await
        .unwrap();
    let others = other
        .prepare(&Ask::write(&std::mem::take(&mut of_other)))
        .await
        .unwrap();
    for id in [1, 2] {
        victim
            .execute(insert, &[Value::Int(id), Value::Text(b"")])
            .await
            .unwrap();
    }
    // Whoever has changed less is the victim: the other one has much to undo.
    let [more, _] = prepared(&mut other, table).await;
    other.begin(Access::default()).await.unwrap();
    for id in 100..200 {
        other
            .execute(more, &[Value::Int(id), Value::Text(b"")])
            .await
            .unwrap();
    }
    other.execute(others, &[Value::Int(2)]).await.unwrap();
    let mut pipeline = Pipeline::default();
    pipeline.begin();
    pipeline.push(own, &[Value::Int(1)]);
    pipeline.push(own, &[Value::Int(2)]);
    add(&mut pipeline, insert, &[3, 4], b"");
    pipeline.commit();
    let crossing = async {
        bakeoff_model::time::sleep(Duration::from_millis(300)).await;
        let crossed = other.execute(others, &[Value::Int(1)]).await;
        let ended = match &crossed {
            Ok(_) => other.commit().await,
            Err(_) => other.rollback().await,
        };
        ended.unwrap();
        crossed.map(drop)
    };
    let mut ignore = |_: usize, _: Part<'_>| {};
    let (sent, crossed) = tokio::join!(victim.run_pipeline(&pipeline, &mut ignore), crossing);
    match (sent, crossed) {
        (Err(error), Ok(())) => {
            assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict), "{error}");
            assert!(!victim.undo(error).await.connection_lost);
            assert_eq!(count(victim, table).await, "102");
        }
        // PostgreSQL's victim is whoever looks first.
        (Ok(()), Err(error)) => {
            assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict), "{error}");
            assert_eq!(count(victim, table).await, "4");
        }
        (sent, crossed) => panic!("{sent:?} and {crossed:?}"),
    }
}

/// One test per case, on a table of its own for every client.
macro_rules! cases {
    ($($case:ident,)*) => {
        mod every_pipeline {
            use super::*;
            $(
                #[test]
                fn $case() {
                    for system in System::at_hand(&[Offer::Pipeline]).iter().filter(|system| !system.direct) {
                        system.run(async {
                            let mut session = system.sql().await;
                            let (table, statements) = numbered(&mut session, &stringify!($case)[..20]).await;
                            super::$case(system, &mut session, &table, statements).await;
                            session.execute_text(&format!("DROP TABLE {table}")).await.unwrap();
                        });
                    }
                }
            )*
        }
    };
}

cases!(
    it_is_answered_in_its_order,
    what_follows_a_statement_that_fails_leaves_nothing,
    outside_a_transaction_what_follows_a_write_that_fails_is_not_carried_out,
    it_may_be_longer_than_what_sockets_hold,
    of_a_deadlocks_victim_nothing_is_left,
);
