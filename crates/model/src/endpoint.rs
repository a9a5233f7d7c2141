//! Where a system is reached, and which of several places a user goes to.
use crate::options::one_of;
use crate::outcome::{Trouble, TroubleKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name, role and address of one place to connect to. Every record carries the node it talked to.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub name: String,
    /// `primary`, `replica`, ...; free text of the system's own.
    pub role: String,
    /// `host:port`, or a path beginning with `/` for a unix socket.
    pub address: String,
}

/// The nodes that sessions are dealt over, in turn.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum Routing {
    #[default]
    Any,
    /// Those that have this role.
    Role(String),
    /// The one of this name.
    Name(String),
}

impl Routing {
    /// Places in `endpoints`, at least one; of a system without any (it lives in the engine) the first. Refused: what no
    /// endpoint has.
    pub fn among(&self, endpoints: &[Endpoint]) -> Result<Vec<u32>, Trouble> {
        let wanted = |endpoint: &Endpoint| match self {
            Self::Any => true,
            Self::Role(role) => endpoint.role == *role,
            Self::Name(name) => endpoint.name == *name,
        };
        let places = (0u32..).zip(endpoints).filter(|(_, endpoint)| wanted(endpoint));
        let found: Vec<u32> = places.map(|(place, _)| place).collect();
        match self {
            _ if !found.is_empty() => Ok(found),
            Self::Any => Ok(vec![0]),
            Self::Role(role) => Err(none("role", role, endpoints.iter().map(|e| &*e.role).collect())),
            Self::Name(name) => Err(none("name", name, endpoints.iter().map(|e| &*e.name).collect())),
        }
    }
}

fn none(what: &str, word: &str, mut known: Vec<&str>) -> Trouble {
    known.sort_unstable();
    known.dedup();
    let hint = match known.is_empty() {
        true => "leave `routing` out: this system lives in the engine's process".into(),
        false => one_of(word, &known),
    };
    Trouble::new(
        TroubleKind::Usage,
        format!("no node of this system has the {what} `{word}`"),
        "run.json: routing",
        hint,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_chosen_by_role_or_name_and_what_none_has_is_refused() {
        let nodes = [("a", "primary"), ("b", "replica"), ("c", "replica")].map(|(name, role)| Endpoint {
            name: name.into(),
            role: role.into(),
            address: "db:1".into(),
        });
        let role = |role: &str| Routing::Role(role.into());
        let name = |name: &str| Routing::Name(name.into());
        assert_eq!(Routing::Any.among(&nodes), Ok(vec![0, 1, 2]));
        assert_eq!(role("replica").among(&nodes), Ok(vec![1, 2]));
        assert_eq!(name("c").among(&nodes), Ok(vec![2]));
        assert_eq!(Routing::Any.among(&[]), Ok(vec![0]));
        let refused = |routing: Routing, nodes: &[Endpoint]| {
            let trouble = routing.among(nodes).err();
            trouble.map(|trouble| (trouble.what, trouble.hint))
        };
        let (what, hint) = refused(role("replicas"), &nodes).unwrap_or_default();
        assert_eq!(what, "no node of this system has the role `replicas`");
        assert!(hint.starts_with("did you mean `replica`?"), "{hint}");
        assert!(refused(name("primary"), &nodes).is_some(), "a role is no name");
        assert!(refused(name("a"), &[]).is_some());
    }
}
