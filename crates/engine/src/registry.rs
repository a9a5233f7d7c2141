//! Which drivers and workloads there are. Types are erased here and nowhere else: one line per pair, each compiled
//! for its own driver and workload.
use bakeoff_drivers::DRIVERS;
use bakeoff_drivers::registration::Registration;
use bakeoff_drivers::resolve::{client, resolve as decide};
use bakeoff_measure::{Control, Sink, execute as measure};
use bakeoff_model::event::RunResult;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::resolve::{Answer, ListedDriver, Request, WriteEventsRequest};
use bakeoff_model::run::{RunSpec, WorkloadSpec};
use std::sync::Arc;

struct Pair {
    driver: &'static str,
    workload: &'static str,
    execute: fn(&RunSpec, Arc<Control>, Sink) -> Result<RunResult, Trouble>,
}

macro_rules! pair {
    ($driver:ident, $workload:ident) => {
        Pair {
            driver: stringify!($driver),
            workload: stringify!($workload),
            execute: |spec, control, sink| {
                measure(
                    spec,
                    drivers::$driver(spec)?,
                    workloads::$workload(spec)?,
                    control,
                    sink,
                )
            },
        }
    };
}

/// A workload with every driver that speaks SQL. A driver of SQL is one line here.
macro_rules! sql {
    ($workload:ident) => {
        &[
            #[cfg(feature = "sqlite")]
            pair!(sqlite, $workload),
            #[cfg(feature = "mysql")]
            pair!(mysql, $workload),
            #[cfg(feature = "mysql")]
            pair!(mysql_async, $workload),
            #[cfg(feature = "postgresql")]
            pair!(postgresql, $workload),
            #[cfg(feature = "tokio_postgres")]
            pair!(tokio_postgres, $workload),
        ]
    };
}

/// A workload with every driver that has records by key and no SQL.
macro_rules! records {
    ($workload:ident) => {
        &[pair!(null, $workload)]
    };
}

/// A workload that can do without transactions, with every driver that speaks SQL and has none.
macro_rules! no_transactions {
    ($workload:ident) => {
        &[
            #[cfg(feature = "cassandra")]
            pair!(cassandra, $workload),
        ]
    };
}

/// A workload is one line here for each shape of database that it can ask.
const PAIRS: &[&[Pair]] = &[
    records!(ycsb),
    sql!(ycsb),
    no_transactions!(ycsb),
    sql!(sysbench),
    sql!(sql),
    sql!(linkbench),
    sql!(tpcc),
    sql!(hatshop),
    no_transactions!(hatshop),
];

fn pairs() -> impl Iterator<Item = &'static Pair> {
    PAIRS.iter().copied().flatten()
}

/// From the document to a driver, by the name of its client library's pair.
mod drivers {
    #[cfg(feature = "cassandra")]
    pub use bakeoff_drivers::cassandra::driver as cassandra;
    #[cfg(feature = "mysql")]
    pub use bakeoff_drivers::mysql::{library::driver as mysql_async, wire::driver as mysql};
    pub use bakeoff_drivers::null::driver as null;
    #[cfg(feature = "tokio_postgres")]
    pub use bakeoff_drivers::postgresql::library::driver as tokio_postgres;
    #[cfg(feature = "postgresql")]
    pub use bakeoff_drivers::postgresql::wire::driver as postgresql;
    #[cfg(feature = "sqlite")]
    pub use bakeoff_drivers::sqlite::driver as sqlite;
}

/// From the document to a workload. A name here is the workload's kind.
mod workloads {
    use super::{RunSpec, Trouble, WorkloadSpec};
    use bakeoff_workloads::ycsb::Ycsb;

    pub fn ycsb(spec: &RunSpec) -> Result<Ycsb, Trouble> {
        let WorkloadSpec::Ycsb(options) = &spec.workload else {
            return Err(super::not_in_build(spec));
        };
        Ycsb::new(options, spec.seed, spec.client)
    }

    #[cfg(any(feature = "sqlite", feature = "mysql", feature = "postgresql"))]
    pub fn sysbench(spec: &RunSpec) -> Result<bakeoff_workloads::sysbench::Sysbench, Trouble> {
        let WorkloadSpec::Sysbench(options) = &spec.workload else {
            return Err(super::not_in_build(spec));
        };
        bakeoff_workloads::sysbench::Sysbench::new(options, spec.seed, spec.client, threads(spec))
    }

    #[cfg(any(feature = "sqlite", feature = "mysql", feature = "postgresql"))]
    pub fn linkbench(spec: &RunSpec) -> Result<bakeoff_workloads::linkbench::Linkbench, Trouble> {
        let WorkloadSpec::Linkbench(options) = &spec.workload else {
            return Err(super::not_in_build(spec));
        };
        bakeoff_workloads::linkbench::Linkbench::new(options, spec.seed, spec.client, threads(spec))
    }

    #[cfg(any(feature = "sqlite", feature = "mysql", feature = "postgresql"))]
    pub fn tpcc(spec: &RunSpec) -> Result<bakeoff_workloads::tpcc::Tpcc, Trouble> {
        let WorkloadSpec::Tpcc(options) = &spec.workload else {
            return Err(super::not_in_build(spec));
        };
        bakeoff_workloads::tpcc::Tpcc::new(options, spec.seed, spec.client, threads(spec))
    }

