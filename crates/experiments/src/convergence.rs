//! Rounds in which several sessions write one row at the same time, on all nodes that take writes; and what every node holds
//! once nobody writes any more. The judge: `bakeoff_histories::convergence`.
use crate::actor::{Acting, Actor, Reply, ended};
use crate::log::Span;
use crate::shared::Own;
use crate::versions::{At, Versions};
use crate::{Stage, place_of, versions};
use bakeoff_histories::convergence::{
    CONFLICTS_MIN, Effect, Report, Round, Rows, Sample, Terms, Write, judge,
};
use bakeoff_histories::record::Outcome as Ended;
use bakeoff_measure::Sink;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::event::{Event, Progress};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::time::now_ns;
use std::ops::Range;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Half of them write values at the same time, and a sixth each in sequence, against a deletion, and to a counter.
const ROUNDS: u64 = 300;
const WRITERS_MIN: usize = 3;
/// After the nodes have agreed.
const LATER: usize = 5;
const LATER_PAUSE_MAX: Duration = Duration::from_secs(1);
const POLL_MIN: Duration = Duration::from_millis(5);
const SHOWN_EVERY: u64 = 25;
/// Read with one timeout: by key they take as many round trips.
const BATCH: u64 = 25;

pub struct Convergence<S> {
    pub stage: Arc<Stage<S>>,
    pub span: Span,
    pub deadline: Duration,
    pub session_setup: Vec<String>,
}

/// What a session is asked to do.
#[derive(Clone)]
pub enum Act {
    Write(u64, Effect),
    /// What it finds of these keys.
    Read(Range<u64>),
}

impl<S: Versions> Acting for At<S> {
    type Opened = S;
    type Act = Act;
    /// Of a read that was answered.
    type Answer = Option<Rows>;

    async fn open(
        stage: &Stage<S>,
        client: &dyn AnyClient<S>,
        endpoint: usize,
        setup: &[String],
    ) -> Result<Self, Trouble> {
        At::open(stage, client, setup, endpoint).await
    }

    async fn carry_out(&mut self, act: &Act) -> Reply<Option<Rows>> {
        let (session, prepared) = (&mut self.session, &self.prepared);
        let call_ns = now_ns();
        let answer = match act.clone() {
            Act::Write(key, Effect::Set(value)) => {
                session.write_version(prepared, key, value).await.map(|()| None)
            }
            Act::Write(key, Effect::Add(amount)) => session.add(key, amount).await.map(|()| None),
            Act::Write(key, Effect::Delete) => session.delete_key(key).await.map(|()| None),
            Act::Read(keys) => session.read_keys(prepared, keys).await.map(Some),
        };
        Reply {
            call_ns,
            return_ns: now_ns(),
            outcome: answer.as_ref().map_or_else(ended, |_| Ended::Ok),
            is_lost: answer.as_ref().is_err_and(|error| error.connection_lost),
            answer: answer.unwrap_or_default(),
        }
    }
}

impl<S: Versions> Convergence<S> {
    /// The table has a row for each round before the first one begins.
    pub fn run(&self, sink: &Sink) -> Result<Report, Trouble> {
        let sessions = self.writers() + self.stage.nodes();
        self.stage.tell_ready(sink, sessions, now_ns());
        let table = versions::make(&self.stage, &self.session_setup, ROUNDS)?;
        table.drop_after(self.report(sink))
    }

    fn writers(&self) -> usize {
        self.stage.places.len().max(WRITERS_MIN)
    }

    fn report(&self, sink: &Sink) -> Result<Report, Trouble> {
        let mut writers = (0..self.writers())
            .map(|number| self.writer(number))
            .collect::<Result<Vec<_>, _>>()?;
        let begun = Instant::now();
        let mut rounds = vec![];
        for key in 0..ROUNDS {
            if begun.elapsed() > self.span.at_most || self.stage.control.is_stopped() {
                break;
            }
            let is_enough = || {
                rounds
                    .iter()
                    .filter(|round: &&Round| round.has_conflict())
                    .count() as u64
                    >= CONFLICTS_MIN
            };
            if begun.elapsed() > self.span.enough_after && is_enough() {
                break;
            }
            if key % SHOWN_EVERY == 0 {
                sink(Event::Progress(Progress {
                    elapsed_s: begun.elapsed().as_secs_f64(),
                    done: key,
                    total: ROUNDS,
                }));
            }
            rounds.push(self.play(key, &mut writers)?);
        }
        drop(writers);
        let samples = self.samples(&rounds)?;
        let terms = Terms {
            deadline_ns: self.deadline.as_nanos() as i64,
            later: LATER,
        };
        Ok(judge(&rounds, &samples, terms))
    }

    fn writer(&self, number: usize) -> Result<Actor<At<S>>, Trouble> {
        let endpoint = place_of(&self.stage, number);
        Actor::open(&self.stage, number, endpoint, &self.session_setup)
    }

