//! Statements that begin and end transactions: a session receives them as such, so that every driver knows what is open.
use super::columns::Words;
use super::error::ScriptError;
use super::lexer::{Command, commands};
use super::program::Step;
use super::statement::only_asks;
use bakeoff_model::run::Isolation;
use bakeoff_model::transaction::Access;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Begin(Access),
    Commit,
    Rollback,
}

/// `None`: it is another statement. `Err`: not every system has the options that it names.
pub fn control(words: &Words<'_>) -> Option<Result<Control, ()>> {
    let said: Vec<String> = words.words.iter().map(|word| word.text.to_lowercase()).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let (control, rest) = match &*said {
        ["begin", rest @ ..] | ["start", "transaction", rest @ ..] => {
            let rest = rest
                .strip_prefix(&["work"])
                .or(rest.strip_prefix(&["transaction"]))
                .unwrap_or(rest);
            return Some(access(rest).map(Control::Begin).ok_or(()));
        }
        // COMMIT PREPARED and ROLLBACK TO are others.
        ["commit", "prepared", ..] | ["rollback", "prepared" | "to", ..] | ["rollback", _, "to", ..] => {
            return None;
        }
        ["commit" | "end", rest @ ..] => (Control::Commit, rest),
        ["rollback" | "abort", rest @ ..] => (Control::Rollback, rest),
        _ => return None,
    };
    Some(match rest {
        [] | ["work" | "transaction"] => Ok(control),
        _ => Err(()),
    })
}

fn access(mut rest: &[&str]) -> Option<Access> {
    let mut access = Access::default();
    loop {
        rest = match rest {
            [] => return Some(access),
            [",", rest @ ..] | ["read", "write", rest @ ..] => rest,
            ["read", "only", rest @ ..] => {
                access.read_only = true;
                rest
            }
            ["isolation", "level", rest @ ..] => {
                let (isolation, rest) = match rest {
                    ["read", "uncommitted", rest @ ..] => (Isolation::ReadUncommitted, rest),
                    ["read", "committed", rest @ ..] => (Isolation::ReadCommitted, rest),
                    ["repeatable", "read", rest @ ..] => (Isolation::RepeatableRead, rest),
                    ["serializable", rest @ ..] => (Isolation::Serializable, rest),
                    _ => return None,
                };
                access.isolation = Some(isolation);
                rest
            }
            // SQLite's: it takes its locks by what is read and written.
            ["deferred" | "immediate" | "exclusive"] => return Some(access),
            _ => return None,
        };
    }
}

// Whether each transaction that a script begins also ends.

pub struct Unbalanced {
    /// The step that cannot be taken; after the last one: the end.
    pub step: usize,
    pub what: &'static str,
}

/// Refuses what goes wrong on every way through the script; what depends on its conditions fails when it comes to that.
pub fn transactions(steps: &[Step]) -> Result<(), Unbalanced> {
    /// How one may come to a step.
    #[derive(Clone, Copy, Default)]
    struct Ways {
        closed: bool,
        open: bool,
    }
    let mut ways = vec![Ways::default(); steps.len() + 1];
    ways[0].closed = true;
    let arrive = |ways: &mut Vec<Ways>, to: usize, from: Ways| {
        ways[to].closed |= from.closed;
        ways[to].open |= from.open;
    };
    for (i, step) in steps.iter().enumerate() {
        let here = ways[i];
        let only_open = here.open && !here.closed;
        let refuse = |what| Err(Unbalanced { step: i, what });
        let next = match step {
            Step::Begin(_) if only_open => return refuse("a transaction begins inside another"),
            Step::Begin(_) => Ways {
                closed: false,
                open: true,
            },
            Step::Commit | Step::Rollback if here.closed && !here.open => {
                return refuse("a transaction ends that never began");
            }
            Step::Commit | Step::Rollback => Ways {
                closed: true,
                open: false,
            },
            Step::Unless { to, .. } => {
                arrive(&mut ways, *to as usize, here);
                here
            }
            Step::Jump { to } => {
                arrive(&mut ways, *to as usize, here);
                continue;
            }
            _ => here,
        };
        arrive(&mut ways, i + 1, next);
    }
    match ways[steps.len()] {
        Ways {
            open: true,
            closed: false,
        } => Err(Unbalanced {
            step: steps.len(),
            what: "the script ends inside a transaction",
        }),
        _ => Ok(()),
    }
}

// A query that is asked by itself, such as that of a check: it has no variables, and changes nothing.

/// Refuses anything but a single query; `name` says where the text comes from. Functions that it calls are not examined.
pub fn check_query(name: &str, text: &str) -> Result<(), ScriptError> {
    let refuse = |at: usize, what: &str| {
        let hint = "write one SELECT, without FOR UPDATE, INTO or whatever else changes something";
        Err(ScriptError::at(name, text, at, what, hint))
    };
    match &*commands(name, text)? {
        [] => refuse(0, "there is no query"),
        [Command::Sql(tokens)] if only_asks(&Words::of(tokens, text)) => Ok(()),
        [Command::Sql(tokens)] => refuse(tokens[0].from, "it does more than ask"),
        [Command::Meta(meta), ..] | [_, Command::Meta(meta), ..] => {
            refuse(meta.at, "a command that begins with a backslash is for scripts")
        }
        [_, Command::Sql(tokens), ..] => refuse(tokens[0].from, "a second statement follows"),
    }
}
