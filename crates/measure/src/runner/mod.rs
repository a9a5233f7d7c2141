//! What futures run on. A runner owns one OS thread: it installs the thread's timer, spawns local tasks and blocks on
//! a main future. It is an object, so that workers are not compiled again for each.
pub mod reactor;
pub mod thread;
pub mod tokio;

use crate::record::recorder::Recorder;
pub use bakeoff_model::driver::Erased;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::RunnerKind;
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub trait Runner: Send + Sync {
    /// Runs `main` on the calling thread. `spins`: it may stay awake shortly before a deadline; such time is added to the
    /// recorder's `spin_ns`.
    fn run(&self, recorder: Arc<Recorder>, spins: bool, main: Erased<'_, ()>) -> Result<(), Trouble>;
    /// Runs all to their ends, side by side where it can.
    fn run_all(&self, futures: Vec<Erased<'static, ()>>) -> Erased<'static, ()>;
    /// Calls `tick` about every `period` for as long as `run` lasts; a blocking runner never does.
    fn every(&self, period: Duration, tick: Box<dyn FnMut()>);
}

pub fn of(kind: RunnerKind) -> &'static dyn Runner {
    match kind {
        RunnerKind::Tokio => &tokio::TokioRunner,
        RunnerKind::Thread => &thread::ThreadRunner,
        RunnerKind::Reactor => &reactor::ReactorRunner,
    }
}

impl dyn Runner {
    /// [`Self::run`], for what `main` gives.
    pub fn block_on<T>(
        &self,
        recorder: Arc<Recorder>,
        spins: bool,
        main: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let mut output = None;
        self.run(recorder, spins, Box::pin(async { output = Some(main.await) }))?;
        output.unwrap_or_else(|| Err(crate::words::worker_died()))
    }

    /// [`Self::run_all`], for what each gives, in their order.
    pub fn join_all<T: 'static>(
        &self,
        futures: impl ExactSizeIterator<Item = impl Future<Output = T> + 'static>,
    ) -> Erased<'static, Vec<T>> {
        let none = (0..futures.len()).map(|_| None);
        let outputs = Rc::new(RefCell::new(none.collect::<Vec<_>>()));
        let each = futures.enumerate().map(|(index, future)| {
            let outputs = outputs.clone();
            Box::pin(async move {
                let output = future.await;
                outputs.borrow_mut()[index] = Some(output);
            }) as Erased<'static, ()>
        });
        let all = self.run_all(each.collect());
        Box::pin(async move {
            all.await;
            outputs.take().into_iter().flatten().collect()
        })
    }
}
