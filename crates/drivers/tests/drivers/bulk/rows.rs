//! Rows to load, tables to load them into, and what is found there.
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::value::Value;
use std::sync::atomic::{AtomicU32, Ordering};

const COLUMNS: [&str; 5] = ["id", "b", "t", "i", "f"];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    pub id: i64,
    pub b: Option<Vec<u8>>,
    pub t: Option<String>,
    pub i: Option<i64>,
    pub f: Option<f64>,
}

pub fn plain(id: i64) -> Values {
    Values {
        id,
        b: Some(vec![id as u8; 3]),
        t: Some(format!("row {id}")),
        i: Some(-id),
        f: Some(id as f64 / 3.0),
    }
}

/// `has_nul`: the system's text may hold the character.
pub fn awkward(has_nul: bool) -> Vec<Values> {
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

pub async fn sql(session: &mut impl SqlSession, text: &str) {
    session.execute_text(text).await.unwrap();
}

pub async fn fresh<S: SqlSession>(session: &mut S, name: &str) -> String {
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
pub fn blob(dialect: &str) -> &'static str {
    match dialect {
        "postgresql" => "BYTEA",
        "duckdb" => "BLOB",
        _ => "LONGBLOB",
    }
}

pub async fn drop_table(session: &mut impl SqlSession, table: &str) {
    sql(session, &format!("DROP TABLE {table}")).await;
}

pub async fn load<S: SqlSession>(session: &mut S, table: &str, rows: &[Values]) -> Result<u64, OpError> {
    let mut rest = rows.iter();
    let mut next = |row: &mut RowBuf| {
        assert!(row.is_empty(), "the buffer is cleared for each row");
        rest.next().map(|values| push(row, values)).is_some()
    };
    session.bulk_insert(table, &COLUMNS, &mut next).await
}

pub async fn stored<S: SqlSession>(session: &mut S, table: &str) -> Vec<Values> {
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

/// One cell of the one row that a query answers, as text.
pub async fn answer(session: &mut impl SqlSession, text: &str, cell: usize) -> String {
    let mut found = String::new();
    let mut each = |row: &RowBuf| {
        found = row.cell(cell).unwrap().to_string();
    };
    session.query_text(text, &mut each).await.unwrap();
    found
}
