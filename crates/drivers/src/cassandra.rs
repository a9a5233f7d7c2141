//! Apache Cassandra and what else speaks its protocol (CQL), through the library scylla, on tokio.
//!
//! A worker holds one session of the library ([`cluster`]): one connection to each node that it may speak to, and one on
//! which it follows the cluster. The plan's sessions share it, so each of them is a request on its way. Which node a
//! request goes to is chosen for each request, by the row's key where there is one ([`choice`]).
//!
//! An UPDATE counts nothing. A conditional one (`IF`) tells whether it was applied, which is a count of 1 or 0.
mod choice;
mod cluster;
mod errors;
mod lists;
mod load;
mod options;
mod session;
mod tls;
mod values;

use crate::registration::{self, ClientLibrary, Options, Registration};
use crate::server::target::{Protocol, Target, usage};
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::endpoint::Routing;
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::run::{RunSpec, RunnerKind};
use bakeoff_model::sql::{Dialect, TokenRanges, Upsert};
use bakeoff_model::sql_records::SqlRecords;
use cluster::Cluster;
pub use options::{CassandraBatch, CassandraLayout, CassandraSpec};
pub use session::CassandraSession;
use std::rc::Rc;
use std::time::Duration;
use tls::Certificates;

pub const DRIVER: Registration = Registration {
    kind: "cassandra",
    options: Options::of::<CassandraSpec>().offering(|said| match said.get("layout") {
        Some(layout) if layout == "clustered" => CLUSTERED_OFFERS,
        _ => Offers::NONE,
    }),
    library: || "scylla (on tokio)".into(),
    isolation: &[],
    client: ClientLibrary {
        name: "cassandra",
        runners: CassandraDriver::RUNNERS,
        // Rows lie in the order of a hash of their keys, so there are no scans: see `CLUSTERED_OFFERS`.
        offers: Offers::NONE,
        make: Make::Sql(|spec| Ok(object(driver(spec)?, AnySql::beneath))),
    },
};

/// Where troubles lie that no endpoint has.
const PLACE: &str = "cassandra driver";

static PROTOCOL: Protocol = Protocol {
    driver: PLACE,
    server: "Cassandra",
    default_port: 9042,
    denied: &["AuthenticationError"],
    advice: |error| {
        let broken = error.code == errors::BROKEN;
        broken.then_some("is this a node of Cassandra, and does it take connections without `tls`?")
    },
};

/// More than usual, where a table's rows lie in the order of their keys.
const CLUSTERED_OFFERS: Offers = Offers::of(&[Offer::Scan]);

static DIALECT: Dialect = STANDARD;
static CLUSTERED: Dialect = Dialect {
    one_part: Some("part"),
    ..STANDARD
};

const STANDARD: Dialect = Dialect {
    name: "cassandra",
    lower_case_names: true,
    key_type: "text",
    text_type: "text",
    varchar_type: "text",
    bytes_type: "blob",
    varbytes_type: "blob",
    byte_type: "tinyint",
    int_type: "int",
    decimal_type: "decimal",
    timestamp_type: "timestamp",
    auto_key: "int",
    auto_key_big: "bigint",
    upsert: Upsert::Insert,
    if_there: " IF EXISTS",
    table_exists: "SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{keyspace}' AND table_name = ?",
    transactions: false,
    batches: true,
    constraints: false,
    star_as_declared: false,
    token_ranges: Some(TokenRanges { function: "token" }),
    lists: Some(&lists::LISTS),
    ..Dialect::STANDARD
};

fn driver(spec: &RunSpec) -> Result<CassandraDriver, Trouble> {
    CassandraDriver::new(&registration::options(spec)?, &spec.routing, spec.timeout())
}

pub struct CassandraDriver {
    spec: CassandraSpec,
    /// Of all endpoints, in their order.
    targets: Vec<Target>,
    /// Absent: nothing is encrypted.
    certificates: Option<Certificates>,
    /// Places in `targets` of those that are spoken to.
    route: Vec<u32>,
    /// Bounds connecting, and how long a connection may be silent.
    timeout: Duration,
}

impl CassandraDriver {
    /// Finds the password; connects to nothing. `routing`: the nodes that are spoken to.
    pub fn new(spec: &CassandraSpec, routing: &Routing, timeout: Duration) -> Result<Self, Trouble> {
        let user = spec.user.as_deref().unwrap_or_default();
        let targets = Target::all(
            &PROTOCOL,
            &spec.endpoints,
            user,
            spec.password.as_ref(),
            &spec.keyspace,
            false,
        )?;
        if let Some(target) = targets.iter().find(|target| target.address.is_socket()) {
            let hint = "write `host:port`";
            return Err(usage("Cassandra listens on no unix socket", &target.place, hint));
        }
        if *routing == Routing::Split {
            let hint = "leave `routing` out, or name a role or a node";
            let what = "a request goes to a node that has its row, reading or writing: `split` cannot be had";
            return Err(usage(what, "run.json: routing", hint));
        }
        let certificates = |tls| Certificates::of(tls, &targets, PLACE);
        Ok(Self {
            certificates: spec.tls.as_ref().map(certificates).transpose()?,
            route: routing.among(&spec.endpoints)?.places,
            spec: spec.clone(),
            targets,
            timeout,
        })
    }
}

impl Driver for CassandraDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Tokio];
    type Client = Rc<Cluster>;
    type Session = SqlRecords<CassandraSession>;

    fn offers(&self) -> Offers {
        match self.spec.layout {
            CassandraLayout::Hashed => Offers::NONE,
            CassandraLayout::Clustered => CLUSTERED_OFFERS,
        }
    }
    fn client(&self) -> &'static str {
        "scylla"
    }
    async fn open(&self, _worker: usize) -> Result<Rc<Cluster>, Trouble> {
        Cluster::open(self).await.map(Rc::new)
    }
    /// Asks for a row, so that a cluster in which no node answers does not count as recovered.
    async fn session(
        &self,
        client: &Rc<Cluster>,
        endpoint: usize,
        _needs: Needs,
    ) -> Result<Self::Session, OpError> {
        let mut session = CassandraSession::new(client.clone(), endpoint);
        session.answers().await?;
        Ok(SqlRecords::new(session))
    }
}
