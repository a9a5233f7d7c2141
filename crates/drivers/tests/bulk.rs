//! Bulk loads, case by case, on every SQL system that is at hand. A MariaDB or MySQL that refuses LOAD DATA LOCAL has to
//! give the same tables as one that allows it: tests/systems/test_driver_mysql.py runs these on both.
#![allow(clippy::unwrap_used, clippy::expect_used)] // test code throughout
mod bench;

use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, SpeaksSql, SqlSession};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use bench::{Bench, Mysql, MysqlWire, PostgresqlLibrary, PostgresqlWire, Sqlite, open};
use std::sync::atomic::{AtomicU32, Ordering};

const COLUMNS: [&str; 5] = ["id", "b", "t", "i", "f"];

#[derive(Clone, Debug, Default, PartialEq)]
struct Values {
    id: i64,
    b: Option<Vec<u8>>,
    t: Option<String>,
    i: Option<i64>,
    f: Option<f64>,
}

fn plain(id: i64) -> Values {
    Values {
        id,
        b: Some(vec![id as u8; 3]),
        t: Some(format!("row {id}")),
        i: Some(-id),
        f: Some(id as f64 / 3.0),
    }
}

/// `has_nul`: the system's text may hold the character.
fn awkward(has_nul: bool) -> Vec<Values> {
    let separators = b"\t\n\r\\\\N\\t'\"`,();--\0\x1a \xf0\t\xe2\\\xff\n";
    let bytes = [(0..=255).collect(), separators.to_vec(), vec![], b"\\N".to_vec()];
    let texts = [
        "",
        "\\N",
        "NULL",
        "tab\tnewline\nback\\slash'quote\"\r",
        if has_nul { "a\0nul" } else { "" },
        "Grüße, 数据 🦀",
        "'; DROP TABLE x; --",
        "ends in \\",
    ];
    let ints = [0, -1, i64::MAX, i64::MIN];
    let floats = [0.0, 0.1, -1.5e300, f64::MIN_POSITIVE];
    let nothing = |id| Values {
        id,
        ..Values::default()
    };
    let b = bytes.into_iter().map(|b| Values {
        b: Some(b),
        ..nothing(0)
    });
    let t = texts.into_iter().map(|t| Values {
        t: Some(t.into()),
        ..nothing(0)
    });
    let i = ints.into_iter().map(|i| Values {
        i: Some(i),
        ..nothing(0)
    });
    let f = floats.into_iter().map(|f| Values {
        f: Some(f),
        ..nothing(0)
    });
    let all = b.chain(t).chain(i).chain(f);
    let mut rows: Vec<Values> = (1..).zip(all).map(|(id, row)| Values { id, ..row }).collect();
    rows.extend([nothing(-5), plain(1000)]);
    rows.sort_by_key(|row| row.id);
    rows
}

fn push(row: &mut RowBuf, values: &Values) {
    row.push(Value::Int(values.id));
    match &values.b {
        Some(bytes) => row.push(Value::Text(bytes)),
        None => row.push(Value::Null),
    }
    match &values.t {
        Some(text) => row.push(Value::Text(text.as_bytes())),
        None => row.push(Value::Null),
    }
    match values.i {
        Some(number) => row.push(Value::Int(number)),
        None => row.push(Value::Null),
    }
    match values.f {
        Some(number) => row.push(Value::Float(number)),
        None => row.push(Value::Null),
    }
}

async fn sql(session: &mut impl SqlSession, text: &str) {
    session.execute_text(text).await.unwrap();
}

async fn fresh<S: SqlSession>(session: &mut S, name: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let table = format!("bulk{}_{number}_{name}", std::process::id());
    sql(session, &format!("DROP TABLE IF EXISTS {table}")).await;
    let (bytes, text) = match session.dialect().name {
        // The schema's character set may be any.
        "mysql" => ("BLOB", "TEXT CHARACTER SET utf8mb4"),
        name => (blob(name), "TEXT"),
    };
    let numbers = "i BIGINT, f DOUBLE PRECISION";
    let columns = format!("id BIGINT NOT NULL PRIMARY KEY, b {bytes}, t {text}, {numbers}");
    sql(session, &format!("CREATE TABLE {table} ({columns})")).await;
    table
}

/// The type of as many bytes as there may be.
fn blob(dialect: &str) -> &'static str {
    match dialect {
        "postgresql" => "BYTEA",
        _ => "LONGBLOB",
    }
}

