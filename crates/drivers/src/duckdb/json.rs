//! Documents in DuckDB: columns of JSON, which are texts that have been checked. Paths have no index: an index's expression may
//! not read JSON, and a column that is generated from a path cannot have one. A path is set by a patch that is merged.
//!
//! Source: DuckDB documentation, "JSON Processing Functions", "Indexes".
use bakeoff_model::document::{PathKind, PathSpec};
use bakeoff_model::sql::Json;

pub static JSON: Json = Json {
    key_type: "VARCHAR",
    column_type: "JSON",
    stored: "CAST({} AS JSON)",
    text: "{}",
    value: |column, path| {
        let text = format!("json_extract_string({column}, {})", steps(path));
        match path.kind {
            PathKind::Text(_) | PathKind::Texts(_) => text,
            kind => format!("TRY_CAST({text} AS {})", name(kind)),
        }
    },
    compared: typed,
    set: |document, path, parameter| {
        let value = typed(parameter, path.kind);
        let within = |value, step| format!("json_object('{step}', {value})");
        let patch = path.steps.iter().rev().fold(value, within);
        format!("json_merge_patch({document}, {patch})")
    },
    contains: |column, path, parameter| {
        let texts = format!("TRY_CAST(json_extract({column}, {}) AS VARCHAR[])", steps(path));
        format!("list_contains({texts}, {})", typed(parameter, path.kind))
    },
    index: |_, _| None,
};

fn typed(value: &str, kind: PathKind) -> String {
    format!("CAST({value} AS {})", name(kind))
}

fn name(kind: PathKind) -> &'static str {
    match kind {
        PathKind::Text(_) | PathKind::Texts(_) => "VARCHAR",
        PathKind::Integer => "BIGINT",
        PathKind::Float => "DOUBLE",
        PathKind::Bool => "BOOLEAN",
    }
}

fn steps(path: &PathSpec) -> String {
    format!("'$.{}'", path.steps.join("."))
}
