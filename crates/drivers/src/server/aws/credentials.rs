//! Where the keys of an account are: in the document, in the environment, or in the file that AWS's own tools share.
//!
//! Source: AWS SDKs and Tools Reference Guide, "Environment variables list", "Shared config and credentials files".
use super::Credentials;
use crate::server::account::{Secret, reveal};
use crate::server::target::usage;
use bakeoff_model::outcome::Trouble;

const KEY_ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
const TOKEN: &str = "AWS_SESSION_TOKEN";
const FILE: &str = "AWS_SHARED_CREDENTIALS_FILE";
const PROFILE: &str = "AWS_PROFILE";

/// `user` and `password`: a key's id and its secret, if the document names one. `environment`: a variable's value.
pub fn find(
    user: &str,
    password: Option<&Secret>,
    profile: Option<&str>,
    driver: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Credentials, Trouble> {
    if let Some(password) = password {
        if user.is_empty() {
            let hint = "`user` is the id of an access key, and `password` its secret";
            return Err(usage("`password` is set without `user`", driver, hint));
        }
        return Ok(Credentials {
            key_id: user.to_owned(),
            secret: reveal(password, driver)?,
            token: None,
        });
    }
    if profile.is_none()
        && let (Some(key_id), Some(secret)) = (environment(KEY_ID), environment(SECRET))
    {
        return Ok(Credentials {
            key_id,
            secret,
            token: environment(TOKEN),
        });
    }
    let named = profile.map(str::to_owned).or_else(|| environment(PROFILE));
    let named = named.unwrap_or_else(|| "default".to_owned());
    let home = || environment("HOME").map(|home| format!("{home}/.aws/credentials"));
    let Some(file) = environment(FILE).or_else(home) else {
        return Err(missing("no file of credentials is known here", driver));
    };
    let Ok(text) = std::fs::read_to_string(&file) else {
        return Err(missing(&format!("{file} cannot be read"), driver));
    };
    of_profile(&text, &named)
        .ok_or_else(|| missing(&format!("{file} has no keys of the profile `{named}`"), driver))
}

fn missing(why: &str, driver: &str) -> Trouble {
    let hint = format!(
        "set {KEY_ID} and {SECRET}, name a `profile` of ~/.aws/credentials, or `user` and `password`"
    );
    usage(&format!("there are no credentials: {why}"), driver, &hint)
}

fn of_profile(text: &str, profile: &str) -> Option<Credentials> {
    let is_head = |line: &&str| line.starts_with('[');
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| {
        let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        name.map(str::trim) == Some(profile)
    })?;
    let of_it: Vec<(&str, &str)> = lines
        .take_while(|line| !is_head(line))
        .filter(|line| !line.starts_with(['#', ';']))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let value = |wanted: &str| {
        let found = of_it.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| (*value).to_owned())
    };
    Some(Credentials {
        key_id: value("aws_access_key_id")?,
        secret: value("aws_secret_access_key")?,
        token: value("aws_session_token"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXT: &str = "# keys\n[default]\naws_access_key_id = A1\naws_secret_access_key=s=1\n\n[ other ]\n\
        aws_access_key_id=A2\n;aws_secret_access_key=no\naws_secret_access_key = s2\naws_session_token = t2\n[half]\n\
        aws_access_key_id = A3\n";

    fn keys(key_id: &str, secret: &str, token: Option<&str>) -> Credentials {
        Credentials {
            key_id: key_id.into(),
            secret: secret.into(),
            token: token.map(str::to_owned),
        }
    }

    #[test]
    fn a_profile_has_its_own_keys_and_half_of_them_is_none() {
        assert_eq!(of_profile(TEXT, "default"), Some(keys("A1", "s=1", None)));
        assert_eq!(of_profile(TEXT, "other"), Some(keys("A2", "s2", Some("t2"))));
        assert_eq!(of_profile(TEXT, "half"), None);
        assert_eq!(of_profile(TEXT, "none"), None);
    }

    #[test]
    fn the_environment_comes_before_the_file_and_a_profile_before_the_environment() {
        let file = std::env::temp_dir().join(format!("bakeoff-credentials-{}", std::process::id()));
        std::fs::write(&file, TEXT).unwrap();
        let of = |said: &'static [(&str, &str)], profile: Option<&str>| {
            let environment = |name: &str| match name {
                FILE => Some(file.display().to_string()),
                name => said
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| (*value).to_owned()),
            };
            find("", None, profile, "d", &environment).unwrap()
        };
        const BOTH: &[(&str, &str)] = &[(KEY_ID, "E"), (SECRET, "s"), (TOKEN, "t")];
        assert_eq!(of(BOTH, None), keys("E", "s", Some("t")));
        assert_eq!(of(BOTH, Some("other")).key_id, "A2");
        assert_eq!(of(&[(KEY_ID, "E")], None).key_id, "A1", "an id without a secret");
        assert_eq!(of(&[(PROFILE, "other")], None).key_id, "A2");
        std::fs::remove_file(&file).unwrap();
        let trouble = find("", None, None, "d", &|_| None).unwrap_err();
        assert!(
            trouble.what.starts_with("there are no credentials"),
            "{trouble:?}"
        );
        assert!(trouble.hint.contains(KEY_ID));
    }
}
