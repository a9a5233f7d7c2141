//! What the null system's options do to an operation: answer late, stall, fail, lie, lose a write.
//!
//! Errors, wrong answers and lost writes apply to the measured run alone: otherwise a plan with errors would never get
//! past its load. Latency and stalls apply to every phase, because a slow system is slow while it is loaded, too.
use super::options::{NullLatency, NullSpec};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::random::SplitMix64;
use bakeoff_model::time::{epoch_ns, now_ns, sleep_until};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// When the first session was opened: spans of `stalls` count from here where there is no run with an epoch; 0: none
/// was yet.
static FIRST_OPENED_NS: AtomicU64 = AtomicU64::new(0);

/// The specification, ready for use.
pub struct Orders {
    pub spec: NullSpec,
    /// (begin, end) in ns after the epoch, in order.
    stalls_ns: Vec<(u64, u64)>,
}

impl Orders {
    pub fn new(spec: NullSpec) -> Self {
        let mut stalls_ns: Vec<(u64, u64)> = spec
            .stalls
            .iter()
            .map(|s| (nanos(s.at_s), nanos(s.at_s + s.for_s)))
            .collect();
        stalls_ns.sort_unstable();
        Self { spec, stalls_ns }
    }

    /// Answers at once, always right.
    pub fn are_none(&self) -> bool {
        let spec = &self.spec;
        spec.latency_ns == 0
            && spec.error_ratio <= 0.0
            && spec.wrong_ratio <= 0.0
            && self.stalls_ns.is_empty()
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}

/// What the dice say about one operation.
#[derive(Clone, Copy, PartialEq)]
pub enum Luck {
    Right,
    Wrong,
}

/// The orders as one session carries them out, with dice of its own.
pub struct Faults {
    orders: Arc<Orders>,
    random: SplitMix64,
}

impl Faults {
    /// Of a session that is opened now.
    pub fn new(orders: Arc<Orders>, random: SplitMix64) -> Self {
        let _ = FIRST_OPENED_NS.compare_exchange(0, now_ns(), Ordering::Relaxed, Ordering::Relaxed);
        Self { orders, random }
    }

    /// The service time, the stalls and the faults of one operation.
    pub async fn serve(&mut self) -> Result<Luck, OpError> {
        self.wait().await;
        self.dice()
    }

    async fn wait(&mut self) {
        let spec = &self.orders.spec;
        if spec.latency_ns == 0 && self.orders.stalls_ns.is_empty() {
            return;
        }
        let latency_ns = match spec.latency {
            NullLatency::Constant => spec.latency_ns,
            NullLatency::Exponential => (self.random.exponential() * spec.latency_ns as f64) as u64,
        };
        let begin_ns = now_ns();
        let epoch_ns = epoch_ns().unwrap_or_else(|| FIRST_OPENED_NS.load(Ordering::Relaxed));
        let end_ns = answer_at(&self.orders.stalls_ns, epoch_ns, begin_ns, begin_ns + latency_ns);
        if end_ns > begin_ns {
            sleep_until(end_ns).await;
        }
    }

    fn dice(&mut self) -> Result<Luck, OpError> {
        let (error, wrong) = (self.orders.spec.error_ratio, self.orders.spec.wrong_ratio);
        if error > 0.0 && self.random.open_unit() <= error {
            return Err(OpError::fail(
                FailClass::Other,
                "NULL_ERROR",
                "the null driver was told to fail",
            ));
        }
        let lies = wrong > 0.0 && self.random.open_unit() <= wrong;
        Ok(if lies { Luck::Wrong } else { Luck::Right })
    }

    /// Whether a write is one of those to lose.
    pub fn loses_write(&mut self) -> bool {
        let lost_ratio = self.orders.spec.lost_write_ratio;
        lost_ratio > 0.0 && self.random.open_unit() <= lost_ratio
    }
}

/// When an operation begun at `begin_ns` that would be answered at `end_ns` is answered: one that is begun or in
/// flight within a stall waits for the stall's end.
fn answer_at(stalls_ns: &[(u64, u64)], epoch_ns: u64, begin_ns: u64, end_ns: u64) -> u64 {
    stalls_ns.iter().fold(end_ns, |end_ns, &(from_ns, to_ns)| {
        let in_flight = begin_ns < epoch_ns + to_ns && end_ns >= epoch_ns + from_ns;
        if in_flight {
            end_ns.max(epoch_ns + to_ns)
        } else {
            end_ns
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_begun_or_in_flight_in_a_stall_is_answered_at_its_end() {
        let stalls = [(100, 200), (250, 300)];
        for (begin, end, answered) in [
            (0, 50, 50),     // before
            (0, 100, 200),   // in flight when it begins
            (50, 220, 220),  // slower than the stall
            (150, 150, 200), // begun inside
            (199, 199, 200),
            (200, 200, 200), // begun at its end
            (210, 260, 300), // the second one
            (90, 250, 300),  // spans both
            (400, 410, 410),
        ] {
            assert_eq!(
                answer_at(&stalls, 1000, 1000 + begin, 1000 + end),
                1000 + answered,
                "{begin}..{end}"
            );
        }
    }

    #[test]
    fn a_stalled_operation_that_reaches_into_the_next_stall_waits_for_that_one_too() {
        assert_eq!(answer_at(&[(100, 200), (200, 300)], 0, 150, 150), 300);
    }
}
