//! One request: what is asked, of which node and which links.
use super::access::Choice;
use super::graph::Graph;
use crate::prelude::*;
use crate::rng::Random;
use bakeoff_model::run::linkbench::{LinkbenchCompat, LinkbenchSpec};

/// In the order of the workload's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    AddLink,
    DeleteLink,
    UpdateLink,
    CountLink,
    GetLink,
    GetLinkList,
    GetLinkListHistory,
    AddNode,
    UpdateNode,
    DeleteNode,
    GetNode,
}

impl Kind {
    pub const ALL: [Kind; 11] = [
        Kind::AddLink,
        Kind::DeleteLink,
        Kind::UpdateLink,
        Kind::CountLink,
        Kind::GetLink,
        Kind::GetLinkList,
        Kind::GetLinkListHistory,
        Kind::AddNode,
        Kind::UpdateNode,
        Kind::DeleteNode,
        Kind::GetNode,
    ];

    /// As the original's settings call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::AddLink => "addlink",
            Kind::DeleteLink => "deletelink",
            Kind::UpdateLink => "updatelink",
            Kind::CountLink => "countlink",
            Kind::GetLink => "getlink",
            Kind::GetLinkList => "getlinklist",
            Kind::GetLinkListHistory => "getlinklist_history",
            Kind::AddNode => "addnode",
            Kind::UpdateNode => "updatenode",
            Kind::DeleteNode => "deletenode",
            Kind::GetNode => "getnode",
        }
    }

    pub fn operation(self) -> Operation {
        Operation::new(self.name()).reading_only(!self.writes())
    }

    pub fn writes(self) -> bool {
        use Kind::{AddLink, AddNode, DeleteLink, DeleteNode, UpdateLink, UpdateNode};
        matches!(
            self,
            AddLink | DeleteLink | UpdateLink | AddNode | UpdateNode | DeleteNode
        )
    }

    /// Its share of requests, in whatever unit the mix has. A history is drawn among lists.
    pub fn share(self, spec: &LinkbenchSpec) -> f64 {
        match self {
            Kind::AddLink => spec.addlink,
            Kind::DeleteLink => spec.deletelink,
            Kind::UpdateLink => spec.updatelink,
            Kind::CountLink => spec.countlink,
            Kind::GetLink => spec.getlink,
            Kind::GetLinkList => spec.getlinklist,
            Kind::GetLinkListHistory => 0.0,
            Kind::AddNode => spec.addnode,
            Kind::UpdateNode => spec.updatenode,
            Kind::DeleteNode => spec.deletenode,
            Kind::GetNode => spec.getnode,
        }
    }

    /// The original's chance that the link asked for is there.
    fn hit_share(self) -> f64 {
        match self {
            Kind::AddLink => 0.05,
            Kind::GetLink => 0.5,
            _ => 0.9,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub kind: Kind,
    /// Of a node, or of that which links come from.
    pub id: u64,
    /// Index of the type of links.
    pub of_type: u64,
    /// Where a link leads; of a `getlink` the number of links.
    pub id2: u64,
    /// For its other random values: payload, and links of a `getlink`.
    pub seed: u64,
}

/// Draws requests. About 60 ns.
#[derive(Debug)]
pub struct Draws {
    pub graph: Graph,
    choice: Choice,
    /// Ends of the kinds' shares, of their sum.
    ends: [f64; Kind::ALL.len()],
    multiget_least: u64,
    multiget_most: u64,
    /// Of the chance that a `getlink` goes on to ask.
    multiget_log: f64,
    /// The original's one link more than is said.
    multiget_one_more: bool,
    /// 0: ids are drawn without regard to users.
    id2_users: u64,
}

/// Most links of a `getlink`.
pub const MULTIGET_MOST: usize = 128;
/// Tries for another link of a `getlink` than those drawn before.
const TRIES: u32 = 100;

impl Draws {
    /// `users`: of all clients.
    pub fn new(spec: &LinkbenchSpec, users: u64) -> Self {
        let mut sum = 0.0;
        let ends = Kind::ALL.map(|kind| {
            sum += kind.share(spec);
            sum
        });
        Self {
            graph: Graph::new(spec),
            choice: Choice::new(spec),
            ends: ends.map(|end| end / sum),
            multiget_least: u64::from(spec.link_multiget_dist_min),
            multiget_most: u64::from(spec.link_multiget_dist_max) - 1,
            multiget_log: (1.0 - spec.link_multiget_dist_prob).ln(),
            multiget_one_more: spec.compat == LinkbenchCompat::Original,
            id2_users: u64::from(spec.id2gen_config) * users,
        }
    }

    #[inline]
    pub fn kind(&self, rng: &mut Random) -> Kind {
        let u = rng.unit();
        // The last end is 1 but for rounding.
        let place = self.ends.iter().position(|end| u < *end);
        Kind::ALL[place.unwrap_or(Kind::GetNode as usize)]
    }

    /// `user`: its number among those of all clients.
    #[inline]
    pub fn request(&self, kind: Kind, user: u64, rng: &mut Random) -> Request {
        let (graph, choice) = (&self.graph, &self.choice);
        let mut request = Request {
            kind,
            id: 0,
            of_type: 0,
            id2: 0,
            seed: 0,
        };
        match kind {
            Kind::AddNode => {}
            Kind::GetNode => request.id = choice.to_read(rng),
            Kind::UpdateNode => request.id = choice.to_update(rng),
            Kind::DeleteNode => request.id = choice.to_delete(rng),
            _ => {
                request.id = match kind.writes() {
                    true => choice.to_write_links(graph, rng),
                    false => choice.to_read_links(graph, rng),
                };
                request.of_type = rng.below(graph.types());
            }
        }
        match kind {
            Kind::GetLink => request.id2 = self.multiget_size(rng),
            Kind::AddLink | Kind::UpdateLink | Kind::DeleteLink => {
                request.id2 = request.id + rng.below(self.range(&request));
                if let Some(rest) = request.id2.checked_rem(self.id2_users) {
                    request.id2 = request.id2 - rest + user;
                }
            }
            _ => {}
        }
        request.seed = rng.bits();
        request
    }

    /// How many ids there are to draw from, so that a link is there in the share of cases that the kind has.
    #[inline]
    fn range(&self, request: &Request) -> u64 {
        let links = self.graph.links(request.id, request.of_type);
        ((links as f64 / request.kind.hit_share()).ceil() as u64).max(1)
    }

    /// Geometric.
    #[inline]
    fn multiget_size(&self, rng: &mut Random) -> u64 {
        // 1 - u, because u may be 0.
        let tail = (1.0 - rng.unit()).ln() / self.multiget_log;
        let more = match self.multiget_one_more {
            true => tail.ceil(),
            false => tail.floor(),
        };
        (self.multiget_least + more as u64).min(self.multiget_most)
    }

    /// Appends the links of a `getlink`: the drawn number of them, or as many as may exist, each once.
    pub fn id2s(&self, request: &Request, into: &mut Vec<Value<'static>>) {
        let mut rng = Random::new(request.seed);
        let (range, before) = (self.range(request), into.len());
        for _ in 0..request.id2.min(range) {
            for _ in 0..TRIES {
                let id2 = Value::Int((request.id + rng.below(range)) as i64);
                if !into[before..].contains(&id2) {
                    into.push(id2);
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::linkbench::LinkCounts;

    fn draws(change: impl FnOnce(&mut LinkbenchSpec)) -> Draws {
        let mut spec = LinkbenchSpec::default();
        change(&mut spec);
        Draws::new(&spec, 8)
    }

    #[test]
    fn kinds_have_the_shares_of_the_mix() {
        let draws = draws(|_| {});
        let shares = [
            8.9887, 2.9908, 8.0122, 4.8864, 0.5261, 50.7119, 0.0, 2.5733, 7.3664, 1.0116, 12.9327,
        ];
        let mut begin = 0.0;
        for (end, share) in draws.ends.iter().zip(shares) {
            assert!((100.0 * (end - begin) - share).abs() < 5e-5, "{share}");
            begin = *end;
        }
        let (mut rng, mut hits) = (Random::new(1), [0u32; 11]);
        (0..100_000).for_each(|_| hits[draws.kind(&mut rng) as usize] += 1);
        for (kind, share) in Kind::ALL.into_iter().zip(shares) {
            let found = f64::from(hits[kind as usize]) / 1000.0;
            assert!((found - share).abs() < 0.7, "{}: {found}", kind.name());
        }
    }

    #[test]
    fn links_asked_for_are_there_as_often_as_in_the_original() {
        let draws = draws(|spec| spec.nlinks_func = LinkCounts::Constant { links: 80 });
        for (kind, expected) in [
            (Kind::AddLink, 0.05),
            (Kind::UpdateLink, 40.0 / 45.0),
            (Kind::DeleteLink, 40.0 / 45.0),
        ] {
            let mut rng = Random::new(2);
            let hit = |request: Request| request.id2 < request.id + 40;
            let hits = (0..40_000)
                .filter(|_| hit(draws.request(kind, 0, &mut rng)))
                .count();
            let found = hits as f64 / 40_000.0;
            assert!((found - expected).abs() < 0.01, "{}: {found}", kind.name());
        }
    }

    #[test]
    fn a_getlink_asks_for_as_many_different_links_as_was_drawn() {
        for (compat, least, mean) in [
            (LinkbenchCompat::None, 1, 2.618),
            (LinkbenchCompat::Original, 2, 3.618),
        ] {
            let draws = draws(|spec| {
                spec.compat = compat;
                spec.nlinks_func = LinkCounts::Constant { links: 400 };
            });
            let (mut rng, mut sum, mut links, mut there) = (Random::new(3), 0, Vec::new(), 0);
            for _ in 0..20_000 {
                let request = draws.request(Kind::GetLink, 0, &mut rng);
                // What stands before them may be the same numbers.
                links.clear();
                links.push(Value::Int(request.id as i64));
                draws.id2s(&request, &mut links);
                links.remove(0);
                assert!(links.len() >= least && links.len() as u64 == request.id2);
                sum += links.len();
                let id2s = links.iter().filter_map(|id2| id2.whole_number());
                there += id2s.filter(|id2| (*id2 as u64) < request.id + 200).count();
            }
            let found = sum as f64 / 20_000.0;
            assert!((found - mean).abs() < 0.05, "{found}");
            assert!((there as f64 / sum as f64 - 0.5).abs() < 0.01, "{there} of {sum}");
        }
        let one = draws(|spec| spec.link_multiget_dist_max = 2);
        let mut rng = Random::new(4);
        assert!((0..100).all(|_| one.request(Kind::GetLink, 0, &mut rng).id2 == 1));
    }

    #[test]
    fn a_node_without_links_is_asked_for_one() {
        let draws = draws(|spec| spec.nlinks_func = LinkCounts::Constant { links: 0 });
        let (mut rng, mut links) = (Random::new(5), Vec::new());
        let request = draws.request(Kind::GetLink, 0, &mut rng);
        draws.id2s(&request, &mut links);
        assert_eq!(links, [Value::Int(request.id as i64)]);
        assert_eq!(draws.request(Kind::AddLink, 0, &mut rng).kind, Kind::AddLink);
    }

    #[test]
    fn users_may_keep_to_ids_of_their_own() {
        let draws = draws(|spec| spec.id2gen_config = 1);
        let mut rng = Random::new(6);
        let own = |request: Request| request.id2 % 8 == 3;
        assert!((0..1000).all(|_| own(draws.request(Kind::UpdateLink, 3, &mut rng))));
    }
}
