//! What is MariaDB's and MySQL's own: which way rows go in, and what SQL modes and character sets
//! do to them. A server that refuses LOAD DATA LOCAL has to give the same tables as one that allows it:
//! tests/systems/test_driver_mysql.py runs these on both.
use super::cases::{a_duplicate_key_is_an_error_and_loads_nothing, every_value_arrives_as_it_was_given};
use super::rows::{Values, answer, drop_table, fresh, load, plain, sql, stored};
use crate::bench::{MysqlWire, MysqlWireWithoutArrays};
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::value::Value;

/// How often the session has done each of these.
async fn counts<const N: usize>(session: &mut impl SqlSession, names: [&str; N]) -> [String; N] {
    let mut counts = [const { String::new() }; N];
    for (count, name) in counts.iter_mut().zip(names) {
        *count = answer(session, &format!("SHOW SESSION STATUS LIKE '{name}'"), 1).await;
    }
    counts
}

async fn loads_data_where_the_server_allows_it_and_asks_once_where_not<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "way").await;
    for id in 0..3 {
        load(session, &table, &[plain(id)]).await.unwrap();
    }
    let counts = counts(session, ["Com_load", "Com_insert"]).await;
    match answer(session, "SELECT @@local_infile", 0).await.as_str() {
        "1" => assert_eq!(counts, ["3", "0"]),
        _ => assert_eq!(counts, ["1", "3"]),
    }
    drop_table(session, &table).await;
}

async fn inserts_arrays_and_leaves_no_statement_behind<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "arrays").await;
    for id in 0..3 {
        load(session, &table, &[plain(2 * id), plain(2 * id + 1)])
            .await
            .unwrap();
    }
    load(session, &table, &[plain(0)]).await.unwrap_err();
    let names = ["Com_load", "Com_insert", "Com_stmt_prepare", "Com_stmt_close"];
    assert_eq!(counts(session, names).await, ["0", "4", "4", "4"]);
    drop_table(session, &table).await;
}

#[test]
fn wire_inserts_arrays_where_the_server_takes_them() {
    on!(MysqlWire, session => {
        if answer(session, "SELECT VERSION()", 0).await.contains("MariaDB") {
            inserts_arrays_and_leaves_no_statement_behind(session).await;
        }
    });
}

#[test]
fn wire_loads_data_where_the_server_takes_no_arrays() {
    on!(MysqlWireWithoutArrays, session => {
        loads_data_where_the_server_allows_it_and_asks_once_where_not(session).await
    });
}

async fn refuses_numbers_that_sql_does_not_have<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "numbers").await;
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let rows = [Some(0.5), Some(number)].map(|f| Values { f, ..plain(1) });
        let rows: Vec<Values> = (1..).zip(rows).map(|(id, row)| Values { id, ..row }).collect();
        assert!(load(session, &table, &rows).await.is_err(), "{number}");
        assert_eq!(stored(session, &table).await, []);
    }
    drop_table(session, &table).await;
}

async fn sql_mode(session: &mut impl SqlSession, mode: &str) {
    sql(session, &format!("SET SESSION sql_mode = '{mode}'")).await;
}

async fn loads_the_same_whatever_the_sql_mode<S: SqlSession>(session: &mut S) {
    for mode in ["", "NO_BACKSLASH_ESCAPES,ANSI_QUOTES", "STRICT_ALL_TABLES"] {
        sql_mode(session, mode).await;
        every_value_arrives_as_it_was_given(session).await;
        a_duplicate_key_is_an_error_and_loads_nothing(session).await;
    }
}

async fn converts_text_to_the_columns_character_set<S: SqlSession>(session: &mut S) {
    let latin1 = ("latin1", "Grüße", "4772FCDF65");
    let utf16 = ("utf16", "abc", "006100620063");
    let cases = [(latin1, &["t"][..]), (latin1, &["t", "b"]), (utf16, &["t"])];
    for ((charset, text, hex), columns) in cases {
        let name = format!("{charset}_{}", columns.len());
        let table = fresh(session, &name).await;
        let modify = format!("MODIFY t TEXT CHARACTER SET {charset}, MODIFY id INT DEFAULT 1");
        sql(session, &format!("ALTER TABLE {table} {modify}")).await;
        let mut given = false;
        let mut next = |row: &mut RowBuf| {
            row.push(Value::Text(text.as_bytes()));
            if columns.len() == 2 {
                row.push(Value::Text(b"\xf0\x9f"));
            }
            !std::mem::replace(&mut given, true)
        };
        session.bulk_insert(&table, columns, &mut next).await.unwrap();
        let stored = answer(session, &format!("SELECT HEX(t) FROM {table}"), 0).await;
        assert_eq!(stored, hex, "{charset} {columns:?}");
        drop_table(session, &table).await;
    }
}

async fn stores_nothing_where_a_value_would_be_changed<S: SqlSession>(session: &mut S) {
    let bad: [(&str, &[u8]); 4] = [
        ("VARCHAR(3)", b"four"),
        ("TINYINT", b"300"),
        ("VARCHAR(10) CHARACTER SET utf8mb4", b"a\xff\tb"),
        ("INT", b""),
    ];
    for mode in ["", "STRICT_ALL_TABLES"] {
        sql_mode(session, mode).await;
        for (n, (kind, value)) in bad.iter().enumerate() {
            let table = fresh(session, &format!("changed{n}_{}", mode.len())).await;
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
            let constraint = Outcome::Fail(FailClass::Constraint);
            assert_eq!(error.outcome, constraint, "{mode:?} {kind}: {error}");
            assert_eq!(stored(session, &table).await, [], "{mode:?} {kind}");
            drop_table(session, &table).await;
        }
    }
}

async fn stores_nothing_where_null_would_become_a_default<S: SqlSession>(session: &mut S) {
    sql_mode(session, "").await;
    let table = fresh(session, "null").await;
    sql(session, &format!("ALTER TABLE {table} MODIFY i BIGINT NOT NULL")).await;
    // In the middle of a statement, and of a load of several.
    for bad in [1, 15_000] {
        let mut rows: Vec<Values> = (0..30_000).map(plain).collect();
        rows[bad].i = None;
        load(session, &table, &rows).await.unwrap_err();
        assert_eq!(stored(session, &table).await, [], "{bad}");
    }
    drop_table(session, &table).await;
}

on_each_client!(
    [wire: MysqlWire, wire_without_arrays: MysqlWireWithoutArrays],
    [
        refuses_numbers_that_sql_does_not_have,
        loads_the_same_whatever_the_sql_mode,
        converts_text_to_the_columns_character_set,
        stores_nothing_where_a_value_would_be_changed,
        stores_nothing_where_null_would_become_a_default,
    ]
);
