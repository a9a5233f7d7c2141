//! Sessions that carry out random transactions next to each other for some seconds: what each sent and was answered is a
//! history, which a judge compares with the level that is claimed. (The idea of both: Jepsen and Elle.)
mod bank;
mod lists;

use crate::actor::{ended, open};
use crate::log::{Log, Span};
use crate::shared::{Own, Table, history, write_history};
use crate::{Stage, defect, place_of};
use bakeoff_histories::History;
use bakeoff_histories::bank::Bank;
use bakeoff_histories::level::{Level, Order};
use bakeoff_histories::record::{MicroOp, Outcome as Ended, Phase, Record};
use bakeoff_histories::verdict::Sufficiency;
use bakeoff_measure::{Sink, threads, words};
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::event::{Event, Progress};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::random::SplitMix64;
use bakeoff_model::time::{now_ns, sleep};
use bakeoff_model::transaction::{Access, Transactional};
use serde_json::Value;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::Poll;
use std::time::{Duration, Instant};

pub struct Transactions {
    pub stage: Arc<Stage>,
    pub sessions: u32,
    /// Of each kind of transaction.
    pub span: Span,
    pub claim: Option<Level>,
    pub session_setup: Vec<String>,
    /// Where histories are written, a file each.
    pub folder: Option<String>,
    /// Faults are carried out meanwhile: how long nodes may be away after the last transaction. 0: none are.
    pub nodes_back_within: Duration,
}

/// Between two tries to reach a node.
const PAUSE: Duration = Duration::from_millis(100);

/// A kind of transaction, with the table that it works on.
trait Kind: Send + Sync + 'static {
    type Prepared;

    /// Of the file and of the evidence.
    fn name(&self) -> &'static str;

    /// Columns of the table besides its key, statements that insert its rows, and how many these are.
    fn rows(&self) -> (&'static str, Vec<String>, u64);
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
    /// Of a history so far; `None` where it cannot be judged.
    fn sufficiency(&self, history: &History) -> Option<Sufficiency>;
}

impl Transactions {
    /// A judgement for each kind of transaction.
    pub fn run(&self, sink: &Sink) -> Result<Value, Trouble> {
        self.stage.tell_ready(sink, self.sessions as usize, now_ns());
        let mut found = serde_json::Map::new();
        let mut note = |(name, judgement): (&str, Value)| found.insert(name.to_owned(), judgement);
        note(self.one(lists::Lists::default(), sink)?);
        note(self.one(bank::Transfers { relative: true }, sink)?);
        note(self.one(bank::Transfers { relative: false }, sink)?);
        Ok(Value::Object(found))
    }

    fn one<K: Kind>(&self, kind: K, sink: &Sink) -> Result<(&'static str, Value), Trouble> {
        let kind = Arc::new(kind);
        let table = Table {
            stage: &self.stage,
            setup: &self.session_setup,
            name: kind.table(),
        };
        let (columns, inserts, rows) = kind.rows();
        table.create(columns, &inserts, rows)?;
        let outcome = self.records(&kind, sink).and_then(|mut records| {
            // Kept even if no node answers any more; `judged` adds what is left.
            write_history(self.folder.as_deref(), kind.name(), &records)?;
            let after_ns = records.iter().map(|record| record.return_ns).max().unwrap_or(0);
            records.push(whole(self.left(&table, &*kind, sink)?, after_ns));
            Ok(records)
        });
        let records = table.drop_after(outcome)?;
        Ok((kind.name(), self.judged(&*kind, &records)?))
    }

