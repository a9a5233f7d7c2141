//! A log before it is replayed: it is read as it will be.
use super::capture::Capture;
use super::{GENERATOR_VERSION, log, needs};
use crate::prelude::*;
use crate::resolve::{Kind, NoneBeside, UNCHECKED, describe, read, usual};
use crate::sql::schema::Schema;
use crate::trouble::refuse;
use bakeoff_model::run::replay::ReplaySpec;
use bakeoff_model::run::sql::SqlSpec;
use serde_json::json;
use std::collections::BTreeMap;

pub const KIND: Kind = Kind {
    kind: "replay",
    generator_version: GENERATOR_VERSION,
    form: "",
    summary: "a captured log of MariaDB, MySQL or PostgreSQL, with its sessions and its pace",
    preset: "log",
    describe: describe::<Options>,
    resolve,
    preview: None,
};

type Options = NoneBeside<ReplaySpec>;

/// Operations of a report.
const NAMED_MAX: usize = 30;
const NAME_CHARS: usize = 60;
/// As durations of a plan.
const LASTS_MAX_S: f64 = 366.0 * 86400.0;
const OTHERS: &str = "other statements";

fn resolve(request: &WorkloadRequest) -> Result<(Resolved, Needs), Trouble> {
    let mut spec = read::<Options>(request)?.spec;
    let dialect = request.driver.as_ref().map_or("", |driver| driver.kind.as_str());
    let capture = log::read(&spec)?;
    if let Some(file) = &mut spec.log {
        file.size_bytes = std::fs::metadata(&file.path).map_or(0, |found| found.len());
        file.rows = capture.statements.len() as u64;
    }
    let schema = setup(&spec, dialect)?;
    let (names, _) = operations(&capture);
    let needs = needs();
    let shape =
        json!({"setup": schema.make.iter().map(|one| &one.sql).collect::<Vec<_>>(), "tables": spec.tables});
    let resolved = Resolved {
        label: label(&spec, &capture),
        tables: tables(&spec, &schema, &capture)?,
        operations: names,
        writes: capture.forms.iter().any(|form| !form.only_asks()),
        replaces_sessions: true,
        lasts_s: lasts_s(&spec, &capture)?,
        // A row that the last run has inserted fails in this one, and is counted as failed.
        continues_by: Some(BTreeMap::new()),
        advice: advice(&capture),
        ..usual(
            &KIND,
            request,
            shape,
            &needs,
            WorkloadSpec::Replay(Box::new(spec.clone())),
        )
    };
    Ok((resolved, needs))
}

/// Until its last statement is due.
fn lasts_s(spec: &ReplaySpec, capture: &Capture) -> Result<f64, Trouble> {
    if spec.speed <= 0.0 {
        return Ok(0.0);
    }
    let lasts_s = capture.lasts_us() as f64 / 1e6 / spec.speed;
    if lasts_s > LASTS_MAX_S {
        return Err(refuse(
            "speed",
            format!(
                "at {} times its speed the log lasts longer than a year",
                spec.speed
            ),
            "1 is as fast as captured, 0 is as fast as answers come",
        ));
    }
    Ok(lasts_s)
}

/// With what a reader of figures has to know: the pace, and what was not sent.
fn label(spec: &ReplaySpec, capture: &Capture) -> String {
    let name = spec.log.as_ref().map_or("", |log| &log.name);
    let pace = match spec.speed {
        speed if speed <= 0.0 => "as fast as answers come".to_owned(),
        1.0 => "at its pace".to_owned(),
        speed => format!("{speed} times as fast"),
    };
    let left_out = match capture.left_out {
        0 => String::new(),
        1 => ", 1 statement left out".to_owned(),
        count => format!(", {count} statements left out"),
    };
    let cut_off = if capture.cut_off { ", which is cut off" } else { "" };
    let unchecked = if spec.unchecked_sql { UNCHECKED } else { "" };
    format!("replay of {name}{cut_off} {pace}{left_out}{unchecked}")
}

fn advice(capture: &Capture) -> Vec<String> {
    let mut advice = vec![format!(
        "the log has {} statements of {} sessions, up to {} at once: with fewer threads than that, sessions wait for others to end",
        capture.statements.len(),
        capture.sessions.len(),
        capture.sessions_at_once()
    )];
    if capture.cut_off {
        advice.push("the log ends within a statement, which is left out: was it copied while the server wrote it, or in part?".to_owned());
    }
    if capture.left_out > 0 {
        advice.push(format!(
            "{} statements of the log are left out, because they do more than ask and change rows in the plan's schema, such as: {}",
            capture.left_out, capture.left_out_first
        ));
    }
    let failed = capture.statements.iter().filter(|one| one.failed).count();
    if failed > 0 {
        advice.push(format!(
            "{failed} statements failed when they were captured: those that succeed now are wrong answers"
        ));
    }
    advice
}

