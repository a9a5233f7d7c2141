//! Documents in MariaDB and MySQL: columns of JSON, which MariaDB keeps as text and MySQL in a form of its own. A path with
//! an index has a generated column: MariaDB has no index on an expression, and MySQL's is such a column without a name.
//!
//! Texts are compared as bytes: no collation that both have tells trailing spaces from none.
//!
//! Sources: MariaDB documentation, "JSON Functions", "Generated Columns"; MySQL reference manual, "Functions That Search JSON
//! Values" (`JSON_VALUE` since 8.0.21, which returns at most 512 characters unless RETURNING says more).
use bakeoff_model::document::{PathKind, PathSpec};
use bakeoff_model::sql::{Json, JsonIndex};

pub static MARIADB: Json = Json {
    value: |column, path| of_text(&format!("JSON_VALUE({column}, {})", steps(path)), path.kind),
    index: |column, path| index(path, &format!("JSON_VALUE({column}, {})", steps(path))),
    ..MYSQL
};

pub static MYSQL: Json = Json {
    key_type: "VARCHAR({}) CHARACTER SET ascii COLLATE ascii_bin",
    column_type: "JSON",
    stored: "{}",
    text: "{}",
    value: |column, path| of_text(&returning(column, path), path.kind),
    compared,
    set: |document, path, parameter| {
        // A truth value is a number but in JSON.
        let value = match path.kind {
            PathKind::Bool => format!("JSON_EXTRACT(IF({parameter}, 'true', 'false'), '$')"),
            _ => parameter.into(),
        };
        format!("JSON_SET({document}, {}, {value})", steps(path))
    },
    contains: |column, path, parameter| {
        format!(
            "JSON_CONTAINS({column}, JSON_QUOTE({parameter}), {})",
            steps(path)
        )
    },
    index: |column, path| index(path, &returning(column, path)),
};

/// As MySQL is asked.
fn returning(column: &str, path: &PathSpec) -> String {
    let length = match path.kind {
        PathKind::Text(length) if length <= 65_535 => format!("CHAR({length})"),
        _ => "CHAR".into(),
    };
    format!("JSON_VALUE({column}, {} RETURNING {length})", steps(path))
}

fn compared(parameter: &str, kind: PathKind) -> String {
    match kind {
        PathKind::Text(_) | PathKind::Texts(_) => format!("CAST({parameter} AS BINARY)"),
        PathKind::Integer => format!("CAST({parameter} AS SIGNED)"),
        PathKind::Float => format!("({parameter}+0e0)"),
        PathKind::Bool => parameter.into(),
    }
}

/// From the text of a value in a document.
fn of_text(text: &str, kind: PathKind) -> String {
    match kind {
        PathKind::Bool => format!(
            "(CASE {text} WHEN 'true' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN '0' THEN 0 END)"
        ),
        kind => compared(text, kind),
    }
}

/// InnoDB's keys have at most this many bytes.
const KEY_BYTES_MAX: u32 = 3072;

fn index(path: &PathSpec, value: &str) -> Option<JsonIndex> {
    let (name, key) = match path.kind {
        PathKind::Texts(_) => return None,
        PathKind::Text(length) if length > KEY_BYTES_MAX / 4 => {
            (format!("VARBINARY({})", length.min(16_000) * 4), "{}(3072)")
        }
        PathKind::Text(length) => (format!("VARBINARY({})", length * 4), "{}"),
        PathKind::Integer => ("BIGINT".into(), "{}"),
        PathKind::Float => ("DOUBLE".into(), "{}"),
        PathKind::Bool => ("TINYINT".into(), "{}"),
    };
    Some(JsonIndex::Column {
        definition: format!(
            "{name} GENERATED ALWAYS AS ({}) VIRTUAL",
            compared(value, path.kind)
        ),
        key,
    })
}

fn steps(path: &PathSpec) -> String {
    format!("'$.{}'", path.steps.join("."))
}
