//! Opening sessions, and replacing lost ones with back-off. A session is ready for use only once the workload has
//! attached to it.
use crate::control::Axis;
use crate::job::{Job, Terms};
use crate::record::recorder::Writer;
use crate::record::samples::Fault;
use crate::runner::Erased;
use crate::serving::{HELD_NS, LONGEST_PAUSE_NS};
use crate::user::watchdog::{UserCell, timed};
use bakeoff_model::driver::AnyClient;
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::random::SplitMix64;
use bakeoff_model::time::{now_ns, sleep_until};
use bakeoff_model::workload::Workload;

/// A user's sessions, or those of a place in a pool.
pub struct Place<S> {
    pub seat: Seat<S>,
    /// Of a split route: where what only reads is asked.
    pub reader: Option<Box<Seat<S>>>,
}

impl<S> Place<S> {
    /// Where an operation is asked.
    #[inline]
    pub fn seat_for(&mut self, reads_only: impl FnOnce() -> bool) -> &mut Seat<S> {
        match &mut self.reader {
            Some(reader) if reads_only() => reader,
            _ => &mut self.seat,
        }
    }
}

/// Of one session.
pub struct Seat<S> {
    /// `None` while a lost one is being replaced.
    pub session: Option<S>,
    /// Where it is.
    pub endpoint: u32,
    /// Where it was dealt to, and belongs.
    home: u32,
    /// The session's number in its process.
    number: u32,
    /// When it looks whether its own endpoint serves again; `u64::MAX`: it is there.
    look_ns: u64,
    /// How long it stays away before it looks, at most.
    away_ns: u64,
}

impl<S> Seat<S> {
    pub fn new(session: S, endpoint: u32, number: u32) -> Self {
        Self {
            session: Some(session),
            endpoint,
            home: endpoint,
            number,
            look_ns: u64::MAX,
            away_ns: AWAY_NS,
        }
    }

    /// Whether it is away from its own endpoint, and has been for a while.
    #[inline]
    pub fn looks_home(&self, now: u64) -> bool {
        now >= self.look_ns
    }

    fn sit(&mut self, session: S, endpoint: u32) {
        self.session = Some(session);
        self.endpoint = endpoint;
        self.stay();
    }

    /// Where it is, for now.
    fn stay(&mut self) {
        self.look_ns = match self.endpoint == self.home {
            true => u64::MAX,
            false => now_ns() + half_to_whole(self.away_ns, &mut self.random()),
        }
    }

    /// Its endpoint gave it a session and then would not serve it, as a read-only one will not a write. It stays away for
    /// twice as long each time that happens.
    fn leave(&mut self) {
        self.away_ns = (2 * self.away_ns).min(LONGEST_AWAY_NS);
    }

    fn random(&self) -> SplitMix64 {
        SplitMix64(now_ns() ^ u64::from(self.number))
    }
}

/// How long a session is away from its own endpoint before it looks for it again, at most. A system that was restarted has
/// all its sessions back after that.
const AWAY_NS: u64 = 500_000_000;
/// The same where its endpoint has sent it away again and again.
const LONGEST_AWAY_NS: u64 = 60_000_000_000;

/// Connects and attaches, within the run's timeout.
pub async fn open<W: Workload>(
    job: &Job<W>,
    client: &dyn AnyClient<W::Session>,
    cell: &UserCell,
    endpoint: u32,
) -> Result<W::Session, OpError> {
    open_by(job, client, cell, endpoint, now_ns() + job.timeout_ns).await
}

pub async fn open_by<W: Workload>(
    job: &Job<W>,
    client: &dyn AnyClient<W::Session>,
    cell: &UserCell,
    endpoint: u32,
    deadline_ns: u64,
) -> Result<W::Session, OpError> {
    ended_by(job, cell, deadline_ns, connect(job, client, endpoint)).await
}

/// Sees `attempt` through to its end, or to `until_ns`: for as long as it lasts the system must open a session for somebody
/// else every `period_ns`, which calls `answered`. Nothing here reaches a blocking runner.
pub async fn while_it_answers<T, W: Workload>(
    job: &Job<W>,
    client: &dyn AnyClient<W::Session>,
    cell: &UserCell,
    endpoint: u32,
    times: (u64, u64),
    attempt: Erased<'_, Result<T, OpError>>,
    answered: &dyn Fn(),
) -> Result<T, OpError> {
    let look = || -> Erased<'_, Result<(), OpError>> {
        Box::pin(async {
            drop(open(job, client, cell, endpoint).await?);
            answered();
            Ok(())
        })
    };
    to_its_end(cell, times, attempt, &look).await
}

