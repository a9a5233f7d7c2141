//! Which node of a cluster has a key, and how a table lies in it.
//!
//! A key's slot is a checksum of it, or of what is between its braces. Commands about several keys need them in one slot, so a
//! table is cut into parts, each with a tag of its own in the names of all its keys: `TABLE{7}`, `TABLE{7}/keys`,
//! `TABLE{7}:KEY`. Each part is stored as a table on a single server is. There are many more parts than nodes, so that each
//! node has about its share.
//!
//! Source: Redis documentation, "Redis cluster specification" (key distribution model, hash tags, MOVED and ASK).
use super::Route;
use super::errors::server_error;
use super::resp::{Answer, Element, element};
use crate::server::errors::malformed;
use bakeoff_model::outcome::{FailClass, OpError};
use std::net::SocketAddr;
use std::sync::OnceLock;

pub const SLOTS: usize = 1 << 14;
/// Of a table in a cluster; the control plane has the same number (`systems/redis/ledger.py`).
const PARTS: usize = 1024;

/// Of the names of a part's keys.
pub struct Tag {
    pub text: Box<[u8]>,
    pub slot: u16,
}

/// Of a server by itself: a table is one part, and its keys have no tag.
pub fn no_tags() -> &'static [Tag] {
    static ONE: OnceLock<[Tag; 1]> = OnceLock::new();
    ONE.get_or_init(|| {
        [Tag {
            text: Box::default(),
            slot: 0,
        }]
    })
}

/// Of a cluster.
pub fn tags() -> &'static [Tag] {
    static ALL: OnceLock<Vec<Tag>> = OnceLock::new();
    ALL.get_or_init(|| {
        let tag = |number: usize| {
            let number = number.to_string();
            Tag {
                slot: slot(number.as_bytes()),
                text: format!("{{{number}}}").into_bytes().into(),
            }
        };
        (0..PARTS).map(tag).collect()
    })
}

/// Of a table with these tags, the one that has this record.
#[inline]
pub fn part_of(tags: &[Tag], key: &[u8]) -> usize {
    match tags.len() {
        1 => 0,
        parts => usize::from(checksum(key)) % parts,
    }
}

fn slot(tag: &[u8]) -> u16 {
    checksum(tag) % SLOTS as u16
}

/// CRC-16/XMODEM: polynomial 0x1021, begins with 0.
fn checksum(bytes: &[u8]) -> u16 {
    static TABLE: [u16; 256] = table();
    bytes.iter().fold(0, |sum, byte| {
        sum << 8 ^ TABLE[usize::from((sum >> 8) as u8 ^ byte)]
    })
}

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            sum = sum << 1 ^ if sum & 0x8000 == 0 { 0 } else { 0x1021 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
}

/// A node's answer that another has the slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Redirect {
    pub slot: u16,
    /// Place of its endpoint.
    pub node: usize,
    /// For this one request; else from now on.
    pub once: bool,
}

impl Redirect {
    /// `None`: the error is another. Errors: it leads to a node that is not among the endpoints.
    pub fn of(error: &OpError, asked: usize, routes: &[Route]) -> Option<Result<Self, OpError>> {
        let once = match &*error.code {
            "MOVED" => false,
            "ASK" => true,
            _ => return None,
        };
        let mut words = error.message.split(' ').skip(1);
        let slot = words
            .next()?
            .parse()
            .ok()
            .filter(|slot| usize::from(*slot) < SLOTS)?;
        let (host, port) = words.next()?.rsplit_once(':')?;
        let node = place(routes, asked, host, port.parse().ok()?);
        Some(node.map(|node| Self { slot, node, once }))
    }
}

