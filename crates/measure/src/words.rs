//! Refusals and troubles in words.
use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble, TroubleKind};
use bakeoff_model::run::DriverSpec;

/// Something wrong with the document, for a person.
pub fn usage(what: impl Into<String>, place: &str, hint: impl Into<String>) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, place, hint)
}

/// An error of a session outside the measured loop, for a person.
pub fn server_trouble(error: &OpError, driver: &DriverSpec, place: impl Into<String>) -> Trouble {
    let embedded = !driver.options.contains_key("endpoints");
    let hint = match error.outcome {
        Outcome::Unknown | Outcome::Fail(FailClass::Overload) if embedded => {
            "is there space on the disk of the data, and memory for what the plan asks for?"
        }
        Outcome::Unknown => "is the server up and its address right?",
        Outcome::Fail(FailClass::Refused | FailClass::Other) if error.statement.is_some() => {
            "check this statement: the tables, columns and settings that it names, and the user's rights to them"
        }
        Outcome::Fail(FailClass::Refused) if embedded => "check the settings that the plan asks for",
        Outcome::Fail(FailClass::Refused) => {
            "check user, password, rights, the schema's name, and the settings that the plan asks for"
        }
        Outcome::Fail(FailClass::Overload) => {
            "the server could not take more: check its limits of connections, memory and disk"
        }
        Outcome::Fail(FailClass::Constraint) => {
            "is a key there twice, or a value that its column does not take? (rows of an earlier load count, too)"
        }
        _ if embedded => "the message is the database's own: its documentation may say more",
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
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn hint_of(error: &OpError, driver: serde_json::Value) -> String {
        let driver = serde_json::from_value(driver).unwrap();
        server_trouble(error, &driver, "opening a session").hint
    }

    fn hint(error: &OpError) -> String {
        hint_of(error, serde_json::json!({"kind": "mysql", "endpoints": []}))
    }

    #[test]
    fn an_embedded_database_has_neither_address_nor_password() {
        let hint = |error| hint_of(&error, serde_json::json!({"kind": "duckdb", "path": "/data"}));
        assert!(hint(OpError::lost("IO", "No space left on device")).contains("space on the disk"));
        let refused = OpError::fail(FailClass::Refused, "SETTING", "no such setting");
        assert_eq!(hint(refused), "check the settings that the plan asks for");
        let other = OpError::fail(FailClass::Other, "OPEN", "could not open the store");
        assert!(!hint(other).contains("server"));
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
