//! What differs between SQL systems in a column of JSON.
use crate::document::{PathKind, PathSpec};

/// How a system keeps documents in a column of JSON. A function gets columns and parameters as they are written in a
/// statement, and returns an expression. Steps of a path are ASCII letters, digits and `_`: they need no quotes.
#[derive(Clone, Copy, Debug)]
pub struct Json {
    /// Of a key that compares byte by byte, `{}` standing for its length.
    pub key_type: &'static str,
    pub column_type: &'static str,
    /// A parameter (`{}`) of text, as a value of the column.
    pub stored: &'static str,
    /// The column (`{}`), as text.
    pub text: &'static str,
    /// The value of a path in the column, of an SQL type that compares as the path's kind does (texts by their bytes). NULL
    /// where a document lacks it. Not asked of [`PathKind::Texts`].
    pub value: fn(column: &str, path: &PathSpec) -> String,
    /// A parameter, of that same type.
    pub compared: fn(parameter: &str, kind: PathKind) -> String,
    /// The document of an expression with a parameter in the place of a path.
    pub set: fn(document: &str, path: &PathSpec, parameter: &str) -> String,
    /// A condition: the array at a path of the column has a parameter among its elements.
    pub contains: fn(column: &str, path: &PathSpec, parameter: &str) -> String,
    /// `None`: there is no index for such a path.
    pub index: fn(column: &str, path: &PathSpec) -> Option<JsonIndex>,
}

/// How a path of a column gets an index.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonIndex {
    /// What stands behind the table's name in CREATE INDEX.
    On(String),
    /// The path has a column of its own, which conditions name in place of the path.
    Column {
        /// Type and expression.
        definition: String,
        /// What of it is indexed, `{}` standing for the column.
        key: &'static str,
    },
}
