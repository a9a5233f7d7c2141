//! Options of the MongoDB driver: a plan's, and those that the control plane sets (`system`).
use crate::server::account::{Secret, TlsSpec};
use crate::server::target::{Protocol, Target, usage};
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::outcome::{OpError, Trouble};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// MongoDB and what else speaks its protocol.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MongodbSpec {
    /// At least one. `host:port`, or the path of a unix socket. No other member of a replica set is spoken to.
    #[schemars(extend("system" = true))]
    pub endpoints: Vec<Endpoint>,
    /// With `password`: who logs in, by SCRAM-SHA-256. Without it nobody does.
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub user: Option<String>,
    #[serde(default)]
    #[schemars(extend("system" = true))]
    pub password: Option<Secret>,
    /// The database everything happens in.
    #[schemars(extend("system" = true))]
    pub database: String,
    /// The database that has the account.
    #[serde(default = "admin")]
    #[schemars(length(min = 1))]
    pub auth_source: String,
    /// Encryption of the connections; absent: none.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// Which data a read may return. Absent: the server's own default (`local`).
    #[serde(default)]
    pub read_concern: Option<ReadConcern>,
    /// Which members a read may be answered by. It decides what a member that is spoken to, or `mongos`, does with a read; which
    /// member a session connects to is for the plan's `nodes` to say.
    #[serde(default)]
    pub read_preference: ReadPreference,
    /// Who has to have a write before it is acknowledged: `majority`, a number of members, or the name of a custom write concern.
    /// Absent: the server's own default (`majority` from 5.0 on).
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub write_concern: Option<String>,
    /// A write is acknowledged when it is in the journal on disk. Absent: as the server has it.
    #[serde(default)]
    pub journal: Option<bool>,
    /// How long a write waits for other members before its outcome is unknown, ms. Absent: without end.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3_600_000))]
    pub write_timeout_ms: Option<u32>,
    /// Transactions of several operations. The server has to be a member of a replica set, or `mongos`.
    #[serde(default)]
    pub transactions: bool,
    /// Documents of one answer; longer results come in several, each a round trip.
    #[serde(default = "batch_size")]
    #[schemars(range(min = 1, max = 100_000))]
    pub batch_size: u32,
}

fn admin() -> String {
    "admin".into()
}

fn batch_size() -> u32 {
    1000
}

impl Default for MongodbSpec {
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            user: None,
            password: None,
            database: String::new(),
            auth_source: admin(),
            tls: None,
            read_concern: None,
            read_preference: ReadPreference::default(),
            write_concern: None,
            journal: None,
            write_timeout_ms: None,
            transactions: false,
            batch_size: batch_size(),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ReadConcern {
    /// What the member has; it may be rolled back.
    Local,
    /// The same, and of a sharded collection perhaps documents that are moving.
    Available,
    /// What most members have.
    Majority,
    /// What most members had when the read began, by a read that most members confirm: of the primary alone, and of single
    /// documents.
    Linearizable,
    /// What most members have, all of it from one moment.
    Snapshot,
}

impl ReadConcern {
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Available => "available",
            Self::Majority => "majority",
            Self::Linearizable => "linearizable",
            Self::Snapshot => "snapshot",
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum ReadPreference {
    #[default]
    Primary,
    PrimaryPreferred,
    Secondary,
    SecondaryPreferred,
    Nearest,
}

impl ReadPreference {
    /// As the protocol spells it.
    pub fn mode(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::PrimaryPreferred => "primaryPreferred",
            Self::Secondary => "secondary",
            Self::SecondaryPreferred => "secondaryPreferred",
            Self::Nearest => "nearest",
        }
    }
}

/// Where troubles lie that no endpoint has.
pub const DRIVER: &str = "mongodb driver";

static PROTOCOL: Protocol = Protocol {
    driver: DRIVER,
    server: "MongoDB",
    default_port: 27017,
    denied: &["AUTH", "13", "18"],
    advice,
};

fn advice(error: &OpError) -> Option<&'static str> {
    match &*error.code {
        "18" => Some("`auth_source` names the database that has the account"),
        "IO" => Some("perhaps the server wants `tls`"),
        _ => None,
    }
}

