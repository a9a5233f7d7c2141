//! The loop of one user.
//!
//! Cost per operation of the loop itself, null driver and closed loop: two reads of the clock, three histogram
//! records, a dozen plain stores; no allocation, no lock, no formatting, no atomic that another core writes.
//! `examples/floor.rs` holds it to that.
use crate::control::Axis;
use crate::pace::schedule::Schedule;
use crate::pace::think::Think;
use crate::record::recorder::{Extra, series};
use crate::record::samples::Fault;
use crate::record::times::add;
use crate::user::attempt::{Attempt, How, names};
use crate::user::finish::finish;
use crate::user::gate::Gate;
use crate::user::pool::{Pool, Ticket};
use crate::user::probe::RecordProbe;
use crate::user::session::{Place, Seat, Since, reopen, wait_in_window};
use crate::user::watchdog::UserCell;
use crate::user::worker::Worker;
use bakeoff_model::endpoint::Asked;
use bakeoff_model::event::{Event, Warning};
use bakeoff_model::outcome::{OpError, Outcome};
use bakeoff_model::time::{SleepUntil, now_ns, set_deadline_ns, sleep_until};
use bakeoff_model::workload::{Answer, Ended, Workload};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Operations without waiting for anything after which a user lets the others of its worker run.
const TURN: u32 = 64;
/// A blocked thread looks this often whether the window was brought forward.
const NAP_NS: u64 = 50_000_000;

/// Due as soon as it is drawn: response time begins where service time does, with one reading of the clock for both.
const AT_ONCE: u64 = 0;

/// When a user's next operation is due.
pub enum Pace {
    /// When the last one ended, the user has thought and the next one is drawn. `left`: operations still to end after the warm-up.
    Closed {
        left: u64,
        think: Option<Box<Think>>,
    },
    Scheduled(Arc<Schedule>),
}

#[inline]
fn pause_ns(think: &mut Option<Box<Think>>) -> u64 {
    think.as_mut().map_or(0, |think| think.draw_ns())
}

pub struct User {
    /// Index on this worker.
    pub index: usize,
    pub cell: Rc<UserCell>,
    pub pace: Pace,
}

/// One user, from the gate over the epoch to the end of the window (and of its last operation). Returns its stream's hash.
pub async fn run_user<W: Workload>(
    gate: Rc<Gate<Worker<W>>>,
    user: User,
    thread: W::Thread,
    own: Option<Place<W::Session>>,
) -> u64 {
    let worker = gate.opened(&user.cell).await;
    let probe = RecordProbe::new(worker.writer.clone());
    let mut turn = UserLoop {
        worker: &worker,
        user,
        thread,
        probe,
        ticket: Rc::default(),
        ended_ns: 0,
        unwaited: 0,
    };
    let place = turn.operate(own).await;
    finish(
        &worker,
        &turn.user.cell,
        &turn.ticket,
        place,
        &mut turn.thread,
        &mut turn.probe,
    )
    .await;
    worker.job.workload.stream_hash(&turn.thread)
}

struct UserLoop<'a, W: Workload> {
    worker: &'a Worker<W>,
    user: User,
    thread: W::Thread,
    probe: RecordProbe,
    ticket: Rc<Ticket<W::Session>>,
    /// End of the last operation.
    ended_ns: u64,
    unwaited: u32,
}

/// Why an operation was not begun.
enum Begin {
    Now { due_ns: u64 },
    Over,
}

