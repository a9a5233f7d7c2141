//! The schedules and the anomaly that each provokes. Sources: Adya (1999) for the names, Berenson et al. (1995), Fekete et
//! al. (2005), and Kleppmann's Hermitage for the idea of scripts with two or three sessions.
//!
//! A rule looks at what sessions saw and left, never at the order of the script: a blocked statement may be carried out
//! later than written. Only what committed transactions saw counts.
use super::TABLE;
use crate::actor::Act;
use crate::play::Step;
use bakeoff_model::run::{StepAnswer, StepEvidence};

type Rows = Vec<(i64, i64)>;

pub struct Schedule {
    pub name: &'static str,
    /// A line per statement: the session from 1, and what it does. Each session begins a transaction before its first.
    steps: &'static [(usize, Do)],
    pub anomaly: fn(&Seen) -> bool,
}

/// What a session does, by the table's rows.
#[derive(Clone, Copy)]
enum Do {
    Set(i64, i64),
    Add(&'static str, i64),
    Insert(i64, i64),
    /// Where this holds.
    Delete(&'static str),
    Read(&'static str),
    Commit,
    Rollback,
}

const ALL: &str = "1 = 1";

#[rustfmt::skip] // its own form would hide the shape of each schedule
pub const SCHEDULES: &[Schedule] = &[
    // Dirty write: the final pair is a mix of both writers'. (With the second writer last on both rows it would not show.)
    Schedule {
        name: "G0",
        steps: &[
            (1, Do::Set(1, 11)), (2, Do::Set(1, 12)), (2, Do::Set(2, 22)), (1, Do::Set(2, 21)), (1, Do::Commit),
            (2, Do::Commit),
        ],
        anomaly: |seen| {
            seen.all_committed(&[1, 2]) && ![[(1, 11), (2, 21)], [(1, 12), (2, 22)]].contains(&seen.pair())
        },
    },
    // Aborted read.
    Schedule {
        name: "G1a",
        steps: &[
            (1, Do::Set(1, 101)), (2, Do::Read(ALL)), (1, Do::Rollback), (2, Do::Read(ALL)), (2, Do::Commit),
        ],
        anomaly: |seen| seen.all_committed(&[2]) && seen.reads(2).any(|rows| rows.contains(&(1, 101))),
    },
    // Intermediate read: a value that its writer replaced before it committed.
    Schedule {
        name: "G1b",
        steps: &[
            (1, Do::Set(1, 101)), (2, Do::Read(ALL)), (1, Do::Set(1, 11)), (1, Do::Commit), (2, Do::Read(ALL)),
            (2, Do::Commit),
        ],
        anomaly: |seen| seen.all_committed(&[2]) && seen.reads(2).any(|rows| rows.contains(&(1, 101))),
    },
    // Circular information flow: each saw what the other wrote.
    Schedule {
        name: "G1c",
        steps: &[
            (1, Do::Set(1, 11)), (2, Do::Set(2, 22)), (1, Do::Read("id = 2")), (2, Do::Read("id = 1")),
            (1, Do::Commit), (2, Do::Commit),
        ],
        anomaly: |seen| {
            seen.all_committed(&[1, 2]) && seen.first_read(1) == [(2, 22)] && seen.first_read(2) == [(1, 11)]
        },
    },
    // Observed transaction vanishes: a reader sees parts of two transactions that wrote the same rows.
    Schedule {
        name: "OTV",
        steps: &[
            (1, Do::Set(1, 11)), (1, Do::Set(2, 19)), (2, Do::Set(1, 12)), (1, Do::Commit), (3, Do::Read(ALL)),
            (2, Do::Set(2, 18)), (3, Do::Read(ALL)), (2, Do::Commit), (3, Do::Read(ALL)), (3, Do::Commit),
        ],
        anomaly: |seen| {
            let whole = [[(1, 10), (2, 20)], [(1, 11), (2, 19)], [(1, 12), (2, 18)]];
            seen.all_committed(&[3]) && seen.reads(3).any(|rows| !whole.iter().any(|pair| pair[..] == *rows))
        },
    },
    // Predicate-many-preceders: a row appears in the second of two reads by a condition.
    Schedule {
        name: "PMP",
        steps: &[
            (1, Do::Read("value = 30")), (2, Do::Insert(3, 30)), (2, Do::Commit), (1, Do::Read("value % 3 = 0")),
            (1, Do::Commit),
        ],
        anomaly: |seen| {
            let mut reads = seen.reads(1);
            let before = reads.next().is_some_and(|rows| rows.is_empty());
            seen.all_committed(&[1]) && before && reads.any(|rows| rows.contains(&(3, 30)))
        },
    },
    // The same of a write: it deletes other rows than the transaction has just read by that condition.
    Schedule {
        name: "PMP-write",
        steps: &[
            (1, Do::Add(ALL, 10)), (2, Do::Read("value = 20")), (2, Do::Delete("value = 20")), (1, Do::Commit),
            (2, Do::Read("value = 20")), (2, Do::Commit),
        ],
        anomaly: |seen| {
            let read = seen.first_read(2).iter().map(|row| row.0);
            let gone = [1, 2].into_iter().filter(|id| !seen.rows.iter().any(|row| row.0 == *id));
            seen.all_committed(&[1, 2]) && !read.eq(gone)
        },
    },
    // Lost update: both wrote what they had computed from the same value.
    Schedule {
        name: "P4",
        steps: &[
            (1, Do::Read("id = 1")), (2, Do::Read("id = 1")), (1, Do::Set(1, 11)), (2, Do::Set(1, 12)),
            (1, Do::Commit), (2, Do::Commit),
        ],
        anomaly: |seen| {
            seen.all_committed(&[1, 2]) && [1, 2].iter().all(|who| seen.first_read(*who) == [(1, 10)])
        },
    },
    // Single anti-dependency cycle (read skew): one row from before another's transaction, one from after it.
    Schedule {
        name: "G-single",
        steps: &[
            (1, Do::Read("id = 1")), (2, Do::Read(ALL)), (2, Do::Set(1, 12)), (2, Do::Set(2, 18)), (2, Do::Commit),
            (1, Do::Read("id = 2")), (1, Do::Commit),
        ],
        anomaly: |seen| {
            seen.all_committed(&[1]) && seen.first_read(1) == [(1, 10)] && seen.last_read(1) == [(2, 18)]
        },
    },
    // The same by conditions.
    Schedule {
        name: "G-single-predicate",
        steps: &[
            (1, Do::Read("value % 5 = 0")), (2, Do::Set(1, 12)), (2, Do::Commit), (1, Do::Read("value % 3 = 0")),
            (1, Do::Commit),
        ],
        anomaly: |seen| {
            let before = seen.first_read(1) == [(1, 10), (2, 20)];
            seen.all_committed(&[1]) && before && !seen.last_read(1).is_empty()
        },
    },
    // The same where the second access is a write.
    Schedule {
        name: "G-single-write",
        steps: &[
            (1, Do::Read("id = 1")), (2, Do::Read(ALL)), (2, Do::Set(1, 12)), (2, Do::Set(2, 18)), (2, Do::Commit),
            (1, Do::Delete("value = 20")), (1, Do::Commit),
        ],
        anomaly: |seen| {
            let kept = seen.rows.iter().any(|row| row.0 == 2);
            seen.all_committed(&[1, 2]) && seen.first_read(1) == [(1, 10)] && kept
        },
    },
    // Write skew: each wrote what the other had read.
    Schedule {
        name: "G2-item",
        steps: &[
            (1, Do::Read(ALL)), (2, Do::Read(ALL)), (1, Do::Set(1, 11)), (2, Do::Set(2, 21)), (1, Do::Commit),
            (2, Do::Commit),
        ],
        anomaly: |seen| {
            let before = [(1, 10), (2, 20)];
            seen.all_committed(&[1, 2]) && [1, 2].iter().all(|who| seen.first_read(*who) == before)
        },
    },
    // The same by conditions: each inserted a row that the other had looked for.
    Schedule {
        name: "G2",
        steps: &[
            (1, Do::Read("value % 3 = 0")), (2, Do::Read("value % 3 = 0")), (1, Do::Insert(3, 30)),
            (2, Do::Insert(4, 42)), (1, Do::Commit), (2, Do::Commit),
        ],
        anomaly: |seen| {
            seen.all_committed(&[1, 2]) && [1, 2].iter().all(|who| seen.first_read(*who).is_empty())
        },
    },
    // A reader sees the second of two transactions and not the first, which had not seen the second (Fekete et al.).
    Schedule {
        name: "G2-three",
        steps: &[
            (1, Do::Read(ALL)), (2, Do::Add("id = 2", 5)), (2, Do::Commit), (3, Do::Read(ALL)), (3, Do::Commit),
            (1, Do::Set(1, 0)), (1, Do::Commit),
        ],
        anomaly: |seen| {
            let (first, third) = (seen.first_read(1), seen.first_read(3));
            seen.all_committed(&[1, 2, 3]) && first == [(1, 10), (2, 20)] && third == [(1, 10), (2, 25)]
        },
    },
];

pub fn names() -> Vec<&'static str> {
    SCHEDULES.iter().map(|schedule| schedule.name).collect()
}

pub fn read_all() -> String {
    select(ALL)
}

fn select(condition: &str) -> String {
    format!("SELECT id, value FROM {TABLE} WHERE {condition} ORDER BY id")
}

impl Do {
    fn act(self) -> Act {
        match self {
            Self::Set(id, value) => Act::Write(format!("UPDATE {TABLE} SET value = {value} WHERE id = {id}")),
            Self::Add(condition, value) => Act::Write(format!(
                "UPDATE {TABLE} SET value = value + {value} WHERE {condition}"
            )),
            Self::Insert(id, value) => {
                Act::Write(format!("INSERT INTO {TABLE} (id, value) VALUES ({id}, {value})"))
            }
            Self::Delete(condition) => Act::Write(format!("DELETE FROM {TABLE} WHERE {condition}")),
            Self::Read(condition) => Act::Read(select(condition)),
            Self::Commit => Act::Commit,
            Self::Rollback => Act::Rollback,
        }
    }
}

impl Schedule {
    pub fn sessions(&self) -> usize {
        self.steps.iter().map(|step| step.0).max().unwrap_or(0)
    }

    /// Statements of sessions from 0.
    pub fn script(&self) -> impl Iterator<Item = Step> {
        let begins = |place: usize, who: usize| !self.steps[..place].iter().any(|step| step.0 == who);
        self.steps
            .iter()
            .enumerate()
            .flat_map(move |(place, &(who, what))| {
                let begin = begins(place, who).then_some(Act::Begin);
                let acts = begin.into_iter().chain([what.act()]);
                acts.map(move |act| Step { who: who - 1, act })
            })
    }
}

/// What sessions saw, and what is left.
pub struct Seen<'a> {
    steps: &'a [StepEvidence],
    pub rows: Rows,
}

impl<'a> Seen<'a> {
    pub fn new(steps: &'a [StepEvidence], rows: Rows) -> Self {
        Self { steps, rows }
    }

