//! From an open connection to a session: the start-up, whatever dialogue the account's authentication wants, and what
//! the server tells of itself. The scrambles are postgres-protocol's.
use super::link::Link;
use super::read;
use super::request::{self, CancelKey};
use crate::postgresql::errors::at_login;
use crate::server::errors::{IO, malformed};
use crate::server::stranger;
use crate::server::tls::Encryption;
use bakeoff_model::outcome::{FailClass, OpError};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};

/// Of one login; a server tells some twenty parameters.
const MESSAGES_MAX: usize = 256;

pub struct Account<'a> {
    pub user: &'a str,
    pub password: Option<&'a str>,
    pub database: &'a str,
    pub encryption: Option<&'a Encryption>,
    /// On a unix socket nobody else listens, or answers in the server's place: the password itself may be said.
    pub is_local: bool,
}

pub async fn log_in(link: &mut Link, account: &Account<'_>) -> Result<CancelKey, OpError> {
    let settings = [
        ("user", account.user),
        ("database", account.database),
        ("client_encoding", "UTF8"),
        ("application_name", "bakeoff"),
    ];
    let outcome = async {
        if let Some(encryption) = account.encryption {
            link.encrypt(encryption).await?;
        }
        request::start_up(link.request(), &settings);
        link.tell().await?;
        dialogue(link, account).await
    };
    outcome.await.map_err(|mut error| {
        if let Some(who) = stranger(link.input()) {
            error.message = who.to_owned();
        } else if error.code == IO {
            error.message = format!("the connection was cut during the login: {}", error.message);
        }
        error
    })
}

async fn dialogue(link: &mut Link, account: &Account<'_>) -> Result<CancelKey, OpError> {
    let mut key = CancelKey::default();
    for _ in 0..MESSAGES_MAX {
        let (tag, mut content) = link.next().await?;
        let rest = &mut content;
        match tag {
            b'R' => match read::u32(rest)? {
                0 => {} // let in
                3 => whole_password(link, account).await?,
                5 => {
                    let salt = rest.first_chunk().copied();
                    let salt = salt.ok_or_else(|| malformed("a challenge without its salt"))?;
                    let user = account.user.as_bytes();
                    let answer = md5_hash(user, password(account)?.as_bytes(), salt);
                    send(link, &[answer.as_bytes(), &[0]].concat()).await?;
                }
                10 if rest
                    .split(|&byte| byte == 0)
                    .any(|name| name == SCRAM_SHA_256.as_bytes()) =>
                {
                    scram(link, account).await?;
                }
                2 | 7..=10 => {
                    return Err(refused(
                        "the account wants to log in in a way that this client does not have",
                    ));
                }
                _ => return Err(malformed("an unknown step of the authentication")),
            },
            b'K' => {
                key = CancelKey {
                    process: read::u32(rest)?,
                    secret: read::u32(rest)?,
                }
            }
            b'Z' => return Ok(key),
            b'E' => return Err(at_login(read::error(rest))),
            _ => return Err(malformed("an unknown message during the login")),
        }
    }
    Err(malformed("a login without an end"))
}

/// Proves the knowledge of the password without telling it, and has the server prove its own (RFC 7677). Not bound to the
/// encryption: the certificate is verified, or the plan's author has asked that it be not.
async fn scram(link: &mut Link, account: &Account<'_>) -> Result<(), OpError> {
    let failed = |error: std::io::Error| refused(&format!("the login by SCRAM-SHA-256 failed: {error}"));
    let mut scram = ScramSha256::new(password(account)?.as_bytes(), ChannelBinding::unsupported());
    request::mechanism(link.request(), SCRAM_SHA_256, scram.message());
    link.tell().await?;
    scram.update(challenge(link, 11).await?).map_err(failed)?;
    send(link, scram.message()).await?;
    scram.finish(challenge(link, 12).await?).map_err(failed)
}

/// The next step of the authentication, which must be this one.
async fn challenge(link: &mut Link, step: u32) -> Result<&[u8], OpError> {
    let (tag, mut content) = link.next().await?;
    match tag {
        b'R' if read::u32(&mut content)? == step => Ok(content),
        b'E' => Err(at_login(read::error(content))),
        _ => Err(malformed("an unknown step of the authentication")),
    }
}

async fn whole_password(link: &mut Link, account: &Account<'_>) -> Result<(), OpError> {
    if !account.is_local && account.encryption.is_none() {
        return Err(refused(
            "the server asks for the password itself, which over plain TCP would be given to whoever answers there: set \
             `tls`, connect over a unix socket, or give the account a SCRAM-SHA-256 password",
        ));
    }
    send(link, &[password(account)?.as_bytes(), &[0]].concat()).await
}

async fn send(link: &mut Link, answer: &[u8]) -> Result<(), OpError> {
    request::password(link.request(), answer);
    link.tell().await
}

fn password<'a>(account: &Account<'a>) -> Result<&'a str, OpError> {
    let missing = || refused("the server wants a password, and none was named");
    account.password.ok_or_else(missing)
}

fn refused(why: &str) -> OpError {
    OpError::fail(FailClass::Refused, "AUTH", why)
}
