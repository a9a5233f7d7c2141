//! From commands to a program's steps.
mod blocks;

use super::columns::Words;
use super::control::{Control, Unbalanced, control, transactions};
use super::error::{Lines, ScriptError, excerpt};
use super::expression::Expression;
use super::lexer::{Command, Meta, columns, commands, target};
use super::program::{Program, Step};
use super::scan::Token;
use super::statement::{Sets, Statement};
use super::variables::Names;
use bakeoff_model::options::nearest;
use bakeoff_model::transaction::Access;
use blocks::{Began, Open};
use std::collections::HashSet;

impl Program {
    /// `names`: with what every script of this user declares.
    pub fn compile(file: &str, text: &str, names: &Names) -> Result<Self, ScriptError> {
        let all = commands(file, text)?;
        let mut compiler = Compiler {
            file,
            text,
            names,
            made: Program {
                name: file.into(),
                steps: vec![],
                expressions: vec![],
                expressions_at: vec![],
                statements: vec![],
                sets: vec![],
                reads_only: false,
                pipelines: false,
            },
            lines: Lines::of(text),
            is_set: HashSet::new(),
            controls_at: vec![],
            numbers: 0,
            open: vec![],
            pipeline: None,
            sql_before: false,
        };
        for (i, command) in all.iter().enumerate() {
            match command {
                Command::Sql(tokens) => compiler.sql(tokens)?,
                Command::Meta(meta) => compiler.meta(meta, &all[..i])?,
            }
        }
        compiler.end()
    }
}

struct Compiler<'t> {
    file: &'t str,
    text: &'t str,
    names: &'t Names,
    made: Program,
    lines: Lines,
    /// What `made.sets` holds.
    is_set: HashSet<u32>,
    /// Steps that begin and end transactions, and where each stands.
    controls_at: Vec<(usize, usize)>,
    /// Statements so far, with those that begin and end transactions.
    numbers: u32,
    open: Vec<Open>,
    pipeline: Option<Began>,
    /// The command before was a statement that answers with rows, which no `\gset` has taken yet.
    sql_before: bool,
}

const META: [&str; 13] = [
    "set",
    "gset",
    "aset",
    "if",
    "elif",
    "else",
    "endif",
    "sleep",
    "startpipeline",
    "syncpipeline",
    "endpipeline",
    "shell",
    "setshell",
];

