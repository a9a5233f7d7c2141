//! From what a plan says of a driver to its options decided, the client library that is taken, and what that offers. One
//! kind, one entry in [`KINDS`]; what each client can do stands with it.
#[cfg(feature = "cassandra")]
use crate::cassandra;
#[cfg(feature = "mysql")]
use crate::mysql;
use crate::null;
#[cfg(feature = "postgresql")]
use crate::postgresql;
#[cfg(feature = "sqlite")]
use crate::sqlite;
use crate::way::Way;
use bakeoff_model::needs::{Capabilities, Needs};
use bakeoff_model::options::{Described, Said, Table, decide};
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::resolve::{DriverRequest, ResolvedDriver};
#[cfg(feature = "cassandra")]
use bakeoff_model::run::CassandraSpec;
#[cfg(feature = "mysql")]
use bakeoff_model::run::MysqlSpec;
use bakeoff_model::run::NullSpec;
#[cfg(feature = "postgresql")]
use bakeoff_model::run::PostgresqlSpec;
#[cfg(feature = "sqlite")]
use bakeoff_model::run::SqliteSpec;
use bakeoff_model::run::{DriverSpec, RunnerKind};

pub struct Kind {
    /// As in the run's `driver.kind`.
    pub kind: &'static str,
    pub library: fn() -> String,
    /// Preferred one first.
    pub ways: fn() -> Vec<Way>,
    pub describe: fn() -> Vec<Described>,
    decide: fn(&Said) -> Result<(DriverSpec, Said), Trouble>,
}

/// The drivers in this build.
pub const KINDS: &[Kind] = &[
    Kind {
        kind: "null",
        library: String::new,
        ways: || vec![alone("null", null::RUNNERS, null::capabilities())],
        describe: || Table::of_plan::<NullSpec>().describe(),
        decide: |said| decide(said, "driver").map(|(spec, said)| (DriverSpec::Null(spec), said)),
    },
    #[cfg(feature = "sqlite")]
    Kind {
        kind: "sqlite",
        library: || format!("SQLite {}", rusqlite::version()),
        ways: || vec![alone("sqlite", sqlite::RUNNERS, sqlite::capabilities())],
        describe: || Table::of_plan::<SqliteSpec>().describe(),
        decide: |said| decide(said, "driver").map(|(spec, said)| (DriverSpec::Sqlite(spec), said)),
    },
    #[cfg(feature = "mysql")]
    Kind {
        kind: "mysql",
        library: || mysql::LIBRARY.into(),
        ways: mysql::ways,
        describe: || Table::of_plan::<MysqlSpec>().describe(),
        decide: |said| decide(said, "driver").map(|(spec, said)| (DriverSpec::Mysql(spec), said)),
    },
    #[cfg(feature = "postgresql")]
    Kind {
        kind: "postgresql",
        library: || postgresql::LIBRARY.into(),
        ways: postgresql::ways,
        describe: || Table::of_plan::<PostgresqlSpec>().describe(),
        decide: |said| decide(said, "driver").map(|(spec, said)| (DriverSpec::Postgresql(spec), said)),
    },
    #[cfg(feature = "cassandra")]
    Kind {
        kind: "cassandra",
        library: || cassandra::LIBRARY.into(),
        ways: || vec![alone("cassandra", cassandra::RUNNERS, cassandra::capabilities())],
        describe: || Table::of_plan::<CassandraSpec>().describe(),
        decide: |said| decide(said, "driver").map(|(spec, said)| (DriverSpec::Cassandra(spec), said)),
    },
];

/// Of a kind with one client.
fn alone(kind: &'static str, runners: &'static [RunnerKind], offers: Capabilities) -> Way {
    Way {
        client: kind,
        driver: kind,
        runners,
        offers,
    }
}

impl Kind {
    pub fn of(kind: &str) -> Result<&'static Kind, Trouble> {
        KINDS.iter().find(|known| known.kind == kind).ok_or_else(|| {
            refuse(
                "",
                format!("this engine was built without {kind}"),
                format!("build it with the feature `{kind}`; `bakeoff-engine list` shows what it has"),
            )
        })
    }

    /// Of all ways, preferred one first.
    pub fn runners(&self) -> Vec<RunnerKind> {
        (self.ways)()
            .iter()
            .flat_map(|way| way.runners)
            .copied()
            .collect()
    }
}

/// The options of a plan decided, and the way that they leave.
pub struct Decided {
    pub resolved: ResolvedDriver,
    spec: DriverSpec,
    ways: Vec<Way>,
}

