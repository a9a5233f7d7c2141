//! Redis, Valkey and what else speaks their protocol (RESP), through our own client on the reactor.
//!
//! A record is a hash `TABLE:KEY`, so any field is read or written alone. The sorted set `TABLE/keys` holds the keys of all
//! records in byte order, for scans and counts; `TABLE` itself is a hash that says the table exists, and since when. Reads
//! and updates are one plain command (`HMGET`, `HSET`). Inserts and deletes change two keys at once, so each is one script.
//! In a cluster a table is cut into parts ([`cluster`]). Sessions may share a connection ([`line`]).
//!
//! Sources: Redis documentation, "Redis serialization protocol specification", `HSET`, `ZRANGEBYLEX`, `EVALSHA`. The layout
//! with an index is that of YCSB's own binding, which orders its index by a hash of the key instead.
mod client;
mod cluster;
mod errors;
mod line;
mod resp;
mod scripts;
mod session;

use crate::registration::{self, ClientLibrary, Options, Registration};
use crate::server::account::{Secret, TlsSpec};
use crate::server::target::{Protocol, Target, usage};
use crate::server::tls::Encryption;
use crate::server::whereabouts::Whereabouts;
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::endpoint::{Endpoint, Routing};
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::run::{Phase, RunSpec, RunnerKind};
use client::{Client, Wait};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
pub use session::RedisSession;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub const DRIVER: Registration = Registration {
    kind: "redis",
    options: Options::of::<RedisSpec>().lacking(|said| match said.get("cluster") {
        Some(Value::Bool(true)) => LACKS_AS_CLUSTER,
        _ => Offers::NONE,
    }),
    library: || "wire (our own, on the reactor)".into(),
    isolation: &[],
    client: ClientLibrary {
        name: "wire",
        runners: RedisDriver::RUNNERS,
        offers: OFFERS,
        make: Make::Records(|spec| Ok(object(driver(spec)?, AnyRecords::new))),
    },
};

const OFFERS: Offers = Offers::of(&[Offer::Scan, Offer::CountsFound, Offer::Tls]);

/// The keys of a table are at all nodes.
const LACKS_AS_CLUSTER: Offers = Offers::of(&[Offer::Scan]);

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
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
    /// Encryption of the connections; absent: none.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// Number of the logical database in which everything happens.
    #[serde(default)]
    pub database: u32,
    /// The endpoints are nodes of a cluster, all of them that have slots. There are no scans.
    #[serde(default)]
    pub cluster: bool,
    /// How many users share a connection: their requests are sent together, and answered in their order.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub pipeline: u32,
    /// A write is acknowledged once this many replicas have applied it, too (`WAIT`); 0: it waits for none.
    #[serde(default)]
    #[schemars(range(max = 100))]
    pub wait_replicas: u32,
}

fn one() -> u32 {
    1
}

impl Default for RedisSpec {
    fn default() -> Self {
        Self {
            endpoints: vec![],
            user: None,
            password: None,
            tls: None,
            database: 0,
            cluster: false,
            pipeline: one(),
            wait_replicas: 0,
        }
    }
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
    let options: RedisSpec = registration::options(spec)?;
    // A load names the node that a single server would be.
    if options.cluster && spec.phase == Phase::Run && spec.routing != Routing::Any {
        let what = "in a cluster each key has its node: operations cannot be sent to another";
        return Err(usage(what, "run.json: routing", "leave `routing` out"));
    }
    RedisDriver::new(&options, spec.timeout())
}

pub struct RedisDriver {
    settings: Arc<Settings>,
}

struct Settings {
    /// Of all endpoints, in their order.
    routes: Vec<Route>,
    /// Of connecting.
    timeout: Duration,
    database: u32,
    cluster: bool,
    sessions_per_line: usize,
    /// Of each write.
    wait: Option<Wait>,
}

/// One endpoint, and who connects to it.
struct Route {
    target: Target,
    whereabouts: Whereabouts,
    encryption: Option<Arc<Encryption>>,
}

impl RedisDriver {
    /// Looks up names, which may block, and finds the password; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(spec: &RedisSpec, timeout: Duration) -> Result<Self, Trouble> {
        let user = spec.user.as_deref().unwrap_or_default();
        let (password, encrypted) = (spec.password.as_ref(), spec.tls.is_some());
        let targets = Target::all(&PROTOCOL, &spec.endpoints, user, password, "", encrypted)?;
        let encryptions = Encryption::towards(spec.tls.as_ref(), &targets, PLACE)?;
        let route = |(target, encryption): (Target, _)| {
            Ok(Route {
                whereabouts: target.address.locate(&target.place, PLACE)?,
                target,
                encryption,
            })
        };
        let routes = targets
            .into_iter()
            .zip(encryptions)
            .map(route)
            .collect::<Result<_, _>>()?;
        let settings = Settings {
            routes,
            timeout,
            database: spec.database,
            cluster: spec.cluster,
            sessions_per_line: spec.pipeline as usize,
            wait: (spec.wait_replicas > 0).then(|| Wait::new(spec.wait_replicas, timeout)),
        };
        Ok(Self {
            settings: Arc::new(settings),
        })
    }
}

impl Driver for RedisDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Reactor];
    type Client = Rc<Client>;
    type Session = RedisSession;

    fn offers(&self) -> Offers {
        match self.settings.cluster {
            true => OFFERS.without(LACKS_AS_CLUSTER),
            false => OFFERS,
        }
    }
    fn client(&self) -> &'static str {
        "wire"
    }
    async fn open(&self, _worker: usize) -> Result<Rc<Client>, Trouble> {
        Ok(Rc::new(Client::new(self.settings.clone())))
    }
    async fn session(
        &self,
        client: &Rc<Client>,
        endpoint: usize,
        _needs: Needs,
    ) -> Result<RedisSession, OpError> {
        RedisSession::open(client, endpoint).await
    }
}
