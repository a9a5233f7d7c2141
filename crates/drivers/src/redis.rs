//! Redis, Valkey and what else speaks their protocol (RESP), through our own client on the reactor.
//!
//! A record is a hash `TABLE:KEY`, so any field is read or written alone. The sorted set `TABLE/keys` holds the keys of all
//! records in byte order, for scans and counts; `TABLE` itself is a hash that says the table exists. Reads and updates are
//! one plain command (`HMGET`, `HSET`). Inserts and deletes change two keys at once, so each is one script.
//!
//! Sources: Redis documentation, "Redis serialization protocol specification", `HSET`, `ZRANGEBYLEX`, `EVALSHA`. The layout
//! with an index is that of YCSB's own binding, which orders its index by a hash of the key instead.
mod errors;
mod resp;
mod session;

use crate::registration::{self, ClientLibrary, Options, Registration};
use crate::server::account::Secret;
use crate::server::target::{Protocol, Target};
use crate::server::whereabouts::Whereabouts;
use crate::server::within;
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::run::{RunSpec, RunnerKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use session::RedisSession;
use std::time::Duration;

pub const DRIVER: Registration = Registration {
    kind: "redis",
    options: Options::of::<RedisSpec>(),
    library: || "wire (our own, on the reactor)".into(),
    isolation: &[],
    client: ClientLibrary {
        name: "wire",
        runners: RedisDriver::RUNNERS,
        offers: OFFERS,
        make: Make::Records(|spec| Ok(object(driver(spec)?, AnyRecords::new))),
    },
};

const OFFERS: Offers = Offers::of(&[Offer::Scan, Offer::CountsFound]);

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct RedisSpec {
    /// At least one. `host:port`, or the path of a unix socket.
    #[schemars(extend("system" = true))]
    pub endpoints: Vec<Endpoint>,
    /// Absent: the server lets anybody in.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub user: Option<String>,
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub password: Option<Secret>,
}

/// Where troubles lie that no endpoint has.
const PLACE: &str = "redis driver";

static PROTOCOL: Protocol = Protocol {
    driver: PLACE,
    server: "Redis",
    default_port: 6379,
    denied: &["WRONGPASS", "NOAUTH", "NOPERM"],
    advice: |_| None,
};

fn driver(spec: &RunSpec) -> Result<RedisDriver, Trouble> {
    RedisDriver::new(&registration::options(spec)?, spec.timeout())
}

pub struct RedisDriver {
    /// Of all endpoints, in their order.
    routes: Vec<Route>,
    connect_timeout: Duration,
}

/// One endpoint, and who connects to it.
pub(super) struct Route {
    pub target: Target,
    pub whereabouts: Whereabouts,
}

impl RedisDriver {
    /// Looks up names, which may block, and finds the password; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(spec: &RedisSpec, timeout: Duration) -> Result<Self, Trouble> {
        let user = spec.user.as_deref().unwrap_or_default();
        let targets = Target::all(
            &PROTOCOL,
            &spec.endpoints,
            user,
            spec.password.as_ref(),
            "",
            false,
        )?;
        let route = |target: Target| {
            Ok(Route {
                whereabouts: target.address.locate(&target.place, PLACE)?,
                target,
            })
        };
        Ok(Self {
            routes: targets.into_iter().map(route).collect::<Result<_, _>>()?,
            connect_timeout: timeout,
        })
    }
}

impl Driver for RedisDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Reactor];
    type Client = ();
    type Session = RedisSession;

    fn offers(&self) -> Offers {
        OFFERS
    }
    fn client(&self) -> &'static str {
        "wire"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(&self, _client: &(), endpoint: usize, _needs: Needs) -> Result<RedisSession, OpError> {
        let route = &self.routes[endpoint % self.routes.len()];
        let opening = RedisSession::connect(route, self.connect_timeout);
        match within(self.connect_timeout, opening).await {
            Some(opened) => opened.map_err(|error| route.target.connect_failed(error)),
            None => Err(route.target.timed_out(self.connect_timeout)),
        }
    }
}
