//! What statements of a plan may do: a list of forms whose only targets are tables of the plan. A statement that is not on it,
//! and one that the parser cannot read, is refused before anything starts.
//!
//! A list of what is forbidden has holes: each dialect has more ways to reach other tables than anybody lists. Texts that
//! servers may cut differently are refused, so that what was parsed is what is carried out.
//!
//! `words` is what can be said without a tree; `form` goes through the parser's tree of a statement with everything in it;
//! `made` is what earlier statements of the schema have made besides tables.
mod form;
mod made;
mod words;

use super::schema::Schema;
use super::scripts::Scripts;
use crate::script::{Numbered, statements, tokens};
use crate::trouble::refuse;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::sql::SqlSpec;
use made::Made;
use sqlparser::ast::Statement;
use sqlparser::dialect::{Dialect, GenericDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;
use std::collections::HashSet;
use words::Text;

/// Where a statement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `schema` or `after_load`: it also makes and changes tables.
    Schema,
    Script,
    /// It only reads.
    Check,
}

/// What is refused, and what a person can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub what: String,
    pub hint: String,
}

const HINT: &str = "leave it out, or say `unchecked_sql = true` in [workload]: then bakeoff carries out whatever the files \
    say, on whatever it concerns, and the report says so";

impl Refusal {
    fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: HINT.into(),
        }
    }

    fn hint(self, hint: &str) -> Self {
        Self {
            hint: format!("{hint}; or {HINT}"),
            ..self
        }
    }
}

impl From<&str> for Refusal {
    fn from(what: &str) -> Self {
        Self::new(what)
    }
}

#[derive(Clone, Debug)]
pub struct Rules<'s> {
    /// The driver's name of it; one that is not known is read by the broadest parser.
    dialect: &'s str,
    /// Of the plan.
    tables: &'s [String],
    /// The same names, in lower case where the system does not tell cases apart.
    names: HashSet<String>,
    /// That the plan says may be called.
    functions: &'s [String],
    /// By statements before this one.
    made: Made,
}

impl<'s> Rules<'s> {
    pub fn new(dialect: &'s str, tables: &'s [String], functions: &'s [String]) -> Self {
        let name = |own: &String| match dialect {
            // Where files are named as tables are, two tables may differ by a letter's case.
            "mysql" => own.clone(),
            _ => own.to_ascii_lowercase(),
        };
        Self {
            dialect,
            tables,
            names: tables.iter().map(name).collect(),
            functions,
            made: Made::default(),
        }
    }

    pub fn check(&self, sql: &str, place: Place) -> Result<(), Refusal> {
        self.read(sql, place).map(drop)
    }

    /// The statement as the parser understood it; `None`: its words were enough.
    fn read(&self, sql: &str, place: Place) -> Result<Option<Statement>, Refusal> {
        let all = tokens(sql).map_err(|(_, what)| Refusal::new(what))?;
        let text = Text::new(sql, &all);
        text.refuse_ambiguous(self.dialect).map_err(Refusal::new)?;
        if place != Place::Check
            && let Some(maintained) = text.maintained()
        {
            let names = maintained.map_err(|()| self.not_a_form(&text, place))?;
            let own = |(_, name): &(_, &str)| {
                let quoted = name.starts_with(['"', '`']);
                self.own(name.trim_matches(['"', '`']), quoted)
            };
            return names.iter().try_for_each(own).map(|()| None);
        }
        if place != Place::Check && text.is(0, "set") {
            return self.check_set(&text).map(|()| None);
        }
        let options = text.table_options().unwrap_or(all.len());
        let head = all.get(options).map_or(sql, |token| &sql[..token.from]);
        let is_query = |word: &str| {
            let first = Text::new(sql, &all[options..]);
            first.is(0, word)
        };
        let sql = match options < all.len() && !is_query("as") {
            true => {
                crate::table_options::check_tokens(&all[options..], sql).map_err(Refusal::new)?;
                head
            }
            false => sql,
        };
        let sql = words::known_to_the_parser(sql, &all, self.dialect);
        let mut parsed = Parser::parse_sql(self.parser(), &sql).map_err(|error| {
            let form = text.form();
            let what =
                format!("`{form}` cannot be read as one of the statements that bakeoff checks ({error})");
            Refusal::new(what)
        })?;
        match (parsed.pop(), &*parsed) {
            (Some(one), []) => form::check(self, &one, place, &|| text.form()).map(|()| Some(one)),
            _ => Err(Refusal::new("it is more than one statement")),
        }
    }

