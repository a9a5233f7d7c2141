//! sysbench's scripts in Lua, unchanged: the original's own, sysbench-tpcc, and users'.
//!
//! This file is the table of contents. `prelude.lua` is what sysbench gives its scripts, `host` the Lua state they are in,
//! `coroutine` is a user in it, and `play` carries out what one asks; `prepared` are those it prepares, `random` draws their numbers, `options` are theirs.
//! `trial` finds out, without a database, what they prepare and which tables they make; `resolve` decides a plan's options.
mod coroutine;
mod host;
mod options;
mod play;
mod prepared;
mod random;
mod resolve;
mod trial;

use crate::account::{Account, Accounts, Evidence};
use crate::prelude::*;
use crate::rng::{Random, Stream, StreamHash, mix};
use crate::tables;
use crate::trouble::check_client;
use bakeoff_model::run::lua::LuaSpec;
use coroutine::{Coroutine, Reply};
use host::{Host, Setting, Statements, Turn};
use play::{Course, Rest, play, script};
use prepared::Prepared;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

pub use resolve::KIND;

/// Raised when the same options and seed give other data or other operations than before. Part of a data set's identity.
pub const GENERATOR_VERSION: u32 = 1;

/// Those who call `prepare` and checks, so that none draws what a user of a run does.
const OTHERS: u64 = 1 << 40;
/// Parts of the numbers that are handed out once.
const TURNS: u64 = 64;

pub struct Lua {
    spec: Arc<LuaSpec>,
    seed: u64,
    client: ClientSpec,
    dialect: String,
    /// As the script sees them in a run.
    threads: u32,
    operation: [Operation; 1],
    tables: Vec<String>,
    prepared: Arc<Prepared>,
    accounts: Accounts,
}

/// One user.
pub struct Thread {
    number: u64,
    stream: Stream,
    seed: u64,
    turn: Turn,
    env: Option<mlua::Table>,
    /// `None`: `thread_init` is to be called, for a session that the script does not know.
    coroutine: Option<Coroutine>,
    course: Course,
    account: Arc<Account>,
    hash: StreamHash,
}

impl Lua {
    /// `dialect`: the name of the driver's. `threads`: of a run's client; `None` in the phases before and after it.
    pub fn new(
        spec: &LuaSpec,
        seed: u64,
        client: ClientSpec,
        dialect: &str,
        threads: Option<u32>,
    ) -> Result<Self, Trouble> {
        check_client(client)?;
        check_bounds(spec, "workload")?;
        let spec = Arc::new(spec.clone());
        let users = threads.map_or(0, |threads| threads.saturating_mul(client.count));
        let lua = Self {
            operation: [Operation::new(resolve::name(&spec))],
            tables: resolve::tables(&spec, dialect)?,
            prepared: Arc::default(),
            accounts: Accounts::default(),
            dialect: dialect.to_owned(),
            threads: spec.script_threads.max(users),
            seed,
            client,
            spec,
        };
        let prepared = match threads {
            Some(_) => trial::statements(&lua.spec, lua.setting("run"))?,
            None => Prepared::default(),
        };
        Ok(Self {
            prepared: Arc::new(prepared),
            ..lua
        })
    }

    fn setting<'s>(&'s self, command: &'s str) -> Setting<'s> {
        let setting = trial::setting(command, &self.spec, &self.dialect);
        match command {
            "run" => Setting {
                threads: self.threads,
                ..setting
            },
            _ => setting,
        }
    }

    /// Numbers that are handed out once are others in each turn, and in the load.
    fn turn(&self, stream: u64) -> Turn {
        let (turn, place) = match stream.checked_sub(OTHERS) {
            Some(tid) => (TURNS - 1, tid),
            None => (self.spec.turn % (TURNS - 1), stream),
        };
        let first = turn * (random::UNIQUE / TURNS) + place;
        Turn {
            random: RefCell::new(Random::new(mix(self.seed, stream))),
            unique: Cell::new(first),
        }
    }

