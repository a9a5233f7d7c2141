//! Sessions that carry out random transactions next to each other for some seconds: what each sent and was answered is a
//! history, which a judge compares with the level that is claimed. (The idea of both: Jepsen and Elle.)
mod bank;
mod lists;

use crate::actor::open;
use crate::{Stage, place_of};
use bakeoff_histories::History;
use bakeoff_histories::bank::Bank;
use bakeoff_histories::level::{Level, Order};
use bakeoff_histories::record::{MicroOp, Outcome as Ended, Phase, Record};
use bakeoff_measure::record::recorder::Recorder;
use bakeoff_measure::threads::ready::ready;
use bakeoff_measure::{Control, Sink, runner, threads, words};
use bakeoff_model::any::AnySql;
use bakeoff_model::event::{Event, Progress};
use bakeoff_model::outcome::{OpError, Outcome, Trouble};
use bakeoff_model::random::SplitMix64;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::time::now_ns;
use bakeoff_model::transaction::{Access, Transactional};
use serde_json::Value;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

pub struct Transactions {
    pub stage: Arc<Stage>,
    pub sessions: u32,
    /// Of each kind of transaction.
    pub duration: Duration,
    pub claim: Option<Level>,
    pub session_setup: Vec<String>,
    /// Where histories are written, a file each.
    pub folder: Option<String>,
}

/// A kind of transaction, with the table that it works on.
trait Kind: Send + Sync + 'static {
    type Prepared;

    /// Of the file and of the evidence.
    fn name(&self) -> &'static str;

    /// Statements that make the table and its rows.
    fn create(&self) -> Vec<String>;
    fn table(&self) -> &'static str;
    async fn prepare(&self, session: &mut AnySql) -> Result<Self::Prepared, OpError>;
    /// The next transaction's operations; reads have no answer yet. `None`: there is nothing left to do.
    fn draw(&self, random: &mut SplitMix64) -> Option<Vec<MicroOp>>;
    /// Carries them out within a transaction, and fills in what was read.
    async fn execute(
        &self,
        session: &mut AnySql,
        prepared: &Self::Prepared,
        ops: &mut Vec<MicroOp>,
    ) -> Result<(), OpError>;
    /// Everything that the table holds at the end.
    async fn read_all(&self, session: &mut AnySql) -> Result<Vec<MicroOp>, OpError>;
    fn judge(&self, history: &History, claim: Option<Level>) -> Result<Value, String>;
}

impl Transactions {
    /// A judgement for each kind of transaction.
    pub fn run(&self, control: &Control, sink: &Sink) -> Result<Value, Trouble> {
        let begun_ns = now_ns();
        sink(ready(
            self.stage.runner,
            self.stage.driver.client(),
            self.sessions as usize,
            self.sessions as usize,
            begun_ns,
        ));
        let mut found = serde_json::Map::new();
        let mut note = |(name, judgement): (&str, Value)| {
            found.insert(name.to_owned(), judgement);
            tell(sink, begun_ns, found.len() as u64);
        };
        note(self.one(lists::Lists::default(), control)?);
        note(self.one(bank::Transfers { relative: true }, control)?);
        note(self.one(bank::Transfers { relative: false }, control)?);
        Ok(Value::Object(found))
    }

    fn one<K: Kind>(&self, kind: K, control: &Control) -> Result<(&'static str, Value), Trouble> {
        let kind = Arc::new(kind);
        run_statements(&self.stage, &self.session_setup, kind.table(), &kind.create())?;
        let outcome = self.records(&kind, control);
        let left = match &outcome {
            Ok(_) => self.read_all(&kind),
            Err(_) => Ok(vec![]),
        };
        let dropped = drop_table(&self.stage, &self.session_setup, kind.table());
        let mut records = outcome?;
        records.push(whole(
            left?,
            records.iter().map(|r| r.return_ns).max().unwrap_or(0),
        ));
        dropped?;
        Ok((kind.name(), self.judged(&*kind, &records)?))
    }

    fn judged<K: Kind>(&self, kind: &K, records: &[Record]) -> Result<Value, Trouble> {
        write_history(self.folder.as_deref(), kind.name(), records)?;
        let defect = |what: String| words::usage(what, kind.name(), "report this as a defect of bakeoff");
        let mut history = History::default();
        for record in records {
            history.push(record).map_err(|what| defect(what.to_owned()))?;
        }
        kind.judge(&history, self.claim).map_err(defect)
    }

    /// Of all sessions, once the time is over.
    fn records<K: Kind>(&self, kind: &Arc<K>, control: &Control) -> Result<Vec<Record>, Trouble> {
        let until = Instant::now() + self.duration;
        let (done, results) = channel();
        for number in 0..self.sessions {
            let (kind, done, stage) = (kind.clone(), done.clone(), self.stage.clone());
            let setup = self.session_setup.clone();
            threads::spawn("session", ", or verify with fewer sessions", move || {
                let recorder = Arc::new(Recorder::new(0, 1, 1));
                let mut records = vec![];
                let lives = runner::of(stage.runner).block_on(
                    recorder,
                    false,
                    user(&stage, &*kind, number, &setup, until, &mut records),
                );
                let _ = done.send(lives.map(|()| records));
            })?;
        }
        drop(done);
        let mut all = vec![];
        let patience = self.duration + 2 * self.stage.timeout;
        for _ in 0..self.sessions {
            if control.is_stopped() {
                return Err(words::usage("stopped", "verify", "run it again"));
            }
            let left = patience.saturating_sub(until.elapsed());
            all.append(&mut results.recv_timeout(left).map_err(|_| words::worker_died())??);
        }
        Ok(all)
    }

