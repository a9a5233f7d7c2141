//! The first operations of a run's first user, without a session: what is drawn is as in the run; what a query would
//! answer is not known, and stands there by its variable's name.
use super::scripts;
use super::scripts::{Compiled, Scripts};
use super::user::User;
use crate::prelude::*;
use crate::rng::Stream;
use crate::script::{Fault, Names, Number, Program, Statement, Step, Variables};
use bakeoff_model::run::sql::SqlSpec;
use std::time::Duration;

/// Lines of one operation: a script may go round in circles with what it waits for.
const LINES_MAX: usize = 200;

pub fn preview(workload: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    let WorkloadSpec::Sql(spec) = workload else {
        return Ok(vec![]);
    };
    let whole = super::presets::whole(spec);
    let scripts = Scripts::new(&whole, dialect(&whole))?;
    let mut stream = scripts.stream(&whole, seed, 0);
    let mut user = scripts.user(&scripts::values(&whole, 0, seed));
    Ok((0..count)
        .map(|_| next(&scripts, &mut stream, &mut user))
        .collect())
}

/// One that every script has a file for; any, where there is none.
fn dialect(spec: &SqlSpec) -> &'static str {
    const DIALECTS: [&str; 3] = ["postgresql", "mysql", "sqlite"];
    let whole = |dialect: &&str| spec.scripts.iter().all(|script| script.of(dialect).is_some());
    DIALECTS.into_iter().find(whole).unwrap_or(DIALECTS[0])
}

fn next(scripts: &Scripts, stream: &mut Stream, user: &mut User) -> Previewed {
    let (script, seed) = scripts.next(stream);
    let Compiled { name, program, .. } = &scripts.all[script];
    user.begin(program, seed);
    Previewed {
        operation: name.clone(),
        lines: lines(program, &scripts.names, user),
    }
}

fn lines(program: &Program, names: &Names, user: &mut User) -> Vec<String> {
    let mut lines = vec![];
    while let Some(step) = program.steps.get(user.at)
        && lines.len() < LINES_MAX
    {
        user.at += 1;
        let value = |user: &mut User, expression: u32| {
            program.expressions[expression as usize].evaluate(&user.variables, &mut user.random)
        };
        let line = match *step {
            Step::Set { variable, expression } => match value(user, expression) {
                Ok(value) => {
                    user.variables.set(variable, value);
                    continue;
                }
                Err(Fault::Unset) => {
                    user.variables.unset(variable);
                    continue;
                }
                Err(fault) => failure(program, expression, fault),
            },
            Step::Unless { expression, to } => match value(user, expression) {
                Ok(value) => {
                    user.at = if value.holds() { user.at } else { to as usize };
                    continue;
                }
                Err(Fault::Unset) => Err("... what follows depends on an answer".into()),
                Err(fault) => failure(program, expression, fault),
            },
            Step::Jump { to } => {
                user.at = to as usize;
                continue;
            }
            Step::Sleep { expression, unit_ns } => match value(user, expression).and_then(Number::int) {
                Ok(units) => {
                    let ns = u64::try_from(units).unwrap_or(0).saturating_mul(unit_ns);
                    Ok(format!("\\sleep {:?}", Duration::from_nanos(ns)))
                }
                Err(Fault::Unset) => Ok("\\sleep for a time that depends on an answer".into()),
                Err(fault) => failure(program, expression, fault),
            },
            Step::Begin(_) => Ok("BEGIN".into()),
            Step::Commit => Ok("COMMIT".into()),
            Step::Rollback => Ok("ROLLBACK".into()),
            Step::StartPipeline => Ok("\\startpipeline".into()),
            Step::SyncPipeline => Ok("\\syncpipeline".into()),
            Step::EndPipeline => Ok("\\endpipeline".into()),
            Step::Statement(place) => {
                let statement = &program.statements[place as usize];
                let line = filled(statement, names, &user.variables);
                for variable in statement.sets.iter().flat_map(|sets| &sets.variables) {
                    user.variables.unset(*variable);
                }
                Ok(line)
            }
        };
        match line {
            Ok(line) => lines.push(line),
            Err(last) => {
                lines.push(last);
                break;
            }
        }
    }
    lines
}

fn failure(program: &Program, expression: u32, fault: Fault) -> Result<String, String> {
    let place = &program.expressions_at[expression as usize];
    Err(format!("fails: {} ({place})", fault.words()))
}

/// In one line, with the values of its variables.
fn filled(statement: &Statement, names: &Names, variables: &Variables) -> String {
    let text = statement.filled(|place| match variables.parameter(place) {
        Ok(Value::Text(text)) => format!("'{}'", String::from_utf8_lossy(text).replace('\'', "''")),
        Ok(value) => value.to_string(),
        Err(_) => format!(":{}", names.name(place)),
    });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn previewed(text: &str, count: usize) -> Vec<Previewed> {
        let spec = json!({"scripts": [{"file": {"name": "x.sql", "text": text}}]});
        let spec = WorkloadSpec::Sql(serde_json::from_value(spec).unwrap());
        preview(&spec, 1, count).unwrap()
    }

    fn lines(text: &str) -> Vec<String> {
        previewed(text, 1).remove(0).lines
    }

    #[test]
    fn operations_are_shown_with_what_is_drawn_for_them() {
        let text = "\\set a random(1, 1000000)\nBEGIN;\nUPDATE t\n  SET a = :a;\nEND;";
        let two = previewed(text, 2);
        let [first, second] = &*two else { panic!() };
        assert_eq!(first.operation, "x");
        assert_eq!((&*first.lines[0], &*first.lines[2]), ("BEGIN", "COMMIT"));
        assert!(first.lines[1].starts_with("UPDATE t SET a = ") && first.lines[1] != second.lines[1]);
        assert_eq!(previewed(text, 2), two);
    }

    #[test]
    fn what_a_query_answers_is_not_known() {
        assert_eq!(
            lines(
                "SELECT a FROM t \\gset\n\\set b :a + 1\nUPDATE t SET a = :a, b = :b, c = :client_id;\n\\sleep 2 ms\n\\if :b\nSELECT 1;\n\\endif"
            ),
            [
                "SELECT a FROM t",
                "UPDATE t SET a = :a, b = :b, c = 0",
                "\\sleep 2ms",
                "... what follows depends on an answer",
            ]
        );
        assert_eq!(
            lines("SELECT 1;\n\\set a 1 / :client_id\nSELECT 2;"),
            [
                "SELECT 1",
                "fails: division by zero (x.sql, line 2: \\set a 1 / :client_id)"
            ]
        );
    }
}
