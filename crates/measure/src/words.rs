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
        Outcome::Fail(FailClass::Refused | FailClass::Other) if error.statement.is_some() => {
            "check this statement: the tables, columns and settings that it names, and the user's rights to them"
        }
        Outcome::Fail(FailClass::Refused) => {
            "check user, password, rights, the schema's name, and the settings that the plan asks for"
        }
        Outcome::Fail(FailClass::Overload) => {
            "the server could not take more: check its limits of connections, memory and disk"
        }
        Outcome::Fail(FailClass::Constraint) => {
            "is a key there twice, or a value that its column does not take? (rows of an earlier load count, too)"
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

pub fn worker_died() -> Trouble {
    Trouble::new(
        TroubleKind::Environment,
        "a worker thread died",
        "engine",
        "this is a defect: please report it with the run document",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(error: &OpError) -> String {
        server_trouble(error, "opening a session").hint
    }

    #[test]
    fn an_error_in_a_statement_is_not_about_user_and_password() {
        let login = OpError::fail(FailClass::Refused, "28P01", "password authentication failed");
        assert!(hint(&login).contains("check user, password"));
        for class in [FailClass::Refused, FailClass::Other] {
            let statement =
                OpError::fail(class, "42703", "no such column").with_statement("SELECT nn FROM items");
            assert!(hint(&statement).starts_with("check this statement"));
            assert!(!hint(&statement).contains("password"));
        }
    }
}
