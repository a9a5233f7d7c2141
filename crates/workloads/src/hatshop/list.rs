//! The list of events, which is one for all users, systems and repetitions. Each user walks through it and takes the events
//! of its own orders, those that leave its number when divided by the number of users: so events of one order keep their
//! order, whatever the number of users and sessions.
//!
//! What an event is about depends on the orders that are there at its place *in the list*, never on how far users have come.
use super::event::{Attribute, Event, Kind};
use super::known::Known;
use super::shop::{Shop, Status};
use crate::rng::{Random, Stream};
use bakeoff_model::run::hatshop::HatshopSpec;

/// The list's stream, which no user's has.
const LIST: u64 = u64::MAX - 1;
/// By which part of those loaded the number of orders may be above or below it.
const SLACK_PART: u64 = 10;

/// How events are drawn, the same for every user.
#[derive(Debug)]
pub struct Rules {
    /// Ends of the kinds' shares, of their sum.
    ends: [f64; Kind::ALL.len()],
    loaded: u64,
    /// At the least an order is made in place of a deletion, at the most one deleted in place of a creation.
    least: u64,
    most: u64,
    deletes: bool,
}

impl Rules {
    pub fn new(spec: &HatshopSpec) -> Self {
        let mut sum = 0.0;
        let ends = Kind::ALL.map(|kind| {
            sum += kind.share(spec);
            sum
        });
        let slack = (spec.orders / SLACK_PART).max(1);
        let both = spec.create > 0.0 && spec.delete > 0.0;
        Self {
            ends: ends.map(|end| end / sum),
            loaded: spec.orders,
            least: if both {
                spec.orders.saturating_sub(slack).max(1)
            } else {
                1
            },
            most: if both { spec.orders + slack } else { u64::MAX },
            deletes: spec.delete > 0.0,
        }
    }

    fn kind(&self, orders: u64, rng: &mut Random) -> Kind {
        let u = rng.unit();
        // The last end is 1 but for rounding; a kind without a share ends where the one before it does.
        let place = self.ends.iter().position(|end| u < *end);
        match place.map_or(Kind::Delete, |place| Kind::ALL[place]) {
            Kind::Delete if orders <= self.least => Kind::Create,
            Kind::Create if orders >= self.most => Kind::Delete,
            kind => kind,
        }
    }
}

/// An event's kind and order; the rest is drawn from its seed by whom it concerns.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub kind: Kind,
    pub place: u64,
    /// The order's number.
    pub order: u64,
    /// Where what is known of the order stands; it is gone after a deletion.
    index: usize,
    pub known: Known,
    seed: u64,
}

impl Step {
    /// Of a list that is read, whose events stand there whole.
    pub fn of(kind: Kind, place: u64, order: u64, index: usize, known: Known) -> Self {
        Self {
            kind,
            place,
            order,
            index,
            known,
            seed: 0,
        }
    }

    pub fn index(&self) -> usize {
        self.index
    }
}

/// One walk through the list. 10 ns an event, whoever's it is, and at most 10 bytes an order.
#[derive(Debug)]
pub struct Walk {
    stream: Stream,
    place: u64,
    /// Number of the next order to be made.
    next: u64,
    /// Numbers of the orders that are there, in no order; empty where none is deleted, for then they are 0, 1, 2, ...
    there: Vec<u64>,
    /// What this user knows of each of them.
    known: Vec<Known>,
}

impl Walk {
    /// `events`: how long the list is likely to be walked; longer ones take new memory now and then, where orders are only made.
    pub fn new(rules: &Rules, seed: u64, events: u64) -> Self {
        let room = match rules.deletes {
            true => rules.most.min(rules.loaded + events) + 1,
            false => rules.loaded + events,
        } as usize;
        let mut walk = Self {
            stream: Stream::new(seed, LIST),
            place: 0,
            next: rules.loaded,
            there: Vec::with_capacity(if rules.deletes { room } else { 0 }),
            known: Vec::with_capacity(room),
        };
        if rules.deletes {
            walk.there.extend(0..rules.loaded);
        }
        walk.known.resize(rules.loaded as usize, Known::LOADED);
        walk
    }

    pub fn step(&mut self, rules: &Rules) -> Step {
        let mut rng = Random::new(self.stream.next_seed());
        let kind = rules.kind(self.known.len() as u64, &mut rng);
        let place = self.place;
        self.place += 1;
        let (index, order, known) = match kind {
            Kind::Create => self.add(rules),
            _ => {
                let index = rng.below(self.known.len() as u64) as usize;
                let order = self.there.get(index).copied().unwrap_or(index as u64);
                (index, order, self.known[index])
            }
        };
        if kind == Kind::Delete {
            self.there.swap_remove(index);
            self.known.swap_remove(index);
        }
        Step {
            kind,
            place,
            order,
            index,
            known,
            seed: rng.bits(),
        }
    }

