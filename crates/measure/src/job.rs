//! What is to be done, as every thread of a phase sees it.
use crate::control::{Control, Sink};
use bakeoff_model::run::RunSpec;
use std::sync::Arc;

/// What every thread of a phase shares.
pub struct Job<D, W> {
    pub spec: RunSpec,
    pub driver: D,
    pub workload: W,
    pub control: Arc<Control>,
    pub sink: Sink,
    /// Cores the process may use.
    pub cores: Vec<u32>,
    pub timeout_ns: u64,
}
