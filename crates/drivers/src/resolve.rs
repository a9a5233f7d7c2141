//! From what a plan says of a driver to its options decided, and what it offers.
use crate::registration::{ClientLibrary, Registration};
use bakeoff_model::needs::Needs;
use bakeoff_model::options::Said;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::resolve::{DriverRequest, ResolvedDriver};
use bakeoff_model::run::{Isolation, RunSpec, RunnerKind};

/// The options of a plan decided, and what may be asked with them.
pub struct Decided {
    pub resolved: ResolvedDriver,
    kind: &'static Registration,
    /// For messages.
    called: String,
}

pub fn resolve(request: &DriverRequest) -> Result<Decided, Trouble> {
    let kind = Registration::of(&request.kind)?;
    has_client(&request.options)?;
    let options = (kind.options.decide)(&request.options)?;
    let offers = kind.capabilities_with(&options);
    has_runner(kind, request.runner)?;
    has_level(kind, request.called(), request.isolation)?;
    Ok(Decided {
        resolved: ResolvedDriver {
            options,
            client: kind.client.name.into(),
            runners: kind.client.runners.to_vec(),
            offers,
        },
        kind,
        called: request.called().into(),
    })
}

/// What makes the load of a run.
pub fn client(spec: &RunSpec) -> Result<&'static ClientLibrary, Trouble> {
    let kind = Registration::of(&spec.driver.kind)?;
    has_level(kind, kind.kind, spec.isolation)?;
    has_runner(kind, spec.runner)?;
    Ok(&kind.client)
}

/// Plans of before may name a client library that made the load where there was TLS.
fn has_client(options: &Said) -> Result<(), Trouble> {
    match options.get("client").and_then(|client| client.as_str()) {
        Some(gone @ ("mysql_async" | "tokio_postgres")) => Err(refuse(
            "client",
            format!("the client {gone} is no longer part of bakeoff"),
            "leave `client` out: bakeoff's own client makes the load, with `tls`, too",
        )),
        _ => Ok(()),
    }
}

fn has_runner(kind: &Registration, asked: Option<RunnerKind>) -> Result<(), Trouble> {
    let runners = kind.client.runners;
    let Some(runner) = asked.filter(|runner| !runners.contains(runner)) else {
        return Ok(());
    };
    let what = format!(
        "the driver {} does not run on the runner {}",
        kind.kind,
        runner.name()
    );
    let names: Vec<&str> = runners.iter().map(|runner| runner.name()).collect();
    let hint = format!("leave `runner` out: it runs on {}", names.join(" or "));
    Err(refuse("runner", what, hint))
}

fn has_level(kind: &Registration, called: &str, asked: Option<Isolation>) -> Result<(), Trouble> {
    let Some(level) = asked.filter(|level| !kind.isolation.contains(level)) else {
        return Ok(());
    };
    let what = format!("{called} has no isolation level {}", level.name());
    let levels: Vec<&str> = kind.isolation.iter().map(|level| level.name()).collect();
    let hint = match levels.as_slice() {
        [] => "leave `isolation` out".into(),
        levels => format!("it has {}", levels.join(", ")),
    };
    Err(refuse("isolation", what, hint))
}

impl Decided {
    /// Checks what a workload needs against what this driver offers. A refusal names both.
    pub fn meet(&self, needs: &Needs, workload: &str) -> Result<(), Trouble> {
        needs.check(workload, self.resolved.offers.offers, &self.called)?;
        let (longest, most) = (needs.value_bytes, self.kind.client.make.value_bytes_max());
        match most {
            Some(most) if longest > u64::from(most) => Err(Trouble::new(
                TroubleKind::Usage,
                format!(
                    "{workload} has values of {longest} bytes, and those of {} have at most {most}",
                    self.called
                ),
                "driver",
                "choose another system, or shorter values",
            )),
            _ => Ok(()),
        }
    }
}

/// `option`: that it is about.
fn refuse(option: &str, what: impl Into<String>, hint: impl Into<String>) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, format!("driver.{option}"), hint)
}

#[cfg(test)]
mod tests;