    #[cfg(any(
        feature = "sqlite",
        feature = "mysql",
        feature = "postgresql",
        feature = "cassandra"
    ))]
    pub fn hatshop(spec: &RunSpec) -> Result<bakeoff_workloads::hatshop::Hatshop, Trouble> {
        let WorkloadSpec::Hatshop(options) = &spec.workload else {
            return Err(super::not_in_build(spec));
        };
        bakeoff_workloads::hatshop::Hatshop::new(options, spec.seed, spec.client, threads(spec))?.within(spec)
    }

    #[cfg(any(feature = "sqlite", feature = "mysql", feature = "postgresql"))]
    pub fn sql(spec: &RunSpec) -> Result<bakeoff_workloads::sql::Sql, Trouble> {
        let WorkloadSpec::Sql(options) = &spec.workload else {
            return Err(super::not_in_build(spec));
        };
        let loads = spec.phase == bakeoff_model::run::Phase::Load;
        bakeoff_workloads::sql::Sql::new(options, spec.seed, spec.client, &spec.driver.kind, loads)
    }

    /// `None` in the phases before and after a run.
    #[cfg(any(
        feature = "sqlite",
        feature = "mysql",
        feature = "postgresql",
        feature = "cassandra"
    ))]
    fn threads(spec: &RunSpec) -> Option<u32> {
        (spec.phase == bakeoff_model::run::Phase::Run).then_some(spec.threads)
    }
}

pub fn execute(spec: &RunSpec, control: Arc<Control>, sink: Sink) -> Result<RunResult, Trouble> {
    let client = client(spec)?;
    let pair = pairs().find(|pair| pair.driver == client.driver && pair.workload == spec.workload.kind());
    (pair.ok_or_else(|| not_in_build(spec))?.execute)(spec, control, sink)
}

fn not_in_build(spec: &RunSpec) -> Trouble {
    match fits(&spec.driver.kind, spec.workload.kind()) {
        Err(trouble) => trouble,
        Ok(()) => usage(
            "this pair of driver and workload is not in the build",
            "`bakeoff-engine list` shows those that are",
        ),
    }
}

/// Whether a driver of this kind has sessions of the shape that the workload asks.
fn fits(driver: &str, workload: &str) -> Result<(), Trouble> {
    let is_pair = |driver: &str| pairs().any(|pair| pair.driver == driver && pair.workload == workload);
    if is_pair(driver) {
        return Ok(());
    }
    let kind = Registration::of(driver)?.kind;
    let able: Vec<&str> = DRIVERS
        .iter()
        .map(|known| known.kind)
        .filter(|known| is_pair(known))
        .collect();
    Err(usage(
        format!("{kind} cannot be asked what {workload} asks (SQL, or transactions)"),
        format!("{workload} runs with the drivers {}", able.join(", ")),
    ))
}

fn usage(what: impl Into<String>, hint: impl Into<String>) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, "driver", hint)
}

/// What a plan asks before a run: options decided, and what a workload needs held against what the driver offers.
pub fn resolve(request: &Request) -> Result<Answer, Trouble> {
    match request {
        Request::Driver(request) => decide(request).map(|decided| Answer::Driver(decided.resolved)),
        Request::Preview(request) => bakeoff_workloads::resolve::preview(request).map(Answer::Preview),
        Request::WriteEvents(request) => {
            let WriteEventsRequest { workload, seed, path } = request;
            bakeoff_workloads::hatshop::write_file(workload, *seed, path).map(Answer::Written)
        }
        Request::Workload(request) => {
            let (resolved, needs) = bakeoff_workloads::resolve::resolve(request)?;
            if let Some(driver) = &request.driver {
                fits(&driver.kind, &request.kind)?;
                decide(driver)?.meet(&needs, &request.kind)?;
            }
            Ok(Answer::Resolved(Box::new(resolved)))
        }
    }
}

/// What this build can do, for `bakeoff-engine list`.
pub fn list() -> String {
    let workloads_of = |kind: &str| -> Vec<String> {
        pairs()
            .filter(|pair| pair.driver == kind)
            .map(|pair| pair.workload.to_owned())
            .collect()
    };
    let listed = |kind: &&Registration| ListedDriver {
        kind: kind.kind.into(),
        runners: kind.runners(),
        capabilities: kind.capabilities(&kind.clients[0]),
        library: (kind.library)(),
        workloads: workloads_of(kind.kind),
        options: (kind.options.describe)(),
    };
    let list = serde_json::json!({
        "format": bakeoff_model::FORMAT,
        "engine_version": env!("CARGO_PKG_VERSION"),
        "drivers": DRIVERS.iter().map(listed).collect::<Vec<_>>(),
        "workloads": bakeoff_workloads::resolve::list(),
        "io_uring_refusal": bakeoff_measure::runner::reactor::io_uring_refusal(),
    });
    format!("{list:#}\n")
}
