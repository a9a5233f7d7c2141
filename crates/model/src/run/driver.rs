//! The driver's part of a run's document, as data: its options are a type of the driver's own, in its file.
use crate::endpoint::Endpoint;
use crate::options::Said;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// The driver and what it needs: `{ kind, OPTION... }`. These names mean the same for every kind that has them: `endpoints`
/// (where it is; none where the system lives in the engine's process), `client` (the client library that is asked for) and
/// `tls`.
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

    /// By its name in a plan.
    pub fn client(&self) -> Option<&str> {
        self.options.get("client")?.as_str()
    }

    pub fn tls(&self) -> bool {
        self.options.get("tls").is_some_and(|tls| !tls.is_null())
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