    /// What is left in the table once all nodes have answered and agree, or what the first has when it is too late, whether
    /// others answer or not.
    fn left<K: Kind>(&self, table: &Table<'_>, kind: &K, sink: &Sink) -> Result<Vec<MicroOp>, Trouble> {
        let begun = Instant::now();
        let patience = self.stage.timeout.max(self.nodes_back_within);
        if !self.nodes_back_within.is_zero() {
            std::thread::sleep(PAUSE); // until a fault that begins with the last moment has begun
        }
        loop {
            let read = |place| table.on(place, async |session: &mut AnySql| kind.read_all(session).await);
            let of_each: Vec<Result<Vec<MicroOp>, Trouble>> =
                (0..self.stage.places.len()).map(read).collect();
            let agree = |pair: &[Result<_, _>]| matches!(pair, [Ok(one), Ok(other)] if one == other);
            let is_agreed = of_each.windows(2).all(agree);
            let is_late = begun.elapsed() > patience || self.stage.control.is_stopped();
            match of_each.into_iter().next().unwrap_or(Ok(vec![])) {
                Ok(rows) if is_late || is_agreed => return Ok(rows),
                Err(trouble) if is_late || self.nodes_back_within.is_zero() => return Err(trouble),
                _ => {
                    waiting(sink, begun);
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    fn judged<K: Kind>(&self, kind: &K, records: &[Record]) -> Result<Value, Trouble> {
        write_history(self.folder.as_deref(), kind.name(), records)?;
        let history = history(records, kind.name())?;
        kind.judge(&history, self.claim)
            .map_err(|what| defect(what, kind.name()))
    }

    /// Of all sessions, once the time is over.
    fn records<K: Kind>(&self, kind: &Arc<K>, sink: &Sink) -> Result<Vec<Record>, Trouble> {
        let log = Arc::new(Log::new(self.span));
        let (done, ends) = channel();
        for number in 0..self.sessions {
            let (kind, done, stage, log) = (kind.clone(), done.clone(), self.stage.clone(), log.clone());
            let setup = self.session_setup.clone();
            threads::spawn("session", ", or verify with fewer sessions", move || {
                let _ = done.send(stage.block_on(user(&stage, &*kind, number, &setup, &log)));
            })?;
        }
        drop(done);
        let sessions = self.sessions as usize;
        log.gather(&self.stage, sink, &ends, sessions, self.span, |history| {
            kind.sufficiency(history)
        })
    }
}

/// One session's transactions, one after another.
async fn user<K: Kind>(
    stage: &Stage,
    kind: &K,
    number: u32,
    setup: &[String],
    log: &Log,
) -> Result<(), Trouble> {
    let client = stage.driver.open(number as usize).await?;
    let endpoint = place_of(stage, number as usize);
    let mut random = SplitMix64(stage.spec.seed ^ (u64::from(number) << 32));
    let (mut at_hand, mut was_open, mut index) = (None, false, 0);
    while log.goes_on(stage) {
        let (session, prepared) = match &mut at_hand {
            Some(both) => both,
            None => match ready_session(stage, kind, &*client, endpoint, setup).await {
                Ok(both) => {
                    was_open = true;
                    at_hand.insert(both)
                }
                Err(_) if was_open => {
                    sleep(PAUSE).await;
                    continue;
                }
                Err(trouble) => return Err(trouble),
            },
        };
        let Some(mut ops) = kind.draw(&mut random) else {
            return Ok(());
        };
        let call_ns = now_ns() as i64;
        let commits = Cell::new(false);
        let transaction = transact(kind, session, prepared, &mut ops, &commits);
        let (outcome, lost) = match within(stage.timeout, transaction).await {
            Some(ended) => ended,
            None if commits.get() => (Ended::Unknown, true),
            None => (Ended::Fail, true),
        };
        log.add(Record {
            session: number,
            node: endpoint as u32,
            index,
            phase: Phase::Load,
            outcome,
            call_ns,
            return_ns: now_ns() as i64,
            ops,
        });
        index += 1;
        if lost {
            at_hand = None;
        }
    }
    Ok(())
}

async fn ready_session<K: Kind>(
    stage: &Stage,
    kind: &K,
    client: &dyn AnyClient<AnySql>,
    endpoint: usize,
    setup: &[String],
) -> Result<(AnySql, K::Prepared), Trouble> {
    let mut session = open(stage, client, endpoint, setup).await?;
    let prepared = kind.prepare(&mut session).await;
    let refuse = |e| words::server_trouble(&e, &stage.spec.driver, "preparing a statement");
    Ok((session, prepared.map_err(refuse)?))
}

/// What came of this work; `None`: nothing in this time, so it is given up.
async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut late) = (pin!(work), sleep(time));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => Pin::new(&mut late).poll(context).map(|()| None),
    })
    .await
}

/// How it ended, and whether its session, or its node, is lost. commits: set once its commit is sent. What failed before the commit was certainly not applied.
async fn transact<K: Kind>(
    kind: &K,
    session: &mut AnySql,
    prepared: &K::Prepared,
    ops: &mut Vec<MicroOp>,
    commits: &Cell<bool>,
) -> (Ended, bool) {
    let done = match session.begin(Access::default()).await {
        Ok(()) => kind.execute(session, prepared, ops).await,
        Err(error) => Err(error),
    };
    if let Err(error) = done {
        let error = session.undo(error).await;
        return (Ended::Fail, error.connection_lost || error.leave_node);
    }
    commits.set(true);
    match session.commit().await {
        Ok(()) => (Ended::Ok, false),
        Err(error) => {
            let outcome = ended(&error);
            let error = session.undo(error).await;
            (outcome, error.connection_lost || error.leave_node)
        }
    }
}

/// A sign of life, of no kind of transaction.
fn waiting(sink: &Sink, begun: Instant) {
    sink(Event::Progress(Progress {
        elapsed_s: begun.elapsed().as_secs_f64(),
        done: 0,
        total: 0,
    }));
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
