//! Who a user is among all clients', and the word that all sessions are open.
use crate::job::Job;
use crate::runner::Runner;
use crate::threads::team::Placement;
use bakeoff_model::driver::Driver;
use bakeoff_model::event::{Event, Ready};
use bakeoff_model::run::RunSpec;
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::{ThreadId, Workload};

pub fn thread_id(spec: &RunSpec, thread: u32) -> ThreadId {
    let stream = u64::from(spec.client.index) * u64::from(spec.threads) + u64::from(thread);
    ThreadId {
        thread,
        stream,
        witness: false,
    }
}

pub fn tell_ready<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Job<D, W>,
    placements: &[Placement],
    begun_ns: u64,
) {
    (job.sink)(Event::Ready(Ready {
        format: bakeoff_model::FORMAT,
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        runner: R::KIND,
        io: R::io(),
        client: job.driver.client().to_owned(),
        workers: placements.len() as u32,
        sessions: placements.iter().map(|p| p.sessions.len() as u32).sum(),
        connect_s: (now_ns() - begun_ns) as f64 / 1e9,
    }));
}
