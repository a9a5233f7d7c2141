//! The driver's part of a run's document, as data: its options are a type of the driver's own, in its file.
use crate::endpoint::Endpoint;
use crate::options::Said;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// The driver and what it needs: `{ kind, OPTION... }`. These names mean the same for every kind that has them: `endpoints`
/// (where it is; none where the system lives in the engine's process) and `tls`.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct DriverSpec {
    pub kind: String,
    /// As they were written, endpoints among them.
    #[serde(flatten)]
    pub options: Said,
    #[serde(skip)]
    endpoints: Vec<Endpoint>,
}

impl DriverSpec {
    /// Errors: `endpoints` are there, and are none.
    pub fn new(kind: &str, options: Said) -> Result<Self, serde_json::Error> {
        let endpoints = options.get("endpoints").map(Deserialize::deserialize);
        Ok(Self {
            kind: kind.to_owned(),
            endpoints: endpoints.transpose()?.unwrap_or_default(),
            options,
        })
    }

    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }
}

impl<'de> Deserialize<'de> for DriverSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Written {
            kind: String,
            #[serde(flatten)]
            options: Said,
        }
        let Written { kind, options } = Written::deserialize(deserializer)?;
        Self::new(&kind, options).map_err(|error| D::Error::custom(format!("driver.endpoints: {error}")))
    }
}

/// What every driver has; whoever knows the drivers of a build adds their options.
impl JsonSchema for DriverSpec {
    fn schema_name() -> Cow<'static, str> {
        "DriverSpec".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "properties": { "kind": { "type": "string" } }, "required": ["kind"] })
    }
}