async fn to_its_end<'a, T>(
    cell: &UserCell,
    (period_ns, until_ns): (u64, u64),
    mut attempt: Erased<'_, Result<T, OpError>>,
    look: &dyn Fn() -> Erased<'a, Result<(), OpError>>,
) -> Result<T, OpError> {
    loop {
        let look_ns = until_ns.min(now_ns() + period_ns);
        if let Some(ended) = timed(cell, look_ns, attempt.as_mut()).await {
            return ended;
        }
        if now_ns() >= until_ns {
            return Err(kept_waiting());
        }
        look().await?;
    }
}

/// Connects without attaching, because there may be nothing to attach to; within the run's timeout.
pub async fn open_bare<W: Workload>(
    job: &Job<W>,
    client: &dyn AnyClient<W::Session>,
    cell: &UserCell,
) -> Result<W::Session, OpError> {
    let endpoint = job.routes.first() as usize;
    let connecting = client.session(endpoint, job.workload.needs());
    ended_by(job, cell, now_ns() + job.timeout_ns, connecting).await
}

fn connect<'a, W: Workload>(
    job: &'a Job<W>,
    client: &'a dyn AnyClient<W::Session>,
    endpoint: u32,
) -> Erased<'a, Result<W::Session, OpError>> {
    Box::pin(async move {
        let needs = job.workload.needs();
        let mut session = client.session(endpoint as usize, needs).await?;
        job.workload.attach(&mut session).await?;
        Ok(session)
    })
}

async fn ended_by<S>(
    job: &Terms,
    cell: &UserCell,
    deadline_ns: u64,
    mut connecting: Erased<'_, Result<S, OpError>>,
) -> Result<S, OpError> {
    let answer = timed(cell, deadline_ns, connecting.as_mut()).await;
    answer.unwrap_or_else(|| Err(none_in_time(job)))
}

fn none_in_time(job: &Terms) -> OpError {
    OpError::lost("timeout", format!("no session within {} s", job.spec.timeout_s))
}

fn kept_waiting() -> OpError {
    let message = "it has not ended, although the system answers: another session may hold a lock that it waits for (LOCK \
        TABLES, ALTER TABLE); look at the server's list of processes";
    OpError::fail(FailClass::Other, "timeout", message)
}

/// Why there must be another session.
#[derive(Clone, Copy, PartialEq)]
pub enum Since {
    Lost,
    /// Its node said that it will not serve.
    Left,
    /// The workload asked for it.
    Wanted,
    /// It is not at its own endpoint, which may serve again.
    Away,
}

/// Closes the session there is and tries until there is another (true) or the window ends (false): at any endpoint of the
/// route that serves, as far as is known, that of the last one before others; at one that does not, when its pause is over
/// and nobody else is trying. What follows is recorded as that endpoint's. A session that is away keeps what it has unless
/// its own endpoint gives it another.
pub async fn reopen<W: Workload>(
    job: &Job<W>,
    client: &dyn AnyClient<W::Session>,
    cell: &UserCell,
    writer: &Writer,
    seat: &mut Seat<W::Session>,
    since: Since,
) -> bool {
    let connect = |endpoint| connect(job, client, endpoint);
    match since {
        Since::Away => {
            go_home(job, cell, writer, seat, &connect).await;
            true
        }
        _ => replace(job, cell, writer, seat, since, &connect).await,
    }
}

/// Connects to an endpoint.
type Connect<'c, 'a, S> = &'c dyn Fn(u32) -> Erased<'a, Result<S, OpError>>;

async fn replace<'a, S>(
    job: &Terms,
    cell: &UserCell,
    writer: &Writer,
    seat: &mut Seat<S>,
    since: Since,
    connect: Connect<'_, 'a, S>,
) -> bool {
    seat.session = None;
    match since {
        Since::Lost => job.serving.lost(seat.endpoint, now_ns()),
        Since::Left => {
            job.serving.refused(seat.endpoint, now_ns());
            seat.leave();
        }
        Since::Wanted | Since::Away => {}
    }
    let mut backoff = Backoff::new(seat.random());
    loop {
        let now = now_ns();
        if now >= writer.axis.window_end_ns() {
            return false;
        }
        let mut places = job.routes.from(seat.endpoint, seat.number);
        let Some(endpoint) = places.find(|endpoint| job.serving.may_try(*endpoint, now)) else {
            wait_in_window(now + backoff.next_ns(), &writer.axis).await;
            continue;
        };
        if try_at(job, cell, writer, seat, endpoint, now + job.timeout_ns, connect).await {
            return true;
        }
    }
}