async fn drop_table(session: &mut impl SqlSession, table: &str) {
    sql(session, &format!("DROP TABLE {table}")).await;
}

async fn load<S: SqlSession>(session: &mut S, table: &str, rows: &[Values]) -> Result<u64, OpError> {
    let mut rest = rows.iter();
    let mut next = |row: &mut RowBuf| {
        assert!(row.is_empty(), "the buffer is cleared for each row");
        rest.next().map(|values| push(row, values)).is_some()
    };
    session.bulk_insert(table, &COLUMNS, &mut next).await
}

async fn stored<S: SqlSession>(session: &mut S, table: &str) -> Vec<Values> {
    let text = format!("SELECT id, b, t, i, f FROM {table} ORDER BY id");
    let select = session.prepare(&Ask::read(&text)).await.unwrap();
    let mut rows = Vec::new();
    let mut each = |row: &RowBuf| {
        let bytes = |i| match row.cell(i).unwrap() {
            Value::Null => None,
            Value::Text(bytes) | Value::Bytes(bytes) => Some(bytes.to_vec()),
            other => panic!("{other:?}"),
        };
        let int = |i| match row.cell(i).unwrap() {
            Value::Null => None,
            Value::Int(number) => Some(number),
            other => panic!("{other:?}"),
        };
        rows.push(Values {
            id: int(0).unwrap(),
            b: bytes(1),
            t: bytes(2).map(|bytes| String::from_utf8(bytes).unwrap()),
            i: int(3),
            f: match row.cell(4).unwrap() {
                Value::Null => None,
                Value::Float(number) => Some(number),
                other => panic!("{other:?}"),
            },
        });
    };
    session.query(select, &[], &mut each).await.unwrap();
    rows
}

async fn every_value_arrives_as_it_was_given<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "values").await;
    let rows = awkward(session.dialect().name != "postgresql");
    assert_eq!(load(session, &table, &rows).await.unwrap(), rows.len() as u64);
    assert_eq!(stored(session, &table).await, rows);
    drop_table(session, &table).await;
}

async fn text_may_stop_being_ascii_anywhere<S: SqlSession>(session: &mut S) {
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

async fn no_rows_and_many_rows_are_loaded<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "many").await;
    assert_eq!(load(session, &table, &[]).await.unwrap(), 0);
    // More than is held at a time, or fits one statement.
    let rows: Vec<Values> = (0..40_000).map(plain).collect();
    assert_eq!(load(session, &table, &rows).await.unwrap(), 40_000);
    assert_eq!(stored(session, &table).await, rows);
    drop_table(session, &table).await;
}

async fn a_row_larger_than_the_buffer_is_loaded<S: SqlSession>(session: &mut S) {
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

async fn a_duplicate_key_is_an_error_and_loads_nothing<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "duplicate").await;
    let twice = [plain(1), plain(2), plain(2), plain(3)];
    let error = load(session, &table, &twice).await.unwrap_err();
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
    assert!(!error.connection_lost && error.statement.is_some(), "{error:?}");
    assert_eq!(stored(session, &table).await, []);
    // One that was there before stays what it was.
    load(session, &table, &[plain(7)]).await.unwrap();
    let mut rows: Vec<Values> = (0..10_000).map(plain).collect();
    rows[7].t = Some("another".into());
    assert!(load(session, &table, &rows).await.is_err());
    assert_eq!(stored(session, &table).await, [plain(7)]);
    // The session is as good as before.
    assert_eq!(load(session, &table, &[plain(8)]).await.unwrap(), 1);
    drop_table(session, &table).await;
}

