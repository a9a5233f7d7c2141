//! Riak KV (HTTP), through our own client on the reactor.
//!
//! A collection is a bucket, and a document an object of JSON under its key. A write over an object has to name the object's
//! version (`X-Riak-Vclock`), so it reads that first. Writes that do not know of each other make siblings: a read receives all of
//! them, and [`siblings`] takes one by a rule. Every bucket that this driver has begun has an object
//! `~bakeoff`, which is in no scan and no count: a random mark by which the control plane knows it.
//!
//! There was no server to try it on: it follows the documentation, and the tests replay what that shows.
//!
//! Sources: Riak KV documentation, "HTTP API Reference" (fetch, store and delete object, list keys, secondary indexes), "Conflict
//! Resolution", "Replication Properties".
mod requests;
mod session;
mod siblings;

use crate::registration::{self, ClientLibrary, Options, Registration};
use crate::server::account::{Secret, TlsSpec};
use crate::server::http::{Http, Route};
use crate::server::target::{Protocol, usage};
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::run::{RunSpec, RunnerKind};
pub use requests::RiakSession;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

pub const DRIVER: Registration = Registration {
    kind: "riak",
    options: Options::of::<RiakSpec>().offering(|said| match said.get("secondary_indexes") {
        Some(Value::Bool(true)) => WITH_INDEXES,
        _ => Offers::NONE,
    }),
    library: || "wire (our own, on the reactor)".into(),
    isolation: &[],
    client: ClientLibrary {
        name: "wire",
        runners: RiakDriver::RUNNERS,
        offers: OFFERS,
        make: Make::Documents(|spec| Ok(object(driver(spec)?, AnyDocuments::new))),
    },
};

/// Neither transactions nor revisions: a version that has passed is no reason to refuse a write.
const OFFERS: Offers = Offers::of(&[Offer::CountsFound, Offer::Tls]);
/// The index `$key` has the keys of a bucket in their order.
const WITH_INDEXES: Offers = Offers::of(&[Offer::Scan]);

/// How many copies of an object.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Copies {
    One,
    Two,
    Three,
    /// Most of them.
    Quorum,
    All,
}

impl Copies {
    fn words(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
            Self::Three => "3",
            Self::Quorum => "quorum",
            Self::All => "all",
        }
    }
}

/// What becomes of an object that has several values.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Siblings {
    /// The value that was written last counts, and the next write replaces them all.
    #[default]
    Latest,
    /// An operation that finds them fails as a conflict.
    Fail,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RiakSpec {
    /// At least one. `host:port`.
    #[schemars(extend("system" = true))]
    pub endpoints: Vec<Endpoint>,
    /// With `password`: who asks, by basic authentication. Absent: the server lets anybody in.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub user: Option<String>,
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub password: Option<Secret>,
    /// Encryption of the connections; absent: none.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// How the names of all buckets begin: a collection is a bucket.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub prefix: String,
    /// Of all buckets. Absent: the default type.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub bucket_type: Option<String>,
    /// Copies that answer a read (`R`). Absent: as the bucket has it, and so with the others.
    #[serde(default)]
    pub r: Option<Copies>,
    /// Copies that have to take a write before it is acknowledged (`W`).
    #[serde(default)]
    pub w: Option<Copies>,
    /// Copies that have to be with the storage before a write is acknowledged (`DW`).
    #[serde(default)]
    pub dw: Option<Copies>,
    /// Copies of a read that have to be where they belong (`PR`), not on substitute nodes.
    #[serde(default)]
    pub pr: Option<Copies>,
    /// The same of a write (`PW`).
    #[serde(default)]
    pub pw: Option<Copies>,
    /// What becomes of an object that has several values.
    #[serde(default)]
    pub siblings: Siblings,
    /// The buckets' storage has secondary indexes (LevelDB, leveled, memory; not Bitcask), which scans need.
    #[serde(default)]
    pub secondary_indexes: bool,
}

impl RiakSpec {
    /// What requests ask of copies, as the end of their paths.
    fn query(asked: &[(&str, Option<Copies>)]) -> String {
        let mut query = String::new();
        for (name, copies) in asked {
            if let Some(copies) = copies {
                let sign = if query.is_empty() { '?' } else { '&' };
                query += &format!("{sign}{name}={}", copies.words());
            }
        }
        query
    }

