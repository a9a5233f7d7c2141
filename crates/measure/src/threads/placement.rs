//! Who is on which thread: a worker's share of users and sessions, its core, and how it waits.
use crate::job::Terms;
use crate::threads::thread_limits;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::{Pacing, RunSpec};

/// One worker's share of the plan's threads and sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub worker: usize,
    /// Thread numbers of this process.
    pub threads: Vec<u32>,
    /// Session numbers of this process.
    pub sessions: Vec<u32>,
    pub core: Option<u32>,
    /// Nothing is due at a fixed time and answers may wait for each other, so its thread need not preempt others.
    pub patient: bool,
    /// It may stay awake shortly before a deadline.
    pub spins: bool,
}

/// OS threads that share the sessions of a runner that does not block, with `cores` for all of them.
fn workers(spec: &RunSpec, cores: usize, sessions: u32) -> u32 {
    let wanted = if spec.workers == 0 {
        cores as u32
    } else {
        spec.workers
    };
    wanted.clamp(1, sessions)
}

fn sessions(spec: &RunSpec) -> u32 {
    spec.sessions.unwrap_or(spec.threads)
}

/// Of the worker that has most, in the largest run of the plan.
pub fn sessions_per_worker(spec: &RunSpec, cores: usize) -> u32 {
    let sessions = spec.sessions_of_largest_run.max(sessions(spec));
    sessions.div_ceil(workers(spec, cores, sessions))
}

/// Whether a worker with this many sessions has nothing due at a fixed time, so that a server's answers may wait for each
/// other. A system inside the engine answers by the clock: a thread that let others go first would delay all its sessions
/// (null system, 200 us, 6 users, 2 cores, during builds: 2,500/s with 0.9 of the time spent waiting for a core).
fn may_wait(spec: &RunSpec, sessions: usize) -> bool {
    spec.pacing == Pacing::Closed && sessions > 1 && !spec.driver.endpoints().is_empty()
}

/// Deals threads and sessions round-robin over the workers: thread t is on worker t mod W. Refuses more workers than this
/// machine has room for.
pub fn place(job: &Terms) -> Result<Vec<Placement>, Trouble> {
    let (spec, blocking) = (&job.spec, job.is_blocking());
    let workers = if blocking {
        spec.threads
    } else {
        workers(spec, job.cores.len(), sessions(spec))
    };
    let dealt = |worker: u32, all: u32| (worker..all).step_by(workers as usize).collect();
    let core = |worker: u32| {
        let pinned = !blocking && !spec.cores.is_empty();
        pinned.then(|| spec.cores[worker as usize % spec.cores.len()])
    };
    let placement = |worker: u32| {
        let sessions: Vec<u32> = dealt(worker, sessions(spec));
        Placement {
            worker: worker as usize,
            threads: dealt(worker, spec.threads),
            core: core(worker),
            patient: !blocking && may_wait(spec, sessions.len()),
            spins: spec.spin,
            sessions,
        }
    };
    thread_limits::check(u64::from(workers))?;
    Ok((0..workers).map(placement).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // test code throughout
    use super::*;

    #[test]
    fn only_answers_of_a_server_are_waited_for_in_turn() {
        let server = r#""kind":"mysql","user":"","schema":"","endpoints":[{"name":"a","role":"primary","address":"a:1"}]"#;
        let open = r#","pacing":{"kind":"open","rate_ops_per_s":1,"arrival":"poisson"}"#;
        let waits = |driver: &str, extra: &str, sessions| {
            let text = format!(
                r#"{{"format":1,"phase":"run","driver":{{{driver}}},"workload":{{"kind":"ycsb"}}{extra}}}"#
            );
            may_wait(&crate::spec::parse(&text).unwrap(), sessions)
        };
        assert!(waits(server, "", 2));
        assert!(!waits(server, "", 1) && !waits(server, open, 2));
        assert!(!waits(r#""kind":"null""#, "", 2));
    }

    #[test]
    fn sessions_per_worker_is_that_of_the_fullest_in_the_largest_run() {
        let of = |extra: &str| {
            let text = format!(
                r#"{{"format":1,"phase":"run","driver":{{"kind":"null"}},"workload":{{"kind":"ycsb"}}{extra}}}"#
            );
            sessions_per_worker(&crate::spec::parse(&text).unwrap(), 2)
        };
        assert_eq!(of(r#","threads":9"#), 5, "a worker per core");
        assert_eq!(of(r#","threads":9,"workers":1"#), 9);
        assert_eq!(of(r#","threads":9,"sessions":4,"workers":3"#), 2, "a pool");
        assert_eq!(of(r#","threads":1,"workers":8"#), 1);
        for threads in [1, 2, 8, 64] {
            let extra = format!(r#","threads":{threads},"sessions_of_largest_run":64"#);
            assert_eq!(of(&extra), 32, "the same for all runs of a plan");
        }
    }
}
