//! What commands that begin with a backslash say.
use super::columns::Words;
use super::error::ScriptError;
use super::lexer::{Command, Meta};
use super::token::names as in_names;

/// The name that `\set` begins with, and how many bytes of the arguments it takes.
pub fn target(file: &str, text: &str, meta: &Meta) -> Result<(String, usize), ScriptError> {
    let blank = meta.arguments.len() - meta.arguments.trim_start().len();
    let rest = &meta.arguments[blank..];
    let name = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
    if !name.chars().all(in_names) || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        let what = match name {
            "" => "\\set takes a name and an expression".into(),
            name => format!("`{name}` is no name of a variable"),
        };
        let hint = "it is written \\set name expression; a name has letters, digits and _";
        return Err(ScriptError::at(file, text, meta.arguments_at + blank, what, hint));
    }
    Ok((name.into(), blank + name.len()))
}

/// Names of the variables that the statement before a `\gset` gives, with its prefix.
pub fn columns(file: &str, text: &str, before: &[Command], meta: &Meta) -> Result<Vec<String>, ScriptError> {
    let prefix = meta.arguments.trim();
    if !prefix.chars().all(in_names) {
        let what = format!("`{prefix}` cannot begin the name of a variable");
        return Err(ScriptError::at(
            file,
            text,
            meta.arguments_at,
            what,
            "a name has letters, digits and _",
        ));
    }
    let Some(Command::Sql(tokens)) = before.last() else {
        return Ok(vec![]);
    };
    let names = Words::of(tokens, text).columns().unwrap_or(Ok(vec![]));
    let names = names.map_err(|token| {
        let what = format!(
            "a column has no name that \\{} could give its variable",
            meta.name
        );
        ScriptError::at(file, text, token.from, what, "name it: expression AS name")
    })?;
    Ok(names.into_iter().map(|name| format!("{prefix}{name}")).collect())
}
