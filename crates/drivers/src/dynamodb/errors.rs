//! The service's errors as outcomes.
//!
//! Sources: Amazon DynamoDB Developer Guide, "Error handling with DynamoDB"; API Reference, "Common Errors".
use crate::server::aws::{not_the_services, of_action};
use bakeoff_model::json::{at, unescape};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};

pub const CONDITION: &str = "ConditionalCheckFailedException";
pub const NO_TABLE: &str = "ResourceNotFoundException";
pub const INVALID: &str = "ValidationException";

const CLASSES: &[(&str, FailClass)] = &[
    (CONDITION, FailClass::Conflict),
    ("TransactionConflictException", FailClass::Conflict),
    ("TransactionInProgressException", FailClass::Conflict),
    ("ReplicatedWriteConflictException", FailClass::Conflict),
    ("ItemCollectionSizeLimitExceededException", FailClass::Constraint),
    (NO_TABLE, FailClass::Refused),
    ("ResourceInUseException", FailClass::Refused),
    ("TableNotFoundException", FailClass::Refused),
    ("AccessDeniedException", FailClass::Refused),
    ("ExpiredTokenException", FailClass::Refused),
    ("IncompleteSignatureException", FailClass::Refused),
    ("IncompleteSignature", FailClass::Refused),
    ("InvalidSignatureException", FailClass::Refused),
    ("MissingAuthenticationTokenException", FailClass::Refused),
    ("MissingAuthenticationToken", FailClass::Refused),
    ("NotAuthorized", FailClass::Refused),
    ("OptInRequired", FailClass::Refused),
    ("SerializationException", FailClass::Refused),
    ("UnknownOperationException", FailClass::Refused),
    ("UnrecognizedClientException", FailClass::Refused),
    ("LimitExceededException", FailClass::Overload),
    ("ProvisionedThroughputExceededException", FailClass::Overload),
    ("RequestLimitExceeded", FailClass::Overload),
    ("ServiceUnavailable", FailClass::Overload),
    ("ThrottlingException", FailClass::Overload),
];

/// Of a request that is invalid because of the data in it: too large, of another type than an index has, a number that
/// DynamoDB cannot hold, a place in a document that is not there.
const OF_THE_DATA: &[&str] = &[
    "size",
    "type mismatch",
    "magnitude",
    "significant digits",
    "overflow",
    "document path",
    "nesting level",
    "duplicates",
];

/// Of a cancelled transaction, by the first reason that is one; in the order of what matters.
const REASONS: &[(&str, FailClass)] = &[
    ("ConditionalCheckFailed", FailClass::Constraint),
    ("ItemCollectionSizeLimitExceeded", FailClass::Constraint),
    ("ValidationError", FailClass::Constraint),
    ("TransactionConflict", FailClass::Conflict),
    ("ProvisionedThroughputExceeded", FailClass::Overload),
    ("ThrottlingError", FailClass::Overload),
];

/// An answer that is none of success. `action`: what was asked.
#[cold]
pub fn refused(status: u16, body: &[u8], action: &'static str) -> OpError {
    let text = |name: &str| {
        let mut text = vec![];
        let found = at(body, [name]).is_some_and(|value| unescape(value, &mut text));
        found.then(|| String::from_utf8_lossy(&text).into_owned())
    };
    let Some(kind) = text("__type") else {
        return of_action(not_the_services(status, body), action);
    };
    let code = kind.rsplit('#').next().unwrap_or_default();
    let words = text("message").or_else(|| text("Message")).unwrap_or_default();
    of_action(
        OpError::new(outcome(status, code, &words), false, code, words),
        action,
    )
}

