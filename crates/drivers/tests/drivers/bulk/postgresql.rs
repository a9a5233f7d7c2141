//! What is PostgreSQL's own.
use super::rows::{Values, drop_table, fresh, load, plain, sql, stored};
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::value::Value;

async fn stores_nothing_where_postgresql_refuses_a_value<S: SqlSession>(session: &mut S) {
    let bad: [(&str, &[u8]); 5] = [
        ("VARCHAR(3)", b"four"),
        ("SMALLINT", b"40000"),
        ("TEXT", b"a\xff\tb"),
        ("TEXT", b"nul\0"),
        ("INT", b""),
    ];
    for (n, (kind, value)) in bad.iter().enumerate() {
        let table = fresh(session, &format!("refused{n}")).await;
        sql(session, &format!("ALTER TABLE {table} ADD COLUMN v {kind}")).await;
        let mut id = 0;
        let mut next = |row: &mut RowBuf| {
            id += 1;
            row.push(Value::Int(id));
            row.push(Value::Text(if id == 2 { value } else { b"1" }));
            id <= 3
        };
        let outcome = session.bulk_insert(&table, &["id", "v"], &mut next).await;
        let error = outcome.unwrap_err();
        assert_eq!(
            error.outcome,
            Outcome::Fail(FailClass::Constraint),
            "{kind}: {error}"
        );
        assert_eq!(stored(session, &table).await, [], "{kind}");
        drop_table(session, &table).await;
    }
}

async fn goes_on_in_text_where_a_value_is_not_of_its_columns_type<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "on").await;
    let mut id = 0;
    let mut next = |row: &mut RowBuf| {
        id += 1;
        row.push(Value::Int(id));
        row.push(Value::Text(b"\\ \xff"));
        match id {
            500 => row.push(Value::Text(b"0.5")),
            _ => row.push(Value::Float(0.5)),
        }
        id <= 1000
    };
    assert_eq!(
        session
            .bulk_insert(&table, &["id", "b", "f"], &mut next)
            .await
            .unwrap(),
        1000
    );
    let found = stored(session, &table).await;
    assert!(
        found
            .iter()
            .all(|row| row.f == Some(0.5) && row.b.as_deref() == Some(b"\\ \xff"))
    );
    assert_eq!(found.len(), 1000);
    drop_table(session, &table).await;
}

async fn refuses_numbers_that_the_column_cannot_hold<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "numbers").await;
    sql(session, &format!("ALTER TABLE {table} ALTER COLUMN i TYPE INT")).await;
    let rows = [
        plain(1),
        Values {
            i: Some(1 << 40),
            ..plain(2)
        },
    ];
    let error = load(session, &table, &rows).await.unwrap_err();
    assert_eq!(&*error.code, "22003", "{error}");
    assert_eq!(stored(session, &table).await, []);
    drop_table(session, &table).await;
}

on_each_client!(
    [wire: PostgresqlWire],
    [
        refuses_numbers_that_the_column_cannot_hold,
        stores_nothing_where_postgresql_refuses_a_value,
        goes_on_in_text_where_a_value_is_not_of_its_columns_type,
    ]
);
