//! What nearly every room of this crate says of the model: sessions, statements, values, outcomes, workloads.
pub use bakeoff_model::any::{AnyRecords, AnySql};
pub use bakeoff_model::event::Check;
pub use bakeoff_model::needs::{Affected, Needs, Offer, Offers};
pub use bakeoff_model::options::check_bounds;
pub use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble, TroubleKind};
pub use bakeoff_model::pipeline::Pipeline;
pub use bakeoff_model::record::RecordSession;
pub use bakeoff_model::resolve::{Previewed, Resolved, WorkloadRequest};
pub use bakeoff_model::row::RowBuf;
pub use bakeoff_model::run::{CheckSpec, ClientSpec, Retry, WorkloadSpec};
pub use bakeoff_model::sql::{Ask, Dialect, Done, SqlSession, Statement};
pub use bakeoff_model::transaction::{Access, Transactional};
pub use bakeoff_model::value::{Decimal, Timestamp, Value};
pub use bakeoff_model::workload::{Answer, Ended, Operation, Probe, Queries, ThreadId, Workload};
