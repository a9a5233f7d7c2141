//! A driver by its registration: what all of a shape are tested by.
use super::*;
use bakeoff_drivers::DRIVERS;
use bakeoff_drivers::registration::{ClientLibrary, Registration};
use bakeoff_model::any::{AnyDocuments, AnyRecords, AnySql};
use bakeoff_model::driver::{AnyDriver, Make};
use bakeoff_model::needs::Offer;
use bakeoff_model::run::{Isolation, RunSpec, RunnerKind};
use schemars::SchemaGenerator;
use serde_json::{Value as Document, json};
use std::fs::OpenOptions;
use std::io::Write;

/// A client of the build, and a system that it can speak to.
pub struct System {
    pub client: &'static ClientLibrary,
    /// Levels of isolation that it has.
    pub levels: &'static [Isolation],
    /// Its sessions read below SQL. What they read they hold open: another session's DROP TABLE waits for them.
    pub direct: bool,
    spec: RunSpec,
    /// Its records are documents.
    as_documents: bool,
}

impl System {
    /// Those of which this machine, or one that the environment names, has a system. They have these offers.
    pub fn at_hand(offers: &[Offer]) -> Vec<Self> {
        let mut found = vec![];
        for &driver in DRIVERS {
            let Some(document) = document(driver) else {
                continue;
            };
            let mut add = |document: Document| {
                let has = driver.capabilities_with(document.as_object().unwrap()).offers;
                if offers.iter().all(|offer| has.has(*offer)) {
                    found.push(Self::new(driver, document));
                }
            };
            let schema = driver.schema(&mut SchemaGenerator::default()).to_value();
            for (option, value) in [("access", "direct"), ("layout", "clustered")] {
                if schema["properties"].get(option).is_some() {
                    let mut other = document.clone();
                    other[option] = value.into();
                    add(other);
                }
            }
            add(document);
        }
        found
    }

    /// The one of this kind.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Self::with(kind, &[])
    }

    /// With options of the driver's.
    pub fn with(kind: &str, options: &[(&str, Document)]) -> Option<Self> {
        let driver = *DRIVERS.iter().find(|driver| driver.kind == kind)?;
        let mut document = document(driver)?;
        for (name, value) in options {
            document[name] = value.clone();
        }
        Some(Self::new(driver, document))
    }

    /// An embedded one of this durability, in this place.
    pub fn at(kind: &str, level: &str, path: &std::path::Path) -> Option<Self> {
        let path = path.display().to_string();
        Self::with(kind, &[("durability", level.into()), ("path", path.into())])
    }

    /// Of SQL and transactions.
    pub fn of_sql() -> impl Iterator<Item = Self> {
        let found = Self::at_hand(&[Offer::Transactions]).into_iter();
        found.filter(|system| system.client.make.sql().is_some() && !system.direct)
    }

    /// Those whose records can be kept as documents too, and are.
    pub fn with_records_as_documents(offers: &[Offer]) -> impl Iterator<Item = Self> {
        let found = Self::at_hand(offers).into_iter();
        let able = found.filter(|system| {
            let offers = system.client.offers;
            let patches = offers.has(Offer::Patch) || offers.has(Offer::Revisions);
            patches && !matches!(system.client.make, Make::Documents(_))
        });
        able.map(|system| Self {
            as_documents: true,
            ..system
        })
    }

    fn new(driver: &'static Registration, document: Document) -> Self {
        let direct = document.get("access").is_some_and(|access| access == "direct");
        let run = json!({
            "format": 1, "phase": "run", "driver": document, "workload": { "kind": "ycsb" },
            "timeout_s": TIMEOUT.as_secs(),
        });
        Self {
            client: &driver.client,
            levels: driver.isolation,
            direct,
            spec: serde_json::from_value(run).unwrap(),
            as_documents: false,
        }
    }

    /// Notes that a case has passed, in the file that `BAKEOFF_CONFORMANCE` names: docs/reference/conformance.md is made of it.
    pub fn passed(&self, shape: &str, case: &str) {
        let Ok(path) = std::env::var("BAKEOFF_CONFORMANCE") else {
            return;
        };
        let line = json!({ "driver": self.spec.driver.kind, "shape": shape, "case": case });
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        // Tests of several processes append at the same time: a line is one write.
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn run<T>(&self, test: impl Future<Output = T>) -> T {
        match self.client.runners[0] {
            RunnerKind::Reactor => run_on_reactor(test),
            _ => run(test),
        }
    }

    /// A session of its own.
    pub async fn records(&self) -> AnyRecords {
        if self.as_documents {
            return AnyRecords::of_documents(self.documents().await);
        }
        session(&*self.client.make.records(&self.spec).unwrap()).await
    }

    /// Where [`ClientLibrary::has_documents`].
    pub async fn documents(&self) -> AnyDocuments {
        session(&*self.client.make.documents(&self.spec).unwrap()).await
    }

    pub async fn sql(&self) -> AnySql {
        let make = self.client.make.sql().expect("it speaks SQL");
        session(&*make(&self.spec).unwrap()).await
    }
}

async fn session<S>(driver: &dyn AnyDriver<S>) -> S {
    let client = driver.open(0).await.expect("open");
    client.session(0, Needs::default()).await.unwrap()
}

/// A driver's part of a run's document. A server is the one that the environment names by the driver's kind:
/// `BAKEOFF_TEST_MYSQL=mysql://user@host:port/database`, `BAKEOFF_TEST_MYSQL_PASSWORD`.
fn document(driver: &Registration) -> Option<Document> {
    let schema = driver.schema(&mut SchemaGenerator::default()).to_value();
    let mut document = json!({ "kind": driver.kind });
    let mut give = |option: &str, value: Document| {
        if schema["properties"].get(option).is_some() {
            document[option] = value;
        }
    };
    if schema["properties"].get("endpoints").is_some() {
        let variable = format!("BAKEOFF_TEST_{}", driver.kind.to_uppercase().replace('-', "_"));
        let [user, address, database] = server_in(&variable, driver.kind)?;
        let password = format!("{variable}_PASSWORD");
        let says_who = std::env::var(&password).is_ok();
        give("endpoints", json!([endpoint(&address)]));
        for name in ["schema", "database", "keyspace"] {
            if !database.is_empty() {
                give(name, database.clone().into());
            }
        }
        if says_who {
            give("password", json!({ "env": password }));
        }
        let must_say_who = schema["required"].as_array().unwrap().contains(&"user".into());
        if says_who || must_say_who {
            give("user", user.into());
        }
        if let Some(tls) = tls_in(&format!("{variable}_CA")) {
            give("tls", json!(tls));
        }
        give("replication_factor", 1.into());
        give("page_size", 100.into());
    }
    if schema["properties"].get("library").is_some() {
        let variable = format!("BAKEOFF_TEST_{}_LIBRARY", driver.kind.to_uppercase());
        let Ok(library) = std::env::var(&variable) else {
            println!(
                "skipped: no library of {} to test with ({variable} is not set)",
                driver.kind
            );
            return None;
        };
        give("library", library.into());
    }
    give("path", sqlite_file().display().to_string().into());
    give("durability", "none".into());
    give("pragmas", json!({ "journal_mode": "WAL", "synchronous": "OFF" }));
    give("store", true.into());
    Some(document)
}