    fn add(&mut self, rules: &Rules) -> (usize, u64, Known) {
        let order = self.next;
        self.next += 1;
        if rules.deletes {
            self.there.push(order);
        }
        self.known.push(Known::UNKNOWN);
        (self.known.len() - 1, order, Known::UNKNOWN)
    }

    /// The next event of user `user` of `users`.
    pub fn own(&mut self, rules: &Rules, user: u64, users: u64) -> Step {
        loop {
            let step = self.step(rules);
            if step.order % users == user {
                return step;
            }
        }
    }

    /// What came of the step taken last is known.
    pub fn learn(&mut self, step: &Step, known: Known) {
        if step.kind != Kind::Delete
            && let Some(place) = self.known.get_mut(step.index)
        {
            *place = known;
        }
    }
}

/// The whole event of a step.
pub fn fill(shop: &Shop, step: &Step, event: &mut Event) {
    let mut rng = Random::new(step.seed);
    event.kind = step.kind;
    event.place = step.place;
    shop.order(step.order, &mut event.order);
    match step.kind {
        Kind::Update => event.status = Status::LATER[rng.below(3) as usize],
        Kind::UpdateAttribute => {
            event.line = rng.below(event.order.lines.len() as u64) as usize;
            event.attribute = Attribute::drawn(|most| rng.below(most));
        }
        Kind::Create | Kind::Read | Kind::Delete => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn walk(spec: &HatshopSpec, seed: u64) -> (Rules, Walk) {
        let rules = Rules::new(spec);
        let walk = Walk::new(&rules, seed, 1000);
        (rules, walk)
    }

    fn mixes() -> impl Strategy<Value = HatshopSpec> {
        let share = || prop_oneof![Just(0.0), 0.1..10.0];
        (1u64..60, [share(), share(), share(), share(), share()]).prop_filter_map(
            "no share",
            |(orders, shares)| {
                let [create, read, update, update_attribute, delete] = shares;
                (shares.iter().sum::<f64>() > 0.0).then_some(HatshopSpec {
                    orders,
                    create,
                    read,
                    update,
                    update_attribute,
                    delete,
                    ..HatshopSpec::default()
                })
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn events_are_of_orders_that_are_there_and_their_number_stays_near_those_loaded(
            spec in mixes(), seed in any::<u64>()
        ) {
            let (rules, mut walk) = walk(&spec, seed);
            let mut there: HashSet<u64> = (0..spec.orders).collect();
            for place in 0..600 {
                let step = walk.step(&rules);
                prop_assert_eq!(step.place, place);
                match step.kind {
                    Kind::Create => prop_assert!(there.insert(step.order)),
                    Kind::Delete => prop_assert!(there.remove(&step.order)),
                    _ => prop_assert!(there.contains(&step.order)),
                }
                prop_assert!(!there.is_empty());
                if spec.create > 0.0 && spec.delete > 0.0 {
                    prop_assert!(there.len().abs_diff(spec.orders as usize) as u64 <= (spec.orders / 10).max(1));
                }
            }
        }

        #[test]
        fn users_take_every_event_once_and_those_of_an_order_in_their_order(
            spec in mixes(), seed in any::<u64>(), users in 1u64..9
        ) {
            let (rules, mut all) = walk(&spec, seed);
            let list: Vec<(u64, u64)> = (0..300).map(|_| { let step = all.step(&rules); (step.place, step.order) }).collect();
            let mut taken = vec![];
            for user in 0..users {
                let mut walk = walk(&spec, seed).1;
                let count = list.iter().filter(|(_, order)| order % users == user).count();
                taken.extend((0..count).map(|_| { let step = walk.own(&rules, user, users); (step.place, step.order) }));
            }
            taken.sort_unstable();
            prop_assert_eq!(taken, list);
        }
    }

    #[test]
    fn kinds_have_their_shares_and_orders_are_chosen_evenly() {
        let (rules, mut walk) = walk(
            &HatshopSpec {
                delete: 0.0,
                create: 0.0,
                read: 3.0,
                orders: 10,
                ..HatshopSpec::default()
            },
            1,
        );
        let (mut reads, mut first) = (0, 0);
        for _ in 0..10_000 {
            let step = walk.step(&rules);
            reads += u32::from(step.kind == Kind::Read);
            first += u32::from(step.order == 0);
        }
        assert!(
            (5_800..6_200).contains(&reads) && (900..1_100).contains(&first),
            "{reads} {first}"
        );
    }
}
