//! Where a terminal stands: at one warehouse for its life (clause 2.1.4 ...), and for stock levels at one district.
use super::rules::DISTRICTS;
use super::transaction::Transaction;
use crate::rng::{Random, mix};
use bakeoff_model::run::tpcc::{TpccChoice, TpccSpec, TpccVariant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// The first of its warehouses, from 1; the others follow at this distance.
    first: i64,
    distance: i64,
    warehouses: u64,
    pub district: i64,
}

impl Terminal {
    /// Number `number` of `users` over all clients: warehouses in turn, then the districts of each in turn.
    pub fn new(spec: &TpccSpec, seed: u64, number: u64, users: u64) -> Self {
        let warehouses = u64::from(spec.warehouses);
        let mut first = 1 + number % warehouses;
        let mut district = 1 + number / warehouses % DISTRICTS;
        if spec.variant == TpccVariant::TprocC && !spec.all_warehouses {
            // As HammerDB's users do.
            let mut rng = Random::new(mix(seed, number));
            first = 1 + rng.below(warehouses);
            district = 1 + rng.below(DISTRICTS);
        }
        Self {
            first: first as i64,
            distance: users as i64,
            warehouses: match spec.all_warehouses {
                true => 1 + (warehouses - first) / users.max(1),
                false => 1,
            },
            district: district as i64,
        }
    }

    #[inline]
    pub fn warehouse(&self, rng: &mut Random) -> i64 {
        match self.warehouses {
            1 => self.first,
            several => self.first + rng.below(several) as i64 * self.distance,
        }
    }
}

// Which transaction comes next (clause 5.2.4.2): the top of a shuffled deck, or one by chance.

const CARDS: usize = 23;
/// Of each kind in a deck.
const OF_EACH: [(Transaction, usize); 5] = [
    (Transaction::NewOrder, 10),
    (Transaction::Payment, 10),
    (Transaction::OrderStatus, 1),
    (Transaction::Delivery, 1),
    (Transaction::StockLevel, 1),
];

/// How terminals choose.
#[derive(Clone, Copy, Debug)]
pub enum Choice {
    Deck,
    /// Sums of the weights so far.
    Weights([u64; 5]),
}

impl Choice {
    pub fn new(spec: &TpccSpec) -> Self {
        match spec.choice {
            TpccChoice::Deck => Self::Deck,
            TpccChoice::Weights => {
                let mut sum = 0;
                Self::Weights(spec.weights().map(|weight| {
                    sum += u64::from(weight);
                    sum
                }))
            }
        }
    }

    /// Whether it ever comes up.
    pub fn has(&self, transaction: Transaction) -> bool {
        let Self::Weights(sums) = self else { return true };
        let place = OF_EACH.iter().position(|(kind, _)| *kind == transaction);
        place.is_some_and(|place| sums[place] > place.checked_sub(1).map_or(0, |before| sums[before]))
    }
}

/// A terminal's own.
#[derive(Clone, Debug)]
pub struct Deck {
    cards: [Transaction; CARDS],
    dealt: usize,
}

impl Deck {
    pub fn new() -> Self {
        let mut cards = OF_EACH
            .iter()
            .flat_map(|(card, count)| std::iter::repeat_n(*card, *count));
        Self {
            cards: std::array::from_fn(|_| cards.next().unwrap_or(Transaction::NewOrder)),
            dealt: CARDS,
        }
    }

    #[inline]
    pub fn next(&mut self, choice: &Choice, rng: &mut Random) -> Transaction {
        match choice {
            Choice::Deck => self.deal(rng),
            Choice::Weights(sums) => {
                let place = rng.below(sums[sums.len() - 1]);
                let kind = sums.iter().position(|sum| place < *sum).unwrap_or_default();
                OF_EACH[kind].0
            }
        }
    }

    fn deal(&mut self, rng: &mut Random) -> Transaction {
        if self.dealt == CARDS {
            for left in (1..CARDS).rev() {
                self.cards.swap(left, rng.below(left as u64 + 1) as usize);
            }
            self.dealt = 0;
        }
        self.dealt += 1;
        self.cards[self.dealt - 1]
    }
}

// How long a terminal's user types and thinks (clause 5.2.5).

/// Think times are cut off at this multiple of their mean.
const THINK_MAX: f64 = 10.0;

#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// HammerDB has the times of delivery and order status the other way round, and whole seconds.
    hammerdb: bool,
}

impl Pacing {
    pub fn new(spec: &TpccSpec) -> Option<Self> {
        spec.keying_and_think.then_some(Self {
            hammerdb: spec.variant == TpccVariant::TprocC,
        })
    }

    /// From the end of one transaction (`None`: there was none) to the moment that the next is entered.
    pub fn pause_ns(&self, last: Option<Transaction>, next: Transaction, rng: &mut Random) -> u64 {
        let think_s = last.map_or(0.0, |last| self.think_s(last, rng));
        ((think_s + keying_s(next)) * 1e9) as u64
    }

    /// Of a negative exponential distribution.
    fn think_s(&self, last: Transaction, rng: &mut Random) -> f64 {
        let think_s = (-(1.0 - rng.unit()).ln()).min(THINK_MAX) * self.think_mean_s(last);
        match self.hammerdb {
            true => think_s.round(),
            false => think_s,
        }
    }