/// The statements of `setup`, and the tables that they make.
pub fn setup(spec: &ReplaySpec, dialect: &str) -> Result<Schema, Trouble> {
    let Some(setup) = &spec.setup else {
        return Ok(Schema::default());
    };
    let asked = SqlSpec {
        schema: Some(setup.clone()),
        ..SqlSpec::default()
    };
    Schema::new(&asked, dialect).map_err(|trouble| Trouble {
        place: trouble.place.replace("workload.schema", "workload.setup"),
        ..trouble
    })
}

/// Those that the plan names; else those that `setup` makes and that statements name.
pub fn tables(spec: &ReplaySpec, schema: &Schema, capture: &Capture) -> Result<Vec<String>, Trouble> {
    let mut found = schema.tables.clone();
    let mut add = |name: &str| {
        if !found.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            found.push(name.to_owned());
        }
    };
    match spec.tables.is_empty() {
        false => spec.tables.iter().for_each(|name| add(name)),
        true => capture
            .forms
            .iter()
            .for_each(|form| named(&form.text).into_iter().for_each(&mut add)),
    }
    match found.is_empty() {
        true => Err(refuse(
            "tables",
            "the log's statements name no table",
            "name those that they use: tables = [\"orders\"]",
        )),
        false => Ok(found),
    }
}

/// Words that stand where a table's name may.
const NO_TABLES: [&str; 8] = ["set", "dual", "select", "nowait", "skip", "of", "lateral", "only"];

/// Tables that a statement names, of the schema that it is in.
fn named(form: &str) -> Vec<&str> {
    let words: Vec<&str> = form
        .split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ';'))
        .filter(|word| !word.is_empty())
        .collect();
    let is = |at: usize, all: &[&str]| {
        words
            .get(at)
            .is_some_and(|word| all.iter().any(|one| word.eq_ignore_ascii_case(one)))
    };
    let mut found = vec![];
    for at in 0..words.len() {
        let names = is(at, &["from", "join", "into"])
            || (is(at, &["update"]) && !(at > 0 && is(at - 1, &["for", "key", "do", "no"])));
        let mut place = at + 1;
        while names && let Some(word) = words.get(place) {
            let name = word.trim_matches([',', '`', '"']);
            // PostgreSQL's catalogs need no schema's name; drivers read them.
            let is_name = !name.is_empty()
                && !name.starts_with("pg_")
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if is_name && !name.starts_with(|c: char| c.is_ascii_digit()) && !is(place, &NO_TABLES) {
                found.push(name);
            }
            if !word.ends_with(',') {
                break;
            }
            place += 1;
        }
    }
    found
}

/// Names of operations, the most frequent form first; and the operation of each form.
pub fn operations(capture: &Capture) -> (Vec<String>, Vec<usize>) {
    let mut order: Vec<usize> = (0..capture.forms.len()).collect();
    order.sort_by_key(|form| (std::cmp::Reverse(capture.forms[*form].count), *form));
    let own = if order.len() > NAMED_MAX {
        NAMED_MAX - 1
    } else {
        order.len()
    };
    let mut names: Vec<String> = vec![];
    for form in &order[..own] {
        let mut name: String = capture.forms[*form].text.chars().take(NAME_CHARS).collect();
        name.truncate(name.trim_end().len());
        let alike = names.iter().filter(|known| known.starts_with(&name)).count();
        names.push(if alike == 0 {
            name
        } else {
            format!("{name} #{}", alike + 1)
        });
    }
    if own < order.len() {
        names.push(OTHERS.to_owned());
    }
    let mut of = vec![own; capture.forms.len()];
    order[..own]
        .iter()
        .enumerate()
        .for_each(|(place, form)| of[*form] = place);
    (names, of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_follow_the_words_before_them() {
        for (sql, tables) in [
            ("SELECT c FROM sbtest1 WHERE id=?", vec!["sbtest1"]),
            (
                "SELECT * FROM a, b JOIN `c` ON a.i = c.i FOR UPDATE",
                vec!["a", "b", "c"],
            ),
            (
                "INSERT INTO t (a) VALUES (?) ON DUPLICATE KEY UPDATE a = ?",
                vec!["t"],
            ),
            (
                "UPDATE t SET a = (SELECT MAX(x) FROM (SELECT x FROM u) v)",
                vec!["t", "u"],
            ),
            ("SELECT table_name FROM information_schema.tables", vec![]),
            ("SELECT oid FROM pg_class, t", vec!["t"]),
            ("SET autocommit=?", vec![]),
        ] {
            assert_eq!(named(sql), tables, "{sql}");
        }
    }
}
