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
    /// Two for each place: an operation that only reads goes to a node of another role than the first node's, every other
    /// one to a node of the first node's role.
    Split,
}

/// Places in a system's list of endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// At least one.
    pub places: Vec<u32>,
    /// Those of them that only read, which then are not among the others; empty: what reads goes where everything goes.
    pub readers: Vec<u32>,
}

impl Routing {
    /// Of a system without endpoints (it lives in the engine) the first. Refused: what no endpoint has.
    pub fn among(&self, endpoints: &[Endpoint]) -> Result<Route, Trouble> {
        let places = |wanted: &dyn Fn(&Endpoint) -> bool| -> Vec<u32> {
            let found = (0u32..).zip(endpoints).filter(|(_, endpoint)| wanted(endpoint));
            found.map(|(place, _)| place).collect()
        };
        let route = |places: Vec<u32>, otherwise: &dyn Fn() -> Result<Route, Trouble>| match places.is_empty()
        {
            true => otherwise(),
            false => Ok(Route {
                places,
                readers: vec![],
            }),
        };
        let all = |part: fn(&Endpoint) -> &str| endpoints.iter().map(part).collect();
        match self {
            Self::Any => route(places(&|_| true), &|| {
                Ok(Route {
                    places: vec![0],
                    readers: vec![],
                })
            }),
            Self::Role(role) => route(places(&|e| e.role == *role), &|| {
                Err(none("role", role, all(|e| &e.role)))
            }),
            Self::Name(name) => route(places(&|e| e.name == *name), &|| {
                Err(none("name", name, all(|e| &e.name)))
            }),
            Self::Split => {
                let first = endpoints.first().map_or("", |endpoint| &*endpoint.role);
                let readers = places(&|e| e.role != first);
                match readers.is_empty() {
                    true => Err(one_role()),
                    false => Ok(Route {
                        places: places(&|e| e.role == first),
                        readers,
                    }),
                }
            }
        }
    }
}

fn one_role() -> Trouble {
    Trouble::new(
        TroubleKind::Usage,
        "all nodes of this system have the same role: there are none that only read",
        "run.json: routing",
        "leave `routing` out, or ask for a system with replicas or readers",
    )
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

/// A session that may know where its requests go.
pub trait Asked {
    /// Place of the endpoint that the last request went to, where its client chooses one for each request. `None`: the one that
    /// the session was opened at.
    fn asked(&self) -> Option<u32> {
        None
    }
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
        let places = |routing: Routing, nodes: &[Endpoint]| {
            routing.among(nodes).map(|route| (route.places, route.readers))
        };
        assert_eq!(places(Routing::Any, &nodes), Ok((vec![0, 1, 2], vec![])));
        assert_eq!(places(role("replica"), &nodes), Ok((vec![1, 2], vec![])));
        assert_eq!(places(name("c"), &nodes), Ok((vec![2], vec![])));
        assert_eq!(places(Routing::Any, &[]), Ok((vec![0], vec![])));
        assert_eq!(places(Routing::Split, &nodes), Ok((vec![0], vec![1, 2])));
        let refused = |routing: Routing, nodes: &[Endpoint]| {
            let trouble = routing.among(nodes).err();
            trouble.map(|trouble| (trouble.what, trouble.hint))
        };
        let (what, hint) = refused(role("replicas"), &nodes).unwrap_or_default();
        assert_eq!(what, "no node of this system has the role `replicas`");
        assert!(hint.starts_with("did you mean `replica`?"), "{hint}");
        assert!(refused(name("primary"), &nodes).is_some(), "a role is no name");
        assert!(refused(name("a"), &[]).is_some());
        assert!(refused(Routing::Split, &nodes[1..]).is_some(), "all are replicas");
        assert!(refused(Routing::Split, &[]).is_some());
    }
}
