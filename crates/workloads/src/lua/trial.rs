//! A script tried without a database: which statements its threads prepare, and which tables it makes.
use super::coroutine::{Asked, Coroutine, Reply};
use super::host::{Host, Setting, Statements, TRIAL_MAX, Turn};
use super::prepared::Prepared;
use crate::prelude::*;
use crate::rng::Random;
use crate::statement_kind::creates;
use crate::trouble::refuse;
use bakeoff_model::run::lua::LuaSpec;
use mlua::Table;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Threads that are tried: others prepare what these do.
const THREADS_MAX: u32 = 16;
/// Rows are drawn here, too, and go nowhere.
const LONGEST: Duration = Duration::from_secs(3);

/// All that `thread_init` prepares. An error in there, of a script that looks at what a query answers, ends it early: a statement
/// that is missing then is named when the script wants it.
pub fn statements(spec: &Arc<LuaSpec>, setting: Setting<'_>) -> Result<Prepared, Trouble> {
    let gathered = Rc::new(RefCell::new(Prepared::default()));
    let host = Host::new(spec, setting, Statements::Gathered(gathered.clone()))?;
    let begun = Instant::now();
    for tid in 0..setting.threads.min(THREADS_MAX) {
        let env = host.user(tid.into())?;
        refuse_without_event(&env)?;
        let mut coroutine = host.events()?;
        // Ended: it is about to begin with events.
        let ended = until(&host, &mut coroutine, Reply::Begin(env), &mut |_| {
            begun.elapsed() < LONGEST
        });
        if let Err(message) = ended
            && begun.elapsed() >= TRIAL_MAX
        {
            let what = format!("`thread_init` failed in a trial without a database: {message}");
            return Err(refuse(
                "script",
                what,
                "correct the script: an answer that it waits for does not come",
            ));
        }
    }
    Ok(gathered.take())
}

fn refuse_without_event(env: &Table) -> Result<(), Trouble> {
    if env.get::<mlua::Function>("event").is_ok() {
        return Ok(());
    }
    let hint = "name the file that sysbench would be given, not one that it requires";
    Err(refuse("script", "the script has no function `event`", hint))
}

/// Tables that `prepare` makes, in their order.
pub fn tables(spec: &Arc<LuaSpec>, dialect: &str) -> Result<Vec<String>, Trouble> {
    let (mut found, begun, mut late): (Vec<String>, _, _) = (vec![], Instant::now(), false);
    let gathered = Statements::Gathered(Rc::default());
    let setting = setting("prepare", spec, dialect);
    let host = Host::new(spec, setting, gathered)?;
    for tid in 0..setting.threads {
        let env = host.user(tid.into())?;
        let Some((mut coroutine, shared)) = host.command(&env, setting.command)? else {
            let hint = "a script makes its tables in `prepare`; or say data = \"existing\", and name them in `creates`";
            return Err(refuse("script", "the script has no function `prepare`", hint));
        };
        let mut each = |sql: &str| {
            found.extend(
                creates(sql)
                    .map(str::to_owned)
                    .filter(|name| !found.contains(name)),
            );
            late = begun.elapsed() > LONGEST;
            !late
        };
        if let Err(message) = until(&host, &mut coroutine, Reply::Go, &mut each) {
            return Err(refuse(
                "script",
                format!("`prepare` failed in a trial without a database: {message}"),
                format!("correct the script; if it needs answers of a database, {NAMED}"),
            ));
        }
        if late {
            let what = format!(
                "`prepare` made {} tables in the first {} s, and may make more",
                found.len(),
                LONGEST.as_secs()
            );
            return Err(refuse("creates", what, NAMED));
        }
        if !shared {
            break;
        }
    }
    match found.is_empty() {
        true => Err(refuse(
            "creates",
            "`prepare` makes no tables, as far as its statements tell",
            NAMED,
        )),
        false => Ok(found),
    }
}

const NAMED: &str = "name the tables: creates = [\"sbtest{1..10}\"]";

/// As a command is called before anybody knows how many threads a run has.
pub fn setting<'d>(command: &'d str, spec: &LuaSpec, dialect: &'d str) -> Setting<'d> {
    Setting {
        command,
        dialect,
        threads: spec.script_threads,
    }
}

/// Answers everything with nothing until the coroutine rests, or `each` statement says that it is enough.
fn until(
    host: &Host,
    coroutine: &mut Coroutine,
    begin: Reply,
    each: &mut dyn FnMut(&str) -> bool,
) -> Result<(), String> {
    let turn = Turn {
        random: RefCell::new(Random::new(0)),
        unique: Cell::new(0),
    };
    let mut reply = begin;
    loop {
        reply = match host.resume(coroutine, reply, &turn)? {
            Asked::Text(text) if !each(&String::from_utf8_lossy(text.sql())) => return Ok(()),
            Asked::Text(_) | Asked::Prepared(..) => Reply::Count(None),
            Asked::Sleep(_) => Reply::Go,
            Asked::Failed(Some(message)) => return Err(message),
            Asked::Ended | Asked::Over | Asked::Failed(None) => return Ok(()),
        };
    }
}

/// `sbtest{1..3}` is three names.
pub fn named(creates: &[String]) -> Result<Vec<String>, Trouble> {
    let wrong = |name: &str| {
        let what = format!("`{name}` is no name of a table, and no range of them");
        refuse("creates", what, "creates = [\"sbtest{1..10}\"]")
    };
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut names = vec![];
    for one in creates {
        let Some((before, rest)) = one.split_once('{') else {
            names.push(one.clone());
            continue;
        };
        let range = rest
            .split_once('}')
            .and_then(|(range, after)| Some((range.split_once("..")?, after)));
        let Some(((first, last), after)) = range else {
            return Err(wrong(one));
        };
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            return Err(wrong(one));
        };
        if last < first || last - first >= TABLES_MAX {
            return Err(wrong(one));
        }
        names.extend((first..=last).map(|number| format!("{before}{number}{after}")));
    }
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(wrong(name)),
        None => Ok(names),
    }
}

const TABLES_MAX: u32 = 100_000;