    /// One of the threads that carry out a command of the script; returns what it printed. Nothing of it is tried again: what it
    /// has made is there.
    async fn command(&self, name: &str, tid: u64, session: &mut AnySql) -> Result<Vec<String>, OpError> {
        let made = |trouble: Trouble| script(trouble.to_string());
        let host = Host::new(
            &self.spec,
            self.setting(name),
            Statements::Known(self.prepared.clone()),
        )
        .map_err(made)?;
        let env = host.user(tid).map_err(made)?;
        let Some((mut coroutine, shared)) = host.command(&env, name).map_err(made)? else {
            return Err(script(format!("the script has no command `{name}`")));
        };
        if tid > 0 && !shared {
            return Ok(vec![]);
        }
        let (turn, mut course) = (self.turn(OTHERS + tid), Course::default());
        let rest = play(
            &host,
            &mut coroutine,
            Reply::Go,
            &turn,
            &self.prepared,
            &mut course,
            session,
        )
        .await;
        match rest {
            Ok(Rest::Failed(mut error)) | Err(mut error) => {
                error.outcome = Outcome::Fail(FailClass::Other);
                Err(course.undo(error, session).await)
            }
            Ok(_) => Ok(host.printed()),
        }
    }

    /// An attempt at an event. A coroutine is put back once it may go on.
    async fn event(&self, host: &Host, thread: &mut Thread, session: &mut AnySql) -> Result<(), OpError> {
        let Thread { turn, course, .. } = thread;
        let mut coroutine = match thread.coroutine.take() {
            Some(coroutine) => coroutine,
            None => {
                let made = |trouble: Trouble| script(trouble.to_string());
                let env = match thread.env.take() {
                    Some(env) => env,
                    None => host.user(thread.number).map_err(made)?,
                };
                let mut coroutine = host.events().map_err(made)?;
                thread.env = Some(env.clone());
                match play(
                    host,
                    &mut coroutine,
                    Reply::Begin(env),
                    turn,
                    &self.prepared,
                    course,
                    session,
                )
                .await?
                {
                    Rest::Failed(error) => return Err(error),
                    Rest::Ended | Rest::Over => {
                        // It was no event.
                        course.unsent = 0;
                        coroutine
                    }
                }
            }
        };
        turn.random.replace(Random::new(thread.seed));
        let rest = play(
            host,
            &mut coroutine,
            Reply::Go,
            turn,
            &self.prepared,
            course,
            session,
        )
        .await?;
        if !course.reconnects {
            thread.coroutine = Some(coroutine);
        }
        match rest {
            Rest::Failed(error) => Err(error),
            Rest::Ended | Rest::Over => Ok(()),
        }
    }
}

/// A thread's Lua state, made when it is wanted.
pub struct Worker {
    host: OnceCell<Result<Host, String>>,
}

impl Worker {
    #[inline]
    fn host(&self, lua: &Lua) -> Result<&Host, OpError> {
        let made = self.host.get_or_init(|| {
            let statements = Statements::Known(lua.prepared.clone());
            Host::new(&lua.spec, lua.setting("run"), statements).map_err(|trouble| trouble.to_string())
        });
        made.as_ref().map_err(script)
    }
}

impl Workload for Lua {
    type Session = AnySql;
    type Worker = Worker;
    type Thread = Thread;
    type Evidence = Evidence;

    fn operations(&self) -> &[Operation] {
        &self.operation
    }

    fn needs(&self) -> Needs {
        needs()
    }

    fn worker(&self, _worker: usize) -> Worker {
        Worker {
            host: OnceCell::new(),
        }
    }

    fn thread(&self, _worker: &Worker, id: ThreadId) -> Thread {
        Thread {
            number: id.stream,
            stream: Stream::new(mix(self.seed, self.spec.turn), id.stream),
            seed: 0,
            turn: self.turn(id.stream),
            env: None,
            coroutine: None,
            course: Course::default(),
            account: self.accounts.open(),
            hash: StreamHash::default(),
        }
    }

    async fn attach(&self, session: &mut AnySql) -> Result<(), OpError> {
        self.prepared.prepare(session).await
    }

    #[inline]
    fn next(&self, _worker: &Worker, thread: &mut Thread) -> usize {
        thread.seed = thread.stream.next_seed();
        thread.course.reconnects = false;
        thread.hash.add([thread.seed]);
        0
    }

    #[inline]
    async fn execute(
        &self,
        worker: &Worker,
        thread: &mut Thread,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        let done = self.event(worker.host(self)?, thread, session).await;
        let done = match done {
            Ok(()) => Ok(Answer::Right),
            Err(error) => Err(thread.course.undo(error, session).await),
        };
        probe.queries(std::mem::take(&mut thread.course.queries));
        done
    }