    fn think_mean_s(&self, last: Transaction) -> f64 {
        match last {
            Transaction::NewOrder | Transaction::NewOrderRollback | Transaction::Payment => 12.0,
            Transaction::OrderStatus if self.hammerdb => 5.0,
            Transaction::Delivery if self.hammerdb => 10.0,
            Transaction::OrderStatus => 10.0,
            Transaction::Delivery | Transaction::StockLevel => 5.0,
        }
    }
}

fn keying_s(next: Transaction) -> f64 {
    match next {
        Transaction::NewOrder | Transaction::NewOrderRollback => 18.0,
        Transaction::Payment => 3.0,
        Transaction::OrderStatus | Transaction::Delivery | Transaction::StockLevel => 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn spec(warehouses: u32) -> TpccSpec {
        TpccSpec {
            warehouses,
            ..TpccSpec::default()
        }
    }

    #[test]
    fn terminals_are_spread_evenly_over_warehouses_and_their_districts() {
        let mut rng = Random::new(1);
        let mut places = BTreeMap::new();
        for number in 0..60 {
            let terminal = Terminal::new(&spec(3), 1, number, 60);
            *places
                .entry((terminal.warehouse(&mut rng), terminal.district))
                .or_insert(0) += 1;
        }
        assert_eq!(places.len(), 30);
        assert!(places.values().all(|&count| count == 2));
    }

    #[test]
    fn all_warehouses_are_shared_among_the_users() {
        let all = TpccSpec {
            all_warehouses: true,
            ..spec(7)
        };
        let mut rng = Random::new(1);
        let mut seen = BTreeMap::new();
        for number in 0..3 {
            let terminal = Terminal::new(&all, 1, number, 3);
            for _ in 0..200 {
                let warehouse = terminal.warehouse(&mut rng);
                assert!((1..=7).contains(&warehouse));
                assert_eq!(*seen.entry(warehouse).or_insert(number), number);
            }
        }
        assert_eq!(seen.len(), 7);
        let one_too_many = Terminal::new(&all, 1, 8, 9);
        assert_eq!(one_too_many.warehouse(&mut rng), 2);
    }

    fn counted(spec: &TpccSpec, draws: usize) -> [usize; 5] {
        let (choice, mut deck, mut rng) = (Choice::new(spec), Deck::new(), Random::new(4));
        let mut counts = [0; 5];
        for _ in 0..draws {
            let drawn = deck.next(&choice, &mut rng);
            counts[OF_EACH.iter().position(|(kind, _)| *kind == drawn).unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn every_deck_has_its_cards_and_decks_differ() {
        let (mut deck, mut rng) = (Deck::new(), Random::new(1));
        let mut decks = std::collections::HashSet::new();
        for _ in 0..50 {
            let dealt: Vec<usize> = (0..CARDS).map(|_| deck.deal(&mut rng) as usize).collect();
            for (kind, count) in OF_EACH {
                assert_eq!(dealt.iter().filter(|&&card| card == kind as usize).count(), count);
            }
            decks.insert(dealt);
        }
        assert_eq!(decks.len(), 50);
    }

    #[test]
    fn weights_are_shares_of_a_draw_by_chance() {
        let spec = TpccSpec {
            choice: TpccChoice::Weights,
            ..TpccSpec::default()
        };
        let draws = 100_000;
        let shares = counted(&spec, draws).map(|count| count as f64 / draws as f64);
        for (share, expected) in shares.iter().zip([0.45, 0.43, 0.04, 0.04, 0.04]) {
            assert!((share - expected).abs() < 0.006, "{shares:?}");
        }
        let only = TpccSpec {
            new_order_weight: 0,
            payment_weight: 0,
            order_status_weight: 0,
            delivery_weight: 0,
            stock_level_weight: 7,
            ..spec
        };
        assert_eq!(counted(&only, 100), [0, 0, 0, 0, 100]);
    }

    #[test]
    fn users_type_first_and_think_longer_and_longer_the_rarer() {
        let spec = TpccSpec {
            keying_and_think: true,
            ..TpccSpec::default()
        };
        let (pacing, mut rng) = (Pacing::new(&spec).unwrap(), Random::new(2));
        assert!(Pacing::new(&TpccSpec::default()).is_none());
        let first = pacing.pause_ns(None, Transaction::NewOrder, &mut rng);
        assert_eq!(first, 18_000_000_000);
        let mut pause_s =
            || pacing.pause_ns(Some(Transaction::Delivery), Transaction::Payment, &mut rng) as f64 / 1e9;
        let draws: Vec<f64> = (0..100_000).map(|_| pause_s()).collect();
        assert!(draws.iter().all(|pause| (3.0..=53.0).contains(pause)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 8.0).abs() < 0.1, "{mean}");
        let over = draws.iter().filter(|&&pause| pause > 3.0 + 2.0 * 5.0).count();
        assert!((over as f64 / draws.len() as f64 - (-2f64).exp()).abs() < 0.005);
    }
}