pub fn resolve(request: &DriverRequest) -> Result<Decided, Trouble> {
    let kind = Kind::of(&request.kind)?;
    let (spec, options) = (kind.decide)(&request.options)?;
    let ways = left(&spec, request.runner)?;
    let taken = &ways[0];
    if let Some(level) = request.isolation
        && !taken.offers.isolation.contains(&level)
    {
        let what = format!("{} has no isolation level {}", request.kind, level.name());
        let levels: Vec<&str> = taken.offers.isolation.iter().map(|level| level.name()).collect();
        let hint = match levels.as_slice() {
            [] => "leave `isolation` out".into(),
            levels => format!("it has {}", levels.join(", ")),
        };
        return Err(refuse("isolation", what, hint));
    }
    Ok(Decided {
        resolved: ResolvedDriver {
            options,
            client: taken.client.into(),
            runners: ways.iter().flat_map(|way| way.runners).copied().collect(),
            offers: taken.offers.clone(),
        },
        spec,
        ways: (kind.ways)(),
    })
}

/// The driver that a run's document asks for: a kind may have more than one client.
pub fn driver(spec: &DriverSpec, runner: Option<RunnerKind>) -> Result<&'static str, Trouble> {
    left(spec, runner).map(|ways| ways[0].driver)
}

/// The ways that are left with these options, preferred one first; at least one.
fn left(spec: &DriverSpec, runner: Option<RunnerKind>) -> Result<Vec<Way>, Trouble> {
    let kind = Kind::of(spec.kind())?;
    let mut ways = (kind.ways)();
    if let Some(client) = spec.client() {
        ways.retain(|way| way.client == client);
        if ways.is_empty() {
            let what = format!("this engine was built without the client {client}");
            return Err(refuse("client", what, "leave `client` out"));
        }
    }
    if spec.tls() && !ways.iter().any(|way| way.offers.tls) {
        return Err(no_tls(kind, spec));
    }
    ways.retain(|way| way.offers.tls || !spec.tls());
    let Some(runner) = runner else {
        return Ok(ways);
    };
    let possible: Vec<&str> = ways
        .iter()
        .flat_map(|way| way.runners)
        .map(|runner| runner.name())
        .collect();
    let all = possible.len() == kind.runners().len();
    let hint = format!(
        "{}it runs on {}",
        if all {
            ""
        } else {
            "with the `client` or `tls` asked for, "
        },
        possible.join(" or ")
    );
    ways.retain(|way| way.runners.contains(&runner));
    if ways.is_empty() {
        let what = format!(
            "the driver {} does not run on the runner {}",
            kind.kind,
            runner.name()
        );
        return Err(refuse("runner", what, hint));
    }
    Ok(ways)
}

fn no_tls(kind: &Kind, spec: &DriverSpec) -> Trouble {
    let able = (kind.ways)().into_iter().find(|way| way.offers.tls);
    match (spec.client(), able) {
        (Some(client), Some(able)) => refuse(
            "client",
            format!("the client `{client}` speaks no TLS"),
            format!("leave `client` out, or write client = \"{}\"", able.client),
        ),
        _ => refuse(
            "tls",
            format!("no client of {} in this engine speaks TLS", kind.kind),
            "leave `tls` out",
        ),
    }
}

impl Decided {
    /// Holds what a workload needs against what this driver offers with its options. A refusal names both, and the client
    /// that would do where there is one.
    pub fn meet(&self, needs: &Needs, workload: &str) -> Result<(), Trouble> {
        let kind = self.spec.kind();
        let several = self.ways.len() > 1;
        let name = match several {
            true => format!("{kind} with the client {}", self.resolved.client),
            false => kind.to_owned(),
        };
        let meets = |offers| needs.check(workload, offers, &name);
        meets(&self.resolved.offers).map_err(|refused| {
            let other = self.ways.iter().find(|way| meets(&way.offers).is_ok());
            let Some(other) = other else {
                return refused;
            };
            let without = match self.spec.tls() && !other.offers.tls {
                true => ", without `tls`",
                false => "",
            };
            let hint = format!("client = \"{}\"{without} offers it", other.client);
            refuse("client", refused.what, hint)
        })
    }
}

/// `option`: that it is about; empty: the driver as a whole.
fn refuse(option: &str, what: impl Into<String>, hint: impl Into<String>) -> Trouble {
    let place = match option {
        "" => "driver".into(),
        option => format!("driver.{option}"),
    };
    Trouble::new(TroubleKind::Usage, what, place, hint)
}

#[cfg(test)]
mod tests;
