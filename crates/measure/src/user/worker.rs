//! The worker (OS thread) that users live on.
use crate::job::Job;
use crate::record::event_log::WorkerLog;
use crate::record::recorder::Writer;
use crate::user::pool::Pool;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::workload::Workload;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// What the users of one OS thread share.
pub struct Worker<W: Workload> {
    pub job: Arc<Job<W>>,
    pub client: Rc<dyn AnyClient<W::Session>>,
    pub state: W::Worker,
    pub writer: Rc<Writer>,
    pub pool: Option<Pool<W::Session>>,
    /// The first lost connection is reported at once; the rest are counted.
    pub told_lost: Cell<bool>,
    /// Where operations are written down one by one.
    pub log: Option<WorkerLog>,
}
