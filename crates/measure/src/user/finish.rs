//! The end of a user: some of its operations may have been counted before they were true (rows in a statement that was not
//! full yet, a transaction that is open). They are made true now, or taken back.
use crate::record::samples::Fault;
use crate::user::pool::Ticket;
use crate::user::probe::RecordProbe;
use crate::user::session::{Place, Seat, open_by};
use crate::user::watchdog::{UserCell, timed};
use crate::user::worker::Worker;
use bakeoff_model::outcome::OpError;
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::Workload;
use std::pin::pin;
use std::rc::Rc;

/// With the session the user has, or one from the pool, or another one where it was lost; within the timeout after the
/// window, for as long as operations in flight are waited for.
pub async fn finish<W: Workload>(
    worker: &Worker<W>,
    cell: &UserCell,
    ticket: &Rc<Ticket<W::Session>>,
    own: Option<Place<W::Session>>,
    thread: &mut W::Thread,
    probe: &mut RecordProbe,
) {
    let (job, axis) = (&worker.job, &worker.writer.axis);
    if !job.workload.owes(thread) {
        return;
    }
    let deadline_ns = now_ns().min(axis.window_end_ns()) + job.timeout_ns;
    let mut endpoint = 0;
    let ended = match own_or_pooled(worker, cell, ticket, own, deadline_ns).await {
        None => Err(OpError::lost(
            "timeout",
            "no session was free for the last statements",
        )),
        Some(mut place) => {
            let seat = &mut place.seat; // what is owed was written
            endpoint = seat.endpoint;
            let ended = send(worker, cell, seat, deadline_ns, thread, probe).await;
            if ended.as_ref().is_err_and(|error| error.connection_lost) {
                seat.session = None;
            }
            if let Some(pool) = &worker.pool {
                pool.release(place);
            }
            ended
        }
    };
    if let Err(error) = ended {
        let (recorder, at_s) = (worker.writer.recorder(), axis.seconds(now_ns()));
        let fault = Fault::from(&error);
        recorder
            .samples
            .offer("finish", error.outcome, endpoint, at_s, &fault);
        job.workload.abandon(thread, probe);
    }
}

async fn own_or_pooled<W: Workload>(
    worker: &Worker<W>,
    cell: &UserCell,
    ticket: &Rc<Ticket<W::Session>>,
    own: Option<Place<W::Session>>,
    deadline_ns: u64,
) -> Option<Place<W::Session>> {
    let Some(pool) = &worker.pool else { return own };
    let found = timed(cell, deadline_ns, pin!(pool.acquire(ticket))).await;
    if found.is_none() {
        pool.leave(ticket);
    }
    found
}

async fn send<W: Workload>(
    worker: &Worker<W>,
    cell: &UserCell,
    seat: &mut Seat<W::Session>,
    deadline_ns: u64,
    thread: &mut W::Thread,
    probe: &mut RecordProbe,
) -> Result<(), OpError> {
    let job = &worker.job;
    let session = match seat.session.take() {
        Some(session) => session,
        None => open_by(job, &*worker.client, cell, seat.endpoint, deadline_ns).await?,
    };
    let session = seat.session.insert(session);
    let finish = pin!(job.workload.finish(&worker.state, thread, session, probe));
    let answer = timed(cell, deadline_ns, finish).await;
    answer.unwrap_or_else(|| Err(OpError::lost("timeout", "no answer to the last statements")))
}
