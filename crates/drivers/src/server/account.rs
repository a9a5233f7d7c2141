//! Passwords, from where a document says they are. Nothing here may tell one.
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::run::Secret;

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
