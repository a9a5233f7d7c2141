//! How a client shows that it knows a password without giving it away: SCRAM-SHA-256 (RFC 5802, RFC 7677). The server shows
//! that it has the account, too.
use bakeoff_model::outcome::{FailClass, OpError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

type Key = [u8; digest::SHA256_OUTPUT_LEN];

/// Fewer than the standard's least say that it is no honest server; more would keep a worker busy for seconds.
const ITERATIONS_MIN: u32 = 4096;
const ITERATIONS_MAX: u32 = 1_000_000;

/// A password, and what was made of it last: all sessions of an account have the same salt, and it takes milliseconds.
pub struct Password {
    prepared: String,
    salted: Mutex<Option<Salted>>,
}

struct Salted {
    salt: Vec<u8>,
    iterations: NonZeroU32,
    key: Key,
}

impl Password {
    /// Errors: it has characters that no password may have.
    pub fn new(password: &str) -> Result<Self, OpError> {
        let prepared = stringprep::saslprep(password).map_err(|error| refused(&error.to_string()))?;
        Ok(Self {
            prepared: prepared.into_owned(),
            salted: Mutex::default(),
        })
    }

    fn salted(&self, salt: Vec<u8>, iterations: NonZeroU32) -> Key {
        let mut kept = self.salted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*kept
            && kept.salt == salt
            && kept.iterations == iterations
        {
            return kept.key;
        }
        let mut key = Key::default();
        let secret = self.prepared.as_bytes();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, &salt, secret, &mut key);
        *kept = Some(Salted {
            salt,
            iterations,
            key,
        });
        key
    }
}

/// One login.
pub struct Login {
    /// The first message without its head.
    first: String,
    nonce: String,
}

impl Login {
    /// nonce: printable, without a comma, and used once.
    pub fn new(user: &str, nonce: &str) -> Self {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        Self {
            first: format!("n={user},r={nonce}"),
            nonce: nonce.to_owned(),
        }
    }

    pub fn first(&self) -> String {
        format!("n,,{}", self.first)
    }

    /// The answer to the server's first message, and what the server has to say to it.
    pub fn last(&self, password: &Password, challenge: &[u8]) -> Result<(String, String), OpError> {
        let challenge = std::str::from_utf8(challenge).map_err(|_| refused(NO_CHALLENGE))?;
        let (mut nonce, mut salt, mut iterations) = (None, None, None);
        for part in challenge.split(',') {
            match part.split_once('=') {
                Some(("r", said)) => nonce = Some(said),
                Some(("s", said)) => salt = STANDARD.decode(said).ok(),
                Some(("i", said)) => iterations = said.parse::<u32>().ok(),
                Some(("m", _)) => return Err(refused("it asks for an extension of SCRAM")),
                _ => {}
            }
        }
        let (Some(nonce), Some(salt), Some(iterations)) = (nonce, salt, iterations) else {
            return Err(refused(NO_CHALLENGE));
        };
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(refused("its nonce does not go on from ours"));
        }
        let iterations = NonZeroU32::new(iterations)
            .filter(|count| (ITERATIONS_MIN..=ITERATIONS_MAX).contains(&count.get()))
            .ok_or_else(|| refused("it wants fewer than 4096 iterations, or more than a million"))?;
        let salted = password.salted(salt, iterations);
        let without_proof = format!("c=biws,r={nonce}");
        let signed = format!("{},{challenge},{without_proof}", self.first);
        let client_key = hash(&salted, b"Client Key");
        let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
        let signature = hash(stored_key.as_ref(), signed.as_bytes());
        let proof: Vec<u8> = std::iter::zip(client_key.as_ref(), signature.as_ref())
            .map(|(key, signature)| key ^ signature)
            .collect();
        let server_key = hash(&salted, b"Server Key");
        let expected = hash(server_key.as_ref(), signed.as_bytes());
        Ok((
            format!("{without_proof},p={}", STANDARD.encode(proof)),
            format!("v={}", STANDARD.encode(expected)),
        ))
    }
}

fn hash(key: &[u8], message: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message)
}

const NO_CHALLENGE: &str = "its challenge cannot be read";

/// By the client, which trusts this server no further.
#[cold]
pub fn refused(why: &str) -> OpError {
    OpError::fail(FailClass::Refused, "AUTH", format!("the login was ended: {why}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const CHALLENGE: &str =
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    /// RFC 7677, section 3.
    #[test]
    fn the_standards_own_conversation() {
        let login = Login::new("user", NONCE);
        assert_eq!(login.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let password = Password::new("pencil").unwrap();
        let wanted = (
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
                .to_owned(),
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=".to_owned(),
        );
        for _ in 0..2 {
            assert_eq!(login.last(&password, CHALLENGE.as_bytes()).unwrap(), wanted);
        }
    }

    #[test]
    fn names_with_commas_are_written_as_the_standard_says() {
        assert_eq!(Login::new("a=b,c", "x").first(), "n,,n=a=3Db=2Cc,r=x");
    }

    #[test]
    fn a_server_that_is_none_is_refused() {
        let (login, password) = (Login::new("user", NONCE), Password::new("pencil").unwrap());
        for (from, to) in [
            ("r=rOpr", "r=other"),
            ("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", ""),
            ("i=4096", "i=1"),
            ("i=4096", "i=4000000000"),
            ("i=4096", "i=x"),
            ("s=W22Z", "s=!"),
            (",s=", ",m=x,s="),
        ] {
            let challenge = CHALLENGE.replace(from, to);
            assert_ne!(challenge, CHALLENGE);
            let error = login.last(&password, challenge.as_bytes()).unwrap_err();
            assert_eq!(&*error.code, "AUTH", "{challenge}");
        }
        assert!(login.last(&password, b"\xff").is_err());
        assert!(Password::new("a\u{7}b").is_err());
    }
}
