//! Carries out a script: statements of several sessions in a given order. A session whose statement waits for another's
//! (a lock) is passed over, and its later statements follow as soon as it has its answer.
use crate::actor::{Act, Actor};
use bakeoff_model::run::{StepAnswer, StepEvidence};
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
pub struct Patience {
    /// For an answer, before the statement is called blocked.
    pub blocked_after: Duration,
    /// For the answers of blocked ones when nothing else is left to do: longer than the system's own limit for locks.
    pub at_most: Duration,
}

struct Player<'a> {
    actor: &'a Actor,
    /// Place in the transcript of the statement without an answer.
    waits: Option<usize>,
    later: VecDeque<&'a Act>,
    failed: bool,
}

pub struct Play<'a> {
    players: Vec<Player<'a>>,
    patience: Patience,
    transcript: Vec<StepEvidence>,
}

impl<'a> Play<'a> {
    pub fn new(actors: &'a [Actor], patience: Patience) -> Self {
        let player = |actor| Player {
            actor,
            waits: None,
            later: VecDeque::new(),
            failed: false,
        };
        Self {
            players: actors.iter().map(player).collect(),
            patience,
            transcript: vec![],
        }
    }

    /// Every statement with its answer, in the order in which they were sent.
    pub fn run(mut self, script: &'a [Step]) -> Vec<StepEvidence> {
        for step in script {
            match self.players[step.who].waits {
                Some(_) => self.players[step.who].later.push_back(&step.act),
                None => self.send(step.who, &step.act),
            }
            let ends = matches!(step.act, Act::Commit | Act::Rollback) || self.players[step.who].failed;
            self.wake(if ends {
                self.patience.blocked_after
            } else {
                Duration::ZERO
            });
        }
        let until = Instant::now() + self.patience.at_most;
        while self.waiting().next().is_some() && Instant::now() < until {
            self.wake(Duration::from_millis(20));
        }
        self.transcript
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
        if !self.has_answered(who, self.patience.blocked_after) {
            self.transcript[place].blocked = true;
        }
    }

    /// Sees whether the statement that this session waits for has its answer by now.
    fn has_answered(&mut self, who: usize, within: Duration) -> bool {
        let player = &mut self.players[who];
        let Some(place) = player.waits else {
            return true;
        };
        let Some(answer) = player.actor.answer(within) else {
            return false;
        };
        player.failed = matches!(answer, StepAnswer::Error { .. } | StepAnswer::None);
        player.waits = None;
        self.transcript[place].answer = answer;
        true
    }

    /// Sessions that had waited go on, and what they do may let others go on.
    fn wake(&mut self, within: Duration) {
        let mut within = within;
        loop {
            let woken: Vec<usize> = self.waiting().collect();
            let woken: Vec<usize> = woken
                .into_iter()
                .filter(|&who| self.has_answered(who, within))
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
                    within = self.patience.blocked_after;
                }
            }
        }
    }
}
