//! Which transaction comes next (clause 5.2.4.2): the top of a shuffled deck, or one by chance.
use super::transaction::Transaction;
use crate::rng::Random;
use bakeoff_model::run::tpcc::{TpccChoice, TpccSpec};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
