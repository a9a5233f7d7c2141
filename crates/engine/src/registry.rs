//! Which workloads there are, and which drivers ([`DRIVERS`]) they can be run with: they meet as objects of a shape.
use bakeoff_drivers::DRIVERS;
use bakeoff_drivers::registration::{ClientLibrary, Registration};
use bakeoff_drivers::resolve::{client, resolve as decide};
use bakeoff_experiments::{Probe, ProbeDriver};
use bakeoff_measure::{Control, Sink, execute as measure};
use bakeoff_model::any::{AnyDocuments, AnyRecords, AnySql};
use bakeoff_model::driver::{AnyDriver, MakeDriver, formed};
use bakeoff_model::event::RunResult;
use bakeoff_model::needs::{Offer, Offers};
use bakeoff_model::options::Said;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::resolve::{Answer, DriverRequest, ListedDriver, Request, WriteEventsRequest};
use bakeoff_model::run::{ExperimentSpec, Phase, RunSpec, WorkloadSpec};
use bakeoff_workloads::hatshop::{Store, UNCHANGED};
use std::sync::Arc;

/// Which sessions a workload can do with, and how a run of it is carried out: each is compiled once, whatever the driver.
struct Workload {
    kind: &'static str,
    /// Of every run, whatever its options.
    needs: Offers,
    execute: Execute,
}

type Run<S> = fn(&RunSpec, Box<dyn AnyDriver<S>>, Arc<Control>, Sink) -> Result<RunResult, Trouble>;

enum Execute {
    Sql(Run<AnySql>),
    /// Of its own, or made of SQL or documents.
    Records(Run<AnyRecords>),
    /// Of its own, or made of columns of JSON or of records.
    Documents(Run<AnyDocuments>),
    /// As the workload's options say.
    SqlOrDocuments(Run<Store>),
}

macro_rules! workload {
    ($kind:ident asks $shape:ident $(, needs: $($need:ident)+)?) => {
        Workload {
            kind: stringify!($kind),
            needs: Offers::of(&[$($(Offer::$need),+)?]),
            execute: Execute::$shape(|spec, driver, control, sink| {
                measure(spec, driver, workloads::$kind(spec)?, control, sink)
            }),
        }
    };
}

const WORKLOADS: &[Workload] = &[
    workload!(ycsb asks Records),
    workload!(sysbench asks Sql, needs: Transactions),
    workload!(sql asks Sql, needs: Transactions),
    workload!(lua asks Sql, needs: Transactions),
    workload!(replay asks Sql, needs: Transactions),
    workload!(linkbench asks Sql, needs: Transactions),
    workload!(tpcc asks Sql, needs: Transactions RowLocks),
    workload!(hatshop asks SqlOrDocuments),
    workload!(documents asks Documents),
];

impl Workload {
    fn of(kind: &str) -> Option<&'static Workload> {
        WORKLOADS.iter().find(|workload| workload.kind == kind)
    }

    /// What it needs and sessions of this kind of system do not have.
    fn lack(&self, driver: &Registration) -> Option<&'static str> {
        let client = &driver.client;
        match self.execute {
            _ if !client.make.runs_workloads() => Some("a database"),
            Execute::Sql(_) if client.make.sql().is_none() => Some("SQL"),
            Execute::Documents(_) if !client.has_documents() => Some("documents"),
            Execute::SqlOrDocuments(_) if client.make.sql().is_none() && !client.has_documents() => {
                Some("SQL or documents")
            }
            _ => self.needs.missing_from(client.offers).map(Offer::words),
        }
    }
}

/// From the document to a workload. A name here is the workload's kind.
mod workloads {
    use super::{RunSpec, Trouble, WorkloadSpec, another};
    use bakeoff_workloads::ycsb::Ycsb;

    pub fn ycsb(spec: &RunSpec) -> Result<Ycsb, Trouble> {
        let WorkloadSpec::Ycsb(options) = &spec.workload else {
            return Err(another(spec));
        };
        Ycsb::new(options, spec.seed, spec.client)
    }