impl<W: Workload> UserLoop<'_, W> {
    fn axis(&self) -> &Axis {
        &self.worker.writer.axis
    }

    /// Operation after operation until the window ends. Gives the user's own session back.
    async fn operate(&mut self, mut place: Option<Place<W::Session>>) -> Option<Place<W::Session>> {
        let worker = self.worker;
        let pool = worker.pool.as_ref();
        let mut free_at_ns = self.axis().epoch_ns;
        // Something other than the draw keeps a free user from its next operation: that is response time.
        let mut was_held_up = true;
        if matches!(self.user.pace, Pace::Closed { .. }) && !self.sleep_until_due(free_at_ns).await {
            return place;
        }
        loop {
            let is_over = matches!(self.user.pace, Pace::Closed { left, .. } if left == 0 || free_at_ns >= self.axis().window_end_ns());
            if is_over {
                break;
            }
            let drawn_from_ns = if was_held_up { now_ns() } else { 0 };
            let operation = worker.job.workload.next(&worker.state, &mut self.thread);
            let begin = match &mut self.user.pace {
                Pace::Closed { think, .. } => match worker.job.workload.due_ns(&self.thread) {
                    Some(after_ns) => self.think(self.axis().epoch_ns + after_ns).await,
                    None => match worker.job.workload.pause_ns(&self.thread) + pause_ns(think) {
                        0 if was_held_up => {
                            let draw_ns = now_ns() - drawn_from_ns;
                            Begin::Now {
                                due_ns: free_at_ns + draw_ns,
                            }
                        }
                        0 => Begin::Now { due_ns: AT_ONCE },
                        pause_ns => self.think(free_at_ns + pause_ns).await,
                    },
                },
                Pace::Scheduled(schedule) => match schedule.claim() {
                    Some(after_ns) => self.wait_for_slot(after_ns, free_at_ns).await,
                    None => Begin::Over,
                },
            };
            let Begin::Now { mut due_ns } = begin else {
                break;
            };
            if let Some(pool) = pool {
                place = self.acquire(pool, operation, &mut due_ns).await;
            }
            // By reference: sessions are large, and a move would cost more than the loop.
            let Some(held) = &mut place else {
                break;
            };
            let seat = self.seat_for(operation, held);
            let how = self.operation(operation, due_ns, seat).await;
            free_at_ns = self.ended_ns;
            if let Pace::Closed { left, .. } = &mut self.user.pace {
                *left -= u64::from(free_at_ns >= worker.writer.axis.window_start_ns);
            }
            let another = if how.session_lost() {
                Some(since(how))
            } else if worker.job.workload.wants_new_session(&self.thread) {
                Some(Since::Wanted)
            } else if seat.looks_home(free_at_ns) && !self.is_in_transaction() {
                Some(Since::Away)
            } else {
                None
            };
            let goes_on = match another {
                Some(since) => self.replace(seat, since, free_at_ns).await,
                None => true,
            };
            if let Some(pool) = pool {
                place.take().into_iter().for_each(|place| pool.release(place));
            }
            if !goes_on {
                break;
            }
            was_held_up = another.is_some();
            if self.turn_is_over() {
                was_held_up = true;
                yield_once().await;
            }
        }
        place
    }

    /// Until the operation is due, or the window has ended.
    async fn think(&self, due_ns: u64) -> Begin {
        match self.sleep_until_due(due_ns).await {
            true => Begin::Now { due_ns },
            false => Begin::Over,
        }
    }

    /// Until the place `after_ns` after the epoch, or the window has ended.
    async fn wait_for_slot(&self, after_ns: u64, free_at_ns: u64) -> Begin {
        let (writer, axis) = (&self.worker.writer, self.axis());
        let due_ns = axis.epoch_ns + after_ns;
        // A user that came free only after the operation fell due says nothing about the generator.
        let was_free = due_ns >= free_at_ns;
        if was_free && !self.sleep_until_due(due_ns).await {
            return Begin::Over;
        }
        let now = now_ns();
        if now >= axis.window_end_ns() {
            writer.backlog(due_ns);
            return Begin::Over;
        }
        if was_free && due_ns >= axis.window_start_ns {
            writer.extra(Extra::Lateness, now.saturating_sub(due_ns));
        }
        Begin::Now { due_ns }
    }

    /// False: the window was brought forward to before `due_ns`.
    async fn sleep_until_due(&self, due_ns: u64) -> bool {
        let axis = self.axis();
        loop {
            let next_ns = if self.worker.job.is_blocking() {
                due_ns.min(now_ns() + NAP_NS)
            } else {
                due_ns
            };
            Due {
                sleep: sleep_until(next_ns),
                due_ns,
                axis,
                cell: &self.user.cell,
            }
            .await;
            if axis.window_end_ns() <= due_ns {
                return false;
            }
            if now_ns() >= due_ns {
                return true;
            }
        }
    }

    #[inline]
    fn seat_for<'p>(&self, operation: usize, place: &'p mut Place<W::Session>) -> &'p mut Seat<W::Session> {
        place.seat_for(|| self.worker.job.operations[operation].reads_only)
    }

    /// Whether what this user has done so far would be gone with its session.
    #[cold]
    fn is_in_transaction(&self) -> bool {
        let workload = &self.worker.job.workload;
        workload.needs().own_session && workload.owes(&self.thread)
    }

    /// A session from the pool; `None` when the window ended first.
    async fn acquire(
        &self,
        pool: &Pool<W::Session>,
        operation: usize,
        due_ns: &mut u64,
    ) -> Option<Place<W::Session>> {
        let asked_ns = now_ns();
        if *due_ns == AT_ONCE {
            *due_ns = asked_ns;
        }
        let due_ns = *due_ns;
        let mut place = pool.acquire(&self.ticket).await;
        let (worker, now) = (self.worker, now_ns());
        let mut usable = now < self.axis().window_end_ns();
        let seat = self.seat_for(operation, &mut place);
        if usable && seat.session.is_none() {
            // Lost with the last statements of its previous user, or no longer available then.
            usable = self.reopen(seat, Since::Lost).await;
        }
        if !usable {
            pool.release(place);
            worker.writer.backlog(due_ns);
            return None;
        }
        if self.axis().counts(due_ns, now) {
            worker.writer.extra(Extra::PoolWait, now.saturating_sub(asked_ns));
        }
        Some(place)
    }

    /// Sees the operation drawn last through to its end, retries included. One function with few others to wait for,
    /// because what one that is waited for takes and keeps goes through memory.
    #[inline]
    async fn operation(&mut self, operation: usize, due_ns: u64, seat: &mut Seat<W::Session>) -> How {
        let worker = self.worker;
        let workload = &worker.job.workload;
        let mut begin_ns = now_ns();
        let due_ns = if due_ns == AT_ONCE { begin_ns } else { due_ns };
        worker.writer.set_in_flight(self.user.index, operation, due_ns);
        let (mut attempts, mut perhaps_applied) = (0, 0);
        loop {
            let mut failed = None;
            let mut how = How::RIGHT;
            let cell = &*self.user.cell;
            cell.arm(begin_ns + worker.job.timeout_ns);
            if self.worker.job.is_blocking() {
                set_deadline_ns(begin_ns + worker.job.timeout_ns);
            }
            let right = match &mut seat.session {
                Some(session) => {
                    let execute = workload.execute(&worker.state, &mut self.thread, session, &mut self.probe);
                    Attempt {
                        cell,
                        execute: pin!(execute),
                        failed: &mut failed,
                    }
                    .await
                }
                None => {
                    // Cannot be: a lost session is replaced before anything else.
                    failed = Some(Err(OpError::lost("session", "there was no session")));
                    false
                }
            };
            cell.disarm();
            if self.worker.job.is_blocking() {
                set_deadline_ns(u64::MAX);
            }
            let endpoint = seat
                .session
                .as_ref()
                .and_then(Asked::asked)
                .unwrap_or(seat.endpoint);
            if !right {
                how = self.fault(operation, endpoint, &failed, perhaps_applied);
                if self.again(how, attempts) {
                    attempts += 1;
                    if self.prepare_retry(how, attempts, seat).await {
                        perhaps_applied += u32::from(how.outcome() == Outcome::Unknown);
                        begin_ns = now_ns();
                        continue;
                    }
                }
            }
            self.record(operation, how, endpoint, [due_ns, begin_ns], perhaps_applied);
            return how;
        }
    }

    #[inline]
    fn record(
        &mut self,
        operation: usize,
        how: How,
        endpoint: u32,
        [due_ns, begin_ns]: [u64; 2],
        perhaps_applied: u32,
    ) {
        let worker = self.worker;
        let writer = &*worker.writer;
        writer.begin_recording();
        self.ended_ns = now_ns();
        let outcome = match how.outcome() {
            // The last attempt has done nothing; an earlier one may have.
            Outcome::Fail(_) if perhaps_applied > 0 && !worker.job.operations[operation].reads_only => {
                Outcome::Unknown
            }
            outcome => outcome,
        };
        let series = series(operation, outcome);
        let counted = writer.operation(series, endpoint, due_ns, begin_ns, self.ended_ns);
        if let Some(queries) = self.probe.queries.take() {
            writer.queries(queries, self.ended_ns, counted);
        }
        writer.end_recording();
        writer.clear_in_flight(self.user.index);
        if counted && let Some(log) = &worker.log {
            log.add(operation, outcome, begin_ns, self.ended_ns);
        }
        self.probe.revocable += u64::from(counted && how == How::RIGHT);
        let ended = Ended {
            outcome: how.outcome(),
            session_lost: how.session_lost(),
            perhaps_applied,
        };
        let workload = &worker.job.workload;
        workload.settle(&worker.state, &mut self.thread, ended, &mut self.probe);
    }

    /// Counts and samples what went wrong.
    #[cold]
    fn fault(
        &self,
        operation: usize,
        endpoint: u32,
        failed: &Option<Result<Answer<'_>, OpError>>,
        perhaps_applied: u32,
    ) -> How {
        let (timeout, ambiguous);
        let operations = self.worker.job.workload.operations();
        let (outcome, lost, fault) = match failed {
            Some(Ok(Answer::Right)) => return How::RIGHT,
            // A row that the earlier attempt has deleted or made already: no wrong answer of the system.
            Some(Ok(Answer::Wrong(why))) if perhaps_applied > 0 && !operations[operation].reads_only => {
                ambiguous = format!("{why}, but an earlier attempt may have been applied");
                let fault = Fault {
                    code: "retried",
                    message: &ambiguous,
                    statement: None,
                };
                (Outcome::Unknown, false, fault)
            }
            Some(Ok(Answer::Wrong(why))) => {
                let fault = Fault {
                    code: "wrong",
                    message: why,
                    statement: None,
                };
                (Outcome::Wrong, false, fault)
            }
            Some(Err(error)) => {
                let reads_only = self.worker.job.operations[operation].reads_only;
                (
                    error.outcome_of(reads_only),
                    error.connection_lost,
                    Fault::from(error),
                )
            }
            None => {
                timeout = format!("no answer within {} s", self.worker.job.spec.timeout_s);
                let fault = Fault {
                    code: "timeout",
                    message: &timeout,
                    statement: None,
                };
                (Outcome::Unknown, true, fault)
            }
        };
        let recorder = self.worker.writer.recorder();
        let at_s = self.axis().seconds(now_ns());
        let name = &operations[operation].name;
        recorder.samples.offer(name, outcome, endpoint, at_s, &fault);
        if let Some(log) = &self.worker.log {
            log.failed(fault.message);
        }
        let leaves = matches!(failed, Some(Err(error)) if error.leave_node)
            && self.worker.job.routes.has_others(endpoint);
        if lost || leaves {
            self.tell_lost(&fault, endpoint, at_s);
            add(
                &recorder.counters.connections_lost,
                u64::from(lost && failed.is_some()),
            );
        }
        let retry = &self.worker.job.spec.retry;
        let named = matches!(failed, Some(Err(error)) if names(retry, outcome, error));
        How::new(outcome).and_lost(lost).and_named(named).and_left(leaves)
    }

    fn tell_lost(&self, fault: &Fault<'_>, endpoint: u32, at_s: f64) {
        if !self.worker.told_lost.replace(true) {
            let what = format!(
                "session at endpoint {endpoint} replaced: {} ({})",
                fault.message, fault.code
            );
            (self.worker.job.sink)(Event::Warning(Warning { what, at_s }));
        }
    }

    /// Whether the policy has the same operation tried once more. Not after the window: nobody would count it.
    #[cold]
    fn again(&self, how: How, attempts: u32) -> bool {
        how.is_named()
            && attempts < self.worker.job.spec.retry.retries
            && now_ns() < self.axis().window_end_ns()
    }

    /// The pause before a retry, and a new session if the last attempt cost it; false when the window ended first, which
    /// leaves the operation unfinished.
    async fn prepare_retry(&self, how: How, attempts: u32, seat: &mut Seat<W::Session>) -> bool {
        self.worker.writer.retry(how.outcome());
        let pause_ns = self.worker.job.spec.retry.backoff_s * f64::from(attempts) * 1e9;
        if pause_ns > 0.0 {
            let until_ns = now_ns().saturating_add(pause_ns as u64);
            wait_in_window(until_ns, self.axis()).await;
            if now_ns() >= self.axis().window_end_ns() {
                return false;
            }
        }
        !how.session_lost() || self.replace(seat, since(how), u64::MAX).await
    }

    /// Opens another session in the place of this one; false when the window ended first. In a closed loop the next
    /// operation fell due at `due_ns`, and if it was never begun it is owed at its age.
    #[cold]
    async fn replace(&self, seat: &mut Seat<W::Session>, since: Since, due_ns: u64) -> bool {
        let replaced = self.reopen(seat, since).await;
        if !replaced && matches!(self.user.pace, Pace::Closed { .. }) {
            self.worker.writer.backlog(due_ns);
        }
        replaced
    }

    async fn reopen(&self, seat: &mut Seat<W::Session>, since: Since) -> bool {
        let worker = self.worker;
        let (job, cell) = (&worker.job, &self.user.cell);
        reopen(job, &*worker.client, cell, &worker.writer, seat, since).await
    }

    /// Operations that wait for nothing (null driver) would starve their worker's other users.
    #[inline]
    fn turn_is_over(&mut self) -> bool {
        if self.worker.job.is_blocking() || self.user.cell.take_pended() {
            self.unwaited = 0;
            return false;
        }
        self.unwaited += 1;
        self.unwaited.is_multiple_of(TURN)
    }
}

fn since(how: How) -> Since {
    if how.node_left() { Since::Left } else { Since::Lost }
}

pub async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Sleeps, but completes at once when the window is brought forward (its worker then wakes everybody).
struct Due<'a> {
    sleep: SleepUntil,
    due_ns: u64,
    axis: &'a Axis,
    cell: &'a UserCell,
}

impl Future for Due<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.axis.window_end_ns() <= self.due_ns {
            return Poll::Ready(());
        }
        let polled = Pin::new(&mut self.sleep).poll(cx);
        if polled.is_pending() {
            self.cell.remember(cx);
        }
        polled
    }
}
