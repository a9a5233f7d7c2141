//! How many operations fall due in each second: the schedules' arrivals passed over once more, apart from the users, so that
//! counting costs an operation nothing.
use crate::pace::pacer::Pacer;

/// Of a second and a schedule: beyond it they are counted by arithmetic.
const SINGLE_ARRIVALS: u64 = 1 << 20;

pub struct Arrivals {
    streams: Vec<Stream>,
}

struct Stream {
    pacer: Pacer,
    /// Looked at, and not yet counted.
    next: Option<u64>,
}

impl Arrivals {
    /// pacers: of schedules of which nobody has claimed anything.
    pub fn new(pacers: impl Iterator<Item = Pacer>) -> Self {
        let streams = pacers.map(|pacer| Stream { pacer, next: None }).collect();
        Self { streams }
    }

    /// Due before `end_ns` (after the epoch), and not counted by an earlier call.
    pub fn until(&mut self, end_ns: u64) -> u64 {
        self.streams.iter_mut().map(|stream| stream.until(end_ns)).sum()
    }
}

impl Stream {
    fn until(&mut self, end_ns: u64) -> u64 {
        for count in 0..SINGLE_ARRIVALS {
            let due_ns = self.next.take().unwrap_or_else(|| self.pacer.next_due_ns());
            if due_ns >= end_ns {
                self.next = Some(due_ns);
                return count;
            }
        }
        SINGLE_ARRIVALS + self.pacer.skip(end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::pacer::Share;
    use crate::pace::schedule::Schedule;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn each_arrival_is_counted_in_its_second() {
        let schedules: Vec<Schedule> = (0..3)
            .map(|seed| Schedule::new(Pacer::poisson(700.0, seed), None, 0))
            .collect();
        let mut arrivals = Arrivals::new(schedules.iter().map(Schedule::pacer));
        let mut claimed = [0; 5];
        for schedule in &schedules {
            while let Some(due_ns) = schedule.claim().filter(|due_ns| *due_ns < 5 * SECOND) {
                claimed[(due_ns / SECOND) as usize] += 1;
            }
        }
        let counted: Vec<u64> = (1..=5).map(|second| arrivals.until(second * SECOND)).collect();
        assert_eq!(counted, claimed);
    }

    #[test]
    fn a_rate_that_nobody_reaches_is_counted_at_once() {
        let share = Share {
            rate_ops_per_s: 1e12,
            threads: 1,
            first: 0,
            stride: 1,
            count: 1,
            phase: 0.0,
        };
        let mut arrivals = Arrivals::new([Pacer::constant(share)].into_iter());
        for second in 1..=3 {
            assert!((arrivals.until(second * SECOND) as f64 / 1e12 - 1.0).abs() < 1e-6);
        }
    }
}
