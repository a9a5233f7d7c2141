//! The list of events, which is one for all users, systems and repetitions. Each user takes the events
//! of its own orders, those that leave its number when divided by the number of users: so events of one order keep their
//! order, whatever the number of users and sessions. Where there are more users than orders, and all that they do is read,
//! they take turns instead.
//!
//! The order of an event depends on the orders that exist at its place *in the list*, never on how far users have come.
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
    reads_only: bool,
    /// The share of events that make an order.
    creates: f64,
}

/// How many events may pass, on average, until every user has an order.
const EVENTS_UNTIL_ALL_HAVE_ONE: f64 = 1e6;

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
            reads_only: spec.read == sum,
            creates: spec.create / sum,
        }
    }

    pub fn loaded(&self) -> u64 {
        self.loaded
    }

    /// More users than that have no order of their own, or not for a long time. `None`: any number has something to do.
    pub fn users_max(&self) -> Option<u64> {
        let made = (self.creates * EVENTS_UNTIL_ALL_HAVE_ONE) as u64;
        (!self.reads_only).then_some(self.loaded.saturating_add(made))
    }

    /// The user that takes this event.
    pub fn owner(&self, step: &Step, users: u64) -> u64 {
        match self.reads_only && users > self.loaded {
            true => step.place % users,
            false => step.order % users,
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
    pub known: Known,
    seed: u64,
}

impl Step {
    /// Of a list that is read, whose events stand there whole.
    pub fn of(kind: Kind, place: u64, order: u64, known: Known) -> Self {
        Self {
            kind,
            place,
            order,
            known,
            seed: 0,
        }
    }
}

/// One walk through the list. 10 ns an event, and at most 8 bytes an order.
#[derive(Debug)]
pub struct Walk {
    stream: Stream,
    place: u64,
    /// Number of the next order to be made.
    next: u64,
    /// Numbers of the existing orders, unsorted; empty where none is deleted, for then they are 0, 1, 2, ...
    there: Vec<u64>,
}

impl Walk {
    /// `events`: how long the list is likely to be walked; longer ones take new memory now and then, where orders are only made.
    pub fn new(rules: &Rules, seed: u64, events: u64) -> Self {
        let room = match rules.deletes {
            true => rules.most.min(rules.loaded + events) + 1,
            false => 0,
        };
        let mut there = Vec::with_capacity(room as usize);
        if rules.deletes {
            there.extend(0..rules.loaded);
        }
        Self {
            stream: Stream::new(seed, LIST),
            place: 0,
            next: rules.loaded,
            there,
        }
    }

    /// What is known of its order is for whoever hands it on to say.
    pub fn step(&mut self, rules: &Rules) -> Step {
        let mut rng = Random::new(self.stream.next_seed());
        let orders = match rules.deletes {
            true => self.there.len() as u64,
            false => self.next,
        };
        let kind = rules.kind(orders, &mut rng);
        let place = self.place;
        self.place += 1;
        let order = match kind {
            Kind::Create => self.add(rules),
            _ => {
                let index = rng.below(orders);
                let order = self.there.get(index as usize).copied().unwrap_or(index);
                if kind == Kind::Delete {
                    self.there.swap_remove(index as usize);
                }
                order
            }
        };
        Step {
            kind,
            place,
            order,
            known: Known::UNKNOWN,
            seed: rng.bits(),
        }
    }

    fn add(&mut self, rules: &Rules) -> u64 {
        let order = self.next;
        self.next += 1;
        if rules.deletes {
            self.there.push(order);
        }
        order
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

// Who takes which event of a list that is drawn: one walk through the list for all users of an OS thread. What one user
// passes over on the way to its own next event is kept for those that it belongs to, so an event costs the same however
// many users there are: 10 ns for each OS thread of the run, and 5 ns to keep it.

/// No place in `kept`.
const NONE: u32 = u32::MAX;
/// Room for what is kept per user, before it has to grow.
const ROOM: usize = 16;

#[derive(Debug)]
pub struct Dealer {
    walk: Walk,
    /// Of all clients.
    users: u64,
    /// The hand of each user, for those of this thread.
    hands: Vec<Option<Hand>>,
    joined: usize,
    /// All hands' events; places that were given back form a list of their own.
    kept: Vec<Kept>,
    free: u32,
    /// What its user knows of each order, by the order's number.
    known: Vec<Known>,
}

/// What is kept for one user: the first and the last of a list.
#[derive(Clone, Copy, Debug)]
struct Hand {
    first: u32,
    last: u32,
}

#[derive(Debug)]
struct Kept {
    step: Step,
    next: u32,
}

impl Dealer {
    /// `events`: how long the list is likely to be walked.
    pub fn new(rules: &Rules, seed: u64, events: u64, users: u64) -> Self {
        let mut known = Vec::with_capacity((rules.loaded() + events.min(1 << 22)) as usize);
        known.resize(rules.loaded() as usize, Known::LOADED);
        Self {
            walk: Walk::new(rules, seed, events),
            users,
            hands: vec![None; users as usize],
            joined: 0,
            kept: vec![],
            free: NONE,
            known,
        }
    }

    /// This user takes its events here.
    pub fn join(&mut self, user: u64) {
        self.joined += 1;
        self.kept.reserve(ROOM * self.joined);
        self.hands[user as usize] = Some(Hand {
            first: NONE,
            last: NONE,
        });
    }

    /// The next event of a user that has joined.
    pub fn next(&mut self, rules: &Rules, user: u64) -> Step {
        let mut step = match self.take(user) {
            Some(step) => step,
            None => self.walk_to(rules, user),
        };
        step.known = self.known[step.order as usize];
        step
    }

    fn walk_to(&mut self, rules: &Rules, user: u64) -> Step {
        loop {
            let step = self.walk.step(rules);
            if step.kind == Kind::Create {
                self.known.push(Known::UNKNOWN);
            }
            let owner = rules.owner(&step, self.users);
            if owner == user {
                return step;
            }
            if self.hands[owner as usize].is_some() {
                self.keep(owner, step);
            }
        }
    }

    fn take(&mut self, user: u64) -> Option<Step> {
        let hand = self.hands[user as usize].as_mut()?;
        let place = hand.first;
        let kept = self.kept.get_mut(place as usize)?; // `NONE` is beyond
        hand.first = std::mem::replace(&mut kept.next, self.free);
        if hand.first == NONE {
            hand.last = NONE;
        }
        self.free = place;
        Some(kept.step)
    }

    fn keep(&mut self, user: u64, step: Step) {
        let new = Kept { step, next: NONE };
        let place = self.free;
        let place = match self.kept.get_mut(place as usize) {
            Some(free) => {
                self.free = free.next;
                *free = new;
                place
            }
            None => {
                self.kept.push(new);
                self.kept.len() as u32 - 1
            }
        };
        let Some(hand) = &mut self.hands[user as usize] else {
            return; // cannot be: nothing is kept for others
        };
        match self.kept.get_mut(hand.last as usize) {
            Some(last) => last.next = place,
            None => hand.first = place,
        }
        hand.last = place;
    }

    /// What came of a step is known.
    pub fn learn(&mut self, step: &Step, known: Known) {
        self.known[step.order as usize] = known;
    }
}

#[cfg(test)]
mod tests {
    use super::super::known::There;
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
        fn events_are_of_orders_that_exist_and_their_number_stays_near_those_loaded(
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
            let steps: Vec<Step> = (0..300).map(|_| all.step(&rules)).collect();
            let list: Vec<(u64, u64)> = steps.iter().map(|step| (step.place, step.order)).collect();
            let mut taken = vec![];
            for threads in [1, 3] {
                taken.clear();
                // One dealer for each OS thread, whose users come in turn, each with another number of events.
                for thread in 0..threads {
                    let mut dealer = Dealer::new(&rules, seed, 300, users);
                    let own: Vec<u64> = (0..users).filter(|user| user % threads == thread).collect();
                    own.iter().for_each(|user| dealer.join(*user));
                    let mut left: Vec<usize> = own
                        .iter()
                        .map(|user| steps.iter().filter(|step| rules.owner(step, users) == *user).count())
                        .collect();
                    let mut last = vec![None; own.len()];
                    while left.iter().any(|left| *left > 0) {
                        for (at, user) in own.iter().enumerate().filter(|(at, _)| left[*at] > 0).collect::<Vec<_>>() {
                            for _ in 0..left[at].min(at + 1) {
                                let step = dealer.next(&rules, *user);
                                prop_assert!(last[at] < Some(step.place));
                                last[at] = Some(step.place);
                                taken.push((step.place, step.order));
                                left[at] -= 1;
                            }
                        }
                    }
                }
                taken.sort_unstable();
                prop_assert_eq!(&taken, &list);
            }
        }
    }

    fn mix(orders: u64, [create, read, update, delete]: [f64; 4]) -> Rules {
        Rules::new(&HatshopSpec {
            orders,
            create,
            read,
            update,
            update_attribute: 0.0,
            delete,
            ..HatshopSpec::default()
        })
    }

    #[test]
    fn more_users_than_orders_take_turns_at_reading_and_are_too_many_where_orders_never_become_more() {
        let (orders, users) = (500, 512);
        let rules = mix(orders, [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(rules.users_max(), None);
        let mut dealer = Dealer::new(&rules, 1, 1000, users);
        (0..users).for_each(|user| dealer.join(user));
        for place in 0..2 * users {
            assert_eq!(dealer.next(&rules, place % users).place, place);
        }
        assert_eq!(mix(orders, [0.0, 1.0, 1.0, 0.0]).users_max(), Some(500));
        assert_eq!(mix(orders, [0.0, 1.0, 0.0, 1.0]).users_max(), Some(500));
        assert_eq!(mix(orders, [1.0, 1.0, 1.0, 1.0]).users_max(), Some(250_500));
    }

    #[test]
    fn what_became_of_an_order_is_known_at_its_next_event() {
        let rules = mix(2, [1.0, 1.0, 1.0, 0.0]);
        let mut dealer = Dealer::new(&rules, 1, 1000, 2);
        (0..2).for_each(|user| dealer.join(user));
        let gone = Known {
            there: There::No,
            status: None,
        };
        let mut made = HashSet::new();
        for event in 0..400 {
            let step = dealer.next(&rules, event % 2);
            let expected = match (step.kind, made.contains(&step.order)) {
                (Kind::Create, _) => Known::UNKNOWN,
                (_, true) => gone,
                (_, false) => Known::LOADED,
            };
            assert_eq!(step.known, expected);
            if step.kind == Kind::Create {
                made.insert(step.order);
                dealer.learn(&step, gone);
            }
        }
        assert!(made.len() > 50);
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
