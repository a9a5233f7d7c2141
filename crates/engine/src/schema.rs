//! JSON Schema of everything that crosses the boundary, generated from the Rust types.
use bakeoff_drivers::DRIVERS;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::{event, resolve, run};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};
use std::path::Path;

// The variants of a tagged enum are written out where they stand; by their own names they are definitions too, so that
// a mirror can be checked type by type.
macro_rules! schema_with_definitions {
    ($root:ty: $($variant:ty),+) => {{
        let mut generator = SchemaGenerator::default();
        $(let _ = generator.subschema_for::<$variant>();)+
        generator.into_root_schema_for::<$root>()
    }};
}

fn schemas() -> [(&'static str, Schema); 5] {
    [
        ("run", run_schema()),
        ("event", event_schema()),
        (
            "control",
            SchemaGenerator::default().into_root_schema_for::<run::Control>(),
        ),
        (
            "request",
            schema_with_definitions!(
                resolve::Request: resolve::WorkloadRequest, resolve::DriverRequest, resolve::PreviewRequest,
                    resolve::WriteEventsRequest
            ),
        ),
        (
            "answer",
            schema_with_definitions!(
                resolve::Answer: resolve::Resolved, resolve::ResolvedDriver, resolve::Preview, resolve::Written, Trouble,
                resolve::Listed, resolve::ListedDriver
            ),
        ),
    ]
}

/// Of the driver's part each driver says its own.
fn run_schema() -> Schema {
    let mut generator = SchemaGenerator::default();
    let drivers: Vec<Schema> = DRIVERS
        .iter()
        .map(|driver| driver.schema(&mut generator))
        .collect();
    let _ = generator.subschema_for::<run::YcsbSpec>();
    let mut schema = generator.into_root_schema_for::<run::RunSpec>();
    let driver = json!({
        "description": "The driver and what it needs. A kind's name is the driver's file name.",
        "oneOf": drivers,
    });
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.insert("DriverSpec".into(), driver);
    }
    schema
}

fn event_schema() -> Schema {
    schema_with_definitions!(
        event::Event: event::Ready, event::Progress, event::Interval, event::Mark, event::Warning,
        event::RunResult, Trouble, run::IsolationEvidence
    )
}

/// All in one document, by name.
pub fn all() -> String {
    let named = schemas().map(|(name, schema)| (name.to_owned(), schema.to_value()));
    let document: serde_json::Map<_, _> = named.into_iter().collect();
    format!("{:#}\n", serde_json::Value::Object(document))
}

/// Each as `NAME.schema.json`.
pub fn write(folder: &Path) -> std::io::Result<()> {
    for (name, schema) in schemas() {
        std::fs::write(
            folder.join(format!("{name}.schema.json")),
            format!("{:#}\n", schema.to_value()),
        )?;
    }
    Ok(())
}
