//! From what a plan says of a driver to its options decided, the client library that is taken, and what that offers.
use crate::registration::{ClientLibrary, Registration, runners};
use bakeoff_model::needs::{Needs, Offer};
use bakeoff_model::options::unreadable;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::resolve::{DriverRequest, ResolvedDriver};
use bakeoff_model::run::{DriverSpec, Isolation, RunSpec, RunnerKind};

/// The options of a plan decided, and the client library that is taken.
pub struct Decided {
    pub resolved: ResolvedDriver,
    spec: DriverSpec,
    kind: &'static Registration,
}

pub fn resolve(request: &DriverRequest) -> Result<Decided, Trouble> {
    let kind = Registration::of(&request.kind)?;
    let options = (kind.options.decide)(&request.options)?;
    let spec = DriverSpec::new(kind.kind, options).map_err(|error| unreadable(&error, "driver"))?;
    let clients = left(kind, &spec, request.runner)?;
    has_level(kind, request.isolation)?;
    Ok(Decided {
        resolved: ResolvedDriver {
            options: spec.options.clone(),
            client: clients[0].name.into(),
            runners: runners(clients.iter().copied()),
            offers: kind.capabilities(clients[0]),
        },
        spec,
        kind,
    })
}

/// The client library that a run's document asks for.
pub fn client(spec: &RunSpec) -> Result<&'static ClientLibrary, Trouble> {
    let kind = Registration::of(&spec.driver.kind)?;
    has_level(kind, spec.isolation)?;
    left(kind, &spec.driver, spec.runner).map(|clients| clients[0])
}

fn has_level(kind: &Registration, asked: Option<Isolation>) -> Result<(), Trouble> {
    let Some(level) = asked.filter(|level| !kind.isolation.contains(level)) else {
        return Ok(());
    };
    let what = format!("{} has no isolation level {}", kind.kind, level.name());
    let levels: Vec<&str> = kind.isolation.iter().map(|level| level.name()).collect();
    let hint = match levels.as_slice() {
        [] => "leave `isolation` out".into(),
        levels => format!("it has {}", levels.join(", ")),
    };
    Err(refuse("isolation", what, hint))
}

/// The clients that are left with these options, preferred one first; at least one.
fn left(
    kind: &'static Registration,
    spec: &DriverSpec,
    runner: Option<RunnerKind>,
) -> Result<Vec<&'static ClientLibrary>, Trouble> {
    let mut clients: Vec<_> = kind.clients.iter().collect();
    let speaks_tls = |client: &ClientLibrary| client.offers.has(Offer::Tls);
    if let Some(client) = spec.client() {
        clients.retain(|known| known.name == client);
        if clients.is_empty() {
            let what = format!("this engine was built without the client {client}");
            return Err(refuse("client", what, "leave `client` out"));
        }
    }
    if spec.tls() {
        clients.retain(|client| speaks_tls(client));
        if clients.is_empty() {
            return Err(no_tls(kind, spec));
        }
    }
    let Some(runner) = runner else {
        return Ok(clients);
    };
    let possible: Vec<&str> = runners(clients.iter().copied())
        .iter()
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
    clients.retain(|client| client.runners.contains(&runner));
    if clients.is_empty() {
        let what = format!(
            "the driver {} does not run on the runner {}",
            kind.kind,
            runner.name()
        );
        return Err(refuse("runner", what, hint));
    }
    Ok(clients)
}

fn no_tls(kind: &Registration, spec: &DriverSpec) -> Trouble {
    let able = kind.clients.iter().find(|client| client.offers.has(Offer::Tls));
    match (spec.client(), able) {
        (Some(client), Some(able)) => refuse(
            "client",
            format!("the client `{client}` speaks no TLS"),
            format!("leave `client` out, or write client = \"{}\"", able.name),
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
        let Registration { kind, clients, .. } = self.kind;
        let name = match clients.len() {
            1 => (*kind).to_owned(),
            _ => format!("{kind} with the client {}", self.resolved.client),
        };
        let meets = |offers| needs.check(workload, offers, &name);
        meets(self.resolved.offers.offers).map_err(|refused| {
            let other = clients.iter().find(|client| meets(client.offers).is_ok());
            let Some(other) = other else {
                return refused;
            };
            let without = match self.spec.tls() && !other.offers.has(Offer::Tls) {
                true => ", without `tls`",
                false => "",
            };
            let hint = format!("client = \"{}\"{without} offers it", other.name);
            refuse("client", refused.what, hint)
        })
    }
}

/// `option`: that it is about.
fn refuse(option: &str, what: impl Into<String>, hint: impl Into<String>) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, format!("driver.{option}"), hint)
}

#[cfg(test)]
mod tests;
