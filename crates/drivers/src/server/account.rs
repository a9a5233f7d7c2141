//! What a document says of an account: where its password is, and how connections are encrypted. Nothing here may tell a
//! password.
use bakeoff_model::outcome::{Trouble, TroubleKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a secret comes from. The secret itself is never in a document.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Secret {
    /// Name of an environment variable.
    Env(String),
    /// Path of a file; trailing newline removed.
    File(String),
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
#[schemars(title = "`true`, `false`, or `{ ca_file, verify }`")]
pub struct TlsSpec {
    /// PEM file with the authority to trust; absent: the system's.
    #[serde(default)]
    pub ca_file: Option<String>,
    /// false: encrypt, but accept any certificate.
    #[serde(default = "yes")]
    pub verify: bool,
}

/// By which a plan may name the client of a load.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ClientName {
    /// Our own, on the reactor.
    Wire,
}

fn yes() -> bool {
    true
}

/// `driver`: who asks, for messages. Errors: the source is not there, or may not be read.
pub fn reveal(secret: &Secret, driver: &str) -> Result<String, Trouble> {
    match secret {
        Secret::Env(name) => std::env::var(name).map_err(|_| {
            Trouble::new(
                TroubleKind::Usage,
                format!("the password's environment variable {name} is not set"),
                driver,
                "export it before the run, or name another source",
            )
        }),
        Secret::File(path) => match std::fs::read_to_string(path) {
            Ok(text) => Ok(text.trim_end_matches(['\n', '\r']).to_owned()),
            Err(error) => Err(Trouble::new(
                TroubleKind::Usage,
                format!("the password file cannot be read: {error}"),
                path,
                "name a file that this user may read",
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_missing_source_of_the_password_is_named() {
        let env = Secret::Env("BAKEOFF_NO_SUCH".into());
        assert!(reveal(&env, "d").unwrap_err().what.contains("BAKEOFF_NO_SUCH"));
        let file = Secret::File("/no/such".into());
        assert_eq!(reveal(&file, "d").unwrap_err().place, "/no/such");
    }
}
