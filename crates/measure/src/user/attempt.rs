//! One attempt at an operation: how it may end, and the future that sees it to its end.
use crate::user::watchdog::UserCell;
use bakeoff_model::outcome::{OpError, Outcome};
use bakeoff_model::run::Retry;
use bakeoff_model::workload::Answer;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// How an attempt ended, in one byte: it is handed through the loop in a register. (As a structure it was copied in
/// parts and read back whole, which the processor's store buffer cannot forward: 40 ns per operation.)
#[derive(Clone, Copy, PartialEq)]
pub struct How(u8);

impl How {
    pub const RIGHT: How = How::new(Outcome::Ok);
    const LOST: u8 = 0x80;
    const NAMED: u8 = 0x40;
    const LEFT: u8 = 0x20;
    const OUTCOME: u8 = 0x0F;

    pub const fn new(outcome: Outcome) -> Self {
        How(outcome.index() as u8)
    }

    /// Its session must be replaced.
    pub const fn and_lost(self, lost: bool) -> Self {
        How(self.0 | if lost { Self::LOST } else { 0 })
    }

    /// Its session must be replaced, by one at another node.
    pub const fn and_left(self, left: bool) -> Self {
        How(self.0 | if left { Self::LEFT | Self::LOST } else { 0 })
    }

    /// The retry policy names it.
    pub const fn and_named(self, named: bool) -> Self {
        How(self.0 | if named { Self::NAMED } else { 0 })
    }

    pub fn outcome(self) -> Outcome {
        Outcome::ALL[usize::from(self.0 & Self::OUTCOME)]
    }

    pub fn session_lost(self) -> bool {
        self.0 & Self::LOST != 0
    }

    pub fn node_left(self) -> bool {
        self.0 & Self::LEFT != 0
    }

    pub fn is_named(self) -> bool {
        self.0 & Self::NAMED != 0
    }
}

/// Whether the policy has this failure tried again: by its class, or by the system's own code. A code may also name what
/// was perhaps applied (a lost connection's): whoever names it wants it done again.
pub fn names(retry: &Retry, outcome: Outcome, error: &OpError) -> bool {
    let failed = match outcome {
        Outcome::Fail(class) if retry.on.contains(&class) => return true,
        Outcome::Fail(_) => true,
        _ => false,
    };
    let names = |code: &String| *code == error.code || (failed && code == "all");
    retry.on_codes.iter().any(names)
}

/// One attempt, until it ends or its deadline passes. True: right. Otherwise what came instead is left in `failed`, and
/// nothing if nothing came in time: an answer that may hold an error is large, and to hand it up through the loop cost
/// as much as recording the operation.
pub struct Attempt<'a, 'w, F> {
    pub cell: &'a UserCell,
    pub execute: Pin<&'a mut F>,
    pub failed: &'a mut Option<Result<Answer<'w>, OpError>>,
}

impl<'w, F: Future<Output = Result<Answer<'w>, OpError>>> Future for Attempt<'_, 'w, F> {
    type Output = bool;
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        match self.execute.as_mut().poll(cx) {
            Poll::Ready(Ok(Answer::Right)) => Poll::Ready(true),
            Poll::Ready(failed) => {
                *self.failed = Some(failed);
                Poll::Ready(false)
            }
            Poll::Pending if self.cell.is_expired() => Poll::Ready(false),
            Poll::Pending => {
                self.cell.remember(cx);
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::outcome::FailClass;

    #[test]
    fn what_an_attempt_came_to_survives_its_byte() {
        for outcome in Outcome::ALL {
            for (lost, named) in [(false, false), (true, false), (false, true), (true, true)] {
                let how = How::new(outcome).and_lost(lost).and_named(named);
                assert_eq!(
                    (how.outcome(), how.session_lost(), how.is_named()),
                    (outcome, lost, named)
                );
                assert!(!how.node_left());
                let left = how.and_left(true);
                assert!(left.node_left() && left.session_lost() && left.outcome() == outcome);
            }
        }
    }

    #[test]
    fn a_policy_names_failures_by_class_by_code_or_all() {
        let policy = |on: &[FailClass], codes: &[&str]| Retry {
            retries: 1,
            on: on.to_vec(),
            on_codes: codes.iter().map(|&code| code.into()).collect(),
            backoff_s: 0.0,
        };
        let names = |policy: &Retry, error: &OpError| names(policy, error.outcome, error);
        let fail = |class, code| OpError::fail(class, code, "");
        let by_class = policy(&[FailClass::Conflict], &[]);
        assert!(names(&by_class, &fail(FailClass::Conflict, "1213")));
        assert!(!names(&by_class, &fail(FailClass::Other, "1213")));
        let by_code = policy(&[], &["1213", "2013"]);
        assert!(names(&by_code, &fail(FailClass::Other, "1213")));
        assert!(!names(&by_code, &fail(FailClass::Other, "12")));
        assert!(names(&by_code, &OpError::lost("2013", "")));
        let all = policy(&[], &["all"]);
        assert!(names(&all, &fail(FailClass::Other, "7")));
        assert!(
            !names(&all, &OpError::lost("2013", "")),
            "it may have been applied"
        );
    }
}
