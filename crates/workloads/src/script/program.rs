//! A script compiled: steps in one row, with jumps for its conditions. Carrying it out looks nothing up and parses nothing.
use super::error::ScriptError;
use super::expression::Expression;
use super::lexer::{Command, columns, commands, target};
use super::statement::Statement;
use super::variables::Names;
use bakeoff_model::transaction::Access;

#[derive(Clone, Debug)]
pub enum Step {
    /// A variable gets an expression's value.
    Set {
        variable: u32,
        expression: u32,
    },
    /// Goes on at `to` unless the expression holds.
    Unless {
        expression: u32,
        to: u32,
    },
    Jump {
        to: u32,
    },
    /// In units of `unit_ns`.
    Sleep {
        expression: u32,
        unit_ns: u64,
    },
    Begin(Access),
    Commit,
    Rollback,
    /// An index into the statements.
    Statement(u32),
    /// Statements from here on are gathered.
    StartPipeline,
    /// Those gathered are sent.
    SyncPipeline,
    EndPipeline,
}

#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    pub steps: Vec<Step>,
    pub expressions: Vec<Expression>,
    /// Where each stands, as an error tells it: "order.sql, line 3: \set x 1 / 0".
    pub expressions_at: Vec<String>,
    pub statements: Vec<Statement>,
    /// The variables that it sets.
    pub sets: Vec<u32>,
    /// It changes nothing, as far as its words tell.
    pub reads_only: bool,
    pub pipelines: bool,
}

impl Program {
    /// Whether it has anything for a system to do.
    pub fn asks(&self) -> bool {
        let asks = |step: &Step| {
            matches!(
                step,
                Step::Begin(_) | Step::Commit | Step::Rollback | Step::Statement(_)
            )
        };
        self.steps.iter().any(asks)
    }
}

/// Adds the variables that a script sets; all scripts of a user have theirs in common.
pub fn declare(file: &str, text: &str, names: &mut Names) -> Result<(), ScriptError> {
    let all = commands(file, text)?;
    for (i, command) in all.iter().enumerate() {
        let Command::Meta(meta) = command else { continue };
        match meta.name.as_str() {
            "set" => {
                let (name, _) = target(file, text, meta)?;
                names.set(&name);
            }
            "gset" | "aset" => {
                for name in columns(file, text, &all[..i], meta)? {
                    names.set(&name);
                }
            }
            _ => {}
        }
    }
    Ok(())
}
