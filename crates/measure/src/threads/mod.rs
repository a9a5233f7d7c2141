//! Threads of the operating system: who is on which, and what they cost.
pub mod affinity;
pub mod client_cost;
pub mod placement;
pub mod ready;
pub mod team;
pub mod thread_limits;

use bakeoff_model::outcome::{Trouble, TroubleKind};
use std::thread::{Builder, JoinHandle};

/// `or`: what else helps where there is no room for another thread.
pub fn spawn(name: &str, or: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Trouble> {
    let spawned = Builder::new().name(name.replace(' ', "-")).spawn(body);
    spawned.map_err(|error| {
        Trouble::new(
            TroubleKind::Environment,
            format!("could not start a thread: {error}"),
            name,
            format!("raise the limit of processes (ulimit -u){or}"),
        )
    })
}
