//! Sessions that write and read versions of a few keys, on every node of a system: how old is what is read, and what may a
//! session expect of its own past. The judge: `bakeoff_histories::register`.
use crate::log::{Log, Span};
use crate::shared::{Own, write_history};
use crate::versions::{At, KEYS, Versions, judged, record};
use crate::{Stage, place_of, versions};
use bakeoff_histories::record::{MicroOp, Outcome, Record};
use bakeoff_histories::register::{Claims, judge};
use bakeoff_measure::{Sink, threads};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::random::SplitMix64;
use bakeoff_model::time::{now_ns, sleep, sleep_until};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

pub struct Staleness<S> {
    pub stage: Arc<Stage<S>>,
    pub span: Span,
    pub writes_per_s: f64,
    /// Of each reader.
    pub reads_per_s: f64,
    pub claims: Claims,
    pub session_setup: Vec<String>,
    pub folder: Option<String>,
}

/// What a session does, over and over. Nodes are places in the system's list of endpoints.
#[derive(Clone)]
enum Role {
    /// Writes the next version of any of the first keys.
    Writer { node: usize },
    /// Reads a client's key or any of the first, and then any of the first.
    Reader { node: usize },
    /// Writes its own key, reads it on the next of these nodes, and then any other key.
    Client {
        key: u64,
        writes: usize,
        reads: Vec<usize>,
    },
}

impl<S: Versions> Staleness<S> {
    pub fn run(&self, sink: &Sink) -> Result<serde_json::Value, Trouble> {
        let roles = self.roles();
        self.stage.tell_ready(sink, roles.len(), now_ns());
        let clients = roles.iter().filter(|role| matches!(role, Role::Client { .. }));
        let keys = KEYS + clients.count() as u64;
        let table = versions::make(&self.stage, &self.session_setup, keys)?;
        let records = table.drop_after(self.records(&roles, keys, sink))?;
        write_history(self.folder.as_deref(), "staleness", &records)?;
        judged(&records, &self.claims)
    }

    /// A writer, a reader on each node, a client on each node, and one that goes from node to node.
    fn roles(&self) -> Vec<Role> {
        let nodes = self.stage.nodes();
        // Where every node takes writes, a client writes on its own.
        let writes = |node: usize| match self.stage.places.contains(&(node as u32)) {
            true => node,
            false => place_of(&self.stage, 0),
        };
        let mut roles = vec![Role::Writer {
            node: place_of(&self.stage, 0),
        }];
        roles.extend((0..nodes).map(|node| Role::Reader { node }));
        roles.extend((0..nodes).map(|node| Role::Client {
            key: KEYS + node as u64,
            writes: writes(node),
            reads: vec![node],
        }));
        if nodes > 1 {
            roles.push(Role::Client {
                key: KEYS + nodes as u64,
                writes: place_of(&self.stage, 0),
                reads: (0..nodes).collect(),
            });
        }
        roles
    }

    fn records(&self, roles: &[Role], keys: u64, sink: &Sink) -> Result<Vec<Record>, Trouble> {
        let log = Arc::new(Log::new(self.span));
        let (done, ends) = channel();
        for (number, role) in (0u32..).zip(roles) {
            let (done, stage, role, log) = (done.clone(), self.stage.clone(), role.clone(), log.clone());
            let setup = self.session_setup.clone();
            let rate = match role {
                Role::Reader { .. } => self.reads_per_s,
                Role::Writer { .. } | Role::Client { .. } => self.writes_per_s,
            };
            let mut user = User {
                number,
                role,
                keys,
                rate,
                recorded: 0,
                log,
            };
            threads::spawn("session", "", move || {
                let _ = done.send(stage.block_on(user.live(&stage, &setup)));
            })?;
        }
        drop(done);
        let sufficiency = |history: &_| Some(judge(history, &Claims::default()).ok()?.sufficiency());
        log.gather(&self.stage, sink, &ends, roles.len(), self.span, sufficiency)
    }
}

struct User {
    number: u32,
    role: Role,
    keys: u64,
    rate: f64,
    recorded: usize,
    log: Arc<Log>,
}

impl User {
    async fn live<S: Versions>(&mut self, stage: &Stage<S>, setup: &[String]) -> Result<(), Trouble> {
        let client = stage.driver.open(self.number as usize).await?;
        let (writes, reads) = match &self.role {
            Role::Writer { node } => (Some(*node), vec![]),
            Role::Reader { node } => (None, vec![*node]),
            Role::Client { writes, reads, .. } => (Some(*writes), reads.clone()),
        };
        let mut places = vec![];
        for node in reads.into_iter().chain(writes) {
            places.push(At::open(stage, &*client, setup, node).await?);
        }
        let readers = places.len() - usize::from(writes.is_some());
        let mut random = SplitMix64(stage.spec.seed ^ (u64::from(self.number) << 32));
        let (mut due_ns, mut version, mut turn) = (now_ns(), 0, 0);
        while self.log.goes_on(stage) {
            sleep_until(due_ns).await;
            // What is overdue falls due now: the session goes on as fast as it is answered.
            due_ns = (due_ns + (random.exponential() / self.rate * 1e9) as u64).max(now_ns());
            let any = random.below(KEYS);
            let reads = turn % readers.max(1);
            turn += 1;
            if writes.is_some() {
                version += 1;
                let key = match self.role {
                    Role::Client { key, .. } => key,
                    _ => any,
                };
                self.write(&mut places[readers], key, version).await;
            }
            // What depends on another's write is read before that.
            match self.role {
                Role::Client { key, .. } => {
                    self.read(&mut places[reads], key).await;
                    self.read(&mut places[reads], any).await;
                }
                Role::Reader { .. } => {
                    // A client's, or another of the writer's.
                    let first = match random.one_in(2) {
                        true => KEYS + random.below(self.keys - KEYS),
                        false => random.below(KEYS),
                    };
                    self.read(&mut places[reads], first).await;
                    self.read(&mut places[reads], any).await;
                }
                Role::Writer { .. } => {}
            }
            for at in places.iter_mut().filter(|at| at.is_lost) {
                match At::open(stage, &*client, setup, at.node).await {
                    Ok(again) => *at = again,
                    Err(_) => sleep(Duration::from_millis(100)).await,
                }
            }
        }
        Ok(())
    }

    async fn write<S: Versions>(&mut self, at: &mut At<S>, key: u64, version: i64) {
        let call_ns = now_ns();
        let done = (at.write(key, version).await, MicroOp::Write(key, version));
        self.record(at.node, call_ns, done);
    }

    async fn read<S: Versions>(&mut self, at: &mut At<S>, key: u64) {
        let call_ns = now_ns();
        let done = at.read(key).await;
        self.record(at.node, call_ns, done);
    }

    fn record(&mut self, node: usize, call_ns: u64, done: (Outcome, MicroOp)) {
        self.log
            .add(record(self.number, node, self.recorded, call_ns, done));
        self.recorded += 1;
    }
}