async fn a_load_within_a_transaction_is_part_of_it<S: SqlSession + Transactional>(session: &mut S) {
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

async fn columns_left_out_take_their_defaults<S: SqlSession>(session: &mut S) {
    let table = fresh(session, "some").await;
    let mut ids = [5i64, 6].into_iter();
    let mut next = |row: &mut RowBuf| ids.next().map(|id| row.push(Value::Int(id))).is_some();
    let rows = session.bulk_insert(&table, &["id"], &mut next).await;
    assert_eq!(rows.unwrap(), 2);
    let ids: Vec<i64> = stored(session, &table).await.iter().map(|row| row.id).collect();
    assert_eq!(ids, [5, 6]);
    drop_table(session, &table).await;
}

async fn a_column_may_be_given_values_of_several_types<S: SqlSession>(session: &mut S) {
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

async fn a_missing_table_is_refused<S: SqlSession>(session: &mut S) {
    let error = load(session, "no_such_table", &[plain(1)]).await.unwrap_err();
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
    let table = fresh(session, "found").await;
    assert_eq!(load(session, &table, &[plain(1)]).await.unwrap(), 1);
    drop_table(session, &table).await;
}

macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $case() { super::on!(super::Sqlite, session => super::$case(session).await) })*
        }
        mod wire {
            $(#[test] fn $case() { super::on!(super::MysqlWire, session => super::$case(session).await) })*
        }
        mod wire_without_arrays {
            $(#[test] fn $case() {
                super::on!(super::MysqlWire, session => {
                    session.decline_arrays();
                    super::$case(session).await
                })
            })*
        }
        mod mysql {
            $(#[test] fn $case() { super::on!(super::Mysql, session => super::$case(session).await) })*
        }
        mod postgresql_wire {
            $(#[test] fn $case() { super::on!(super::PostgresqlWire, session => super::$case(session).await) })*
        }
        mod postgresql_library {
            $(#[test] fn $case() { super::on!(super::PostgresqlLibrary, session => super::$case(session).await) })*
        }
    };
}

/// Where nothing else has the same: on MariaDB or MySQL through either client.
macro_rules! mysql_cases {
    ($($case:ident),* $(,)?) => {
        mod mysql_only {
            $(#[test] fn $case() { super::on!(super::Mysql, session => super::$case(session).await) })*
        }
        mod wire_only {
            $(#[test] fn $case() { super::on!(super::MysqlWire, session => super::$case(session).await) })*
        }
        mod wire_only_without_arrays {
            $(#[test] fn $case() {
                super::on!(super::MysqlWire, session => {
                    session.decline_arrays();
                    super::$case(session).await
                })
            })*
        }
    };
}

/// Runs the case on a session of a bench, if it is there.
macro_rules! on {
    ($bench:ty, $session:ident => $case:expr) => {{
        let Some(driver) = <$bench as $crate::Bench>::driver() else {
            return;
        };
        <$bench as $crate::Bench>::run(async {
            let mut session = $crate::open(&driver).await.unwrap();
            let $session = $crate::SpeaksSql::sql(&mut session);
            $case
        })
    }};
}
use on;

cases!(
    every_value_arrives_as_it_was_given,
    text_may_stop_being_ascii_anywhere,
    no_rows_and_many_rows_are_loaded,
    a_row_larger_than_the_buffer_is_loaded,
    a_duplicate_key_is_an_error_and_loads_nothing,
    a_load_within_a_transaction_is_part_of_it,
    columns_left_out_take_their_defaults,
    a_column_may_be_given_values_of_several_types,
    a_missing_table_is_refused,
);

/// One cell of the one row that a query answers, as text.
async fn answer(session: &mut impl SqlSession, text: &str, cell: usize) -> String {
    let mut found = String::new();
    let mut each = |row: &RowBuf| {
        found = row.cell(cell).unwrap().to_string();
    };
    session.query_text(text, &mut each).await.unwrap();
    found
}

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
fn mysql_loads_data_where_the_server_allows_it() {
    on!(Mysql, session => loads_data_where_the_server_allows_it_and_asks_once_where_not(session).await);
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
    on!(MysqlWire, session => {
        session.decline_arrays();
        loads_data_where_the_server_allows_it_and_asks_once_where_not(session).await;
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

mysql_cases!(
    refuses_numbers_that_sql_does_not_have,
    loads_the_same_whatever_the_sql_mode,
    converts_text_to_the_columns_character_set,
    stores_nothing_where_a_value_would_be_changed,
    stores_nothing_where_null_would_become_a_default,
);

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

macro_rules! postgresql_cases {
    ($($case:ident),* $(,)?) => {
        mod postgresql_wire_only {
            $(#[test] fn $case() { super::on!(super::PostgresqlWire, session => super::$case(session).await) })*
        }
        mod postgresql_library_only {
            $(#[test] fn $case() { super::on!(super::PostgresqlLibrary, session => super::$case(session).await) })*
        }
    };
}

postgresql_cases!(
    refuses_numbers_that_the_column_cannot_hold,
    stores_nothing_where_postgresql_refuses_a_value,
    goes_on_in_text_where_a_value_is_not_of_its_columns_type,
);

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