/// Of the endpoint at which this node is, as `asked` names it: an empty host is its own.
fn place(routes: &[Route], asked: usize, host: &str, port: u16) -> Result<usize, OpError> {
    let found = match host {
        "" | "?" => routes.iter().position(|route| {
            route
                .target
                .address
                .is_at(routes[asked].target.address.host(), port)
        }),
        host => {
            let address = host.trim_matches(['[', ']']).parse().ok();
            let address = address.map(|ip| SocketAddr::new(ip, port));
            routes.iter().position(|route| {
                route.target.address.is_at(host, port)
                    || address.is_some_and(|address| route.whereabouts.leads_to(address))
            })
        }
    };
    found.ok_or_else(|| {
        let what = format!("a node of the cluster is at {host}:{port}, and not among `nodes`");
        OpError::fail(FailClass::Refused, "NODE", what)
    })
}

/// The answer to `CLUSTER SLOTS`: for each slot the place of the endpoint that has it.
pub fn slots(input: &[u8], asked: usize, routes: &[Route]) -> Result<Option<Answer<Vec<u16>>>, OpError> {
    let Some((tree, size)) = tree(input)? else {
        return Ok(None);
    };
    Ok(Some((read_slots(&tree, asked, routes), size)))
}

fn read_slots(tree: &Tree, asked: usize, routes: &[Route]) -> Result<Vec<u16>, OpError> {
    const NOBODY: u16 = u16::MAX;
    let unread = || malformed("slots that are not as they should be");
    let ranges = match tree {
        Tree::Array(ranges) => ranges,
        Tree::Error(said) => return Err(server_error(said)),
        _ => return Err(unread()),
    };
    let mut found = vec![NOBODY; SLOTS];
    for range in ranges {
        let Tree::Array(range) = range else {
            return Err(unread());
        };
        let [Tree::Int(first), Tree::Int(last), Tree::Array(node), ..] = &range[..] else {
            return Err(unread());
        };
        let host = match &node[..] {
            [Tree::Text(host), Tree::Int(port), ..] => (&host[..], *port),
            [Tree::Null, Tree::Int(port), ..] => (&b""[..], *port),
            _ => return Err(unread()),
        };
        let port = u16::try_from(host.1).map_err(|_| unread())?;
        let node = place(routes, asked, &String::from_utf8_lossy(host.0), port)?;
        let range = usize::try_from(*first).ok().zip(usize::try_from(*last).ok());
        let slots = range.and_then(|(first, last)| found.get_mut(first..=last));
        slots.ok_or_else(unread)?.fill(node as u16);
    }
    match found.contains(&NOBODY) {
        false => Ok(found),
        true => {
            let what = "some slots of the cluster are at no node";
            Err(OpError::fail(FailClass::Overload, "CLUSTERDOWN", what).leaving_node())
        }
    }
}

/// An answer with arrays in arrays.
enum Tree {
    Int(i64),
    Text(Vec<u8>),
    Error(Vec<u8>),
    Null,
    Array(Vec<Tree>),
}

