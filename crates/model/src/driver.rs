//! What a driver is: our file that speaks to a kind of system.
//!
//! Order of calls: the engine builds the driver from its spec (once, any thread); each worker calls `open` once and
//! keeps the client; each session is opened from that client on the same thread and never leaves it. Sessions and
//! clients need not be `Send`. A session has at most one operation in flight.
use crate::needs::{Needs, Offers};
use crate::outcome::{OpError, Trouble};
use crate::run::RunnerKind;

pub trait Driver: Send + Sync + Sized + 'static {
    /// Runners that suit the client library, preferred one first. Workloads are compiled for these and no others.
    const RUNNERS: &'static [RunnerKind];
    /// What a worker holds: a shared pool, or just the parsed options.
    type Client: 'static;
    type Session: 'static;

    /// Those of them that this driver, as it is set up, may use.
    fn runners(&self) -> &'static [RunnerKind] {
        Self::RUNNERS
    }
    fn offers(&self) -> Offers;
    /// Name of the client library that speaks to the system; every report shows it.
    fn client(&self) -> &'static str;
    /// Called once on each worker thread, inside its runner.
    async fn open(&self, worker: usize) -> Result<Self::Client, Trouble>;
    /// Connects, applies what is asked of a session (isolation, session variables, what `needs` says of counts) and checks
    /// that it took effect. `needs` are met by what this driver offers.
    /// `OpError` rather than `Trouble`, because it is also called in the middle of a run to replace a lost session.
    async fn session(
        &self,
        client: &Self::Client,
        endpoint: usize,
        needs: Needs,
    ) -> Result<Self::Session, OpError>;
    /// Place of the endpoint that the session's last request went to, where its client chooses one for each request. `None`:
    /// the one that the session was opened at.
    #[inline]
    fn asked(_session: &Self::Session) -> Option<u32> {
        None
    }
    /// Called once when a phase has come to its end, after the last answer that anybody waits for.
    fn close(&self) -> Result<(), Trouble> {
        Ok(())
    }
}
