//! Rules of anomalies, on tables whose isolation is known: none at all, and one session after another.
use super::TABLE;
use super::schedules::{SCHEDULES, Schedule, Seen};
use crate::actor::Act;
use crate::play::Step;
use bakeoff_model::run::{StepAnswer, StepEvidence};
use std::collections::BTreeMap;

type Table = BTreeMap<i64, i64>;

/// Every statement sees and changes what there is, at once; a rollback takes back what its session last replaced.
fn carry_out(script: impl Iterator<Item = Step>) -> (Vec<StepEvidence>, Vec<(i64, i64)>) {
    let mut table = Table::from([(1, 10), (2, 20)]);
    let mut before = BTreeMap::new();
    let steps = script.map(|step| {
        let answer = answer(&mut table, &mut before, &step);
        StepEvidence {
            session: step.who as u32 + 1,
            statement: step.act.to_string(),
            blocked: false,
            answer,
        }
    });
    let steps = steps.collect();
    (steps, table.into_iter().collect())
}

fn answer(table: &mut Table, before: &mut BTreeMap<usize, Table>, step: &Step) -> StepAnswer {
    let matching = |table: &Table, sql: &str| -> Vec<(i64, i64)> {
        let rows = table.iter().map(|(id, value)| (*id, *value));
        rows.filter(|row| holds(sql, *row)).collect()
    };
    match &step.act {
        Act::Begin => drop(before.insert(step.who, table.clone())),
        Act::Rollback => *table = before[&step.who].clone(),
        Act::Commit => {}
        Act::Read(sql) => {
            return StepAnswer::Rows {
                rows: matching(table, sql),
            };
        }
        Act::Write(sql) => {
            for (id, value) in matching(table, sql) {
                match change(sql) {
                    Change::Set(to) => table.insert(id, to),
                    Change::Add(more) => table.insert(id, value + more),
                    Change::Delete => table.remove(&id),
                    Change::Insert(..) => unreachable!("it has no condition"),
                };
            }
            if let Change::Insert(id, value) = change(sql) {
                table.insert(id, value);
            }
        }
    }
    StepAnswer::Done { affected: None }
}

enum Change {
    Set(i64),
    Add(i64),
    Insert(i64, i64),
    Delete,
}

fn change(sql: &str) -> Change {
    let numbers: Vec<i64> = sql
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    match sql.split(' ').next() {
        Some("DELETE") => Change::Delete,
        Some("INSERT") => Change::Insert(numbers[0], numbers[1]),
        _ if sql.contains('+') => Change::Add(numbers[0]),
        _ => Change::Set(numbers[0]),
    }
}

fn holds(sql: &str, (id, value): (i64, i64)) -> bool {
    let Some((_, condition)) = sql.split_once(" WHERE ") else {
        return false;
    };
    let words: Vec<&str> = condition.split(' ').collect();
    let left = |word: &str| match word {
        "id" => id,
        "value" => value,
        number => number.parse().unwrap(),
    };
    match words[1] {
        "=" => left(words[0]) == left(words[2]),
        "%" => left(words[0]) % left(words[2]) == left(words[4]),
        other => panic!("{other} in {sql}"),
    }
}

fn anomaly(schedule: &Schedule, script: impl Iterator<Item = Step>) -> bool {
    let (steps, rows) = carry_out(script);
    (schedule.anomaly)(&Seen::new(&steps, rows))
}

#[test]
fn without_any_isolation_each_schedule_shows_its_anomaly() {
    for schedule in SCHEDULES {
        // The read of PMP-write is as dirty as its delete, so they agree.
        let expected = schedule.name != "PMP-write";
        assert_eq!(
            anomaly(schedule, schedule.script()),
            expected,
            "{}",
            schedule.name
        );
    }
}

#[test]
fn a_delete_that_meets_other_rows_than_the_read_is_an_anomaly() {
    let schedule = SCHEDULES.iter().find(|s| s.name == "PMP-write").unwrap();
    let script: Vec<Step> = schedule.script().collect();
    let read = script
        .iter()
        .position(|step| matches!(step.act, Act::Read(_)))
        .unwrap();
    let mut earlier = script.clone();
    let moved = earlier.remove(read);
    earlier.insert(1, moved);
    assert!(anomaly(schedule, earlier.into_iter()));
}

#[test]
fn sessions_one_after_another_show_none_in_any_order() {
    for schedule in SCHEDULES {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let script: Vec<Step> = schedule.script().collect();
            let of = |who| script.iter().filter(move |step| step.who == who).cloned();
            let serial = order.into_iter().flat_map(of);
            assert!(!anomaly(schedule, serial), "{} {order:?}", schedule.name);
        }
    }
}

#[test]
fn what_did_not_commit_shows_none() {
    for schedule in SCHEDULES {
        let script = schedule.script().map(|step| Step {
            act: if step.act == Act::Commit {
                Act::Read(format!("SELECT FROM {TABLE} WHERE 1 = 2"))
            } else {
                step.act
            },
            ..step
        });
        assert!(!anomaly(schedule, script), "{}", schedule.name);
    }
}
