//! The server's errors as outcomes, by status and the member `error` of its answer (CouchDB documentation, "HTTP Status
//! Codes" and the status codes of each request).
//!
//! A write of one document is applied whole or not at all. A status of 500 and more says nothing of whether it was: nodes
//! of a cluster may have it while the one that was asked gave up. 202 says that fewer copies have it than were asked for.
use super::json::text;
use bakeoff_model::json::at;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};

/// An answer that is no success, as an outcome. `what`: the request.
#[cold]
pub fn failed(status: u16, answer: &[u8], what: &'static str) -> OpError {
    let said = |member: &str| at(answer, [member]).map(text).filter(|said| !said.is_empty());
    let code = said("error").unwrap_or_else(|| status.to_string());
    let reason = said("reason").unwrap_or_else(|| format!("HTTP status {status}"));
    let (outcome, leaves) = classified(status, &code);
    let error = OpError::new(outcome, false, code, reason).with_statement(what);
    match leaves {
        true => error.leaving_node(),
        false => error,
    }
}

/// Outcome, and whether the node says that it will not serve.
fn classified(status: u16, code: &str) -> (Outcome, bool) {
    let class = match (status, code) {
        (_, "conflict") | (409, _) => FailClass::Conflict,
        // It exists already, is too large, or one of the database's own functions refuses it.
        (412 | 413 | 417, _) | (400, "doc_validation") => FailClass::Constraint,
        (408 | 429, _) => FailClass::Overload,
        (400..=499, _) => FailClass::Refused,
        _ => return (Outcome::Unknown, status == 503),
    };
    (Outcome::Fail(class), false)
}

/// A new document of a key that there is: the same answer as to a revision that has passed.
#[cold]
pub fn exists(mut error: OpError) -> OpError {
    if error.outcome == Outcome::Fail(FailClass::Conflict) {
        error.outcome = Outcome::Fail(FailClass::Constraint);
    }
    error
}

/// 202 to a write.
#[cold]
pub fn short_of_quorum(what: &'static str) -> OpError {
    let reason = "accepted, but fewer copies have it than the quorum";
    OpError::new(Outcome::Unknown, false, "202", reason).with_statement(what)
}

#[cold]
pub fn gone(what: &'static str) -> OpError {
    let reason = "the document is no longer there";
    OpError::fail(FailClass::Conflict, "conflict", reason).with_statement(what)
}

#[cold]
pub fn no_object() -> OpError {
    OpError::fail(FailClass::Refused, "CLIENT", "a document that is no JSON object")
}

#[cold]
pub fn no_name(name: &str) -> OpError {
    let what =
        format!("{name:?} is no name of a database: CouchDB's have small letters, digits, and _$()+-/");
    OpError::fail(FailClass::Refused, "CLIENT", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_classified() {
        let of = |status, code: &str| {
            let error = failed(
                status,
                format!(r#"{{"error":"{code}","reason":"a\"b"}}"#).as_bytes(),
                "PUT",
            );
            assert_eq!((&*error.code, &*error.message), (code, "a\"b"));
            assert!(!error.connection_lost);
            (error.outcome, error.leave_node)
        };
        let fails = |class| (Outcome::Fail(class), false);
        assert_eq!(of(409, "conflict"), fails(FailClass::Conflict));
        assert_eq!(of(412, "file_exists"), fails(FailClass::Constraint));
        assert_eq!(of(413, "document_too_large"), fails(FailClass::Constraint));
        assert_eq!(of(401, "unauthorized"), fails(FailClass::Refused));
        assert_eq!(of(404, "not_found"), fails(FailClass::Refused));
        assert_eq!(of(429, "too_many_requests"), fails(FailClass::Overload));
        assert_eq!(of(500, "timeout"), (Outcome::Unknown, false));
        assert_eq!(of(503, "nodedown"), (Outcome::Unknown, true));
        let constraint = exists(failed(409, b"{}", "PUT"));
        assert_eq!(constraint.outcome, Outcome::Fail(FailClass::Constraint));
        assert_eq!(exists(failed(500, b"", "PUT")).outcome, Outcome::Unknown);
    }

    #[test]
    fn an_answer_without_words_has_its_status() {
        let error = failed(502, b"<html>", "GET");
        assert_eq!((&*error.code, &*error.message), ("502", "HTTP status 502"));
    }
}