    fn of_reads(&self) -> String {
        Self::query(&[("r", self.r), ("pr", self.pr)])
    }

    fn of_writes(&self) -> String {
        Self::query(&[("w", self.w), ("dw", self.dw), ("pw", self.pw)])
    }

    /// Refuses what no server takes.
    fn refuse(&self) -> Result<(), Trouble> {
        let fits = |name: &str| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        for (what, name) in [
            ("prefix", &*self.prefix),
            ("bucket_type", self.bucket_type.as_deref().unwrap_or_default()),
        ] {
            if !fits(name) {
                let hint = "write letters, digits and `_`";
                return Err(usage(&format!("{what} = {name:?} is no such name"), PLACE, hint));
            }
        }
        if self.password.is_some() && self.user.is_none() {
            return Err(usage("a password without a user", PLACE, "name the `user`, too"));
        }
        Ok(())
    }
}

/// Where troubles lie that no endpoint has.
const PLACE: &str = "riak driver";

static PROTOCOL: Protocol = Protocol {
    driver: PLACE,
    server: "Riak",
    default_port: 8098,
    denied: &["HTTP 401", "HTTP 403"],
    advice: |_| None,
};

fn driver(spec: &RunSpec) -> Result<RiakDriver, Trouble> {
    RiakDriver::new(registration::options(spec)?, spec.timeout())
}

pub struct RiakDriver {
    spec: RiakSpec,
    /// Of all endpoints, in their order.
    routes: Vec<Arc<Route>>,
    connect_timeout: Duration,
}

impl RiakDriver {
    /// Looks up names, which may block, and finds the password; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(spec: RiakSpec, timeout: Duration) -> Result<Self, Trouble> {
        spec.refuse()?;
        let user = spec.user.as_deref().unwrap_or_default();
        let (password, tls) = (spec.password.as_ref(), spec.tls.as_ref());
        Ok(Self {
            routes: Route::all(&PROTOCOL, &spec.endpoints, user, password, tls)?,
            connect_timeout: timeout,
            spec,
        })
    }
}

impl Driver for RiakDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Reactor];
    type Client = ();
    type Session = RiakSession;

    fn offers(&self) -> Offers {
        match self.spec.secondary_indexes {
            true => OFFERS.or(WITH_INDEXES),
            false => OFFERS,
        }
    }
    fn client(&self) -> &'static str {
        "wire"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(&self, _client: &(), endpoint: usize, _needs: Needs) -> Result<RiakSession, OpError> {
        let route = &self.routes[endpoint % self.routes.len()];
        let http = Http::connect(route, self.connect_timeout).await?;
        let greeting = RiakSession::greet(http, route, &self.spec);
        match crate::server::within(self.connect_timeout, greeting).await {
            Some(greeted) => greeted.map_err(|error| route.target.connect_failed(error)),
            None => Err(route.target.timed_out(self.connect_timeout)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn copies_are_asked_for_by_the_names_of_the_documentation() {
        let spec = RiakSpec {
            r: Some(Copies::Quorum),
            pr: Some(Copies::One),
            dw: Some(Copies::Two),
            ..RiakSpec::default()
        };
        assert_eq!(
            (&*spec.of_reads(), &*spec.of_writes()),
            ("?r=quorum&pr=1", "?dw=2")
        );
        assert_eq!(RiakSpec::default().of_reads(), "");
    }

    #[test]
    fn what_no_server_takes_is_refused() {
        let what = |spec: RiakSpec| spec.refuse().err().map(|trouble| trouble.what);
        assert_eq!(what(RiakSpec::default()), None);
        let prefix = RiakSpec {
            prefix: "a/b".into(),
            ..RiakSpec::default()
        };
        assert!(what(prefix).unwrap().contains("prefix = \"a/b\""));
        let password = RiakSpec {
            password: Some(Secret::Env("PATH".into())),
            ..RiakSpec::default()
        };
        assert_eq!(what(password).as_deref(), Some("a password without a user"));
    }
}
