//! How long a terminal's user types and thinks (clause 5.2.5).
use super::transaction::Transaction;
use crate::rng::Random;
use bakeoff_model::run::tpcc::{TpccSpec, TpccVariant};

/// Think times are cut off at so many times their mean.
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
