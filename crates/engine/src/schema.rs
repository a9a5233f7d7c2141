//! JSON Schema of everything that crosses the boundary, generated from the Rust types.
use bakeoff_model::{event, run};
use schemars::{Schema, schema_for};
use std::path::Path;

fn schemas() -> [(&'static str, Schema); 3] {
    [
        ("run", schema_for!(run::RunSpec)),
        ("event", schema_for!(event::Event)),
        ("control", schema_for!(run::Control)),
    ]
}

/// All in one document, by name.
pub fn all() -> String {
    let named = schemas().map(|(name, schema)| (name.to_owned(), schema.to_value()));
    let document: serde_json::Map<_, _> = named.into_iter().collect();
    format!("{:#}\n", serde_json::Value::Object(document))
}

/// `run.schema.json`, `event.schema.json`, `control.schema.json`.
pub fn write(folder: &Path) -> std::io::Result<()> {
    for (name, schema) in schemas() {
        std::fs::write(
            folder.join(format!("{name}.schema.json")),
            format!("{:#}\n", schema.to_value()),
        )?;
    }
    Ok(())
}
