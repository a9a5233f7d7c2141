//! A Lua state with a script in it, shared by the users of one OS thread, each with globals and a coroutine of its own. A user's
//! coroutine runs until it wants something of the database, and is resumed with the answer.
use super::coroutine::{Asked, Coroutine, Reply, words};
use super::options;
use super::prepared::Prepared;
use super::random::{Draws, register};
use crate::prelude::*;
use crate::rng::Random;
use crate::trouble::refuse;
use bakeoff_model::run::lua::LuaSpec;
use bakeoff_model::run::sql::TextFile;
use mlua::{Function, HookTriggers, Lua, LuaOptions, StdLib, Table, VmState};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PRELUDE: &str = include_str!("prelude.lua");

/// What a script may do with `con:prepare`.
pub enum Statements {
    /// Gathers what it prepares.
    Gathered(Rc<RefCell<Prepared>>),
    /// These, which every session has prepared.
    Known(Arc<Prepared>),
}

/// Who asks for a script to be run.
#[derive(Clone, Copy)]
pub struct Setting<'s> {
    /// `run`, `prepare`, ...
    pub command: &'s str,
    pub dialect: &'s str,
    /// All threads, as the script sees them.
    pub threads: u32,
}

pub struct Host {
    lua: Lua,
    chunks: Table,
    user: Function,
    run: Function,
    command: Function,
    draws: Rc<Draws>,
    printed: Rc<RefCell<Vec<String>>>,
    reconnects: Rc<Cell<bool>>,
    spec: Arc<LuaSpec>,
    script: String,
    threads: u32,
    called: String,
}

/// A user's numbers, which are drawn only while its coroutine runs.
pub struct Turn {
    pub random: RefCell<Random>,
    pub unique: Cell<u64>,
}

impl Host {
    /// Compiles every file, and fails where that does.
    pub fn new(spec: &Arc<LuaSpec>, setting: Setting<'_>, statements: Statements) -> Result<Self, Trouble> {
        let Some(script) = &spec.script else {
            return Err(refuse(
                "script",
                "there is no script",
                "script = \"oltp_read_write.lua\"",
            ));
        };
        let random = options::random(spec)?;
        let is_trial = matches!(statements, Statements::Gathered(_));
        let made = || -> mlua::Result<Self> {
            let libraries =
                StdLib::BIT | StdLib::JIT | StdLib::MATH | StdLib::OS | StdLib::STRING | StdLib::TABLE;
            let lua = Lua::new_with(libraries, LuaOptions::new())?;
            let draws = Rc::new(Draws::new(u64::from(setting.threads), &random));
            let (printed, reconnects) = (Rc::<RefCell<Vec<String>>>::default(), Rc::new(Cell::new(false)));
            let host = lua.create_table()?;
            register(&lua, &host, &draws)?;
            host.set("driver", driver(setting.dialect))?;
            host.set("prepare", preparing(&lua, statements)?)?;
            let (lines, keeps) = (printed.clone(), setting.command != "run");
            host.set(
                "print",
                lua.create_function(move |_, line: String| {
                    if keeps {
                        lines.borrow_mut().push(line);
                    }
                    Ok(())
                })?,
            )?;
            let asked = reconnects.clone();
            host.set(
                "reconnect",
                lua.create_function(move |_, ()| {
                    asked.set(true);
                    Ok(())
                })?,
            )?;
            if is_trial {
                end_silence(&lua)?;
            }
            let prelude: Table = lua.load(PRELUDE).set_name("=prelude").call(host)?;
            let chunks = lua.create_table()?;
            for file in spec.modules.iter().chain([script]) {
                chunks.set(stem(&file.name), compiled(&lua, file)?)?;
            }
            Ok(Self {
                chunks,
                user: prelude.get("user")?,
                run: prelude.get("run")?,
                command: prelude.get("command")?,
                lua,
                draws,
                printed,
                reconnects,
                spec: spec.clone(),
                script: stem(&script.name).to_owned(),
                threads: setting.threads,
                called: setting.command.to_owned(),
            })
        };
        made().map_err(|error| broken(&error))
    }

    /// A user's globals: the files have been run, and `init` if there is one.
    pub fn user(&self, tid: u64) -> Result<Table, Trouble> {
        let made = || -> mlua::Result<Result<Table, Trouble>> {
            let arguments = (
                &self.chunks,
                self.script.as_str(),
                self.called.as_str(),
                tid,
                self.threads,
            );
            let env: Table = self.user.call(arguments)?;
            if let Err(trouble) = options::fill(&self.lua, &env, &self.spec)? {
                return Ok(Err(trouble));
            }
            if let Some(init) = env.get::<Option<Function>>("init")? {
                init.call::<()>(())?;
            }
            Ok(Ok(env))
        };
        made().unwrap_or_else(|error| Err(broken(&error)))
    }

