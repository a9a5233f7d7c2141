//! A query that is asked by itself, such as that of a check: it has no variables, and changes nothing.
use super::columns::Words;
use super::error::ScriptError;
use super::lexer::{Command, commands};
use super::statement::only_asks;

/// Refuses what is not one query; `name`: of what it stands in. Functions that it calls are not looked into.
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
