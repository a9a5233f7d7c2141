//! Amazon SimpleDB, and an emulator of it, through our own client on the reactor: signed requests over HTTP.
//!
//! A table is a domain, a record an item, and a field an attribute. Every item has the attribute `#` besides, by which a write
//! tells whether there is one, and every domain an item `#bakeoff`, which is in no scan and no count: a random mark by which the
//! control plane knows the domains that this driver has made.
//!
//! moto, the emulator, has five of the service's calls, and ignores conditions. It is a kind of its own, which offers less.
//!
//! Sources: Amazon SimpleDB Developer Guide, "API Reference", "Limits", "Consistency"; of moto its source, `moto/sdb`.
mod calls;
mod parameters;
mod session;
mod xml;

use crate::registration::{self, ClientLibrary, Options, Registration};
use crate::server::account::{Secret, TlsSpec};
use crate::server::aws;
use crate::server::target::Protocol;
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::endpoint::Endpoint as Place;
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::run::{RunSpec, RunnerKind};
use calls::{Calls, Endpoint};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use session::SimpledbSession;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of an attribute's value.
const VALUE_BYTES_MAX: u32 = 1024;

pub const DRIVER: Registration = Registration {
    kind: "simpledb",
    options: Options::of::<SimpledbSpec>(),
    library: || "wire (our own, on the reactor)".into(),
    isolation: &[],
    client: ClientLibrary {
        name: "wire",
        runners: SimpledbDriver::RUNNERS,
        offers: OFFERS,
        make: Make::ShortRecords(VALUE_BYTES_MAX, |spec| make(spec, false)),
    },
};

/// Of what it has not, nothing is offered: no order to scan in, and no condition by which an update would count.
pub const EMULATOR: Registration = Registration {
    kind: "moto-simpledb",
    client: ClientLibrary {
        offers: Offers::NONE,
        make: Make::ShortRecords(VALUE_BYTES_MAX, |spec| make(spec, true)),
        ..DRIVER.client
    },
    ..DRIVER
};

const OFFERS: Offers = Offers::of(&[Offer::Scan, Offer::CountsFound, Offer::Tls]);

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SimpledbSpec {
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
    /// Where the service is; an emulator keeps domains by region.
    #[serde(default = "first_region")]
    pub region: String,
    /// Of `~/.aws/credentials`, in place of the variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`.
    #[serde(default)]
    pub profile: Option<String>,
    /// Reads see every write that was acknowledged before they began.
    #[serde(default)]
    pub consistent_read: bool,
}

fn first_region() -> String {
    "us-east-1".to_owned()
}

impl Default for SimpledbSpec {
    fn default() -> Self {
        Self {
            endpoints: vec![],
            user: String::new(),
            password: None,
            tls: None,
            region: first_region(),
            profile: None,
            consistent_read: false,
        }
    }
}

/// Where troubles lie that no endpoint has.
const PLACE: &str = "simpledb driver";

const fn protocol(default_port: u16) -> Protocol {
    Protocol {
        driver: PLACE,
        server: "SimpleDB",
        default_port,
        denied: &[
            "AccessFailure",
            "AuthFailure",
            "InvalidClientTokenId",
            "SignatureDoesNotMatch",
        ],
        advice: |_| None,
    }
}

static PROTOCOL: Protocol = protocol(80);
static ENCRYPTED: Protocol = protocol(443);

fn make(
    spec: &RunSpec,
    emulator: bool,
) -> Result<Box<dyn bakeoff_model::driver::AnyDriver<AnyRecords>>, Trouble> {
    let driver = SimpledbDriver::new(&registration::options(spec)?, emulator, spec.timeout())?;
    Ok(object(driver, AnyRecords::new))
}

pub struct SimpledbDriver {
    endpoints: Vec<Arc<Endpoint>>,
    consistent: bool,
    emulator: bool,
    timeout: Duration,
}

impl SimpledbDriver {
    /// Looks up names, which may block, and finds the credentials; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(spec: &SimpledbSpec, emulator: bool, timeout: Duration) -> Result<Self, Trouble> {
        let tls = spec.tls.as_ref();
        let routes = aws::routes(&PROTOCOL, &ENCRYPTED, &spec.endpoints, &spec.user, tls)?;
        let (password, profile) = (spec.password.as_ref(), spec.profile.as_deref());
        let credentials = aws::credentials(&spec.user, password, profile, PLACE)?;
        let endpoint = |route| Arc::new(Endpoint::new(route, &credentials, &spec.region));
        Ok(Self {
            endpoints: routes.into_iter().map(endpoint).collect(),
            consistent: spec.consistent_read,
            emulator,
            timeout,
        })
    }
}

impl Driver for SimpledbDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Reactor];
    type Client = ();
    type Session = SimpledbSession;

    fn offers(&self) -> Offers {
        match self.emulator {
            true => Offers::NONE,
            false => OFFERS,
        }
    }
    fn client(&self) -> &'static str {
        "wire"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(
        &self,
        _client: &(),
        endpoint: usize,
        _needs: Needs,
    ) -> Result<SimpledbSession, OpError> {
        let endpoint = &self.endpoints[endpoint % self.endpoints.len()];
        let calls = Calls::connect(endpoint, self.timeout).await?;
        Ok(SimpledbSession::new(calls, self.consistent, self.emulator))
    }
}
