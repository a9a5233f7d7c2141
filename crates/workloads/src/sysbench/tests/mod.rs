//! The workload against a session that writes down what it is asked.
use super::fake::{Counted, Fake, now};
use super::{Sysbench, Thread};
use crate::prelude::*;
use bakeoff_model::any::Known;
use bakeoff_model::run::sysbench::{SysbenchScript, SysbenchSpec};

mod answers;
mod filling;
mod phases;
mod statements;
mod streams;

pub fn spec(script: SysbenchScript) -> SysbenchSpec {
    SysbenchSpec {
        script,
        tables: match script {
            SysbenchScript::SelectRandomPoints | SysbenchScript::SelectRandomRanges => 1,
            _ => 8,
        },
        ..SysbenchSpec::default()
    }
}

pub const ALL: [SysbenchScript; 11] = [
    SysbenchScript::OltpReadWrite,
    SysbenchScript::OltpReadOnly,
    SysbenchScript::OltpWriteOnly,
    SysbenchScript::OltpPointSelect,
    SysbenchScript::OltpUpdateIndex,
    SysbenchScript::OltpUpdateNonIndex,
    SysbenchScript::OltpDelete,
    SysbenchScript::OltpInsert,
    SysbenchScript::BulkInsert,
    SysbenchScript::SelectRandomPoints,
    SysbenchScript::SelectRandomRanges,
];

/// One user with a session of its own.
pub struct User {
    /// For as long as the answers that may borrow from it.
    pub sysbench: &'static Sysbench,
    pub thread: Thread,
    pub session: Known<Fake>,
    pub probe: Counted,
}

impl User {
    pub fn new(spec: &SysbenchSpec) -> Self {
        Self::seeded(spec, 1, 0)
    }

    pub fn seeded(spec: &SysbenchSpec, seed: u64, stream: u64) -> Self {
        let made = Sysbench::new(spec, seed, ClientSpec::default(), Some(4)).unwrap();
        let sysbench: &Sysbench = Box::leak(Box::new(made));
        let id = ThreadId {
            thread: stream as u32,
            stream,
            latency_probe: false,
        };
        let thread = Workload::thread(sysbench, &(), id);
        let mut session = Fake::new();
        session.table_size = spec.table_size;
        now(Workload::attach(sysbench, session.any())).unwrap();
        Self {
            sysbench,
            thread,
            session,
            probe: Counted::default(),
        }
    }

    pub fn next(&mut self) {
        let operation = Workload::next(self.sysbench, &(), &mut self.thread);
        assert_eq!(operation, 0);
    }

    pub fn attempt(&mut self) -> Result<Answer<'static>, OpError> {
        let (sysbench, thread) = (self.sysbench, &mut self.thread);
        now(sysbench.execute(&(), thread, self.session.any(), &mut self.probe))
    }

    pub fn settle(&mut self, outcome: Outcome, session_lost: bool) {
        let (sysbench, thread) = (self.sysbench, &mut self.thread);
        let ended = Ended::at_once(outcome, session_lost);
        Workload::settle(sysbench, &(), thread, ended, &mut self.probe);
    }

    /// After two attempts, the first of which nobody answered.
    pub fn settle_retried(&mut self, outcome: Outcome) {
        let ended = Ended {
            perhaps_applied: 1,
            ..Ended::at_once(outcome, false)
        };
        let (sysbench, thread) = (self.sysbench, &mut self.thread);
        Workload::settle(sysbench, &(), thread, ended, &mut self.probe);
    }

    /// A whole event: what was asked, and its answer.
    pub fn event(&mut self) -> (Vec<String>, Result<Answer<'static>, OpError>) {
        self.next();
        let answer = self.attempt();
        let outcome = match &answer {
            Ok(Answer::Right) => Outcome::Ok,
            Ok(Answer::Wrong(_)) => Outcome::Wrong,
            Err(error) => error.outcome,
        };
        self.settle(outcome, answer.as_ref().is_err_and(|error| error.connection_lost));
        (std::mem::take(&mut self.session.asked), answer)
    }

    pub fn queries(&mut self) -> (u32, u32, u32) {
        let Queries { read, write, other } = std::mem::take(&mut self.probe.queries);
        (read, write, other)
    }
}

/// A statement without its table's number and values: `UPDATE sbtest SET k=k+1 WHERE id=`.
pub fn form(sql: &str) -> String {
    let mut in_text = false;
    let kept = sql.chars().filter(|c| {
        in_text ^= *c == '\'';
        !in_text && *c != '\'' && !c.is_ascii_digit()
    });
    kept.collect()
}

/// The number of the table asked, if the statement names one.
pub fn table(sql: &str) -> Option<u32> {
    let (_, rest) = sql.split_once("sbtest")?;
    rest.split(' ').next()?.parse().ok()
}