    pub fn sysbench(spec: &RunSpec) -> Result<bakeoff_workloads::sysbench::Sysbench, Trouble> {
        let WorkloadSpec::Sysbench(options) = &spec.workload else {
            return Err(another(spec));
        };
        bakeoff_workloads::sysbench::Sysbench::new(options, spec.seed, spec.client, threads(spec))
    }

    pub fn linkbench(spec: &RunSpec) -> Result<bakeoff_workloads::linkbench::Linkbench, Trouble> {
        let WorkloadSpec::Linkbench(options) = &spec.workload else {
            return Err(another(spec));
        };
        bakeoff_workloads::linkbench::Linkbench::new(options, spec.seed, spec.client, threads(spec))
    }

    pub fn tpcc(spec: &RunSpec) -> Result<bakeoff_workloads::tpcc::Tpcc, Trouble> {
        let WorkloadSpec::Tpcc(options) = &spec.workload else {
            return Err(another(spec));
        };
        bakeoff_workloads::tpcc::Tpcc::new(options, spec.seed, spec.client, threads(spec))
    }

    pub fn hatshop(spec: &RunSpec) -> Result<bakeoff_workloads::hatshop::Hatshop, Trouble> {
        let WorkloadSpec::Hatshop(options) = &spec.workload else {
            return Err(another(spec));
        };
        bakeoff_workloads::hatshop::Hatshop::new(options, spec.seed, spec.client, threads(spec))?.within(spec)
    }

    pub fn documents(spec: &RunSpec) -> Result<bakeoff_workloads::documents::Documents, Trouble> {
        let WorkloadSpec::Documents(options) = &spec.workload else {
            return Err(another(spec));
        };
        bakeoff_workloads::documents::Documents::new(options, spec.seed, spec.client)
    }

    pub fn sql(spec: &RunSpec) -> Result<bakeoff_workloads::sql::Sql, Trouble> {
        let WorkloadSpec::Sql(options) = &spec.workload else {
            return Err(another(spec));
        };
        let loads = spec.phase == bakeoff_model::run::Phase::Load;
        bakeoff_workloads::sql::Sql::new(options, spec.seed, spec.client, &spec.driver.kind, loads)
    }

    pub fn lua(spec: &RunSpec) -> Result<bakeoff_workloads::lua::Lua, Trouble> {
        let WorkloadSpec::Lua(options) = &spec.workload else {
            return Err(another(spec));
        };
        bakeoff_workloads::lua::Lua::new(options, spec.seed, spec.client, &spec.driver.kind, threads(spec))
    }

    pub fn replay(spec: &RunSpec) -> Result<bakeoff_workloads::replay::Replay, Trouble> {
        let WorkloadSpec::Replay(options) = &spec.workload else {
            return Err(another(spec));
        };
        bakeoff_workloads::replay::Replay::new(options, spec.client, &spec.driver.kind, threads(spec))
    }

    /// `None` in the phases before and after a run.
    fn threads(spec: &RunSpec) -> Option<u32> {
        (spec.phase == bakeoff_model::run::Phase::Run).then_some(spec.threads)
    }
}

pub fn execute(spec: &RunSpec, control: Arc<Control>, sink: Sink) -> Result<RunResult, Trouble> {
    let (make, sql) = (client(spec)?.make, sql_for_experiments(client(spec)?));
    let is_on_records = |one: &ExperimentSpec| one.is_on_records(sql.is_some());
    match (spec.phase, &spec.staleness_probe) {
        (Phase::Verify, _) if spec.experiment.as_ref().is_some_and(is_on_records) => {
            bakeoff_experiments::execute_on_records(spec, make.records(spec)?, &control, &sink)
        }
        (Phase::Verify, _) => match sql {
            Some(sql) => bakeoff_experiments::execute(spec, sql(spec)?, &control, &sink),
            None => Err(no_sql(&spec.driver.kind)),
        },
        (Phase::Run, Some(asked)) => {
            let driver = match sql {
                Some(sql) => ProbeDriver::Sql(sql(spec)?),
                None => ProbeDriver::Records(make.records(spec)?),
            };
            let probe = Probe::start(spec, asked, driver, &control)?;
            let result = carry_out(spec, control.clone(), probe.follow(sink));
            if result.is_err() {
                control.stop();
            }
            let staleness_probe = Some(probe.finish());
            result.map(|result| RunResult {
                staleness_probe,
                ..result
            })
        }
        _ => carry_out(spec, control, sink),
    }
}

