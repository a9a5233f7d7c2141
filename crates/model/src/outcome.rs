//! How an operation ended. Outcomes are data: they are counted, and never end a run.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};

/// Why an operation was definitely not applied.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum FailClass {
    /// Deadlock, serialization failure, lock wait timeout, busy: the same work may succeed when tried again.
    Conflict,
    /// A constraint of the data (duplicate key, foreign key, value too long).
    Constraint,
    /// The system would not: permission, authentication, read-only, unknown table or statement.
    Refused,
    /// The system could not take more: too many connections, out of memory or disk, admission control.
    Overload,
    /// The connection was lost. Only of what writes nothing: otherwise nobody knows whether it was applied.
    Lost,
    /// What has no class of its own. A statement that the server gave up (its time limit, a kill) is one.
    Other,
}

/// The end of one operation, after its last attempt. Only `Ok` counts in a headline.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Outcome {
    /// Acknowledged, and the answer was what it must be.
    Ok,
    /// Acknowledged, but the answer was missing or not what it must be.
    Wrong,
    /// Definitely not applied.
    Fail(FailClass),
    /// Perhaps applied: a write whose connection was lost. And whatever was not answered within the plan's timeout, reads
    /// too: nobody knows how long they would have taken.
    Unknown,
}

impl Outcome {
    /// Number of different outcomes; `index` is below it.
    pub const COUNT: usize = 9;

    /// A dense index for arrays on the hot path.
    #[inline]
    pub const fn index(self) -> usize {
        match self {
            Outcome::Ok => 0,
            Outcome::Wrong => 1,
            Outcome::Unknown => 2,
            Outcome::Fail(FailClass::Conflict) => 3,
            Outcome::Fail(FailClass::Constraint) => 4,
            Outcome::Fail(FailClass::Refused) => 5,
            Outcome::Fail(FailClass::Overload) => 6,
            Outcome::Fail(FailClass::Other) => 7,
            Outcome::Fail(FailClass::Lost) => 8,
        }
    }

    pub const ALL: [Outcome; Self::COUNT] = [
        Outcome::Ok,
        Outcome::Wrong,
        Outcome::Unknown,
        Outcome::Fail(FailClass::Conflict),
        Outcome::Fail(FailClass::Constraint),
        Outcome::Fail(FailClass::Refused),
        Outcome::Fail(FailClass::Overload),
        Outcome::Fail(FailClass::Other),
        Outcome::Fail(FailClass::Lost),
    ];

    /// The outcome's name in events: `ok`, `wrong`, `unknown`, `fail_conflict`, ...
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Wrong => "wrong",
            Outcome::Unknown => "unknown",
            Outcome::Fail(FailClass::Conflict) => "fail_conflict",
            Outcome::Fail(FailClass::Constraint) => "fail_constraint",
            Outcome::Fail(FailClass::Refused) => "fail_refused",
            Outcome::Fail(FailClass::Overload) => "fail_overload",
            Outcome::Fail(FailClass::Other) => "fail_other",
            Outcome::Fail(FailClass::Lost) => "fail_lost",
        }
    }
}

impl From<Outcome> for &'static str {
    fn from(outcome: Outcome) -> Self {
        outcome.name()
    }
}

impl TryFrom<String> for Outcome {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|o| o.name() == name)
            .ok_or_else(|| format!("unknown outcome {name:?}"))
    }
}

impl JsonSchema for Outcome {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Outcome".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": Self::ALL.map(Outcome::name) })
    }
}

/// What a session answers when an attempt did not succeed. One pointer wide, because it has a place in every answer: as a
/// structure of 90 bytes it was copied at each level an answer passed through, right ones included (measured 2026-11:
/// 15 of 185 ns per operation of the null driver). Its parts are those of [`Failure`].
#[derive(Clone, Debug)]
pub struct OpError(Box<Failure>);

/// The parts of an [`OpError`]. Built only on the error path, so it may allocate.
#[derive(Clone, Debug)]
pub struct Failure {
    /// `Fail(_)` or `Unknown`; never `Ok` or `Wrong`.
    pub outcome: Outcome,
    /// The session can no longer be used; the worker drops it and opens another with back-off.
    pub connection_lost: bool,
    /// The node itself says that it will not serve (it shuts down, is not ready, is read-only): others may. The worker goes
    /// to another where there is one.
    pub leave_node: bool,
    /// The system's own code, as text (`1213`, `40001`, `SQLITE_BUSY`).
    pub code: String,
    pub message: String,
    /// The statement (without its parameters' values unless they are generated data) where there is one.
    pub statement: Option<String>,
}

