//! The plan's scripts, compiled for systems of one dialect: an operation each, drawn by their weights.
use super::expected::Expected;
use super::long;
use super::schema::no_variant;
use super::user::User;
use crate::rng::{Random, Stream, mix};
use crate::script::{Names, Number, Program, Statement, declare};
use crate::trouble::refuse;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::sql::{Expect, Script, SqlSpec, TextFile};
use bakeoff_model::sql::Statement as Handle;

#[derive(Clone, Debug)]
pub struct Scripts {
    /// Of the variables, which all scripts of a user have in common.
    pub names: Names,
    pub all: Vec<Compiled>,
    /// Sums of weights, each with those before it.
    sums: Vec<u64>,
}

#[derive(Clone, Debug)]
pub struct Compiled {
    /// Of the operation.
    pub name: String,
    pub program: Program,
    pub ready: Ready,
}

impl Scripts {
    pub fn new(spec: &SqlSpec, dialect: &str) -> Result<Self, Trouble> {
        let mut files = vec![];
        for script in &spec.scripts {
            let file = file(script, dialect)?;
            long::check_bytes("scripts", file)?;
            files.push((script, file));
        }
        let mut names = names(spec);
        for (_, file) in &files {
            declare(&file.name, &file.text, &mut names)
                .map_err(|error| refuse("scripts", error.to_string(), error.hint.clone()))?;
        }
        let (mut all, mut sums, mut sum, mut prepared) = (Vec::<Compiled>::new(), vec![], 0, 0);
        let mut commands = 0;
        for (script, file) in files {
            let compiled = compiled(script, file, &names, &mut prepared)?;
            commands += compiled.program.steps.len();
            long::check_commands(commands)?;
            if all.iter().any(|other| other.name == compiled.name) {
                let what = format!("two scripts have the name `{}`", compiled.name);
                return Err(refuse(
                    "scripts",
                    what,
                    "give one of them another: name = \"NAME\"",
                ));
            }
            sum += u64::from(script.weight);
            sums.push(sum);
            all.push(compiled);
        }
        if sum == 0 {
            let what = match all.is_empty() {
                true => "there is nothing to run: neither `scripts` nor `script` is said",
                false => "all `scripts` have the weight 0",
            };
            let hint = "scripts = [\"order.sql\"] names files in pgbench's language";
            return Err(refuse("scripts", what, hint));
        }
        Ok(Self { names, all, sums })
    }

    /// `values`: of the variables that have one before a script begins.
    pub fn user(&self, values: &[Number]) -> User {
        let programs: Vec<&Program> = self.all.iter().map(|script| &script.program).collect();
        User::new(values, self.names.len(), &programs)
    }

    /// The first that only reads.
    pub fn latency_probe(&self) -> Option<usize> {
        self.all.iter().position(|script| script.program.reads_only)
    }

    /// Of one user's operations. Each turn has streams of its own, of which it uses as many as there are users.
    pub fn stream(&self, spec: &SqlSpec, seed: u64, user: u64) -> Stream {
        Stream::new(mix(seed, spec.turn), user)
    }

    /// The script that a user carries out next, and the seed of what it draws.
    #[inline]
    pub fn next(&self, stream: &mut Stream) -> (usize, u64) {
        let seed = stream.next_seed();
        // Another seed than the script's own draws begin with.
        (self.draw(&mut Random::new(!seed)), seed)
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> usize {
        if self.all.len() == 1 {
            return 0;
        }
        let at = random.below(self.sums.last().copied().unwrap_or(1));
        self.sums.partition_point(|sum| *sum <= at)
    }
}

fn file<'s>(script: &'s Script, dialect: &str) -> Result<&'s TextFile, Trouble> {
    script.of(dialect).ok_or_else(|| no_variant("scripts", dialect))
}

