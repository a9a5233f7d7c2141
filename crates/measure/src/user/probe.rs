//! What a workload may record while an operation runs: its parts, and operations whose transaction did not commit.
use crate::record::recorder::Writer;
use crate::record::times::add;
use bakeoff_model::outcome::Outcome;
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::{Probe, Queries};
use std::rc::Rc;

/// Of one user.
pub struct RecordProbe {
    pub writer: Rc<Writer>,
    /// Operations of this user in the run's figures as `ok`.
    pub revocable: u64,
    /// Statements of the operation in flight; `None` where the workload does not say.
    pub queries: Option<Queries>,
}

impl RecordProbe {
    pub fn new(writer: Rc<Writer>) -> Self {
        Self {
            writer,
            revocable: 0,
            queries: None,
        }
    }
}

impl Probe for RecordProbe {
    fn now_ns(&self) -> u64 {
        now_ns()
    }

    fn part(&mut self, operation: usize, outcome: Outcome, start_ns: u64) -> u64 {
        self.writer.begin_recording();
        let end_ns = now_ns();
        self.writer.part(operation, outcome, start_ns, end_ns);
        self.writer.end_recording();
        end_ns
    }

    fn queries(&mut self, more: Queries) {
        let sum = self.queries.get_or_insert_default();
        sum.read += more.read;
        sum.write += more.write;
        sum.other += more.other;
    }

    fn revoke(&mut self, count: u64) {
        let taken = count.min(self.revocable);
        self.revocable -= taken;
        add(&self.writer.recorder().counters.revoked, taken);
    }
}
