//! Refusals and troubles in words.
use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble, TroubleKind};

/// Something wrong with the document, for a person.
pub fn usage(what: impl Into<String>, place: &str, hint: impl Into<String>) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, place, hint)
}

/// An error of a session outside the measured loop, for a person.
pub fn server_trouble(error: &OpError, place: impl Into<String>) -> Trouble {
    let hint = match error.outcome {
        Outcome::Unknown => "is the server up and its address right?",
        Outcome::Fail(FailClass::Refused) => {
            "check user, password, rights, the schema's name, and the settings that the plan asks for"
        }
        Outcome::Fail(FailClass::Overload) => {
            "the server could not take more: check its limits of connections, memory and disk"
        }
        Outcome::Fail(FailClass::Constraint) => {
            "are there rows of an earlier load? `drop_existing` replaces them"
        }
        _ => "the server's own log may say more",
    };
    let statement = error
        .statement
        .as_ref()
        .map(|s| format!(" in {s}"))
        .unwrap_or_default();
    Trouble::new(TroubleKind::Server, format!("{error}{statement}"), place, hint)
}