/// `None`: it has none, or no transactions.
fn sql_for_experiments(client: &ClientLibrary) -> Option<MakeDriver<AnySql>> {
    let has_transactions = client.offers.has(Offer::Transactions);
    client.make.experiments().filter(|_| has_transactions)
}

/// A phase of a workload.
fn carry_out(spec: &RunSpec, control: Arc<Control>, sink: Sink) -> Result<RunResult, Trouble> {
    let make = client(spec)?.make;
    fits(&spec.driver.kind, &spec.driver.kind, spec.workload.kind())?;
    let workload = Workload::of(spec.workload.kind()).ok_or_else(|| another(spec))?;
    form_fits(&spec.driver.kind, &spec.driver.kind, &spec.workload)?;
    refuse_below_sql(&spec.workload, &spec.driver.options)?;
    refuse_forgotten_documents(&spec.workload, &spec.driver.kind, &spec.driver.options)?;
    match &workload.execute {
        Execute::Records(run) if spec.workload.stores_documents() => {
            let driver = formed(make.documents(spec)?, AnyRecords::of_documents);
            run(spec, driver, control, sink)
        }
        Execute::Records(run) => run(spec, make.records(spec)?, control, sink),
        Execute::Documents(run) => run(spec, make.documents(spec)?, control, sink),
        Execute::SqlOrDocuments(run) if spec.workload.stores_documents() => run(
            spec,
            formed(make.documents(spec)?, Store::Documents),
            control,
            sink,
        ),
        Execute::SqlOrDocuments(run) => {
            let make = make.sql().ok_or_else(|| another(spec))?;
            run(spec, formed(make(spec)?, Store::Tables), control, sink)
        }
        Execute::Sql(run) => {
            let make = make.sql().ok_or_else(|| another(spec))?;
            run(spec, make(spec)?, control, sink)
        }
    }
}

/// Refuses documents of a system that has none, and tables of one without SQL where a workload can do with either. `called`: the
/// system, for messages.
fn form_fits(driver: &str, called: &str, workload: &WorkloadSpec) -> Result<(), Trouble> {
    let client = &Registration::of(driver)?.client;
    let either =
        Workload::of(workload.kind()).is_some_and(|of| matches!(of.execute, Execute::SqlOrDocuments(_)));
    let option = if either { "layout" } else { "form" };
    if workload.stores_documents() {
        let what = format!("{called} has no documents");
        let hint = format!("leave `{option}` out, or choose another system");
        return if client.has_documents() {
            Ok(())
        } else {
            Err(usage(what, hint))
        };
    }
    if either && client.make.sql().is_none() {
        let what = format!(
            "{} in tables needs SQL, which {called} does not offer",
            workload.kind()
        );
        let unchanged = match client.offers.has(Offer::Revisions) {
            true => String::new(),
            false => format!(", {UNCHANGED}"),
        };
        let hint = format!("write layout = \"documents\"{unchanged}, or choose another system");
        return Err(usage(what, hint));
    }
    Ok(())
}

/// Below SQL there are records only.
fn refuse_below_sql(workload: &WorkloadSpec, driver: &Said) -> Result<(), Trouble> {
    let below = driver.get("access").is_some_and(|access| access == "direct");
    let execute = Workload::of(workload.kind()).map(|workload| &workload.execute);
    let records = matches!(execute, Some(Execute::Records(_))) && !workload.stores_documents();
    if !below || records {
        return Ok(());
    }
    Err(Trouble::new(
        TroubleKind::Usage,
        format!(
            "{} is SQL, and access = \"direct\" reads records below it",
            workload.kind()
        ),
        "driver.access",
        "leave `access` out, or take a workload of records: ycsb",
    ))
}

fn no_sql(driver: &str) -> Trouble {
    usage(
        format!("what is read is verified by SQL, which {driver} does not offer"),
        "choose a system with SQL",
    )
}

fn another(spec: &RunSpec) -> Trouble {
    usage(
        format!(
            "{} with {} is not in the build",
            spec.workload.kind(),
            spec.driver.kind
        ),
        "`bakeoff-engine list` shows those that are",
    )
}