fn outcome(status: u16, code: &str, words: &str) -> Outcome {
    if let Some((_, class)) = CLASSES.iter().find(|(known, _)| *known == code) {
        return Outcome::Fail(*class);
    }
    match code {
        INVALID => {
            let said = words.to_ascii_lowercase();
            let of_the_data = OF_THE_DATA.iter().any(|words| said.contains(words));
            Outcome::Fail(if of_the_data {
                FailClass::Constraint
            } else {
                FailClass::Refused
            })
        }
        "TransactionCanceledException" => {
            let reason = REASONS.iter().find(|(reason, _)| words.contains(reason));
            Outcome::Fail(reason.map_or(FailClass::Conflict, |(_, class)| *class))
        }
        // It may have been carried out before the service failed.
        _ if status >= 500 => Outcome::Unknown,
        _ => Outcome::Fail(FailClass::Other),
    }
}

/// A write that expected something else to be there.
#[cold]
pub fn of_class(mut error: OpError, class: FailClass) -> OpError {
    error.outcome = Outcome::Fail(class);
    error
}

#[cold]
pub fn client(what: &str) -> OpError {
    OpError::fail(FailClass::Refused, "CLIENT", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: u16, kind: &str, words: &str) -> OpError {
        let body =
            format!("{{\"__type\":\"com.amazonaws.dynamodb.v20120810#{kind}\",\"message\":\"{words}\"}}");
        refused(status, body.as_bytes(), "PutItem")
    }

    #[test]
    fn errors_have_the_classes_of_the_design() {
        let fail = Outcome::Fail;
        for (status, kind, words, outcome) in [
            (400, CONDITION, "", fail(FailClass::Conflict)),
            (400, NO_TABLE, "", fail(FailClass::Refused)),
            (
                400,
                "ProvisionedThroughputExceededException",
                "",
                fail(FailClass::Overload),
            ),
            (400, "ThrottlingException", "", fail(FailClass::Overload)),
            (400, "TransactionConflictException", "", fail(FailClass::Conflict)),
            (400, "AccessDeniedException", "", fail(FailClass::Refused)),
            (
                400,
                INVALID,
                "Item size has exceeded the maximum",
                fail(FailClass::Constraint),
            ),
            (
                400,
                INVALID,
                "Type mismatch for Index Key age",
                fail(FailClass::Constraint),
            ),
            (400, INVALID, "Syntax error", fail(FailClass::Refused)),
            (
                400,
                "TransactionCanceledException",
                "reasons [None, ConditionalCheckFailed]",
                fail(FailClass::Constraint),
            ),
            (
                400,
                "TransactionCanceledException",
                "reasons [TransactionConflict]",
                fail(FailClass::Conflict),
            ),
            (500, "InternalServerError", "", Outcome::Unknown),
            (503, "ServiceUnavailable", "", fail(FailClass::Overload)),
            (400, "NeverHeardOf", "", fail(FailClass::Other)),
        ] {
            let error = said(status, kind, words);
            assert_eq!(
                (error.outcome, error.connection_lost),
                (outcome, false),
                "{kind} {words}"
            );
            assert_eq!((&*error.code, &*error.message), (kind, words));
            assert_eq!(error.statement.as_deref(), Some("PutItem"));
        }
    }

    #[test]
    fn a_read_is_never_perhaps_carried_out() {
        for answer in [&b"<html>"[..], br#"{"__type":"a#InternalServerError"}"#] {
            for action in ["GetItem", "BatchGetItem", "Query"] {
                let error = refused(500, answer, action);
                assert_eq!(error.outcome, Outcome::Fail(FailClass::Other), "{action}");
            }
            assert_eq!(refused(500, answer, "UpdateItem").outcome, Outcome::Unknown);
        }
    }

    #[test]
    fn what_is_not_the_services_has_the_class_of_its_status() {
        for (status, outcome) in [
            (413, Outcome::Fail(FailClass::Constraint)),
            (403, Outcome::Fail(FailClass::Refused)),
            (503, Outcome::Fail(FailClass::Overload)),
            (502, Outcome::Unknown),
            (302, Outcome::Fail(FailClass::Other)),
        ] {
            assert_eq!(refused(status, b"<html>", "PutItem").outcome, outcome, "{status}");
        }
    }
}
