//! Why a history cannot be judged.

use std::fmt;
use std::io;

#[derive(Debug)]
pub enum Error {
    Io(io::Error),
    Malformed {
        line: u64,
        what: String,
    },
    /// Who wrote a value that was read must be known from the value alone.
    NotUnique {
        key: u64,
        value: i64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(
                f,
                "the history could not be read or the verdict not written: {error}"
            ),
            Self::Malformed { line, what } => write!(f, "line {line} of the history: {what}"),
            Self::NotUnique { key, value } => write!(
                f,
                "{value} was written to key {key} twice: every value of a judged workload must be unique in its key"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Io(error.into())
    }
}
