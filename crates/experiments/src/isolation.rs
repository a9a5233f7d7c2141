//! Scripts that provoke the anomalies by which levels of isolation are defined, each on a table of two rows and with sessions
//! of its own. The method: docs/method/isolation.md.
pub mod schedules;
#[cfg(test)]
mod tests;

use crate::actor::{Act, Actor};
use crate::play::{Patience, Play, Played, Pulse, Step};
use crate::shared::{Own, Table};
use crate::{Stage, place_of, silent};
use bakeoff_measure::{Sink, words};
use bakeoff_model::event::{Event, Progress};
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::run::{IsolationEvidence, ScheduleEvidence, ScheduleTry, StepAnswer};
use bakeoff_model::time::now_ns;
use schedules::{SCHEDULES, Schedule, Seen};
use std::sync::Arc;
use std::time::Duration;

/// The experiment's own table. It must not exist before, and is dropped afterwards.
pub const TABLE: &str = "bakeoff_isolation";

pub struct Isolation {
    pub stage: Arc<Stage>,
    pub tries: u32,
    pub blocked_after: Duration,
    pub session_setup: Vec<String>,
}

impl Isolation {
    /// Runs the schedules of these names, or all where there are none; fewer if the controller stops it.
    pub fn run(&self, named: &[String], sink: &Sink) -> Result<IsolationEvidence, Trouble> {
        let chosen = choose(named)?;
        let table = Table {
            stage: &self.stage,
            setup: &self.session_setup,
            name: TABLE,
        };
        let begun_ns = now_ns();
        table.create("value INT NOT NULL", &[], 0)?;
        table.drop_after(self.all(&chosen, begun_ns, sink))
    }

    fn all(
        &self,
        chosen: &[&'static Schedule],
        begun_ns: u64,
        sink: &Sink,
    ) -> Result<IsolationEvidence, Trouble> {
        let first = place_of(&self.stage, 0);
        let keeper = Actor::open(&self.stage, 0, first, &self.session_setup)?;
        let pulse = Pulse::new(Actor::open(&self.stage, 0, first, &self.session_setup)?);
        self.stage.tell_ready(sink, 1, begun_ns);
        let mut evidence = IsolationEvidence::default();
        for schedule in chosen {
            let mut tries = vec![];
            for _ in 0..self.tries {
                if self.stage.control.is_stopped() {
                    return Ok(evidence);
                }
                tries.push(self.once(&keeper, Some(&pulse), schedule)?);
                sink(Event::Progress(Progress {
                    elapsed_s: (now_ns() - begun_ns) as f64 / 1e9,
                    done: evidence.schedules.len() as u64,
                    total: chosen.len() as u64,
                }));
            }
            evidence.schedules.push(ScheduleEvidence {
                name: schedule.name.into(),
                tries,
            });
        }
        Ok(evidence)
    }

    /// Without a pulse it takes longer, and no statement is called blocked too early.
    fn once(
        &self,
        keeper: &Actor,
        pulse: Option<&Pulse>,
        schedule: &Schedule,
    ) -> Result<ScheduleTry, Trouble> {
        self.keep(keeper, Act::Write(format!("DELETE FROM {TABLE}")))?;
        self.keep(
            keeper,
            Act::Write(format!("INSERT INTO {TABLE} (id, value) VALUES (1, 10), (2, 20)")),
        )?;
        let script: Vec<Step> = schedule.script().collect();
        let first = place_of(&self.stage, 0);
        let open = |number| Actor::open(&self.stage, number, first, &self.session_setup);
        let actors: Vec<Actor> = (1..=schedule.sessions()).map(open).collect::<Result<_, _>>()?;
        let patience = Patience {
            blocked_after: self.blocked_after,
            pulse,
            at_most: self.stage.timeout,
        };
        let Played { steps, is_hasty } = Play::new(&actors, patience).run(&script);
        // What is still open in a session holds locks until the session has ended.
        drop(actors);
        if is_hasty && pulse.is_some() {
            return self.once(keeper, None, schedule);
        }
        let rows = self.keep(keeper, Act::Read(schedules::read_all()))?;
        let seen = Seen::new(&steps, rows);
        Ok(ScheduleTry {
            anomaly: (schedule.anomaly)(&seen),
            committed: seen.committed_count(),
            transactions: schedule.sessions() as u32,
            rows: seen.rows,
            steps,
        })
    }

    /// The keeper's own statements must succeed; rows of a read.
    fn keep(&self, keeper: &Actor, act: Act) -> Result<Vec<(i64, i64)>, Trouble> {
        let statement = act.to_string();
        keeper.ask(act);
        match keeper.answer(self.stage.timeout) {
            Some(StepAnswer::Rows { rows }) => Ok(rows),
            Some(StepAnswer::Done { .. }) => Ok(vec![]),
            Some(StepAnswer::Error { code, message }) => Err(Trouble::new(
                TroubleKind::Server,
                format!("{statement}: {message} ({code})"),
                "verify: isolation",
                "is the server still up, and may the user change its tables?",
            )),
            Some(StepAnswer::None | StepAnswer::Skipped) | None => {
                Err(silent(&self.stage, &format!("{statement}: no answer")))
            }
        }
    }
}

fn choose(named: &[String]) -> Result<Vec<&'static Schedule>, Trouble> {
    if named.is_empty() {
        return Ok(SCHEDULES.iter().collect());
    }
    let find = |name: &String| {
        SCHEDULES
            .iter()
            .find(|schedule| schedule.name == *name)
            .ok_or_else(|| {
                words::usage(
                    format!("there is no schedule {name}"),
                    "run.json: experiment.schedules",
                    format!("there are {}", schedules::names().join(", ")),
                )
            })
    };
    named.iter().map(find).collect()
}
