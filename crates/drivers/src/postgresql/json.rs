//! Documents in PostgreSQL: columns of `jsonb`. Paths have indexes on expressions, arrays inverted ones (GIN).
//!
//! Source: PostgreSQL documentation, "JSON Functions and Operators", "jsonb Indexing".
use bakeoff_model::document::{PathKind, PathSpec};
use bakeoff_model::sql::{Json, JsonIndex};

pub static JSON: Json = Json {
    key_type: "VARCHAR({}) COLLATE \"C\"",
    column_type: "JSONB",
    stored: "{}::text::jsonb",
    text: "{}::text",
    value,
    compared: typed,
    set: |document, path, parameter| {
        let value = typed(parameter, path.kind);
        format!("jsonb_set({document}, {}, to_jsonb({value}))", steps(path))
    },
    contains: |column, path, parameter| format!("({column}#>{}) @> to_jsonb({parameter}::text)", steps(path)),
    index: |column, path| {
        Some(JsonIndex::On(match path.kind {
            PathKind::Texts(_) => format!("USING gin (({column}#>{}))", steps(path)),
            _ => format!("({})", value(column, path)),
        }))
    },
};

fn value(column: &str, path: &PathSpec) -> String {
    let text = format!("({column}#>>{})", steps(path));
    match path.kind {
        PathKind::Text(_) | PathKind::Texts(_) => format!("({text} COLLATE \"C\")"),
        kind => format!("({})", typed(&text, kind)),
    }
}

fn typed(value: &str, kind: PathKind) -> String {
    let name = match kind {
        PathKind::Text(_) | PathKind::Texts(_) => "text",
        PathKind::Integer => "bigint",
        PathKind::Float => "float8",
        PathKind::Bool => "boolean",
    };
    format!("{value}::{name}")
}

fn steps(path: &PathSpec) -> String {
    format!("'{{{}}}'", path.steps.join(","))
}
