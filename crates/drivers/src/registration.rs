//! What the engine knows of a kind of system: a driver's file says it once, in a constant that [`crate::DRIVERS`] lists.
use bakeoff_model::driver::Make;
use bakeoff_model::needs::{Offer, Offers};
use bakeoff_model::options::{Described, Said, Table, decide, unreadable};
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::resolve::Capabilities;
use bakeoff_model::run::{Isolation, RunSpec, RunnerKind};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub struct Registration {
    /// As in the run's `driver.kind`.
    pub kind: &'static str,
    pub options: Options,
    /// Name and, where it tells, version of the client library or of the embedded database; empty: our own code.
    pub library: fn() -> String,
    /// Levels that can be asked for.
    pub isolation: &'static [Isolation],
    pub client: ClientLibrary,
}

/// What makes the load, on the runners that suit it.
pub struct ClientLibrary {
    pub name: &'static str,
    /// The preferred one first.
    pub runners: &'static [RunnerKind],
    pub offers: Offers,
    pub make: Make,
}

impl ClientLibrary {
    /// Its sessions have documents, or can be made to: SQL needs a column of JSON, whose documents have revisions, and records
    /// need room for one.
    pub fn has_documents(&self) -> bool {
        match self.make.sql() {
            None => self.make.value_bytes_max().is_none(),
            Some(_) => self.offers.has(Offer::Revisions),
        }
    }
}

impl Registration {
    pub fn of(kind: &str) -> Result<&'static Self, Trouble> {
        let known = crate::DRIVERS.iter().find(|known| known.kind == kind);
        known.copied().ok_or_else(|| {
            Trouble::new(
                TroubleKind::Usage,
                format!("this engine was built without {kind}"),
                "driver",
                format!("build it with the feature `bakeoff-drivers/{kind}`; `bakeoff-engine list` shows what it has"),
            )
        })
    }

    pub fn capabilities(&self) -> Capabilities {
        self.capabilities_with(&Said::new())
    }

    /// With these options of a plan.
    pub fn capabilities_with(&self, said: &Said) -> Capabilities {
        Capabilities {
            offers: self
                .client
                .offers
                .or((self.options.offers)(said))
                .without((self.options.lacks)(said)),
            isolation: self.isolation.to_vec(),
        }
    }

    /// Of this kind's part of a run's document.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut schema = (self.options.schema)(generator);
        if let Some(object) = schema.as_object_mut() {
            let of = |key: &str| object.get(key).cloned().unwrap_or_default();
            let mut properties = serde_json::json!({ "kind": { "type": "string", "const": self.kind } });
            if let (Value::Object(all), Value::Object(own)) = (&mut properties, of("properties")) {
                all.extend(own);
            }
            let required = of("required").as_array().cloned().unwrap_or_default();
            let required = std::iter::once("kind".into()).chain(required).collect();
            object.insert("properties".into(), properties);
            object.insert("required".into(), required);
        }
        schema
    }
}

/// The options of a kind: a structure whose fields say type, default, bounds (`#[schemars(range(..))]`) and meaning (the doc
/// comment). What the control plane alone knows is marked `#[schemars(extend("system" = true))]`: where the system is, who
/// asks, what was made for it.
pub struct Options {
    /// Those of a plan.
    pub describe: fn() -> Vec<Described>,
    /// Every option of a plan, from those that it says.
    pub(crate) decide: fn(&Said) -> Result<Said, Trouble>,
    schema: fn(&mut SchemaGenerator) -> Schema,
    /// Of what the driver offers, what it does not with these options.
    lacks: fn(&Said) -> Offers,
    /// What they offer besides what the driver does anyway.
    offers: fn(&Said) -> Offers,
}

impl Options {
    pub const fn of<T: Default + Serialize + DeserializeOwned + JsonSchema>() -> Self {
        Self {
            describe: || Table::of_plan::<T>().describe(),
            decide: |said| decide::<T>(said, "driver").map(|(_, said)| said),
            schema: |generator| {
                let _ = generator.subschema_for::<T>(); // by its own name it is a definition, too
                T::json_schema(generator)
            },
            lacks: |_| Offers::NONE,
            offers: |_| Offers::NONE,
        }
    }

    /// The same, some of which offer less.
    pub const fn lacking(self, lacks: fn(&Said) -> Offers) -> Self {
        Self { lacks, ..self }
    }

    /// The same, some of which offer more.
    pub const fn offering(self, offers: fn(&Said) -> Offers) -> Self {
        Self { offers, ..self }
    }
}

/// The options in a run's document, checked.
pub fn options<T: DeserializeOwned + JsonSchema>(spec: &RunSpec) -> Result<T, Trouble> {
    const PLACE: &str = "run.json: driver";
    let said = &spec.driver.options;
    Table::of::<T>().check(&mut said.clone(), PLACE)?;
    serde_json::from_value(Value::Object(said.clone())).map_err(|error| unreadable(&error, PLACE))
}
