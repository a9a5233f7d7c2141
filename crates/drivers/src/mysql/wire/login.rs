//! From an open connection to a session: greeting, answer, and whatever dialogue the account's authentication wants.
//! The packets' structures and the scrambles are mysql_common's.
use super::link::Link;
use super::read::refusal;
use crate::mysql::options::PACKET_BYTES_MAX;
use crate::mysql::server_key::ServerKey;
use crate::server;
use crate::server::channel::no_tls;
use crate::server::errors::{IO, malformed};
use crate::server::tls::Encryption;
use bakeoff_model::needs::Affected;
use bakeoff_model::outcome::{FailClass, OpError};
use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse};
use mysql_common::proto::MySerialize;

/// Of one login; the longest of those known takes three.
const PACKETS_MAX: usize = 16;

/// What an answer to the greeting begins with, up to the account's name; alone, it asks for encryption.
const SSL_REQUEST_BYTES: usize = 32;

/// What both sides have agreed on.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub connection_id: u32,
    /// A result set ends with an OK packet, and nothing stands between its columns and its rows.
    pub no_eof: bool,
    /// Columns that have not changed since the statement was prepared are not sent again (MariaDB).
    pub cached_columns: bool,
    /// A statement can be executed with the parameters of many rows (MariaDB).
    pub arrays: bool,
    pub mariadb: bool,
}

pub struct Account<'a> {
    pub user: &'a str,
    pub password: &'a str,
    pub schema: &'a str,
    /// What an UPDATE is to count.
    pub affected: Affected,
    pub encryption: Option<&'a Encryption>,
    pub trust: Trust<'a>,
}

/// To whom the password itself may be given, where a server asks for it.
pub enum Trust<'a> {
    /// To who is there: on a unix socket, or under TLS, nobody else listens or answers in the server's place.
    Listener,
    /// To who has this key.
    Key(&'a ServerKey),
    Nobody,
}

pub async fn log_in(link: &mut Link, account: &Account<'_>) -> Result<Terms, OpError> {
    let greeting = match link.packet().await {
        Ok(packet) => packet.to_vec(),
        Err(error) => return Err(stranger(link.heard(), error)),
    };
    if let Some((0xFF, error)) = greeting.split_first() {
        return Err(refusal(error));
    }
    answer(link, account, parse_greeting(&greeting)?)
        .await
        .map_err(|mut error| {
            if error.code == IO {
                error.message = format!("the connection was cut during the login: {}", error.message);
            }
            error
        })
}

/// Who does not greet as a server of this protocol does.
#[cold]
fn stranger(heard: &[u8], mut error: OpError) -> OpError {
    if heard.is_empty() && error.code == IO {
        error.message = "it closed the connection before it greeted".into();
    } else if let Some(who) = server::stranger(heard) {
        error.message = who.into();
    }
    error
}

async fn answer(
    link: &mut Link,
    account: &Account<'_>,
    greeting: HandshakePacket<'_>,
) -> Result<Terms, OpError> {
    let (mut capabilities, extended) = agree(
        greeting.capabilities(),
        greeting.mariadb_ext_capabilities(),
        account.affected,
    );
    if account.encryption.is_some() {
        capabilities |= CapabilityFlags::CLIENT_SSL;
        if !greeting.capabilities().contains(CapabilityFlags::CLIENT_SSL) {
            return Err(no_tls());
        }
    }
    let terms = Terms {
        connection_id: greeting.connection_id(),
        no_eof: capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF),
        cached_columns: extended.contains(MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA),
        arrays: extended.contains(MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS),
        mariadb: greeting.maria_db_server_version_parsed().is_some(),
    };
    let version = greeting
        .maria_db_server_version_parsed()
        .or_else(|| greeting.server_version_parsed())
        .unwrap_or((5, 5, 5));
    let mut nonce = greeting.nonce();
    let mut plugin = match greeting.auth_plugin() {
        // Nothing can be scrambled for what is not known: the server will name another.
        Some(known @ (AuthPlugin::CachingSha2Password | AuthPlugin::Ed25519)) => known.into_owned(),
        _ => AuthPlugin::MysqlNativePassword,
    };
    let scrambled = plugin
        .gen_data(Some(account.password), &nonce)
        .map(|data| data.to_vec());
    let answer = HandshakeResponse::new(
        scrambled,
        version,
        Some(account.user.as_bytes()),
        Some(account.schema.as_bytes()),
        Some(plugin.borrow()),
        capabilities,
        None,
        PACKET_BYTES_MAX as u32,
    )
    .with_mariadb_ext_capabilities(extended);
    let mut bytes = Vec::new();
    answer.serialize(&mut bytes);
    if let Some(encryption) = account.encryption {
        link.request().extend_from_slice(&bytes[..SSL_REQUEST_BYTES]);
        link.send().await?;
        link.encrypt(encryption).await?;
    }
    link.request().extend_from_slice(&bytes);
    link.send().await?;
    for _ in 0..PACKETS_MAX {
        let packet = link.packet().await?;
        match packet.split_first() {
            Some((0x00, _)) => return Ok(terms),
            Some((0xFF, error)) => return Err(refusal(error)),
            Some((0xFE, _)) => {
                let switch: AuthSwitchRequest<'_> = parse(packet)?;
                plugin = switch.auth_plugin().into_owned();
                // The nonce is followed by a zero.
                nonce = switch
                    .plugin_data()
                    .strip_suffix(&[0])
                    .unwrap_or(switch.plugin_data())
                    .to_vec();
                let data = scramble(&plugin, account.password, &nonce)?;
                link.request().extend_from_slice(&data);
                link.send().await?;
            }
            Some((0x01, more)) => match more.first() {
                Some(0x03) => {} // known to the server: its OK follows
                Some(0x04) => whole_password(link, account, &nonce).await?,
                _ => return Err(malformed("an unknown step of the authentication")),
            },
            _ => return Err(malformed("an unknown packet during authentication")),
        }
    }
    Err(malformed("an authentication without an end"))
}