    #[inline]
    fn settle(&self, _worker: &Worker, thread: &mut Thread, ended: Ended, probe: &mut dyn Probe) {
        if ended.session_lost {
            self.abandon(thread, probe);
            thread.coroutine = None;
            thread.course.open = false;
        }
        if ended.outcome == Outcome::Ok {
            thread.account.writes_acknowledged.add(1);
        }
    }

    #[inline]
    fn wants_new_session(&self, thread: &Thread) -> bool {
        thread.course.reconnects
    }

    /// `thread_done` may send what an event has left, as sysbench's `bulk_insert.lua` does.
    fn owes(&self, thread: &Thread) -> bool {
        let has_end = |env: &mlua::Table| env.contains_key("thread_done").unwrap_or_default();
        thread.coroutine.is_some() && thread.env.as_ref().is_some_and(has_end)
    }

    async fn finish(
        &self,
        worker: &Worker,
        thread: &mut Thread,
        session: &mut AnySql,
        _probe: &mut dyn Probe,
    ) -> Result<(), OpError> {
        let Some(mut coroutine) = thread.coroutine.take() else {
            return Ok(());
        };
        let Thread { turn, course, .. } = thread;
        let host = worker.host(self)?;
        play(
            host,
            &mut coroutine,
            Reply::Stop,
            turn,
            &self.prepared,
            course,
            session,
        )
        .await?;
        course.unsent = 0;
        Ok(())
    }

    /// Events that had sent nothing, as rows of a bulk insert have not, were counted.
    fn abandon(&self, thread: &mut Thread, probe: &mut dyn Probe) {
        probe.revoke(std::mem::take(&mut thread.course.unsent));
    }

    fn stream_hash(&self, thread: &Thread) -> u64 {
        thread.hash.value()
    }

    /// `prepare` makes the tables: it follows.
    async fn create(&self, session: &mut AnySql, drop_existing: bool) -> Result<(), Trouble> {
        tables::make_way(session, &self.tables_to_drop(), drop_existing).await
    }

    async fn drop(&self, session: &mut AnySql) -> Result<(), Trouble> {
        tables::drop_all(session, &self.tables_to_drop()).await
    }

    /// One for each thread that `prepare` is called by, dealt out among the clients.
    fn after_load_steps(&self) -> u64 {
        let (threads, index, count) = (self.spec.script_threads, self.client.index, self.client.count);
        u64::from(threads.saturating_sub(index).div_ceil(count))
    }

    async fn after_load(&self, session: &mut AnySql, step: u64) -> Result<(), OpError> {
        let tid = u64::from(self.client.index) + step * u64::from(self.client.count);
        self.command("prepare", tid, session).await.map(drop)
    }

    async fn scan_all(&self, session: &mut AnySql) -> Result<u64, OpError> {
        tables::read_all(session, &self.tables).await
    }

    async fn check(
        &self,
        session: &mut AnySql,
        _done: &[Option<Evidence>],
        _spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        let Some(name) = &self.spec.check else {
            return Ok(vec![]);
        };
        let mut lines = vec![];
        for tid in 0..self.spec.script_threads {
            match self.command(name, tid.into(), session).await {
                Ok(printed) => lines.extend(printed),
                Err(error) if error.connection_lost => return Err(error),
                Err(error) => lines.push(format!("FAILED: {error}")),
            }
        }
        let failed: Vec<&String> = lines.iter().filter(|line| line.contains("FAILED")).collect();
        Ok(vec![Check {
            name: format!("`{name}` of the script"),
            ok: failed.is_empty(),
            expected: "no line with FAILED".into(),
            actual: match failed.first() {
                Some(first) => format!("{} of {} lines, first: {first}", failed.len(), lines.len()),
                None => format!("none among {} lines", lines.len()),
            },
            evidence: lines.iter().take(LINES_KEPT).cloned().collect(),
        }])
    }

    fn evidence(&self) -> Evidence {
        self.accounts.evidence()
    }
}

/// Lines of a check that a bundle keeps.
const LINES_KEPT: usize = 50;

impl Lua {
    /// What was made last goes first: it may refer to what was made before it.
    fn tables_to_drop(&self) -> Vec<String> {
        self.tables.iter().rev().cloned().collect()
    }
}

/// What a script has set in its session holds for its user alone.
pub fn needs() -> Needs {
    Needs {
        offers: Offers::of(&[Offer::Transactions]),
        own_session: true,
        ..Needs::default()
    }
}