    /// `SET @a = (...)`: the values are those of a query.
    fn check_set(&self, text: &Text<'_>) -> Result<(), Refusal> {
        let setting = || {
            Refusal::new("it changes a setting").hint(
                "say it in the plan, as `settings` or `session` of the system; the report shows it there",
            )
        };
        if text.sets_transaction() {
            return Ok(());
        }
        if !text.sets_user_variables() {
            return Err(setting());
        }
        let values: Vec<&str> = text.words[1..]
            .iter()
            .map(|(_, word)| if *word == ":=" { "=" } else { word })
            .collect();
        let query = format!("SELECT {}", values.join(" ").replace("@ ", "@"));
        let parsed = Parser::parse_sql(self.parser(), &query).map_err(|_| setting())?;
        match &*parsed {
            [one] => form::check(self, one, Place::Script, &|| "SET".into()),
            _ => Err(setting()),
        }
    }

    fn parser(&self) -> &'static dyn Dialect {
        match self.dialect {
            "mysql" => &MySqlDialect {},
            "postgresql" => &PostgreSqlDialect {},
            "sqlite" => &SQLiteDialect {},
            _ => &GenericDialect {},
        }
    }

    fn not_a_form(&self, text: &Text<'_>, place: Place) -> Refusal {
        not_a_form(&text.form(), place)
    }

    /// Whether a name, as this system reads it, is that of a table of the plan.
    fn is_own(&self, name: &str, quoted: bool) -> bool {
        match self.dialect {
            "mysql" => self.names.contains(name),
            "postgresql" if quoted => self.names.contains(name),
            _ => self.names.contains(&name.to_ascii_lowercase()),
        }
    }

    fn own(&self, name: &str, quoted: bool) -> Result<(), Refusal> {
        match self.is_own(name, quoted) {
            true => Ok(()),
            false => Err(self.not_own(name)),
        }
    }

    fn not_own(&self, name: &str) -> Refusal {
        let tables = self.tables.join(", ");
        let hint = format!("the plan's tables are {tables}; name others that are meant in `tables`");
        Refusal::new(format!("it changes `{name}`, which is not a table of the plan")).hint(&hint)
    }
}

fn not_a_form(form: &str, place: Place) -> Refusal {
    let what = match place {
        Place::Schema => format!("`{form}` is not one of the statements that a schema may have"),
        Place::Script => format!("`{form}` is not one of the statements that a script may have"),
        Place::Check => format!("`{form}` is more than a check may do: it is one query that only reads"),
    };
    Refusal::new(what)
}

/// Parsing a statement takes as much of the stack as it is deep.
const STACK_BYTES: usize = 256 << 20;

/// Refuses every statement of the plan that is not on the list, by its place.
pub fn validate(
    spec: &SqlSpec,
    dialect: &str,
    schema: &Schema,
    scripts: &mut Scripts,
) -> Result<(), Trouble> {
    if spec.unchecked_sql {
        return Ok(());
    }
    let work = || validate_all(spec, dialect, schema, scripts);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        match thread.spawn_scoped(scope, work).map(|thread| thread.join()) {
            Ok(Ok(done)) => done,
            _ => Err(refuse(
                "scripts",
                "the statements could not be checked",
                "make them shorter",
            )),
        }
    })
}

fn validate_all(
    spec: &SqlSpec,
    dialect: &str,
    schema: &Schema,
    scripts: &mut Scripts,
) -> Result<(), Trouble> {
    let mut rules = Rules::new(dialect, &schema.tables, &spec.functions);
    let numbered = Numbered::new(&schema.tables);
    refuse_names(&rules)?;
    let told = |option: &str, place: &str, refusal: Refusal| {
        refuse(option, format!("{place}: {}", refusal.what), refusal.hint)
    };
    for (option, all) in [("schema", &schema.make), ("after_load", &schema.after_load)] {
        for statement in all {
            let read = rules.read(&statement.sql, Place::Schema);
            if let Some(read) = read.map_err(|refusal| told(option, &statement.place, refusal))? {
                rules.made.learn(&read, dialect);
            }
        }
    }
    for script in &mut scripts.all {
        let program = &mut script.program;
        for statement in &mut program.statements {
            let place = format!("{}, line {}", program.name, statement.line);
            statement
                .keep_to(&numbered, |sql| rules.check(sql, Place::Script))
                .map_err(|refusal| told("scripts", &place, refusal))?;
        }
    }
    for check in &spec.checks {
        for query in check.empty.iter().chain(check.equal.iter().flatten()) {
            let place = format!("the check {:?}", check.name);
            for statement in statements(&place, query).unwrap_or_default() {
                rules
                    .check(&statement.sql, Place::Check)
                    .map_err(|refusal| told("checks", &place, refusal))?;
            }
        }
    }
    Ok(())
}

/// Names that the system itself looks for elsewhere first.
fn refuse_names(rules: &Rules<'_>) -> Result<(), Trouble> {
    let taken = match rules.dialect {
        "postgresql" => "pg_",
        "sqlite" => "sqlite_",
        _ => return Ok(()),
    };
    match rules
        .tables
        .iter()
        .find(|name| name.to_ascii_lowercase().starts_with(taken))
    {
        Some(name) => {
            let what = format!(
                "a table cannot have the name {name:?}: those that begin with {taken} are the system's"
            );
            Err(refuse("tables", what, "name it otherwise"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
