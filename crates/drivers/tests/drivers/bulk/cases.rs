//! What is the same on every system of SQL.
use super::rows::{Values, awkward, blob, drop_table, fresh, load, plain, sql, stored};
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;

pub async fn every_value_arrives_as_it_was_given<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "values").await;
    let rows = awkward(session.dialect().name != "postgresql");
    assert_eq!(load(session, &table, &rows).await.unwrap(), rows.len() as u64);
    assert_eq!(stored(session, &table).await, rows);
    drop_table(session, &table).await;
}

pub async fn text_may_stop_being_ascii_anywhere<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "turn").await;
    for (turn, first_id) in [(0, 0), (1, 10_000), (4000, 20_000), (7999, 30_000)] {
        let mut rows: Vec<Values> = (first_id..first_id + 8000).map(plain).collect();
        rows[turn].t = Some("Grüße".into());
        assert_eq!(load(session, &table, &rows).await.unwrap(), 8000);
        let found = stored(session, &table).await;
        assert_eq!(found[found.len() - 8000..], rows, "{turn}");
    }
    drop_table(session, &table).await;
}

pub async fn no_rows_and_many_rows_are_loaded<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "many").await;
    assert_eq!(load(session, &table, &[]).await.unwrap(), 0);
    // More than is held at a time, or fits one statement.
    let rows: Vec<Values> = (0..40_000).map(plain).collect();
    assert_eq!(load(session, &table, &rows).await.unwrap(), 40_000);
    assert_eq!(stored(session, &table).await, rows);
    drop_table(session, &table).await;
}

pub async fn a_row_larger_than_the_buffer_is_loaded<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "large").await;
    drop_table(session, &table).await;
    let bytes = blob(session.dialect().name);
    sql(session, &format!("CREATE TABLE {table} (id INT, l {bytes})")).await;
    let large: Vec<u8> = (0..900_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
    let mut id = 0;
    let mut next = |row: &mut RowBuf| {
        id += 1;
        row.push(Value::Int(id));
        row.push(Value::Text(&large[id as usize..]));
        id <= 3
    };
    let rows = session.bulk_insert(&table, &["id", "l"], &mut next).await;
    assert_eq!(rows.unwrap(), 3);
    let text = format!("SELECT l FROM {table} WHERE id = 2");
    let select = session.prepare(&Ask::read(&text)).await.unwrap();
    let row = session.query_one(select, &[]).await.unwrap().unwrap();
    assert!(row.cell(0).and_then(Value::bytes) == Some(&large[2..]));
    drop_table(session, &table).await;
}

pub async fn a_duplicate_key_is_an_error_and_loads_nothing<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "duplicate").await;
    let twice = [plain(1), plain(2), plain(2), plain(3)];
    let error = load(session, &table, &twice).await.unwrap_err();
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
    assert!(!error.connection_lost && error.statement.is_some(), "{error:?}");
    assert_eq!(stored(session, &table).await, []);
    // An existing row stays as it was.
    load(session, &table, &[plain(7)]).await.unwrap();
    let mut rows: Vec<Values> = (0..10_000).map(plain).collect();
    rows[7].t = Some("another".into());
    assert!(load(session, &table, &rows).await.is_err());
    assert_eq!(stored(session, &table).await, [plain(7)]);
    // The session is as good as before.
    assert_eq!(load(session, &table, &[plain(8)]).await.unwrap(), 1);
    drop_table(session, &table).await;
}

pub async fn a_load_within_a_transaction_is_part_of_it<S: SqlSession + Transactional>(session: &mut S) {
    let table = fresh(session, "within").await;
    session.begin(Access::default()).await.unwrap();
    load(session, &table, &[plain(1)]).await.unwrap();
    load(session, &table, &[plain(2)]).await.unwrap();
    session.rollback().await.unwrap();
    assert_eq!(stored(session, &table).await, []);
    session.begin(Access::default()).await.unwrap();
    load(session, &table, &[plain(1)]).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(stored(session, &table).await, [plain(1)]);
    drop_table(session, &table).await;
}

pub async fn columns_left_out_take_their_defaults<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "some").await;
    let mut ids = [5i64, 6].into_iter();
    let mut next = |row: &mut RowBuf| ids.next().map(|id| row.push(Value::Int(id))).is_some();
    let rows = session.bulk_insert(&table, &["id"], &mut next).await;
    assert_eq!(rows.unwrap(), 2);
    let ids: Vec<i64> = stored(session, &table).await.iter().map(|row| row.id).collect();
    assert_eq!(ids, [5, 6]);
    drop_table(session, &table).await;
}

pub async fn a_column_may_be_given_values_of_several_types<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "types").await;
    let mut id = 0;
    let mut next = |row: &mut RowBuf| {
        id += 1;
        row.push(Value::Int(id));
        match id % 4 {
            0 => row.push(Value::Null),
            1 => row.push(Value::Int(id)),
            2 => row.push(Value::Float(id as f64)),
            _ => row.push(Value::Text(id.to_string().as_bytes())),
        }
        id <= 40
    };
    let loaded = session.bulk_insert(&table, &["id", "f"], &mut next).await;
    assert_eq!(loaded.unwrap(), 40);
    for row in stored(session, &table).await {
        let f = (row.id % 4 != 0).then_some(row.id as f64);
        assert_eq!((row.f, row.t), (f, None), "{}", row.id);
    }
    drop_table(session, &table).await;
}

pub async fn a_missing_table_is_refused<S: SqlSession>(session: &mut S) {
    let error = load(session, "no_such_table", &[plain(1)]).await.unwrap_err();
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
    let table = fresh(session, "found").await;
    assert_eq!(load(session, &table, &[plain(1)]).await.unwrap(), 1);
    drop_table(session, &table).await;
}