    fn read_all<K: Kind>(&self, kind: &Arc<K>) -> Result<Vec<MicroOp>, Trouble> {
        let stage = &self.stage;
        let recorder = Arc::new(Recorder::new(0, 1, 1));
        runner::of(stage.runner).block_on(recorder, false, async {
            let client = stage.driver.open(0).await?;
            let mut session = open(stage, &*client, place_of(stage, 0), &self.session_setup).await?;
            let refuse = |e: OpError| words::server_trouble(&e, &stage.spec.driver, "verify: reading all");
            kind.read_all(&mut session).await.map_err(refuse)
        })
    }
}

/// Makes an experiment's table, in place of one that an earlier experiment left.
pub fn run_statements(
    stage: &Stage,
    setup: &[String],
    table: &str,
    statements: &[String],
) -> Result<(), Trouble> {
    let recorder = Arc::new(Recorder::new(0, 1, 1));
    runner::of(stage.runner).block_on(recorder, false, async {
        let client = stage.driver.open(0).await?;
        let mut session = open(stage, &*client, place_of(stage, 0), setup).await?;
        let refuse =
            |e: OpError| words::server_trouble(&e, &stage.spec.driver, format!("verify: the table {table}"));
        if stage.spec.drop_existing {
            let drop = format!("DROP TABLE IF EXISTS {table}");
            session.execute_text(&drop).await.map_err(refuse)?;
        }
        for statement in statements {
            session.execute_text(statement).await.map_err(refuse)?;
        }
        Ok(())
    })
}

pub fn drop_table(stage: &Stage, setup: &[String], table: &str) -> Result<(), Trouble> {
    let drop = [format!("DROP TABLE {table}")];
    let statements: &[String] = if stage.spec.drop_existing { &[] } else { &drop };
    run_statements(stage, setup, table, statements)
}

fn tell(sink: &Sink, begun_ns: u64, done: u64) {
    sink(Event::Progress(Progress {
        elapsed_s: (now_ns() - begun_ns) as f64 / 1e9,
        done,
        total: 3,
    }));
}

/// One session's transactions, one after another.
async fn user<K: Kind>(
    stage: &Stage,
    kind: &K,
    number: u32,
    setup: &[String],
    until: Instant,
    records: &mut Vec<Record>,
) -> Result<(), Trouble> {
    let client = stage.driver.open(number as usize).await?;
    let endpoint = place_of(stage, number as usize);
    let mut random = SplitMix64(stage.spec.seed ^ (u64::from(number) << 32));
    let mut at_hand = None;
    while Instant::now() < until {
        let (session, prepared) = match &mut at_hand {
            Some(both) => both,
            None => {
                let mut session = open(stage, &*client, endpoint, setup).await?;
                let prepared = kind.prepare(&mut session).await;
                let refuse = |e| words::server_trouble(&e, &stage.spec.driver, "preparing a statement");
                at_hand.insert((session, prepared.map_err(refuse)?))
            }
        };
        let Some(mut ops) = kind.draw(&mut random) else {
            return Ok(());
        };
        let call_ns = now_ns() as i64;
        let (outcome, lost) = transact(kind, session, prepared, &mut ops).await;
        records.push(Record {
            session: number,
            node: endpoint as u32,
            index: records.len() as u64,
            phase: Phase::Load,
            outcome,
            call_ns,
            return_ns: now_ns() as i64,
            ops,
        });
        if lost {
            at_hand = None;
        }
    }
    Ok(())
}

/// How it ended, and whether its session is lost. What failed before the commit was certainly not applied.
async fn transact<K: Kind>(
    kind: &K,
    session: &mut AnySql,
    prepared: &K::Prepared,
    ops: &mut Vec<MicroOp>,
) -> (Ended, bool) {
    let done = match session.begin(Access::default()).await {
        Ok(()) => kind.execute(session, prepared, ops).await,
        Err(error) => Err(error),
    };
    if let Err(error) = done {
        let error = session.undo(error).await;
        return (Ended::Fail, error.connection_lost);
    }
    match session.commit().await {
        Ok(()) => (Ended::Ok, false),
        Err(error) => {
            let outcome = match error.outcome {
                Outcome::Fail(_) => Ended::Fail,
                _ => Ended::Unknown,
            };
            (outcome, session.undo(error).await.connection_lost)
        }
    }
}

/// A transaction that reads everything after all others.
fn whole(ops: Vec<MicroOp>, after_ns: i64) -> Record {
    Record {
        session: u32::MAX,
        node: 0,
        index: 0,
        phase: Phase::Final,
        outcome: Ended::Ok,
        call_ns: after_ns + 1,
        return_ns: after_ns + 2,
        ops,
    }
}

/// A line of JSON for each record, in `FOLDER/NAME.jsonl`; without a folder nothing.
pub fn write_history(folder: Option<&str>, name: &str, records: &[Record]) -> Result<(), Trouble> {
    let Some(folder) = folder else {
        return Ok(());
    };
    let write = || -> std::io::Result<()> {
        let path = std::path::Path::new(folder).join(format!("{name}.jsonl"));
        let mut file = BufWriter::new(std::fs::File::create(path)?);
        for record in records {
            serde_json::to_writer(&mut file, record)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    };
    write().map_err(|error| {
        words::usage(
            format!("the history could not be written: {error}"),
            "run.json: experiment.folder",
            "name a folder that exists, with free space",
        )
    })
}