impl Deref for OpError {
    type Target = Failure;
    fn deref(&self) -> &Failure {
        &self.0
    }
}

impl DerefMut for OpError {
    fn deref_mut(&mut self) -> &mut Failure {
        &mut self.0
    }
}

impl OpError {
    #[cold]
    pub fn new(
        outcome: Outcome,
        connection_lost: bool,
        code: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self(Box::new(Failure {
            outcome,
            connection_lost,
            leave_node: false,
            code: printable(code.into()),
            message: printable(message.into()),
            statement: None,
        }))
    }

    pub fn fail(class: FailClass, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Outcome::Fail(class), false, code, message)
    }

    /// The connection is gone and the operation may or may not have been applied.
    pub fn lost(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Outcome::Unknown, true, code, message)
    }

    /// The same of an operation that writes nothing: it was certainly not applied.
    #[cold]
    pub fn outcome_of(&self, reads_only: bool) -> Outcome {
        match self.outcome {
            Outcome::Unknown if reads_only && self.connection_lost => Outcome::Fail(FailClass::Lost),
            Outcome::Unknown if reads_only => Outcome::Fail(FailClass::Other),
            outcome => outcome,
        }
    }

    /// The same error, of a request that writes nothing: also where the operation goes on to write, it has not.
    #[cold]
    pub fn of_read(mut self) -> Self {
        self.outcome = self.outcome_of(true);
        self
    }

    pub fn leaving_node(mut self) -> Self {
        self.leave_node = true;
        self
    }

    pub fn with_statement(mut self, statement: impl Into<String>) -> Self {
        self.statement = Some(statement.into());
        self
    }
}

impl std::fmt::Display for OpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

/// Of a server's words.
const TEXT_CHARS_MAX: usize = 2000;

/// What another program has said, fit for a terminal and a report: characters that steer a terminal or turn the direction
/// of writing are spelt out, and there is an end to it.
fn printable(text: String) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.len() <= TEXT_CHARS_MAX && !text.contains(steers) {
        return text;
    }
    let mut plain = String::new();
    for c in text.chars().take(TEXT_CHARS_MAX) {
        if steers(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    if text.chars().nth(TEXT_CHARS_MAX).is_some() {
        plain.push('…');
    }
    plain
}

/// A failure to set something up, for a person: what happened, where, what to do.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Trouble {
    pub what: String,
    #[serde(rename = "where")]
    pub place: String,
    pub hint: String,
    pub kind: TroubleKind,
}

/// Decides the exit code of the process: `Usage` 2, everything else 3.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TroubleKind {
    /// The document or the request is wrong.
    Usage,
    /// The server could not be reached, refused, or failed.
    Server,
    /// This machine lacks something (disk, memory, file handles).
    Environment,
}

impl Trouble {
    pub fn new(
        kind: TroubleKind,
        what: impl Into<String>,
        place: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            place: place.into(),
            hint: hint.into(),
            kind,
        }
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.what, self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_never_perhaps_applied() {
        let lost = OpError::lost("IO", "");
        assert_eq!(lost.outcome_of(true), Outcome::Fail(FailClass::Lost));
        assert_eq!(lost.outcome_of(false), Outcome::Unknown);
        let read = OpError::lost("IO", "").of_read();
        assert_eq!(
            (read.outcome, read.connection_lost),
            (Outcome::Fail(FailClass::Lost), true)
        );
        let kept = OpError::new(Outcome::Unknown, false, "1180", "");
        assert_eq!(kept.outcome_of(true), Outcome::Fail(FailClass::Other));
        assert_eq!(kept.outcome_of(false), Outcome::Unknown);
        let conflict = OpError::fail(FailClass::Conflict, "1213", "");
        assert_eq!(conflict.outcome_of(true), conflict.outcome);
    }

    #[test]
    fn every_outcome_has_a_place_and_a_name_of_its_own() {
        for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome.index(), index);
            assert_eq!(Outcome::try_from(outcome.name().to_owned()), Ok(outcome));
        }
    }

    #[test]
    fn a_servers_words_steer_no_terminal() {
        let error = OpError::lost(
            "\u{1b}]0;x\u{7}",
            "Zeile 1\nrot \u{1b}[31m, verkehrt \u{202e}, grün",
        );
        assert_eq!(error.code, "\\u{1b}]0;x\\u{7}");
        assert_eq!(
            error.message,
            "Zeile 1\\nrot \\u{1b}[31m, verkehrt \\u{202e}, grün"
        );
        let endless = OpError::lost("1", "ä".repeat(1_000_000));
        assert_eq!(endless.message.chars().count(), TEXT_CHARS_MAX + 1);
    }
}