fn compiled(
    script: &Script,
    file: &TextFile,
    names: &Names,
    prepared: &mut u32,
) -> Result<Compiled, Trouble> {
    let program = Program::compile(&file.name, &file.text, names)
        .map_err(|error| refuse("scripts", error.to_string(), error.hint.clone()))?;
    for expect in &script.expect {
        let known = program
            .statements
            .iter()
            .any(|statement| statement.number == expect.statement);
        if !known || (expect.rows.is_none() && expect.value.is_none()) {
            let what = match known {
                true => format!(
                    "`expect` of statement {} of {} says nothing",
                    expect.statement, file.name
                ),
                false => format!(
                    "{} has no statement {} that could be expected to answer",
                    file.name, expect.statement
                ),
            };
            let hint = "statements of SQL are counted from 1: { statement = 2, rows = 1 }, or value = 0";
            return Err(refuse("scripts", what, hint));
        }
    }
    Ok(Compiled {
        name: name(script, file),
        ready: Ready::new(&program, &script.expect, prepared),
        program,
    })
}

/// The file's without its folder and ending, where the plan gives no other.
fn name(script: &Script, file: &TextFile) -> String {
    if !script.name.is_empty() {
        return script.name.clone();
    }
    let file = script.file.as_ref().unwrap_or(file);
    let base = file.name.rsplit('/').next().unwrap_or_default();
    base.split_once('.').map_or(base, |(stem, _)| stem).to_owned()
}

// What is known of a script's statements before any is asked: their numbers in every session, and their answers.

/// Of each statement of a script, what is needed to ask it and to look at its answer.
#[derive(Clone, Debug)]
pub struct Ready {
    pub handles: Vec<Handle>,
    pub expected: Vec<Option<Expected>>,
}

impl Ready {
    /// `prepared`: how many statements of a session come before; counts on.
    pub fn new(program: &Program, expect: &[Expect], prepared: &mut u32) -> Self {
        let handle = |statement: &Statement| {
            let handle = Handle(*prepared);
            *prepared += u32::from(statement.prepared);
            handle
        };
        let expected = |statement: &Statement| Expected::new(&program.name, statement.number, expect);
        Self {
            handles: program.statements.iter().map(handle).collect(),
            expected: program.statements.iter().map(expected).collect(),
        }
    }
}

// Variables that have a value before a script begins or a row is drawn: pgbench's own, and those of the plan.

/// The number of a row that is drawn, from 1; after all others.
pub const ROW: &str = "row";

pub fn names(spec: &SqlSpec) -> Names {
    let mut names = Names::default();
    names.fix("scale", Number::Int(spec.scale.into()));
    for (name, value) in &spec.variables {
        names.fix(name, number(value).unwrap_or(Number::Null));
    }
    names
}

/// In the places of [`names`]. `client`: the user's number, from 0.
pub fn values(spec: &SqlSpec, client: u64, seed: u64) -> Vec<Number> {
    let seed = Number::Int((seed >> 1) as i64);
    let automatic = [
        Number::Int(client as i64),
        seed,
        seed,
        Number::Int(spec.scale.into()),
    ];
    let own = spec
        .variables
        .values()
        .map(|value| number(value).unwrap_or(Number::Null));
    automatic.into_iter().chain(own).collect()
}

pub fn validate(spec: &SqlSpec) -> Result<(), Trouble> {
    for (name, value) in &spec.variables {
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || name.is_empty() {
            let what = format!("`variables` cannot name one {name:?}");
            return Err(refuse("variables", what, "a name has letters, digits and _"));
        }
        if crate::script::AUTOMATIC.contains(&name.as_str()) || name == ROW {
            let what = format!("`variables` cannot give `{name}` a value: it has one of its own");
            return Err(refuse(
                "variables",
                what,
                "choose another name; `scale` is an option",
            ));
        }
        if number(value).is_none() {
            let what = format!("`variables` `{name}` cannot be {value:?}");
            return Err(refuse("variables", what, "it is a number, or true or false"));
        }
    }
    Ok(())
}

