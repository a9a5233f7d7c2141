//! Delivery (clause 2.7).
use super::Tpcc;
use super::thread::Thread;
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::sql::SqlSession;
use bakeoff_model::transaction::Transactional;
use bakeoff_model::workload::{Answer, Probe};

impl Tpcc {
    pub(super) async fn delivery<S: SqlSession + Transactional, P: Probe>(
        &self,
        _thread: &mut Thread,
        _session: &mut S,
        _probe: &mut P,
    ) -> Result<Answer<'static>, OpError> {
        Err(OpError::fail(
            FailClass::Refused,
            "TPCC",
            "this transaction is not there yet",
        ))
    }
}