async fn go_home<'a, S>(
    job: &Terms,
    cell: &UserCell,
    writer: &Writer,
    seat: &mut Seat<S>,
    connect: Connect<'_, 'a, S>,
) {
    let now = now_ns();
    let by_ns = now + job.timeout_ns.min(HELD_NS);
    if !job.serving.may_try(seat.home, now)
        || !try_at(job, cell, writer, seat, seat.home, by_ns, connect).await
    {
        seat.stay();
    }
}

/// Whether there is now a session at this endpoint.
async fn try_at<'a, S>(
    job: &Terms,
    cell: &UserCell,
    writer: &Writer,
    seat: &mut Seat<S>,
    endpoint: u32,
    by_ns: u64,
    connect: Connect<'_, 'a, S>,
) -> bool {
    match ended_by(job, cell, by_ns, connect(endpoint)).await {
        Ok(session) => {
            job.serving.serves(endpoint);
            seat.sit(session, endpoint);
            writer.reconnect(endpoint);
            true
        }
        Err(error) => {
            let now = now_ns();
            job.serving.refused(endpoint, now);
            let (recorder, at_s, fault) = (writer.recorder(), writer.axis.seconds(now), Fault::from(&error));
            recorder.refusals.add(endpoint, at_s, &fault);
            recorder
                .samples
                .offer("open a session", error.outcome, endpoint, at_s, &fault);
            false
        }
    }
}

/// Sleeps in steps short enough to notice that the window was brought forward.
pub async fn wait_in_window(until_ns: u64, axis: &Axis) {
    const STEP_NS: u64 = 50_000_000;
    loop {
        let now = now_ns();
        if now >= until_ns.min(axis.window_end_ns()) {
            return;
        }
        sleep_until(until_ns.min(now + STEP_NS)).await;
    }
}

/// 10 ms doubling to the longest pause of an endpoint, each between half and the whole, so that many users do not come back
/// as one.
struct Backoff {
    ceiling_ns: u64,
    random: SplitMix64,
}

impl Backoff {
    fn new(random: SplitMix64) -> Self {
        Self {
            ceiling_ns: 10_000_000,
            random,
        }
    }

    fn next_ns(&mut self) -> u64 {
        let pause_ns = half_to_whole(self.ceiling_ns, &mut self.random);
        self.ceiling_ns = (self.ceiling_ns * 2).min(LONGEST_PAUSE_NS);
        pause_ns
    }
}

fn half_to_whole(ns: u64, random: &mut SplitMix64) -> u64 {
    ns / 2 + random.draw() % (ns / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::watchdog::scan;
    use std::cell::Cell;
    use std::pin::pin;
    use std::rc::Rc;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn a_session_that_is_sent_away_again_and_again_looks_back_ever_more_seldom() {
        let mut seat = Seat::new((), 1, 0);
        seat.endpoint = 0;
        for whole_ms in [500, 1000, 2000, 4000] {
            let before = now_ns();
            seat.stay();
            let (earliest, latest) = (before + whole_ms * 500_000, now_ns() + whole_ms * 1_000_000);
            assert!((earliest..=latest).contains(&seat.look_ns), "{whole_ms}");
            seat.leave();
        }
        seat.endpoint = 1;
        seat.stay();
        assert!(!seat.looks_home(now_ns()), "it is there");
    }

    #[test]
    fn what_waits_for_somebody_elses_lock_does_not_wait_for_ever() {
        let cell = Rc::new(UserCell::default());
        let looked = Cell::new(0);
        let look = || -> Erased<'_, Result<(), OpError>> {
            looked.set(looked.get() + 1);
            Box::pin(std::future::ready(Ok(())))
        };
        let times = (1_000_000, now_ns() + 20_000_000);
        let waits = Box::pin(std::future::pending::<Result<(), OpError>>());
        let mut ended = pin!(to_its_end(&cell, times, waits, &look));
        let mut cx = Context::from_waker(Waker::noop());
        let error = loop {
            if let Poll::Ready(ended) = ended.as_mut().poll(&mut cx) {
                break ended.unwrap_err();
            }
            scan(std::slice::from_ref(&cell), false);
        };
        assert!(error.message.contains("hold a lock"), "{error}");
        assert!(now_ns() >= times.1 && looked.get() > 0);
    }

    #[test]
    fn back_off_doubles_from_10_to_100_ms() {
        let mut backoff = Backoff::new(SplitMix64(1));
        for ceiling_ms in [10, 20, 40, 80, 100, 100] {
            let pause_ms = backoff.next_ns() as f64 / 1e6;
            assert!(
                (ceiling_ms as f64 / 2.0..=ceiling_ms as f64).contains(&pause_ms),
                "{pause_ms} {ceiling_ms}"
            );
        }
    }
}