    /// `thread_init`, then events until the answer to one is to stop, then `thread_done`. It begins with its user's globals.
    pub fn events(&self) -> Result<Coroutine, Trouble> {
        let made = self.lua.create_thread(self.run.clone());
        made.map(|thread| Coroutine::new(&self.lua, thread))
            .map_err(|error| broken(&error))
    }

    /// A command of the script, and whether threads share it. `None`: it has none of this name.
    pub fn command(&self, env: &Table, name: &str) -> Result<Option<(Coroutine, bool)>, Trouble> {
        let made = || -> mlua::Result<Option<(Coroutine, bool)>> {
            let (body, shared): (Option<Function>, bool) = self.command.call((env, name))?;
            body.map(|body| Ok((Coroutine::new(&self.lua, self.lua.create_thread(body)?), shared)))
                .transpose()
        };
        made().map_err(|error| broken(&error))
    }

    /// Resumes a coroutine of this host, while its user's numbers are drawn. An error is one that ended it, in its words.
    #[inline]
    pub fn resume<'c>(
        &self,
        coroutine: &'c mut Coroutine,
        reply: Reply,
        turn: &Turn,
    ) -> Result<Asked<'c>, String> {
        self.draws.random.swap(&turn.random);
        self.draws.unique.swap(&turn.unique);
        let asked = coroutine.resume(reply);
        self.draws.random.swap(&turn.random);
        self.draws.unique.swap(&turn.unique);
        asked
    }

    /// Whether the script has asked for another session since this was asked last.
    pub fn reconnects(&self) -> bool {
        self.reconnects.take()
    }

    /// Lines that the script has printed since this was asked last.
    pub fn printed(&self) -> Vec<String> {
        self.printed.take()
    }
}

/// Raises an error in a script that runs on and on. What LuaJIT has compiled is not interrupted, so it compiles nothing.
fn end_silence(lua: &Lua) -> mlua::Result<()> {
    let jit: Table = lua.globals().get("jit")?;
    jit.get::<Function>("off")?.call::<()>(())?;
    let begun = Instant::now();
    let every = HookTriggers::new().every_nth_instruction(100_000);
    lua.set_global_hook(every, move |_, _| match begun.elapsed() < TRIAL_MAX {
        true => Ok(VmState::Continue),
        false => Err(mlua::Error::runtime(format!(
            "it has not ended after {} s",
            TRIAL_MAX.as_secs()
        ))),
    })
}

/// Of a trial without a database.
pub const TRIAL_MAX: Duration = Duration::from_secs(10);

/// Statements are distinguished by their texts.
fn preparing(lua: &Lua, statements: Statements) -> mlua::Result<Function> {
    lua.create_function(move |_, sql: String| match &statements {
        Statements::Gathered(gathered) => Ok(gathered.borrow_mut().add(&sql) as f64),
        Statements::Known(known) => match known.place(&sql) {
            Some(place) => Ok(place as f64),
            None => Err(mlua::Error::runtime(format!(
                "{sql}: statements are prepared in thread_init, where all threads prepare the same"
            ))),
        },
    })
}

/// A function that makes the file's chunk, which is so compiled once for all users. What a shell reads of its first line is
/// left out.
fn compiled(lua: &Lua, file: &TextFile) -> mlua::Result<Function> {
    let text = match file.text.strip_prefix('#') {
        Some(rest) => rest.find('\n').map_or("", |end| &rest[end..]),
        None => &file.text,
    };
    // Said of the file as it is, before it becomes part of something else.
    let name = format!("@{}", file.name);
    lua.load(text).set_name(name.as_str()).into_function()?;
    lua.load(format!("return function(...) {text}\nend"))
        .set_name(name)
        .into_function()
}

/// A file's name without folders and ending: what `require` calls it.
pub fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.strip_suffix(".lua").unwrap_or(file)
}

/// As sysbench calls its drivers.
fn driver(dialect: &str) -> &str {
    match dialect {
        "postgresql" => "pgsql",
        "" => "mysql",
        other => other,
    }
}

fn broken(error: &mlua::Error) -> Trouble {
    refuse(
        "script",
        format!("the script failed before anything was asked: {}", words(error)),
        "correct it there",
    )
}
