//! A session on a thread of its own. Sessions of every runner are driven in the same way: by one statement at a time, and a
//! caller that need not wait for the answer.
use crate::{Stage, silent};
use bakeoff_histories::record::Outcome as Ended;
use bakeoff_measure::{threads, words};
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::needs::{Affected, Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Outcome, Trouble};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::StepAnswer;
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::time::now_ns;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

pub const NEEDS: Needs = Needs {
    offers: Offers::of(&[Offer::Transactions]),
    affected: Affected::Found,
    affected_if_offered: true,
    value_bytes: 0,
    patches: false,
    own_session: true,
    otherwise: "",
};

/// What a session is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Begin,
    Commit,
    Rollback,
    /// A query for ids and values.
    Read(String),
    Write(String),
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begin => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
            Self::Read(sql) | Self::Write(sql) => sql,
        })
    }
}

/// A session as an actor has it.
pub trait Acting: Sized {
    /// What its driver opens.
    type Opened: 'static;
    /// What it can be asked to do.
    type Act: Send + 'static;
    type Answer: Send + 'static;

    async fn open(
        stage: &Stage<Self::Opened>,
        client: &dyn AnyClient<Self::Opened>,
        endpoint: usize,
        setup: &[String],
    ) -> Result<Self, Trouble>;
    async fn carry_out(&mut self, act: &Self::Act) -> Reply<Self::Answer>;
}

/// What came of an act, and when it was sent and answered.
pub struct Reply<A = StepAnswer> {
    pub answer: A,
    pub outcome: Ended,
    pub is_lost: bool,
    pub call_ns: u64,
    pub return_ns: u64,
}

/// The session ends when this is dropped, or once the statement that it waits for has been answered.
pub struct Actor<S: Acting = AnySql> {
    acts: Sender<S::Act>,
    replies: Receiver<Reply<S::Answer>>,
}

impl<S: Acting> Actor<S> {
    /// Connects to this endpoint, and returns when the session can be used.
    pub fn open(
        stage: &Arc<Stage<S::Opened>>,
        number: usize,
        endpoint: usize,
        setup: &[String],
    ) -> Result<Self, Trouble> {
        let (acts, to_do) = channel();
        let (done, replies) = channel();
        let (opened, is_open) = channel();
        let (own, setup) = (stage.clone(), setup.to_vec());
        threads::spawn("actor", "", move || {
            let refused = opened.clone();
            let lives = own.block_on(async {
                let client = own.driver.open(number).await?;
                let mut session = S::open(&own, &*client, endpoint, &setup).await?;
                let _ = opened.send(Ok(()));
                while let Ok(act) = to_do.recv() {
                    if done.send(session.carry_out(&act).await).is_err() {
                        break;
                    }
                }
                Ok(())
            });
            if let Err(trouble) = lives {
                let _ = refused.send(Err(trouble));
            }
        })?;
        match is_open.recv_timeout(stage.timeout) {
            Ok(result) => result.map(|()| Self { acts, replies }),
            Err(RecvTimeoutError::Timeout) => Err(silent(stage, "no session could be opened")),
            Err(RecvTimeoutError::Disconnected) => Err(words::worker_died()),
        }
    }

    pub fn ask(&self, act: S::Act) {
        // A thread that is gone has no answer either, which is what the caller then sees.
        let _ = self.acts.send(act);
    }

    /// To the last act; `None`: not within this time, or the session has ended.
    pub fn reply(&self, within: Duration) -> Option<Reply<S::Answer>> {
        self.replies.recv_timeout(within).ok()
    }
}

impl Actor {
    /// The answer alone; `None`: not within this time.
    pub fn answer(&self, within: Duration) -> Option<StepAnswer> {
        match self.replies.recv_timeout(within) {
            Ok(reply) => Some(reply.answer),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(StepAnswer::None),
        }
    }
}

impl Acting for AnySql {
    type Opened = Self;
    type Act = Act;
    type Answer = StepAnswer;

    async fn open(
        stage: &Stage,
        client: &dyn AnyClient<Self>,
        endpoint: usize,
        setup: &[String],
    ) -> Result<Self, Trouble> {
        open(stage, client, endpoint, setup).await
    }

    /// A failed statement's transaction is rolled back at once.
    async fn carry_out(&mut self, act: &Act) -> Reply {
        let call_ns = now_ns();
        let answer = match act {
            Act::Begin => self.begin(Access::default()).await.map(|()| done(None)),
            Act::Commit => self.commit().await.map(|()| done(None)),
            Act::Rollback => self.rollback().await.map(|()| done(None)),
            Act::Read(sql) => rows_of(self, sql).await.map(|rows| StepAnswer::Rows { rows }),
            Act::Write(sql) => self.execute_text(sql).await.map(|d| done(d.affected)),
        };
        let return_ns = now_ns();
        let (answer, outcome, is_lost) = match answer {
            Ok(answer) => (answer, Ended::Ok, false),
            Err(error) => {
                let outcome = ended(&error);
                let error = self.undo(error).await;
                let answer = StepAnswer::Error {
                    code: error.code.clone(),
                    message: error.message.clone(),
                };
                (answer, outcome, error.connection_lost)
            }
        };
        Reply {
            answer,
            outcome,
            is_lost,
            call_ns,
            return_ns,
        }
    }
}

/// Connects, and prepares the session as the experiment says.
pub async fn open(
    stage: &Stage,
    client: &dyn AnyClient<AnySql>,
    endpoint: usize,
    setup: &[String],
) -> Result<AnySql, Trouble> {
    let refuse = |e: OpError| words::server_trouble(&e, &stage.spec.driver, "opening a session");
    let mut session = client.session(endpoint, NEEDS).await.map_err(refuse)?;
    for statement in setup {
        session.execute_text(statement).await.map_err(refuse)?;
    }
    Ok(session)
}

/// As histories say it.
pub fn ended(error: &OpError) -> Ended {
    match error.outcome {
        Outcome::Fail(_) => Ended::Fail,
        _ => Ended::Unknown,
    }
}

fn done(affected: Option<u64>) -> StepAnswer {
    StepAnswer::Done { affected }
}

/// Of a query for ids and values.
pub async fn rows_of(session: &mut AnySql, sql: &str) -> Result<Vec<(i64, i64)>, OpError> {
    let statement = session.prepare(&Ask::read(sql)).await?;
    let mut rows = vec![];
    let mut each = |row: &RowBuf| {
        let cell = |index| row.cell(index).and_then(Value::whole_number);
        rows.push((cell(0).unwrap_or(i64::MIN), cell(1).unwrap_or(i64::MIN)));
    };
    session.query(statement, &[], &mut each).await?;
    Ok(rows)
}