/// All endpoints of a spec; connects to nothing.
pub fn targets(spec: &MongodbSpec) -> Result<Vec<Target>, Trouble> {
    refuse(spec)?;
    let user = spec.user.as_deref().unwrap_or_default();
    let (password, encrypted) = (spec.password.as_ref(), spec.tls.is_some());
    Target::all(
        &PROTOCOL,
        &spec.endpoints,
        user,
        password,
        &spec.database,
        encrypted,
    )
}

/// What no server takes, or what would leave operations without an answer.
fn refuse(spec: &MongodbSpec) -> Result<(), Trouble> {
    let bad = |name: &str| name.is_empty() || name.contains(['\0', '/', '\\', '.', ' ', '"', '$']);
    if bad(&spec.database) {
        let what = format!("{:?} is not the name of a database", spec.database);
        return Err(usage(
            &what,
            DRIVER,
            "MongoDB's names have no space and none of /\\.\"$",
        ));
    }
    if spec.password.is_some() && spec.user.is_none() {
        return Err(usage("a password without a user", DRIVER, "name the `user`, too"));
    }
    let number = spec
        .write_concern
        .as_deref()
        .and_then(|name| name.parse::<u32>().ok());
    if number == Some(0) {
        let what = "write_concern = \"0\" asks for no acknowledgement, so nothing could be said of a write";
        return Err(usage(what, DRIVER, "write \"1\" or more, or \"majority\""));
    }
    let concern = spec.read_concern;
    if spec.transactions && matches!(concern, Some(ReadConcern::Linearizable | ReadConcern::Available)) {
        let what = "a transaction reads at read concern local, majority or snapshot";
        return Err(usage(
            what,
            DRIVER,
            "change `read_concern`, or leave out `transactions`",
        ));
    }
    if concern == Some(ReadConcern::Linearizable) && spec.read_preference != ReadPreference::Primary {
        let what = "only the primary reads at read concern linearizable";
        return Err(usage(what, DRIVER, "leave out `read_preference`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn trouble(change: impl FnOnce(&mut MongodbSpec)) -> Option<String> {
        let endpoint = Endpoint {
            name: "n1".into(),
            role: "primary".into(),
            address: "h:1".into(),
        };
        let mut spec = MongodbSpec {
            endpoints: vec![endpoint],
            database: "d".into(),
            ..MongodbSpec::default()
        };
        change(&mut spec);
        targets(&spec).err().map(|trouble| trouble.what)
    }

    #[test]
    fn what_no_server_takes_is_refused() {
        assert_eq!(trouble(|_| {}), None);
        assert_eq!(trouble(|spec| spec.write_concern = Some("2".into())), None);
        let concern = |concern| move |spec: &mut MongodbSpec| spec.read_concern = Some(concern);
        assert_eq!(trouble(concern(ReadConcern::Linearizable)), None);
        for (what, change) in [
            (
                "name of a database",
                (|spec| spec.database = "a.b".into()) as fn(&mut MongodbSpec),
            ),
            ("acknowledgement", |spec| spec.write_concern = Some("0".into())),
            ("without a user", |spec| {
                spec.password = Some(Secret::Env("PATH".into()))
            }),
            ("a transaction reads", |spec| {
                (spec.transactions, spec.read_concern) = (true, Some(ReadConcern::Linearizable));
            }),
            ("only the primary", |spec| {
                spec.read_preference = ReadPreference::Nearest;
                spec.read_concern = Some(ReadConcern::Linearizable);
            }),
        ] {
            assert!(trouble(change).unwrap().contains(what), "{what}");
        }
    }
}
