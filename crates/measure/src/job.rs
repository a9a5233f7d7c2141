//! What is to be done, as every thread of a phase sees it.
use crate::control::{Axis, Control, Sink};
use crate::routes::Routes;
use crate::runner::{self, Runner};
use crate::serving::Serving;
use bakeoff_model::capacity::CapacityMeter;
use bakeoff_model::driver::AnyDriver;
use bakeoff_model::run::{RunSpec, RunnerKind};
use bakeoff_model::time::sleep;
use bakeoff_model::workload::{Operation, Workload};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// What every thread of a phase shares.
pub struct Job<W: Workload> {
    pub terms: Terms,
    pub driver: Box<dyn AnyDriver<W::Session>>,
    pub workload: W,
}

/// The part that is the same whatever the workload is: what needs no more of a job than this is compiled once.
pub struct Terms {
    pub spec: RunSpec,
    pub control: Arc<Control>,
    pub sink: Sink,
    /// Cores the process may use.
    pub cores: Vec<u32>,
    pub timeout_ns: u64,
    pub runner: RunnerKind,
    /// The driver's name of its client library.
    pub client: &'static str,
    pub capacity: Option<Arc<CapacityMeter>>,
    /// Of the run's sessions.
    pub routes: Routes,
    pub serving: Serving,
    pub operations: Vec<Operation>,
}

impl Terms {
    pub fn on(&self) -> &'static dyn Runner {
        runner::of(self.runner)
    }

    /// Calls block their thread until the system answers.
    pub fn is_blocking(&self) -> bool {
        self.runner == RunnerKind::Thread
    }

    /// Waits for the start to be published. `None`: stopped before there was one.
    pub async fn wait_for_axis(&self) -> Option<Arc<Axis>> {
        if self.is_blocking() {
            return self.control.wait_for_axis(); // thousands of threads that look every few ms would be a load themselves
        }
        loop {
            if let Some(axis) = self.control.axis() {
                return Some(axis.clone());
            }
            if self.control.is_stopped() {
                return None;
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

impl<W: Workload> Deref for Job<W> {
    type Target = Terms;
    fn deref(&self) -> &Terms {
        &self.terms
    }
}
