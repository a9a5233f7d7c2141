//! Who a user is among all clients', and the word that all sessions are open.
use crate::job::Terms;
use crate::runner::reactor;
use bakeoff_model::event::{Event, Ready};
use bakeoff_model::run::{RunSpec, RunnerKind};
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::ThreadId;

pub fn thread_id(spec: &RunSpec, thread: u32) -> ThreadId {
    let stream = u64::from(spec.client.index) * u64::from(spec.threads) + u64::from(thread);
    ThreadId {
        thread,
        stream,
        latency_probe: false,
    }
}

/// All sessions are open; the first was begun at `begun_ns`.
pub fn tell_ready(job: &Terms, workers: usize, sessions: usize, begun_ns: u64) {
    (job.sink)(ready(job.runner, job.client, workers, sessions, begun_ns));
}

pub fn ready(runner: RunnerKind, client: &str, workers: usize, sessions: usize, begun_ns: u64) -> Event {
    Event::Ready(Ready {
        format: bakeoff_model::FORMAT,
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        runner,
        io: reactor::io(),
        client: client.to_owned(),
        workers: workers as u32,
        sessions: sessions as u32,
        connect_s: (now_ns() - begun_ns) as f64 / 1e9,
    })
}
