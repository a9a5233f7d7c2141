//! Carries out a script: statements of several sessions in a given order. A session whose statement waits for another's
//! (a lock) is passed over, and its later statements follow as soon as it has its answer.
use crate::actor::{Act, Actor};
use bakeoff_model::run::{StepAnswer, StepEvidence};
use std::cell::Cell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A session's place in a script, from 0, and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub who: usize,
    pub act: Act,
}

/// How long is waited.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    /// For an answer, before the statement is called blocked.
    pub blocked_after: Duration,
    /// Answers meanwhile, so that the wait may be shorter; `None`: it is not.
    pub pulse: Option<&'a Pulse>,
    /// For the answers of blocked ones when nothing else is left to do: longer than the system's own limit for locks.
    pub at_most: Duration,
}

/// A session that waits for nobody. What has no answer while this one has had several is not slow, but waits for a lock.
pub struct Pulse {
    actor: Actor,
    is_asked: Cell<bool>,
}

/// As many answers, and at least this time.
const BEATS: u32 = 10;
const BLOCKED_MIN: Duration = Duration::from_millis(20);

impl Pulse {
    pub fn new(actor: Actor) -> Self {
        Self {
            actor,
            is_asked: Cell::new(false),
        }
    }

    /// Whether there is an answer in this time, to whatever was asked last. It touches no table, so it takes no lock and part
    /// in no conflict.
    fn beats(&self, within: Duration) -> bool {
        if !self.is_asked.replace(true) {
            self.actor.ask(Act::Read("SELECT 1, 1".to_owned()));
        }
        let beats = self.actor.answer(within).is_some();
        self.is_asked.set(!beats);
        beats
    }
}

impl Patience<'_> {
    /// `None`: blocked. A commit may wait for a disk, of which no other session's answer tells.
    fn answer(&self, actor: &Actor, is_end: bool) -> Option<StepAnswer> {
        let until = Instant::now() + self.blocked_after;
        let Some(pulse) = self.pulse.filter(|_| !is_end) else {
            return actor.answer(self.blocked_after);
        };
        let mut answer = actor.answer(BLOCKED_MIN.min(self.blocked_after));
        for _ in 0..BEATS {
            if answer.is_some() || !pulse.beats(until.saturating_duration_since(Instant::now())) {
                break;
            }
            answer = actor.answer(Duration::ZERO);
        }
        answer
    }
}

/// For the answer of a statement that was sent.
#[derive(Clone, Copy, PartialEq)]
enum Wait {
    UntilBlocked,
    /// A moment.
    For(Duration),
}

struct Player<'a> {
    actor: &'a Actor,
    /// Place in the transcript of the statement without an answer.
    waits: Option<usize>,
    /// It waits for its commit or rollback.
    is_ending: bool,
    later: VecDeque<&'a Act>,
    failed: bool,
    /// How many transactions had ended when it was called blocked.
    blocked_at: Option<u32>,
}

pub struct Play<'a> {
    players: Vec<Player<'a>>,
    patience: Patience<'a>,
    transcript: Vec<StepEvidence>,
    /// Transactions that have ended.
    ended: u32,
    is_hasty: bool,
}

/// What was sent and answered. is_hasty: a statement was called blocked that was only slow, for it had its answer before any
/// transaction ended; so the order was another than the script's.
pub struct Played {
    pub steps: Vec<StepEvidence>,
    pub is_hasty: bool,
}

impl<'a> Play<'a> {
    pub fn new(actors: &'a [Actor], patience: Patience<'a>) -> Self {
        let player = |actor| Player {
            actor,
            waits: None,
            is_ending: false,
            later: VecDeque::new(),
            failed: false,
            blocked_at: None,
        };
        Self {
            players: actors.iter().map(player).collect(),
            patience,
            transcript: vec![],
            ended: 0,
            is_hasty: false,
        }
    }

    /// Every statement with its answer, in the order in which they were sent.
    pub fn run(mut self, script: &'a [Step]) -> Played {
        for step in script {
            match self.players[step.who].waits {
                Some(_) => self.players[step.who].later.push_back(&step.act),
                None => self.send(step.who, &step.act),
            }
            let ends = matches!(step.act, Act::Commit | Act::Rollback) || self.players[step.who].failed;
            self.wake(match ends {
                true => Wait::UntilBlocked,
                false => Wait::For(Duration::ZERO),
            });
        }
        let until = Instant::now() + self.patience.at_most;
        while self.waiting().next().is_some() && Instant::now() < until {
            self.wake(Wait::For(Duration::from_millis(20)));
        }
        Played {
            steps: self.transcript,
            is_hasty: self.is_hasty,
        }
    }

    fn waiting(&self) -> impl Iterator<Item = usize> {
        let waits = |(who, player): (usize, &Player<'_>)| player.waits.map(|_| who);
        self.players.iter().enumerate().filter_map(waits)
    }

    fn send(&mut self, who: usize, act: &Act) {
        let player = &mut self.players[who];
        let place = self.transcript.len();
        self.transcript.push(StepEvidence {
            session: who as u32 + 1,
            statement: act.to_string(),
            blocked: false,
            answer: match player.failed {
                true => StepAnswer::Skipped,
                false => StepAnswer::None,
            },
        });
        if player.failed {
            return;
        }
        player.actor.ask(act.clone());
        player.waits = Some(place);
        player.is_ending = matches!(act, Act::Commit | Act::Rollback);
        player.blocked_at = None;
        if !self.has_answered(who, Wait::UntilBlocked) {
            self.transcript[place].blocked = true;
            self.players[who].blocked_at = Some(self.ended);
        }
    }

    /// Sees whether the statement that this session waits for has its answer by now.
    fn has_answered(&mut self, who: usize, wait: Wait) -> bool {
        let player = &mut self.players[who];
        let Some(place) = player.waits else {
            return true;
        };
        let answer = match wait {
            Wait::UntilBlocked => self.patience.answer(player.actor, player.is_ending),
            Wait::For(time) => player.actor.answer(time),
        };
        let Some(answer) = answer else {
            return false;
        };
        player.failed = matches!(answer, StepAnswer::Error { .. } | StepAnswer::None);
        // The victim of a deadlock has its answer first.
        self.is_hasty |= !player.failed && player.blocked_at == Some(self.ended);
        self.ended += u32::from(player.failed || player.is_ending);
        player.waits = None;
        self.transcript[place].answer = answer;
        true
    }

    /// Sessions that had waited go on, and what they do may let others go on.
    fn wake(&mut self, wait: Wait) {
        let mut wait = wait;
        loop {
            let woken: Vec<usize> = self.waiting().collect();
            let woken: Vec<usize> = woken
                .into_iter()
                .filter(|&who| self.has_answered(who, wait))
                .collect();
            if woken.is_empty() {
                return;
            }
            for who in woken {
                while self.players[who].waits.is_none() {
                    let Some(act) = self.players[who].later.pop_front() else {
                        break;
                    };
                    self.send(who, act);
                    wait = Wait::UntilBlocked;
                }
            }
        }
    }
}