/// `None`: not all of it has arrived.
fn tree(input: &[u8]) -> Result<Option<(Tree, usize)>, OpError> {
    const DEEP: usize = 8;
    fn inner(input: &[u8], left: usize) -> Result<Option<(Tree, usize)>, OpError> {
        let Some((first, mut size)) = element(input)? else {
            return Ok(None);
        };
        let tree = match first {
            Element::Line(text) | Element::Text(text) => Tree::Text(text.to_vec()),
            Element::Error(said) => Tree::Error(said.to_vec()),
            Element::Int(number) => Tree::Int(number),
            Element::Null => Tree::Null,
            Element::Array(_) if left == 0 => return Err(malformed("arrays in arrays without end")),
            Element::Array(count) => {
                let mut all = vec![];
                for _ in 0..count {
                    let Some((one, bytes)) = inner(&input[size..], left - 1)? else {
                        return Ok(None);
                    };
                    all.push(one);
                    size += bytes;
                }
                Tree::Array(all)
            }
        };
        Ok(Some((tree, size)))
    }
    inner(input, DEEP)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::redis::{RedisDriver, RedisSpec};
    use bakeoff_model::endpoint::Endpoint;
    use std::time::Duration;

    fn routes() -> RedisDriver {
        let endpoint = |(name, address): (&str, &str)| Endpoint {
            name: name.into(),
            role: "primary".into(),
            address: address.into(),
        };
        let spec = RedisSpec {
            endpoints: [("a", "127.0.0.1:7001"), ("b", "localhost:7002")]
                .map(endpoint)
                .into(),
            cluster: true,
            ..RedisSpec::default()
        };
        RedisDriver::new(&spec, Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn slots_are_those_of_the_specification() {
        // Appendix of "Redis cluster specification": 31C3; `CLUSTER KEYSLOT` of Redis 7.0 for the others.
        assert_eq!(checksum(b"123456789"), 0x31c3);
        assert_eq!(slot(b"somekey"), 11058);
        assert_eq!(slot(b"foo"), 12182);
    }

    #[test]
    fn parts_are_spread_over_the_slots() {
        for nodes in [2, 3, 5, 6] {
            let mut parts = vec![0; nodes];
            tags()
                .iter()
                .for_each(|tag| parts[usize::from(tag.slot) * nodes / SLOTS] += 1);
            let fair = PARTS / nodes;
            assert!(
                parts
                    .iter()
                    .all(|&parts| parts * 10 > fair * 9 && parts * 10 < fair * 11),
                "{parts:?}"
            );
        }
        let mut records = vec![0; PARTS];
        (0..100 * PARTS).for_each(|n| records[part_of(tags(), format!("user{n}").as_bytes())] += 1);
        assert!(
            records.iter().all(|&records| (40..250).contains(&records)),
            "{records:?}"
        );
        assert_eq!(part_of(no_tags(), b"user1"), 0);
    }

    #[test]
    fn a_redirection_is_followed_to_an_endpoint_of_the_plan_alone() {
        let driver = routes();
        let of = |said: &[u8]| Redirect::of(&server_error(said), 0, &driver.settings.routes);
        let redirect = |node, once| Redirect {
            slot: 3999,
            node,
            once,
        };
        assert_eq!(
            of(b"MOVED 3999 127.0.0.1:7001").unwrap().unwrap(),
            redirect(0, false)
        );
        assert_eq!(
            of(b"ASK 3999 127.0.0.1:7002").unwrap().unwrap(),
            redirect(1, true)
        );
        assert_eq!(of(b"MOVED 3999 :7001").unwrap().unwrap(), redirect(0, false));
        assert!(of(b"MOVED 3999 127.0.0.1:7003").unwrap().is_err());
        for other in [&b"OOM 1 x:1"[..], b"MOVED", b"MOVED 99999 a:1", b"MOVED 1 a:b"] {
            assert!(of(other).is_none(), "{other:?}");
        }
    }

    #[test]
    fn slots_are_read_when_all_of_them_are_there() {
        let driver = routes();
        let node = |port| format!("*3\r\n$9\r\n127.0.0.1\r\n:{port}\r\n$1\r\nx\r\n");
        let range = |from, to, port| format!("*3\r\n:{from}\r\n:{to}\r\n{}", node(port));
        let said = format!("*2\r\n{}{}", range(0, 9999, 7001), range(10_000, 16_383, 7002));
        let read = |said: &str| slots(said.as_bytes(), 0, &driver.settings.routes);
        for end in 0..said.len() {
            assert!(read(&said[..end]).unwrap().is_none());
        }
        let (found, size) = read(&said).unwrap().unwrap();
        let found = found.unwrap();
        assert_eq!((size, found[9999], found[10_000]), (said.len(), 0, 1));
        for (wrong, code) in [
            (format!("*1\r\n{}", range(0, 100, 7001)), "CLUSTERDOWN"),
            (format!("*1\r\n{}", range(0, 16_384, 7001)), "PROTOCOL"),
            (format!("*1\r\n{}", range(0, 16_383, 9)), "NODE"),
            (
                "-ERR This instance has cluster support disabled\r\n".into(),
                "ERR",
            ),
            (":1\r\n".into(), "PROTOCOL"),
        ] {
            let (found, _) = read(&wrong).unwrap().unwrap();
            assert_eq!(found.unwrap_err().code, code, "{wrong}");
        }
        assert!(read(&"*1\r\n".repeat(20)).is_err());
    }
}
