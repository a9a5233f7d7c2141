//! Transactions: a shape of their own besides [`crate::sql`] and [`crate::record`], because not every system has them.
use crate::outcome::{FailClass, OpError};
use crate::run::Isolation;

/// What is asked of one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// It will only read: a promise, which a driver uses where it makes a difference (SQLite takes no write lock).
    pub read_only: bool,
    /// Where it is not that of the session.
    pub isolation: Option<Isolation>,
}

/// A session without transactions implements this without a method: to begin one is then refused, which no run comes to
/// see, because a workload that needs transactions is refused before anything starts.
pub trait Transactional {
    async fn begin(&mut self, _access: Access) -> Result<(), OpError> {
        Err(none())
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        Err(none())
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        Err(none())
    }

    /// Ends the transaction in which something came to `outcome`: commits it, or undoes it.
    async fn end<T>(&mut self, outcome: Result<T, OpError>) -> Result<T, OpError> {
        let error = match outcome {
            Ok(value) => match self.commit().await {
                Ok(()) => return Ok(value),
                Err(error) => error,
            },
            Err(error) => error,
        };
        Err(self.undo(error).await)
    }

    /// Rolls back because of `error`, which is the one to tell. What a failed statement leaves of its transaction differs
    /// between systems, so it is ended everywhere; where even that fails nobody knows what is still open in the session,
    /// and it must go.
    async fn undo(&mut self, mut error: OpError) -> OpError {
        if !error.connection_lost && self.rollback().await.is_err() {
            error.connection_lost = true;
        }
        error
    }
}

fn none() -> OpError {
    OpError::fail(
        FailClass::Refused,
        "TRANSACTION",
        "this system has no transactions",
    )
}
