//! Documents in SQLite: blobs of its own binary JSON (`jsonb`, since 3.45), in which a path is found without reading the text.
//!
//! Source: SQLite documentation, "JSON Functions And Operators".
use bakeoff_model::document::PathKind;
use bakeoff_model::document::PathSpec;
use bakeoff_model::sql::{Json, JsonIndex};

pub static JSON: Json = Json {
    key_type: "TEXT",
    column_type: "BLOB",
    stored: "jsonb({})",
    text: "json({})",
    value,
    compared: |parameter, _| parameter.into(),
    set: |document, path, parameter| {
        // There is no truth value but in JSON.
        let value = match path.kind {
            PathKind::Bool => format!("json(iif({parameter}, 'true', 'false'))"),
            _ => parameter.into(),
        };
        format!("jsonb_set({document}, {}, {value})", steps(path))
    },
    contains: |column, path, parameter| {
        format!(
            "EXISTS (SELECT 1 FROM json_each({column}, {}) WHERE value={parameter})",
            steps(path)
        )
    },
    index: |column, path| match path.kind {
        PathKind::Texts(_) => None,
        _ => Some(JsonIndex::On(format!("({})", value(column, path)))),
    },
};

fn value(column: &str, path: &PathSpec) -> String {
    format!("json_extract({column}, {})", steps(path))
}

fn steps(path: &PathSpec) -> String {
    format!("'$.{}'", path.steps.join("."))
}
