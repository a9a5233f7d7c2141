//! How early to wake up.

/// How long before a deadline to stop sleeping and begin to spin: what wake-ups on this machine have lately been late
/// by, plus four deviations (Jacobson's estimator, as for TCP's timeouts). About 5 us on bare metal, 60 us on a
/// virtual machine. Nothing where the core is not ours to spin on: a wake-up's lateness is then the operation's.
pub struct Margin {
    spins: bool,
    mean_ns: f64,
    deviation_ns: f64,
}

impl Margin {
    const LEAST_NS: f64 = 2_000.0;
    /// A machine that wakes later than this is not helped by burning its time.
    const MOST_NS: f64 = 100_000.0;

    pub fn new(spins: bool) -> Self {
        Self {
            spins,
            mean_ns: 20_000.0,
            deviation_ns: 5_000.0,
        }
    }

    pub fn get_ns(&self) -> u64 {
        if !self.spins {
            return 0;
        }
        (self.mean_ns + 4.0 * self.deviation_ns).clamp(Self::LEAST_NS, Self::MOST_NS) as u64
    }

    /// A wake-up came this late.
    pub fn learn(&mut self, late_ns: u64) {
        let error_ns = (late_ns as f64).min(2.0 * Self::MOST_NS) - self.mean_ns;
        self.mean_ns += error_ns / 8.0;
        self.deviation_ns += (error_ns.abs() - self.deviation_ns) / 4.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_settles_a_little_above_the_usual_lateness() {
        let mut margin = Margin::new(true);
        (0..200).for_each(|i| margin.learn(5_000 + i % 3 * 100));
        assert!((5_000..6_500).contains(&margin.get_ns()), "{}", margin.get_ns());
    }

    #[test]
    fn the_margin_has_a_ceiling() {
        let mut margin = Margin::new(true);
        (0..200).for_each(|_| margin.learn(1_000_000_000));
        assert_eq!(margin.get_ns(), 100_000);
    }

    #[test]
    fn on_cores_of_others_it_sleeps_to_the_deadline_however_late_it_wakes() {
        let mut margin = Margin::new(false);
        (0..200).for_each(|_| margin.learn(50_000));
        assert_eq!(margin.get_ns(), 0);
    }
}