fn number(value: &str) -> Option<Number> {
    Number::parse(value.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn script(name: &str, text: &str) -> Value {
        json!({"file": {"name": name, "text": text}})
    }

    fn scripts(scripts: Value) -> Result<Scripts, Trouble> {
        Scripts::new(
            &serde_json::from_value(json!({"scripts": scripts})).unwrap(),
            "sqlite",
        )
    }

    #[test]
    fn an_operation_has_its_files_name_and_the_weight_that_the_plan_gives_it() {
        let mut often = script("sql/browse.sql", "SELECT 1;");
        often["weight"] = json!(3);
        often["sqlite"] = json!({"name": "browse-lite.sql", "text": "SELECT 2;"});
        let mut named = script("x.sql", "SELECT 1;");
        named["name"] = json!("order");
        let made = scripts(json!([often, named])).unwrap();
        let names: Vec<&str> = made.all.iter().map(|script| &*script.name).collect();
        assert_eq!(names, ["browse", "order"]);
        let mut random = Random::new(1);
        let orders: usize = (0..4000).map(|_| made.draw(&mut random)).sum();
        assert!((900..1100).contains(&orders), "{orders}");
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_file_and_line() {
        let what = |of| {
            let refusal = scripts(of).unwrap_err();
            assert_eq!(refusal.place, "workload.scripts");
            refusal.what
        };
        let twice = json!([script("a.sql", "SELECT 1;"), script("b/a.sql", "SELECT 1;")]);
        assert_eq!(what(twice), "two scripts have the name `a`");
        assert_eq!(
            what(json!([])),
            "there is nothing to run: neither `scripts` nor `script` is said"
        );
        let broken = what(json!([script("a.sql", "SELECT 1;\n\\set x 1 +\n")]));
        assert!(broken.starts_with("a.sql, line 2, column 11"), "{broken}");
        let many = "\\set a 1\n".repeat(long::COMMANDS_MOST / 2) + "SELECT 1;";
        let most = [script("a.sql", &many), script("b.sql", &many)];
        assert_eq!(
            what(json!(most)),
            "the scripts have 20002 commands or more, and at most 20000 can be run"
        );
        let long = " ".repeat(long::FILE_BYTES_MOST) + "SELECT 1;";
        assert_eq!(
            what(json!([script("a.sql", &long)])),
            "a.sql has 4194313 bytes, and at most 4194304 are read"
        );
        let mut expecting = script("a.sql", "BEGIN;\nSELECT 1;\nEND;");
        expecting["expect"] = json!([{"statement": 4, "rows": 1}]);
        assert_eq!(
            what(json!([expecting])),
            "a.sql has no statement 4 that could be expected to answer"
        );
        expecting["expect"] = json!([{"statement": 2}]);
        assert_eq!(
            what(json!([expecting])),
            "`expect` of statement 2 of a.sql says nothing"
        );
        assert_eq!(
            what(json!([{"mysql": {"name": "a.sql", "text": "SELECT 1;"}}])),
            "`scripts` has no file for sqlite"
        );
    }

    fn spec(variables: Value) -> SqlSpec {
        serde_json::from_value(json!({"scale": 5, "variables": variables})).unwrap()
    }

    #[test]
    fn names_and_values_have_the_same_places() {
        let spec = spec(json!({"customers": "10", "share": "0.5"}));
        let (names, values) = (names(&spec), values(&spec, 3, 8));
        let found = |name: &str| values[names.place(name).unwrap() as usize];
        assert_eq!(values.len(), names.len());
        assert_eq!(found("client_id"), Number::Int(3));
        assert_eq!(found("scale"), Number::Int(5));
        assert_eq!(found("customers"), Number::Int(10));
        assert_eq!(found("share"), Number::Double(0.5));
        assert!(validate(&spec).is_ok());
    }

    #[test]
    fn what_is_no_variable_is_refused() {
        for (variables, what) in [
            (json!({"a b": "1"}), "`variables` cannot name one \"a b\""),
            (
                json!({"scale": "1"}),
                "`variables` cannot give `scale` a value: it has one of its own",
            ),
            (json!({"a": "x"}), "`variables` `a` cannot be \"x\""),
        ] {
            let refusal = validate(&spec(variables)).unwrap_err();
            assert_eq!(
                (refusal.what.as_str(), refusal.place.as_str()),
                (what, "workload.variables")
            );
        }
    }
}