/// What is wanted, as far as the server has it.
fn agree(
    offered: CapabilityFlags,
    extended: MariadbCapabilities,
    affected: Affected,
) -> (CapabilityFlags, MariadbCapabilities) {
    let counts = match affected {
        Affected::Found => CapabilityFlags::CLIENT_FOUND_ROWS,
        Affected::Changed => CapabilityFlags::empty(),
    };
    let wanted = counts
        | CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_LOCAL_FILES
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_DEPRECATE_EOF
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_CONNECT_WITH_DB
        // MySQL's meaning is "long passwords"; a MariaDB that does not offer it reads the extended ones instead.
        | CapabilityFlags::CLIENT_LONG_PASSWORD;
    let agreed = wanted & offered;
    if offered.contains(CapabilityFlags::CLIENT_LONG_PASSWORD) {
        return (agreed, MariadbCapabilities::empty());
    }
    let mut wanted = MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS;
    // Without this the server would send the end of columns that it does not send.
    if agreed.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
        wanted |= MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA;
    }
    (agreed, wanted & extended)
}

fn parse_greeting(packet: &[u8]) -> Result<HandshakePacket<'_>, OpError> {
    /// After the version, which begins with the second byte and ends with a zero.
    const NONCE_LENGTH_AT: usize = 20;
    let version = packet.get(1..).unwrap_or_default();
    let rest = version.splitn(2, |&byte| byte == 0).nth(1).unwrap_or_default();
    // The library reads this as a signed number, and stumbles over the least of them.
    if rest.get(NONCE_LENGTH_AT).is_some_and(|&length| length > 0x7F) {
        return Err(malformed("a greeting with too long a nonce"));
    }
    parse(packet)
}

fn parse<'a, T: mysql_common::proto::MyDeserialize<'a, Ctx = ()>>(packet: &'a [u8]) -> Result<T, OpError> {
    ParseBuf(packet)
        .parse(())
        .map_err(|error| malformed(&format!("during authentication: {error}")))
}

fn scramble(plugin: &AuthPlugin<'_>, password: &str, nonce: &[u8]) -> Result<Vec<u8>, OpError> {
    match plugin {
        AuthPlugin::MysqlNativePassword | AuthPlugin::CachingSha2Password | AuthPlugin::Ed25519 => {
            let data = plugin.gen_data(Some(password), nonce);
            Ok(data.map(|data| data.to_vec()).unwrap_or_default())
        }
        other => Err(OpError::fail(
            FailClass::Refused,
            "AUTH",
            format!(
                "the account wants the authentication {}, which this client does not have: use \
                 mysql_native_password, ed25519 or caching_sha2_password",
                String::from_utf8_lossy(other.as_bytes())
            ),
        )),
    }
}

/// The server has no memory of this account (caching_sha2_password, full authentication): it wants the password itself.
async fn whole_password(link: &mut Link, account: &Account<'_>, nonce: &[u8]) -> Result<(), OpError> {
    let mut password = account.password.as_bytes().to_vec();
    password.push(0);
    let password = match account.trust {
        Trust::Listener => password,
        Trust::Key(key) => {
            for (byte, mask) in password.iter_mut().zip(nonce.iter().cycle()) {
                *byte ^= mask;
            }
            key.encrypt(&password)
                .ok_or_else(|| refused("the password is too long for the key in `server_public_key_file`"))?
        }
        // The server would send a key for it, and so would anybody who answers in the server's place.
        Trust::Nobody => {
            return Err(refused(
                "the server asks for the password itself (caching_sha2_password), which over plain TCP would be given \
                 to whoever answers there: set `tls`, connect over a unix socket, or name the server's own key in \
                 `server_public_key_file`",
            ));
        }
    };
    link.request().extend_from_slice(&password);
    link.send().await
}

fn refused(why: &str) -> OpError {
    OpError::fail(FailClass::Refused, "AUTH", why)
}
