//! Sessions that write and read versions of a few keys, on every node of a system: how old is what is read, and what may a
//! session expect of its own past. The judge: `bakeoff_histories::register`.
use crate::actor::open;
use crate::transactions::{drop_table, run_statements, write_history};
use crate::{Stage, place_of};
use bakeoff_histories::History;
use bakeoff_histories::record::{Answer, MicroOp, Outcome as Ended, Phase, Record};
use bakeoff_histories::register::{Claims, judge};
use bakeoff_measure::record::recorder::Recorder;
use bakeoff_measure::threads::ready::ready;
use bakeoff_measure::{Control, Sink, runner, threads, words};
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::outcome::{OpError, Outcome, Trouble};
use bakeoff_model::random::SplitMix64;
use bakeoff_model::sql::{Ask, SqlSession, Statement};
use bakeoff_model::time::{now_ns, sleep, sleep_until};
use bakeoff_model::value::Value;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

const TABLE: &str = "bakeoff_probe";
/// Of the writer; each client has one more of its own.
const KEYS: u64 = 16;

pub struct Staleness {
    pub stage: Arc<Stage>,
    pub duration: Duration,
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
    /// Reads any key.
    Reader { node: usize },
    /// Writes its own key, reads it on the next of these nodes, and then any other key.
    Client {
        key: u64,
        writes: usize,
        reads: Vec<usize>,
    },
}

/// A session on one node.
struct At {
    node: usize,
    session: AnySql,
    read: Statement,
    write: Statement,
}

impl Staleness {
    pub fn run(&self, control: &Control, sink: &Sink) -> Result<serde_json::Value, Trouble> {
        let roles = self.roles();
        let begun_ns = now_ns();
        sink(ready(
            self.stage.runner,
            self.stage.driver.client(),
            roles.len(),
            roles.len(),
            begun_ns,
        ));
        let keys = KEYS + roles.len() as u64;
        let rows: Vec<String> = (0..keys).map(|id| format!("({id}, 0)")).collect();
        let create = [
            format!("CREATE TABLE {TABLE} (id INT NOT NULL PRIMARY KEY, value BIGINT NOT NULL)"),
            format!("INSERT INTO {TABLE} (id, value) VALUES {}", rows.join(", ")),
        ];
        run_statements(&self.stage, &self.session_setup, TABLE, &create)?;
        let outcome = self.records(&roles, keys, control);
        let dropped = drop_table(&self.stage, &self.session_setup, TABLE);
        let records = outcome?;
        dropped?;
        self.judged(&records)
    }

    /// A writer, a reader on each node, a client on each node, and one that goes from node to node.
    fn roles(&self) -> Vec<Role> {
        let nodes = self.stage.spec.driver.endpoints().len().max(1);
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

    fn records(&self, roles: &[Role], keys: u64, control: &Control) -> Result<Vec<Record>, Trouble> {
        let (done, results) = channel();
        for (number, role) in (0u32..).zip(roles) {
            let (done, stage, role) = (done.clone(), self.stage.clone(), role.clone());
            let setup = self.session_setup.clone();
            let rate = match role {
                Role::Reader { .. } => self.reads_per_s,
                Role::Writer { .. } | Role::Client { .. } => self.writes_per_s,
            };
            let user = User {
                number,
                role,
                keys,
                rate,
                duration: self.duration,
            };
            threads::spawn("session", "", move || {
                let recorder = Arc::new(Recorder::new(0, 1, 1));
                let mut records = vec![];
                let lives = runner::of(stage.runner).block_on(recorder, false, async {
                    user.live(&stage, &setup, &mut records).await
                });
                let _ = done.send(lives.map(|()| records));
            })?;
        }
        drop(done);
        let mut all = vec![];
        for _ in roles {
            if control.is_stopped() {
                return Err(words::usage("stopped", "verify", "run it again"));
            }
            let patience = self.duration + 3 * self.stage.timeout;
            all.append(
                &mut results
                    .recv_timeout(patience)
                    .map_err(|_| words::worker_died())??,
            );
        }
        Ok(all)
    }

    fn judged(&self, records: &[Record]) -> Result<serde_json::Value, Trouble> {
        write_history(self.folder.as_deref(), "staleness", records)?;
        let defect = |what: String| words::usage(what, "staleness", "report this as a defect of bakeoff");
        let mut history = History::default();
        for record in records {
            history.push(record).map_err(|what| defect(what.to_owned()))?;
        }
        let report = judge(&history, &self.claims).map_err(|error| defect(error.to_string()))?;
        serde_json::to_value(report).map_err(|error| defect(error.to_string()))
    }
}

struct User {
    number: u32,
    role: Role,
    keys: u64,
    rate: f64,
    duration: Duration,
}

impl User {
    async fn live(&self, stage: &Stage, setup: &[String], records: &mut Vec<Record>) -> Result<(), Trouble> {
        let client = stage.driver.open(self.number as usize).await?;
        let (writes, reads) = match &self.role {
            Role::Writer { node } => (Some(*node), vec![]),
            Role::Reader { node } => (None, vec![*node]),
            Role::Client { writes, reads, .. } => (Some(*writes), reads.clone()),
        };
        let mut readers = vec![];
        for node in reads {
            let mut at = self.at(stage, &*client, setup, node).await?;
            wait_for_rows(stage, &mut at, self.keys).await?;
            readers.push(at);
        }
        let mut writer = match writes {
            Some(node) => Some(self.at(stage, &*client, setup, node).await?),
            None => None,
        };
        let mut random = SplitMix64(stage.spec.seed ^ (u64::from(self.number) << 32));
        let until_ns = now_ns() + self.duration.as_nanos() as u64;
        let (mut due_ns, mut version, mut turn) = (now_ns(), 0, 0);
        while due_ns < until_ns {
            sleep_until(due_ns).await;
            due_ns += (random.exponential() / self.rate * 1e9) as u64;
            match (&self.role, &mut writer) {
                (Role::Client { key, .. }, Some(writer)) => {
                    version += 1;
                    self.write(writer, *key, version, records).await;
                    let count = readers.len();
                    let reader = &mut readers[turn % count];
                    self.read(reader, *key, records).await;
                    self.read(reader, random.draw() % KEYS, records).await;
                    turn += 1;
                }
                (_, Some(writer)) => {
                    version += 1;
                    self.write(writer, random.draw() % KEYS, version, records).await;
                }
                (_, None) => {
                    for reader in &mut readers {
                        self.read(reader, random.draw() % self.keys, records).await;
                    }
                }
            }
        }
        Ok(())
    }

