//! The script language of pgbench. It knows no session: [`crate::sql`] carries scripts out.
//!
//! An expression goes from `token` (words and signs) over `syntax` (a tree) to `expression` (nodes that are evaluated);
//! `function` lists what can be called, `compute`, `draw` and `hash` carry it out; `number` has the kinds of values, `names` the
//! places of variables.
//!
//! A script goes from `scan` (SQL in tokens) over `lexer` and `meta` (commands) by `compile` to `program` (steps);
//! `statement` is one of SQL, `control` those that begin and end transactions, and `balance` whether all of these do,
//! `columns` the names of what a statement answers, `variables` the values of one user; `query`
//! is a statement outside a script. Source: PostgreSQL's documentation of pgbench, versions 15 to 17.
mod balance;
mod columns;
mod compile;
mod compute;
mod control;
mod draw;
mod error;
mod expression;
mod function;
mod hash;
mod lexer;
mod meta;
mod names;
mod number;
mod program;
mod query;
mod scan;
mod statement;
mod syntax;
mod token;
mod variables;

#[cfg(test)]
mod tests;

pub use error::{ScriptError, SyntaxError};
pub use expression::{Expression, Values};
pub use lexer::{Plain, statements};
pub use names::{AUTOMATIC, Names};
pub use number::{Fault, Number};
pub use program::{Program, Step, declare};
pub use query::check_query;
pub use scan::{Kind, Token, quote_end, tokens};
pub use statement::{Counted, Numbered, Sets, Statement};
pub use syntax::{Node, Tree, parse};
pub use variables::Variables;
