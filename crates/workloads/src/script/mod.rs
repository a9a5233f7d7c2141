//! The script language of pgbench. It knows no session: [`crate::sql`] carries scripts out.
//!
//! pgbench interprets its files; here they are compiled to steps before a run, because the loop neither parses, allocates
//! nor looks names up. So the names of `\gset` are read off the statement, and a column without a name is refused.
//!
//! An expression goes from `token` (words and signs) over `syntax` (a tree) to `expression` (nodes that are evaluated);
//! `function` lists what can be called, `compute` carries it out; `number` has the kinds of values.
//!
//! A script goes from `scan` (SQL in tokens) over `lexer` (commands) by `compile` to `program` (steps); `statement` is one
//! of SQL, `control` those that begin and end transactions, `columns` the names of what a statement answers, `variables`
//! the places of variables and the values of one user. Source: PostgreSQL's documentation of pgbench, versions 15 to 17.
mod columns;
mod compile;
mod compute;
mod control;
mod error;
mod expression;
mod function;
mod lexer;
mod number;
mod program;
mod scan;
mod statement;
mod syntax;
mod token;
mod variables;

#[cfg(test)]
mod tests;

pub use control::check_query;
pub use error::{ScriptError, SyntaxError};
pub use expression::Expression;
pub use lexer::{Plain, statements};
pub use number::{Fault, Number};
pub use program::{Program, Step, declare};
pub use scan::{Kind, Token, quote_end, tokens};
pub use statement::{Counted, Numbered, Sets, Statement};
pub use syntax::{Node, Tree, parse};
pub use variables::{AUTOMATIC, Names, Values, Variables};
