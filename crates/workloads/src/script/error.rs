//! What is wrong with a text, and where in it.
use std::fmt;

/// Of an expression: the caller knows in which file it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Bytes from the beginning of the text.
    pub at: usize,
    pub what: String,
    pub hint: String,
}

impl SyntaxError {
    pub fn new(at: usize, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            at,
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// For a `text` that begins at byte `first` of a file.
    pub fn within(self, file: &str, whole: &str, first: usize) -> ScriptError {
        ScriptError::at(file, whole, first + self.at, self.what, self.hint)
    }
}

/// Of a script. Lines and columns from 1; a column counts characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    pub file: String,
    pub line: usize,
    pub column: usize,
    /// The line itself, cut where it is long.
    pub excerpt: String,
    pub what: String,
    pub hint: String,
}

const EXCERPT_CHARS: usize = 60;

impl ScriptError {
    /// `at`: bytes from the beginning of `whole`.
    pub fn at(file: &str, whole: &str, at: usize, what: impl Into<String>, hint: impl Into<String>) -> Self {
        let mut at = at.min(whole.len());
        while !whole.is_char_boundary(at) {
            at -= 1;
        }
        let line_start = line_start(whole, at);
        Self {
            file: file.into(),
            line: whole[..at].matches('\n').count() + 1,
            column: whole[line_start..at].chars().count() + 1,
            excerpt: excerpt(whole, at),
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// "order.sql, line 3, column 7 (\set x 1 +)".
    pub fn place(&self) -> String {
        format!(
            "{}, line {}, column {} ({})",
            self.file, self.line, self.column, self.excerpt
        )
    }
}

fn line_start(whole: &str, at: usize) -> usize {
    whole[..at].rfind('\n').map_or(0, |place| place + 1)
}

/// The line in which `at` lies, which is where a character begins.
pub fn excerpt(whole: &str, at: usize) -> String {
    let line = whole[line_start(whole, at)..].lines().next().unwrap_or_default();
    line.trim().chars().take(EXCERPT_CHARS).collect()
}

/// Numbers of lines, for who asks for many: each costs a search among the lines, not a walk through the text.
#[derive(Debug)]
pub struct Lines(Vec<usize>);

impl Lines {
    pub fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(end, _)| end).collect())
    }

    /// From 1.
    pub fn number(&self, at: usize) -> usize {
        1 + self.0.partition_point(|end| *end < at)
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.what)
    }
}