    async fn at(
        &self,
        stage: &Stage,
        client: &dyn AnyClient<AnySql>,
        setup: &[String],
        node: usize,
    ) -> Result<At, Trouble> {
        let mut session = open(stage, client, node, setup).await?;
        let (first, second) = (session.dialect().placeholder(1), session.dialect().placeholder(2));
        let read = format!("SELECT value FROM {TABLE} WHERE id = {first}");
        let write = format!("UPDATE {TABLE} SET value = {first} WHERE id = {second}");
        let refuse = |e: OpError| words::server_trouble(&e, &stage.spec.driver, "preparing a statement");
        // A replica may not have the table yet.
        let give_up_ns = now_ns() + stage.timeout.as_nanos() as u64;
        let read = loop {
            match session.prepare(&Ask::read(&read)).await {
                Ok(statement) => break statement,
                Err(error) if now_ns() > give_up_ns || error.connection_lost => return Err(refuse(error)),
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        };
        Ok(At {
            read,
            write: session.prepare(&Ask::write(&write)).await.map_err(refuse)?,
            node,
            session,
        })
    }

    async fn write(&self, at: &mut At, key: u64, version: i64, records: &mut Vec<Record>) {
        let call_ns = now_ns();
        let params = [Value::Int(version), Value::Int(key as i64)];
        let outcome = match at.session.execute(at.write, &params).await {
            Ok(_) => Ended::Ok,
            Err(error) if matches!(error.outcome, Outcome::Fail(_)) => Ended::Fail,
            Err(_) => Ended::Unknown,
        };
        self.note(at.node, outcome, call_ns, MicroOp::Write(key, version), records);
    }

    async fn read(&self, at: &mut At, key: u64, records: &mut Vec<Record>) {
        let call_ns = now_ns();
        let found = at.session.query_one(at.read, &[Value::Int(key as i64)]).await;
        let value = found.map(|row| row.and_then(|row| row.cell(0)).and_then(Value::whole_number));
        let (outcome, op) = match value {
            // Version 0 is the row before any write.
            Ok(None | Some(0)) => (Ended::Ok, MicroOp::Read(key, Answer::Nothing)),
            Ok(Some(version)) => (Ended::Ok, MicroOp::Read(key, Answer::Value(version))),
            Err(_) => (Ended::Fail, MicroOp::Unanswered(key)),
        };
        self.note(at.node, outcome, call_ns, op, records);
    }

    fn note(&self, node: usize, outcome: Ended, call_ns: u64, op: MicroOp, records: &mut Vec<Record>) {
        records.push(Record {
            session: self.number,
            node: node as u32,
            index: records.len() as u64,
            phase: Phase::Load,
            outcome,
            call_ns: call_ns as i64,
            return_ns: now_ns() as i64,
            ops: vec![op],
        });
    }
}

/// A replica may not have the rows yet.
async fn wait_for_rows(stage: &Stage, at: &mut At, keys: u64) -> Result<(), Trouble> {
    let give_up_ns = now_ns() + stage.timeout.as_nanos() as u64;
    loop {
        let last = at
            .session
            .query_one(at.read, &[Value::Int(keys as i64 - 1)])
            .await;
        match last {
            Ok(Some(_)) => return Ok(()),
            _ if now_ns() > give_up_ns => {
                return Err(words::usage(
                    format!(
                        "a node has no rows of {TABLE} after {} s",
                        stage.timeout.as_secs_f64()
                    ),
                    "verify: staleness",
                    "does it replicate? its log is in the bundle",
                ));
            }
            _ => sleep(Duration::from_millis(20)).await,
        }
    }
}
