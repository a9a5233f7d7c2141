//! CouchDB and what else speaks its protocol (HTTP and JSON), through our own client on the reactor.
//!
//! A collection is a database, and a document is one under its key. Every document has a revision, which a write has to name:
//! a write that expects nothing reads it first. A session is one connection, and one request with its answer at a time; per
//! operation nothing is allocated.
//!
//! Sources: CouchDB documentation, "API Reference" (databases, documents, `_bulk_docs`, `_all_docs`, `_find`, `_index`, local
//! documents) and "Cluster Management: Theory" (quorums).
mod documents;
mod errors;
mod json;
mod session;

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
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use session::CouchdbSession;
use std::sync::Arc;
use std::time::Duration;

pub const DRIVER: Registration = Registration {
    kind: "couchdb",
    options: Options::of::<CouchdbSpec>(),
    library: || "wire (our own, on the reactor)".into(),
    isolation: &[],
    client: ClientLibrary {
        name: "wire",
        runners: CouchdbDriver::RUNNERS,
        offers: OFFERS,
        make: Make::Documents(|spec| Ok(object(driver(spec)?, AnyDocuments::new))),
    },
};

/// Neither transactions nor a change of part of a document.
const OFFERS: Offers = Offers::of(&[
    Offer::Scan,
    Offer::CountsFound,
    Offer::Tls,
    Offer::Revisions,
    Offer::Find,
    Offer::PathIndex,
]);

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CouchdbSpec {
    /// At least one. `host:port`, or the path of a unix socket.
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
    /// How the names of all databases begin: a collection is a database.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub prefix: String,
    /// Shards of a database that is made (`q`). Absent: as the server has it.
    #[serde(default)]
    #[schemars(range(min = 1, max = 256))]
    pub shards: Option<u32>,
    /// Copies of each shard of a database that is made (`n`). Absent: as the server has it.
    #[serde(default)]
    #[schemars(range(min = 1, max = 16))]
    pub copies: Option<u32>,
    /// Copies of a document that are read before it is answered (`r`). Absent: most of them.
    #[serde(default)]
    #[schemars(range(min = 1, max = 16))]
    pub read_quorum: Option<u32>,
    /// Copies of a document that have to be written before a write is acknowledged (`w`). Absent: most of them.
    #[serde(default)]
    #[schemars(range(min = 1, max = 16))]
    pub write_quorum: Option<u32>,
    /// Documents of one answer; longer results come in several, each a round trip.
    #[serde(default = "page_size")]
    #[schemars(range(min = 1, max = 100_000))]
    pub page_size: u32,
}

fn page_size() -> u32 {
    1000
}

impl Default for CouchdbSpec {
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            user: None,
            password: None,
            tls: None,
            prefix: String::new(),
            shards: None,
            copies: None,
            read_quorum: None,
            write_quorum: None,
            page_size: page_size(),
        }
    }
}

/// Where troubles lie that no endpoint has.
const PLACE: &str = "couchdb driver";

static PROTOCOL: Protocol = Protocol {
    driver: PLACE,
    server: "CouchDB",
    default_port: 5984,
    denied: &["unauthorized", "forbidden"],
    advice: |_| None,
};

fn driver(spec: &RunSpec) -> Result<CouchdbDriver, Trouble> {
    CouchdbDriver::new(registration::options(spec)?, spec.timeout())
}

pub struct CouchdbDriver {
    spec: CouchdbSpec,
    /// Of all endpoints, in their order.
    routes: Vec<Arc<Route>>,
    connect_timeout: Duration,
}

impl CouchdbDriver {
    /// Looks up names, which may block, and finds the password; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(spec: CouchdbSpec, timeout: Duration) -> Result<Self, Trouble> {
        refuse(&spec)?;
        let user = spec.user.as_deref().unwrap_or_default();
        let (password, tls) = (spec.password.as_ref(), spec.tls.as_ref());
        Ok(Self {
            routes: Route::all(&PROTOCOL, &spec.endpoints, user, password, tls)?,
            connect_timeout: timeout,
            spec,
        })
    }
}

/// What no server takes.
fn refuse(spec: &CouchdbSpec) -> Result<(), Trouble> {
    let fits = |sign: char| matches!(sign, 'a'..='z' | '0'..='9' | '_' | '-' | '$' | '(' | ')' | '+' | '/');
    let begins_well =
        spec.prefix.is_empty() || spec.prefix.starts_with(|sign: char| sign.is_ascii_lowercase());
    if !begins_well || !spec.prefix.chars().all(fits) {
        let what = format!("no name of a database begins with {:?}", spec.prefix);
        let hint = "write a small letter, then small letters, digits, and _$()+-/";
        return Err(usage(&what, PLACE, hint));
    }
    if spec.password.is_some() && spec.user.is_none() {
        return Err(usage("a password without a user", PLACE, "name the `user`, too"));
    }
    Ok(())
}

impl Driver for CouchdbDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Reactor];
    type Client = ();
    type Session = CouchdbSession;

    fn offers(&self) -> Offers {
        OFFERS
    }
    fn client(&self) -> &'static str {
        "wire"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(&self, _client: &(), endpoint: usize, _needs: Needs) -> Result<CouchdbSession, OpError> {
        let route = &self.routes[endpoint % self.routes.len()];
        let http = Http::connect(route, self.connect_timeout).await?;
        let greeting = CouchdbSession::greet(http, route, &self.spec);
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
    fn what_no_server_takes_is_refused() {
        let trouble = |change: fn(&mut CouchdbSpec)| {
            let mut spec = CouchdbSpec::default();
            change(&mut spec);
            refuse(&spec).err().map(|trouble| trouble.what)
        };
        assert_eq!(trouble(|_| {}), None);
        assert_eq!(trouble(|spec| spec.prefix = "bakeoff_1/".into()), None);
        for prefix in ["Bakeoff", "_users", "1", "a b", "a.b"] {
            let spec = CouchdbSpec {
                prefix: prefix.into(),
                ..CouchdbSpec::default()
            };
            assert!(refuse(&spec).unwrap_err().what.contains(prefix));
        }
        let what = trouble(|spec| spec.password = Some(Secret::Env("PATH".into())));
        assert_eq!(what.as_deref(), Some("a password without a user"));
    }
}