impl Compiler<'_> {
    fn refuse(&self, at: usize, what: impl Into<String>, hint: impl Into<String>) -> ScriptError {
        ScriptError::at(self.file, self.text, at, what, hint)
    }

    fn sql(&mut self, tokens: &[Token]) -> Result<(), ScriptError> {
        self.numbers += 1;
        self.sql_before = false;
        let at = tokens[0].from;
        let words = Words::of(tokens, self.text);
        if let Some(said) = control(&words) {
            let Ok(control) = said else {
                let hint = "after it may stand ISOLATION LEVEL and READ ONLY or READ WRITE, or nothing";
                return Err(self.refuse(at, "this cannot be asked of every system", hint));
            };
            return self.control(control, at);
        }
        let line = self.lines.number(at);
        let statement = Statement::new(self.numbers, line, tokens, self.file, self.text, self.names)?;
        if self.pipeline.is_some() && !statement.prepared {
            let what = "a pipeline takes prepared statements only, and this one is sent as text";
            return Err(self.refuse(at, what, "put it before \\startpipeline or after \\endpipeline"));
        }
        self.sql_before = statement.rows;
        self.made
            .steps
            .push(Step::Statement(self.made.statements.len() as u32));
        self.made.statements.push(statement);
        Ok(())
    }

    fn control(&mut self, control: Control, at: usize) -> Result<(), ScriptError> {
        let plain = matches!(control, Control::Commit) || control == Control::Begin(Access::default());
        if self.pipeline.is_some() && !plain {
            let hint = "put it before \\startpipeline or after \\endpipeline";
            return Err(self.refuse(
                at,
                "a pipeline takes BEGIN and COMMIT only, without more words",
                hint,
            ));
        }
        self.controls_at.push((self.made.steps.len(), at));
        self.made.steps.push(match control {
            Control::Begin(access) => Step::Begin(access),
            Control::Commit => Step::Commit,
            Control::Rollback => Step::Rollback,
        });
        Ok(())
    }

    fn meta(&mut self, meta: &Meta, before: &[Command]) -> Result<(), ScriptError> {
        let sql_before = std::mem::take(&mut self.sql_before);
        match meta.name.as_str() {
            "set" => {
                let (name, skipped) = target(self.file, self.text, meta)?;
                let expression = self.expression(meta, skipped)?;
                let variable = self.variable(meta, &name)?;
                self.made.steps.push(Step::Set { variable, expression });
            }
            "gset" | "aset" => self.gset(meta, before, sql_before)?,
            "if" => self.begin_if(meta)?,
            "elif" => self.elif(meta)?,
            "else" => {
                self.alone(meta)?;
                self.branch(meta)?;
            }
            "endif" => self.endif(meta)?,
            "sleep" => self.sleep(meta)?,
            "startpipeline" | "syncpipeline" | "endpipeline" => self.pipeline(meta)?,
            "shell" | "setshell" => {
                let what = format!("\\{} is refused: a plan runs no commands", meta.name);
                return Err(self.refuse(
                    meta.at,
                    what,
                    "compute the value with \\set, or read it from the database with \\gset",
                ));
            }
            name => {
                let what = format!("there is no command \\{name}");
                return Err(self.refuse(meta.at, what, nearest(name, &META)));
            }
        }
        Ok(())
    }

    fn alone(&self, meta: &Meta) -> Result<(), ScriptError> {
        match meta.arguments.trim() {
            "" => Ok(()),
            more => {
                let what = format!("\\{} takes nothing, and `{more}` follows", meta.name);
                Err(self.refuse(meta.arguments_at, what, "put it on a line of its own"))
            }
        }
    }

    /// What stands after the first `skipped` bytes of the arguments.
    fn expression(&mut self, meta: &Meta, skipped: usize) -> Result<u32, ScriptError> {
        let first = meta.arguments_at + skipped;
        let made = Expression::compile(&meta.arguments[skipped..], self.names)
            .map_err(|error| error.within(self.file, self.text, first))?;
        Ok(self.keep(made, meta))
    }

    fn keep(&mut self, expression: Expression, meta: &Meta) -> u32 {
        let (line, excerpt) = (self.lines.number(meta.at), excerpt(self.text, meta.at));
        self.made
            .expressions_at
            .push(format!("{}, line {line}: {excerpt}", self.file));
        self.made.expressions.push(expression);
        self.made.expressions.len() as u32 - 1
    }

    fn variable(&mut self, meta: &Meta, name: &str) -> Result<u32, ScriptError> {
        let Some(place) = self.names.place(name) else {
            return Err(self.refuse(
                meta.at,
                format!("the variable `{name}` was not declared"),
                "declare the script",
            ));
        };
        if self.is_set.insert(place) {
            self.made.sets.push(place);
        }
        Ok(place)
    }

    fn gset(&mut self, meta: &Meta, before: &[Command], sql_before: bool) -> Result<(), ScriptError> {
        if !sql_before {
            let what = format!("\\{} must follow a statement that answers with rows", meta.name);
            return Err(self.refuse(
                meta.at,
                what,
                "write it right after a SELECT, or after a statement with RETURNING",
            ));
        }
        if self.pipeline.is_some() {
            let what = format!(
                "\\{} cannot be used in a pipeline: no answer has come yet",
                meta.name
            );
            return Err(self.refuse(meta.at, what, "put it after \\endpipeline"));
        }
        let names = columns(self.file, self.text, before, meta)?;
        let variables = names
            .iter()
            .map(|name| self.variable(meta, name))
            .collect::<Result<_, _>>()?;
        if let Some(statement) = self.made.statements.last_mut() {
            statement.sets = Some(Sets {
                variables,
                one_row: meta.name == "gset",
            });
        }
        Ok(())
    }

    fn sleep(&mut self, meta: &Meta) -> Result<(), ScriptError> {
        let words: Vec<&str> = meta.arguments.split_whitespace().collect();
        let wrong = |what: String| {
            self.refuse(
                meta.at,
                what,
                "it is written \\sleep 10 ms, with us, ms or s (the usual one)",
            )
        };
        let (amount, unit) = match *words {
            [amount] => (amount, "s"),
            [amount, unit] => (amount, unit),
            _ => return Err(wrong("\\sleep takes a number and a unit".into())),
        };
        let unit_ns = match unit.to_ascii_lowercase().as_str() {
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            _ => return Err(wrong(format!("there is no unit `{unit}`"))),
        };
        if !amount.starts_with(':') && amount.parse::<u32>().is_err() {
            return Err(wrong(format!(
                "`{amount}` is neither a whole number nor a variable"
            )));
        }
        let at = meta.arguments_at + meta.arguments.find(amount).unwrap_or(0);
        let made = Expression::compile(amount, self.names)
            .map_err(|error| error.within(self.file, self.text, at))?;
        let expression = self.keep(made, meta);
        self.made.steps.push(Step::Sleep { expression, unit_ns });
        Ok(())
    }

    fn end(mut self) -> Result<Program, ScriptError> {
        if let Some(open) = self.open.last() {
            return Err(self.refuse(open.at, "this \\if does not end", "close it with \\endif"));
        }
        if let Some(began) = self.pipeline {
            return Err(self.refuse(
                began.at,
                "this pipeline does not end",
                "close it with \\endpipeline",
            ));
        }
        if self.made.steps.is_empty() {
            return Err(self.refuse(0, "the script has no command", "write a statement of SQL into it"));
        }
        if let Err(Unbalanced { step, what }) = transactions(&self.made.steps) {
            let own = self.controls_at.iter().find(|(control, _)| *control == step);
            let at = own.map_or(self.text.len(), |(_, at)| *at);
            let hint = "each BEGIN needs its COMMIT or ROLLBACK before the next, and before the script ends";
            return Err(self.refuse(at, what, hint));
        }
        self.made.reads_only = self.made.statements.iter().all(|statement| statement.reads);
        for step in &mut self.made.steps {
            if let Step::Begin(access) = step {
                access.read_only |= self.made.reads_only;
            }
        }
        Ok(self.made)
    }
}