    fn of(&self, session: u32) -> impl Iterator<Item = &'a StepEvidence> {
        self.steps.iter().filter(move |step| step.session == session)
    }

    fn has_committed(&self, session: u32) -> bool {
        let commit = |step: &StepEvidence| step.statement == Act::Commit.to_string();
        self.of(session)
            .any(|step| commit(step) && matches!(step.answer, StepAnswer::Done { .. }))
    }

    fn all_committed(&self, sessions: &[u32]) -> bool {
        sessions.iter().all(|session| self.has_committed(*session))
    }

    pub fn committed_count(&self) -> u32 {
        (1..=3).filter(|session| self.has_committed(*session)).count() as u32
    }

    /// Each read of a session, in order.
    fn reads(&self, session: u32) -> impl Iterator<Item = &'a [(i64, i64)]> {
        self.of(session).filter_map(|step| match &step.answer {
            StepAnswer::Rows { rows } => Some(&rows[..]),
            _ => None,
        })
    }

    fn first_read(&self, session: u32) -> &'a [(i64, i64)] {
        self.reads(session).next().unwrap_or(&UNREAD)
    }

    fn last_read(&self, session: u32) -> &'a [(i64, i64)] {
        self.reads(session).last().unwrap_or(&UNREAD)
    }

    fn pair(&self) -> [(i64, i64); 2] {
        match self.rows[..] {
            [first, second] => [first, second],
            _ => [(0, 0); 2],
        }
    }
}

/// In the place of a read that never was: no rows of any table.
const UNREAD: [(i64, i64); 1] = [(i64::MIN, i64::MIN)];
