//! The script language of pgbench. It knows no session: [`crate::sql`] carries scripts out.
//!
//! An expression goes from `token` (words and signs) over `syntax` (a tree) to `expression` (nodes that are evaluated);
//! `function` lists what can be called, `draw` and `hash` are what it costs to say the same as pgbench; `number` has the rules
//! of values, `names` the places of variables. Source: PostgreSQL's documentation of pgbench, versions 15 to 17.
mod draw;
mod error;
mod expression;
mod function;
mod hash;
mod names;
mod number;
mod syntax;
mod token;

#[cfg(test)]
mod tests;

pub use error::{ScriptError, SyntaxError};
pub use expression::{Expression, Variables};
pub use names::{AUTOMATIC, Names};
pub use number::{Fault, Number};
pub use syntax::{Node, Tree, parse};