    fn play(&self, key: u64, writers: &mut [Actor<At<S>>]) -> Result<Round, Trouble> {
        let count = writers.len();
        // Each is the first to be asked as often as any other.
        let order = (0..count).map(|turn| (key as usize + turn) % count);
        let effect = |who: usize| match (key % 6, who) {
            (3, 0) => Effect::Delete,
            (5, _) if S::ADDS => Effect::Add(3 + 2 * who as i64),
            _ => Effect::Set(3 + 2 * who as i64),
        };
        let mut writes = vec![];
        if key % 6 == 1 {
            for number in 0..count {
                writers[0].ask(Act::Write(key, effect(number)));
                writes.push(self.written(writers, 0, effect(number), now_ns())?);
            }
        } else {
            let released: Vec<(usize, u64)> = order
                .map(|who| {
                    writers[who].ask(Act::Write(key, effect(who)));
                    (who, now_ns())
                })
                .collect();
            for (who, asked_ns) in released {
                writes.push(self.written(writers, who, effect(who), asked_ns)?);
            }
        }
        Ok(Round { key, writes })
    }

    /// A session that was lost, or has no answer in time, is replaced by another.
    fn written(
        &self,
        writers: &mut [Actor<At<S>>],
        who: usize,
        effect: Effect,
        asked_ns: u64,
    ) -> Result<Write, Trouble> {
        let reply = writers[who].reply(self.stage.timeout);
        let is_answered = reply.as_ref().is_some_and(|reply| !reply.is_lost);
        if !is_answered {
            writers[who] = self.writer(who)?;
        }
        // One that finds no row has failed: another session had deleted it.
        let outcome = reply.as_ref().map_or(Ended::Unknown, |reply| reply.outcome);
        let times = reply.map_or((asked_ns, now_ns()), |reply| (reply.call_ns, reply.return_ns));
        Ok(Write {
            session: who as u32,
            effect,
            outcome,
            is_answered,
            call_ns: times.0 as i64,
            return_ns: times.1 as i64,
        })
    }

    /// Until all nodes hold the same in the first rows, with every acknowledged write, or one sample was begun too late: ever
    /// more slowly; and then a few more.
    fn samples(&self, rounds: &[Round]) -> Result<Vec<Sample>, Trouble> {
        let open = |node| self.reader(node).map(Some);
        let mut readers = (0..self.stage.nodes()).map(open).collect::<Result<Vec<_>, _>>()?;
        let keys = rounds.len() as u64;
        let begun = Instant::now();
        let mut samples: Vec<Sample> = vec![];
        loop {
            let is_last = begun.elapsed() > self.deadline || self.stage.control.is_stopped();
            let sample = self.sample(&mut readers, keys);
            let is_settled = sample.is_settled(rounds);
            samples.push(sample);
            if is_settled {
                break;
            }
            if is_last {
                return Ok(samples);
            }
            sleep((begun.elapsed() / 20).max(POLL_MIN));
        }
        for _ in 0..LATER {
            sleep(LATER_PAUSE_MAX.min(self.span.enough_after / LATER as u32));
            samples.push(self.sample(&mut readers, keys));
        }
        Ok(samples)
    }

    fn reader(&self, node: usize) -> Result<Actor<At<S>>, Trouble> {
        Actor::open(&self.stage, node, node, &self.session_setup)
    }

    /// Of the last read.
    fn rows(&self, reader: &mut Option<Actor<At<S>>>) -> Option<Rows> {
        let reply = reader.as_ref()?.reply(self.stage.timeout);
        if reply.as_ref().is_none_or(|reply| reply.is_lost) {
            *reader = None;
        }
        reply?.answer
    }

    /// A session that was lost, or had no answer in time, is replaced before the next sample, if its node can be reached.
    fn sample(&self, readers: &mut [Option<Actor<At<S>>>], keys: u64) -> Sample {
        for (node, reader) in readers.iter_mut().enumerate() {
            if reader.is_none() {
                *reader = self.reader(node).ok();
            }
        }
        let asked_ns = now_ns() as i64;
        let mut nodes: Vec<Option<Rows>> = readers.iter().map(|_| Some(Rows::new())).collect();
        for first in (0..keys).step_by(BATCH as usize) {
            for reader in readers.iter().flatten() {
                reader.ask(Act::Read(first..keys.min(first + BATCH)));
            }
            for (reader, rows) in readers.iter_mut().zip(&mut nodes) {
                match (self.rows(reader), rows.as_mut()) {
                    (Some(more), Some(rows)) => rows.extend(more),
                    _ => *rows = None,
                }
            }
        }
        Sample {
            asked_ns,
            at_ns: now_ns() as i64,
            nodes,
        }
    }
}