/// The null system answers with one row to all, which is no document, unless it keeps rows.
fn refuse_forgotten_documents(workload: &WorkloadSpec, driver: &str, options: &Said) -> Result<(), Trouble> {
    let execute = Workload::of(workload.kind()).map(|workload| &workload.execute);
    let documents = matches!(execute, Some(Execute::Documents(_))) || workload.stores_documents();
    let keeps = options.get("store").is_some_and(|store| store == true);
    if driver != bakeoff_drivers::null::DRIVER.kind || !documents || keeps {
        return Ok(());
    }
    Err(Trouble::new(
        TroubleKind::Usage,
        "the null system has documents only where it keeps what is written",
        "driver.store",
        "write store = true, or take a workload of records: ycsb",
    ))
}

/// Whether a driver of this kind has what every run of the workload needs.
fn fits(driver: &str, called: &str, workload: &str) -> Result<(), Trouble> {
    let kind = Registration::of(driver)?;
    let Some(of) = Workload::of(workload) else {
        return Err(usage(
            format!("unknown workload {workload}"),
            "`bakeoff-engine list` shows those that are",
        ));
    };
    let Some(lack) = of.lack(kind) else {
        return Ok(());
    };
    let able = DRIVERS.iter().filter(|known| of.lack(known).is_none());
    let able: Vec<&str> = able.map(|known| known.kind).collect();
    Err(usage(
        format!("{workload} needs {lack}, which {called} does not offer"),
        format!("{workload} runs with the drivers {}", able.join(", ")),
    ))
}

fn usage(what: impl Into<String>, hint: impl Into<String>) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, "driver", hint)
}

/// What a plan asks before a run: options decided, and what a workload needs checked against what the driver offers.
pub fn resolve(request: &Request) -> Result<Answer, Trouble> {
    match request {
        Request::Driver(request) => decide(request).map(|decided| Answer::Driver(decided.resolved)),
        Request::Preview(request) => bakeoff_workloads::kinds::preview(request).map(Answer::Preview),
        Request::WriteEvents(request) => {
            let WriteEventsRequest { workload, seed, path } = request;
            bakeoff_workloads::hatshop::write_file(workload, *seed, path).map(Answer::Written)
        }
        Request::Workload(request) => {
            let (resolved, needs) = bakeoff_workloads::kinds::resolve(request)?;
            // A plan that is verified has a workload which does not run.
            let verified_only = |driver: &DriverRequest| {
                Registration::of(&driver.kind).is_ok_and(|kind| !kind.client.make.runs_workloads())
            };
            if let Some(driver) = request.driver.as_ref().filter(|driver| !verified_only(driver)) {
                fits(&driver.kind, driver.called(), &request.kind)?;
                form_fits(&driver.kind, driver.called(), &resolved.spec)?;
                let decided = decide(driver)?;
                decided.meet(&needs, &request.kind)?;
                let options = &decided.resolved.options;
                refuse_below_sql(&resolved.spec, options)?;
                refuse_forgotten_documents(&resolved.spec, &driver.kind, options)?;
            }
            Ok(Answer::Resolved(Box::new(resolved)))
        }
    }
}

/// What this build can do, for `bakeoff-engine list`.
pub fn list() -> String {
    let listed = |kind: &&Registration| ListedDriver {
        kind: kind.kind.into(),
        runners: kind.client.runners.to_vec(),
        capabilities: kind.capabilities(),
        library: (kind.library)(),
        workloads: WORKLOADS
            .iter()
            .filter(|workload| workload.lack(kind).is_none())
            .map(|workload| workload.kind.into())
            .collect(),
        experiments: sql_for_experiments(&kind.client).is_some(),
        options: (kind.options.describe)(),
    };
    let list = serde_json::json!({
        "format": bakeoff_model::FORMAT,
        "engine_version": env!("CARGO_PKG_VERSION"),
        "drivers": DRIVERS.iter().map(listed).collect::<Vec<_>>(),
        "workloads": bakeoff_workloads::kinds::list(),
        "io_uring_refusal": bakeoff_measure::runner::reactor::io_uring_refusal(),
    });
    format!("{list:#}\n")
}
