//! The options of a script: those that it declares, with the values that a plan gives them.
use crate::prelude::*;
use crate::trouble::refuse;
use bakeoff_model::options::nearest;
use bakeoff_model::run::lua::LuaSpec;
use bakeoff_model::run::sysbench::SysbenchSpec;
use mlua::{Lua, Table, Value};
use serde_json::{Map, Value as Json};

/// Options of sysbench itself that a script's random numbers depend on.
const RANDOM: [&str; 6] = [
    "rand_type",
    "rand_spec_iter",
    "rand_spec_pct",
    "rand_spec_res",
    "rand_pareto_h",
    "rand_zipfian_exp",
];

/// What the plan says of the random numbers, in the words of our own sysbench.
pub fn random(spec: &LuaSpec) -> Result<SysbenchSpec, Trouble> {
    let said = spec
        .options
        .iter()
        .filter(|(name, _)| RANDOM.contains(&name.as_str()));
    let said: Map<String, Json> = said.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut random: SysbenchSpec = serde_json::from_value(Json::Object(said)).map_err(|error| {
        refuse(
            "options",
            format!("a `rand_` option cannot be: {error}"),
            "see `bakeoff workloads sysbench`",
        )
    })?;
    if let Some(rows) = spec.options.get("table_size").and_then(Json::as_u64) {
        random.table_size = rows.max(1);
    }
    check_bounds(&random, "workload.options")?;
    Ok(random)
}

/// Fills `sysbench.opt`, once the script's files have been read. A script that declares nothing is one of before 1.0: whatever
/// the plan says is a global of it.
pub fn fill(lua: &Lua, env: &Table, spec: &LuaSpec) -> mlua::Result<Result<(), Trouble>> {
    let sysbench: Table = env.get("sysbench")?;
    let (opt, cmdline): (Table, Table) = (sysbench.get("opt")?, sysbench.get("cmdline")?);
    let declared: Option<Table> = cmdline.get("options")?;
    let mut names: Vec<String> = vec![];
    for pair in declared.iter().flat_map(Table::pairs::<String, Table>) {
        let (name, definition) = pair?;
        opt.set(name.as_str(), definition.get::<Value>(2)?)?;
        names.push(name);
    }
    names.sort_unstable();
    for (name, said) in &spec.options {
        let value = match said {
            Json::Bool(value) => Value::Boolean(*value),
            Json::Number(value) => Value::Number(value.as_f64().unwrap_or_default()),
            Json::String(value) => Value::String(lua.create_string(value)?),
            _ => {
                let what = format!("`{name}` of the script cannot be {said}");
                return Ok(Err(refuse("options", what, "a number, a text, true or false")));
            }
        };
        if RANDOM.contains(&name.as_str()) {
            opt.set(name.as_str(), value)?;
            continue;
        }
        let Some(declared) = &declared else {
            env.set(name.as_str(), value.clone())?;
            opt.set(name.as_str(), value)?;
            continue;
        };
        let Some(definition) = declared.get::<Option<Table>>(name.as_str())? else {
            return Ok(Err(unknown(name, &names)));
        };
        match fitting(value, &definition.get::<Value>(2)?) {
            Some(value) => opt.set(name.as_str(), value)?,
            None => {
                let what = format!("`{name}` of the script cannot be {said}");
                let hint = format!("its default is {}", shown(&definition.get::<Value>(2)?));
                return Ok(Err(refuse("options", what, hint)));
            }
        }
    }
    Ok(Ok(()))
}

fn unknown(name: &str, names: &[String]) -> Trouble {
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    refuse(
        "options",
        format!("the script has no option `{name}`"),
        nearest(name, &known),
    )
}

/// Of the type that the default has, as sysbench reads it from a command line. A text takes what is written.
fn fitting(value: Value, default: &Value) -> Option<Value> {
    match (default, value) {
        (Value::Boolean(_), Value::String(text)) => match &*text.as_bytes() {
            b"on" | b"true" | b"1" => Some(Value::Boolean(true)),
            b"off" | b"false" | b"0" => Some(Value::Boolean(false)),
            _ => None,
        },
        (Value::Boolean(_), value @ Value::Boolean(_))
        | (Value::Integer(_) | Value::Number(_), value @ Value::Number(_))
        | (Value::String(_), value @ Value::String(_))
        | (Value::Nil, value) => Some(value),
        _ => None,
    }
}

fn shown(value: &Value) -> String {
    value.to_string().unwrap_or_default()
}
