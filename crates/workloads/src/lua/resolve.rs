//! A script in Lua before a run: it is read as it will be, and tried without a database.
use super::host::stem;
use super::trial;
use super::{GENERATOR_VERSION, needs};
use crate::prelude::*;
use crate::resolve::{Kind, NoneBeside, UNCHECKED, after_conflicts, describe, read, shape, usual, words};
use bakeoff_model::run::lua::LuaSpec;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const KIND: Kind = Kind {
    kind: "lua",
    generator_version: GENERATOR_VERSION,
    form: "",
    summary: "a script for sysbench in Lua, unchanged: the original's own, sysbench-tpcc, and yours",
    preset: "script",
    describe: describe::<Options>,
    resolve,
    preview: None,
};

type Options = NoneBeside<LuaSpec>;

/// As sysbench does after a deadlock, and no more often than pgbench.
const RETRIES: u32 = 10;
const BACKOFF_S: f64 = 0.001;

fn resolve(request: &WorkloadRequest) -> Result<(Resolved, Needs), Trouble> {
    let said = read::<Options>(request)?.spec;
    let dialect = request.driver.as_ref().map_or("", |driver| driver.kind.as_str());
    let tables = tables(&Arc::new(said.clone()), dialect)?;
    let spec = LuaSpec {
        creates: tables.clone(),
        ..said
    };
    let run = trial::setting("run", &spec, dialect);
    let prepared = trial::statements(&Arc::new(spec.clone()), run)?;
    let needs = needs();
    let resolved = Resolved {
        label: label(&spec),
        tables,
        operations: vec![name(&spec).to_owned()],
        writes: spec.writes,
        prepared_statements: u32::try_from(prepared.all.len()).ok(),
        retry: after_conflicts(RETRIES, BACKOFF_S),
        continues_by: Some(BTreeMap::from([("turn".to_owned(), 1)])),
        ..usual(
            &KIND,
            request,
            shape(&spec, "script modules options script_threads"),
            &needs,
            WorkloadSpec::Lua(Box::new(spec.clone())),
        )
    };
    Ok((resolved, needs))
}

/// Of the script, and of its operation.
pub fn name(spec: &LuaSpec) -> &str {
    spec.script.as_ref().map_or("", |script| stem(&script.name))
}

fn label(spec: &LuaSpec) -> String {
    let options = match spec.options.is_empty() {
        true => String::new(),
        false => format!(" ({})", words(&spec.options, &[]).join(", ")),
    };
    format!("Lua {}{options}{UNCHECKED}", name(spec))
}

/// Those that `prepare` makes, in their order.
pub fn tables(spec: &Arc<LuaSpec>, dialect: &str) -> Result<Vec<String>, Trouble> {
    match spec.creates.is_empty() {
        true => trial::tables(spec, dialect),
        false => trial::named(&spec.creates),
    }
}
