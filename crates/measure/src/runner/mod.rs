//! What futures run on. A runner owns one OS thread: it installs the thread's timer, spawns local tasks and blocks on
//! a main future. Workers are generic over it, so nothing is decided per operation.
pub mod reactor;
pub mod thread;
pub mod tokio;

use crate::record::recorder::Recorder;
use bakeoff_model::outcome::Trouble;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A future whose type is erased, so that what runs it is not compiled again for each.
pub type Erased<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

pub trait Runner: 'static {
    /// Calls block their thread until the system answers: one session per thread, and no timeouts.
    const BLOCKING: bool;

    /// Runs `main` on the calling thread. `spins`: it may stay awake shortly before a deadline; such time is added to the
    /// recorder's `spin_ns`.
    fn block_on<T>(recorder: Arc<Recorder>, spins: bool, main: Erased<'_, T>) -> Result<T, Trouble>;
    /// Runs all to their ends, side by side where the runner can.
    fn join_all<F: Future<Output: 'static> + 'static>(
        futures: Vec<F>,
    ) -> impl Future<Output = Vec<F::Output>>;
    /// Calls `tick` about every `period` for as long as `block_on` lasts; a blocking runner never does.
    fn every(period: Duration, tick: Box<dyn FnMut()>);
}
