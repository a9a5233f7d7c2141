//! Amazon DynamoDB, and what else speaks its low-level API, through our own client on the reactor: signed requests over HTTP.
//!
//! A collection is a table whose hash key is `#key`. A document's members are the item's attributes, next to `#rev`, the revision,
//! and a copy `#i2` of the value of each path with an index. Items have no order, so there are no scans from a key on.
//!
//! Sources: Amazon DynamoDB API Reference; Developer Guide, "Constraints in Amazon DynamoDB", "Global secondary indexes".
mod batches;
mod calls;
mod errors;
mod expressions;
mod session;
mod signature;
mod typed;

use crate::registration::{self, ClientLibrary, Options, Registration};
use crate::server::account::{Secret, TlsSpec};
use crate::server::aws;
use crate::server::http::Route;
use crate::server::target::Protocol;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::capacity::CapacityMeter;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::endpoint::Endpoint as Place;
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::run::{RunSpec, RunnerKind};
use calls::{Calls, Endpoint};
use ring::rand::{SecureRandom, SystemRandom};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use session::{DynamodbSession, Modes};
use signature::Scope;
use std::sync::Arc;
use std::time::Duration;

pub const DRIVER: Registration = Registration {
    kind: "dynamodb",
    options: Options::of::<DynamodbSpec>().lacking(|said| match said.get("consistent_read") {
        Some(serde_json::Value::Bool(true)) => LACKS_WHEN_CONSISTENT,
        _ => Offers::NONE,
    }),
    library: || "wire (our own, on the reactor)".into(),
    isolation: &[],
    client: ClientLibrary {
        name: "wire",
        runners: DynamodbDriver::RUNNERS,
        offers: OFFERS,
        make: Make::Documents(|spec| Ok(object(driver(spec)?, AnyDocuments::new))),
    },
};

const OFFERS: Offers = Offers::of(&[
    Offer::CountsFound,
    Offer::Tls,
    Offer::Patch,
    Offer::Revisions,
    Offer::Find,
    Offer::PathIndex,
]);
/// An index answers from copies that follow the table after a while.
const LACKS_WHEN_CONSISTENT: Offers = Offers::of(&[Offer::PathIndex]);

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DynamodbSpec {
    /// At least one: `host:port`, or `https://host`.
    #[schemars(extend("system" = true))]
    pub endpoints: Vec<Place>,
    /// The id of an access key. Empty: credentials are those of the environment or of a profile.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub user: String,
    /// Its secret.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub password: Option<Secret>,
    /// Encryption of the connections; absent: none, but for an address that begins with `https://`.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// For which requests are signed.
    #[serde(default = "first_region")]
    pub region: String,
    /// Of `~/.aws/credentials`, in place of the variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`.
    #[serde(default)]
    pub profile: Option<String>,
    /// Reads see every write that was acknowledged, at twice the price, and without indexes on paths, which have no such reads.
    #[serde(default)]
    pub consistent_read: bool,
    /// Batches are transactions (TransactGetItems, TransactWriteItems), at twice the price: up to 100 documents are read or stored
    /// together or not at all. A larger batch, as a load's may be, is several transactions.
    #[serde(default)]
    pub transactional_batches: bool,
}

fn first_region() -> String {
    "us-east-1".to_owned()
}

impl Default for DynamodbSpec {
    fn default() -> Self {
        Self {
            endpoints: vec![],
            user: String::new(),
            password: None,
            tls: None,
            region: first_region(),
            profile: None,
            consistent_read: false,
            transactional_batches: false,
        }
    }
}

/// Where troubles lie that no endpoint has.
const PLACE: &str = "dynamodb driver";

const fn protocol(default_port: u16) -> Protocol {
    Protocol {
        driver: PLACE,
        server: "DynamoDB",
        default_port,
        denied: &[
            "UnrecognizedClientException",
            "InvalidSignatureException",
            "AccessDeniedException",
        ],
        advice: |_| None,
    }
}

static PROTOCOL: Protocol = protocol(8000);
static ENCRYPTED: Protocol = protocol(443);

fn driver(spec: &RunSpec) -> Result<DynamodbDriver, Trouble> {
    DynamodbDriver::new(&registration::options(spec)?, spec.timeout())
}

pub struct DynamodbDriver {
    endpoints: Vec<Arc<Endpoint>>,
    meter: Arc<CapacityMeter>,
    modes: Modes,
    timeout: Duration,
}

impl DynamodbDriver {
    /// Looks up names, which may block, and finds the credentials; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(spec: &DynamodbSpec, timeout: Duration) -> Result<Self, Trouble> {
        let tls = spec.tls.as_ref();
        let routes = aws::routes(&PROTOCOL, &ENCRYPTED, &spec.endpoints, &spec.user, tls)?;
        let (password, profile) = (spec.password.as_ref(), spec.profile.as_deref());
        let credentials = aws::credentials(&spec.user, password, profile, PLACE)?;
        let scope = Arc::new(Scope::new(credentials, &spec.region, "dynamodb"));
        let meter = Arc::new(CapacityMeter::default());
        let endpoint = |route: Arc<Route>| Arc::new(Endpoint::new(route, scope.clone(), meter.clone()));
        Ok(Self {
            endpoints: routes.into_iter().map(endpoint).collect(),
            modes: Modes {
                consistent: spec.consistent_read,
                transactional: spec.transactional_batches,
            },
            meter,
            timeout,
        })
    }
}

impl Driver for DynamodbDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Reactor];
    type Client = ();
    type Session = DynamodbSession;

    fn offers(&self) -> Offers {
        match self.modes.consistent {
            true => OFFERS.without(LACKS_WHEN_CONSISTENT),
            false => OFFERS,
        }
    }
    fn client(&self) -> &'static str {
        "wire"
    }
    fn capacity(&self) -> Option<Arc<CapacityMeter>> {
        Some(self.meter.clone())
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(
        &self,
        _client: &(),
        endpoint: usize,
        _needs: Needs,
    ) -> Result<DynamodbSession, OpError> {
        let endpoint = &self.endpoints[endpoint % self.endpoints.len()];
        let calls = Calls::connect(endpoint, self.timeout).await?;
        let mut random = [0; 8];
        let drawn = SystemRandom::new().fill(&mut random);
        drawn.map_err(|_| errors::client("this machine has no random numbers"))?;
        Ok(DynamodbSession::new(
            calls,
            self.modes,
            u64::from_le_bytes(random),
        ))
    }
}
