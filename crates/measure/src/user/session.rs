//! Opening sessions, and replacing lost ones with back-off. A session is ready for use only once the workload has
//! attached to it.
use crate::control::Axis;
use crate::job::{Job, Terms};
use crate::pace::pacer::SplitMix64;
use crate::runner::Erased;
use crate::user::watchdog::{UserCell, timed};
use bakeoff_model::driver::Driver;
use bakeoff_model::outcome::OpError;
use bakeoff_model::time::{now_ns, sleep_until};
use bakeoff_model::workload::Workload;

/// A place for one session; empty while a lost one is being replaced.
pub struct Place<S> {
    pub session: Option<S>,
    pub endpoint: u32,
}

/// Connects and attaches, within the run's timeout.
pub async fn open<D: Driver, W: Workload<D::Session>>(
    job: &Job<D, W>,
    client: &D::Client,
    cell: &UserCell,
    endpoint: u32,
) -> Result<D::Session, OpError> {
    open_by(job, client, cell, endpoint, now_ns() + job.timeout_ns).await
}

pub async fn open_by<D: Driver, W: Workload<D::Session>>(
    job: &Job<D, W>,
    client: &D::Client,
    cell: &UserCell,
    endpoint: u32,
    deadline_ns: u64,
) -> Result<D::Session, OpError> {
    ended_by(job, cell, deadline_ns, connect(job, client, endpoint)).await
}

/// Connects without attaching, because there may be nothing to attach to; within the run's timeout.
pub async fn open_bare<D: Driver, W: Workload<D::Session>>(
    job: &Job<D, W>,
    client: &D::Client,
    cell: &UserCell,
) -> Result<D::Session, OpError> {
    let endpoint = job.routes.first() as usize;
    let connecting = job.driver.session(client, endpoint, job.workload.needs());
    ended_by(job, cell, now_ns() + job.timeout_ns, Box::pin(connecting)).await
}

fn connect<'a, D: Driver, W: Workload<D::Session>>(
    job: &'a Job<D, W>,
    client: &'a D::Client,
    endpoint: u32,
) -> Erased<'a, Result<D::Session, OpError>> {
    Box::pin(async move {
        let needs = job.workload.needs();
        let mut session = job.driver.session(client, endpoint as usize, needs).await?;
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

/// Why there must be another session.
#[derive(Clone, Copy, PartialEq)]
pub enum Since {
    Lost,
    /// Its node said that it will not serve.
    Left,
    /// The workload asked for it.
    Wanted,
}

/// How long an endpoint may refuse before the others are tried in turn: longer than a server takes to restart, so that a
/// session comes back to its own node where it can, and no longer than a run can bear to leave a share of its users idle.
const LOYAL_NS: u64 = 5_000_000_000;

/// Closes the session there is and tries again and again until there is another (true) or the window ends (false): at the
/// same endpoint for 5 s, unless that one says that it will not serve, then at the next one of the route each time (what follows is
/// recorded as that endpoint's). The first try after a loss waits a little; one that was asked for does not.
pub async fn reopen<D: Driver, W: Workload<D::Session>>(
    job: &Job<D, W>,
    client: &D::Client,
    cell: &UserCell,
    axis: &Axis,
    place: &mut Place<D::Session>,
    since: Since,
) -> bool {
    replace(job, cell, axis, place, since, &|endpoint| {
        connect(job, client, endpoint)
    })
    .await
}

async fn replace<'a, S>(
    job: &Terms,
    cell: &UserCell,
    axis: &Axis,
    place: &mut Place<S>,
    since: Since,
    connect: &dyn Fn(u32) -> Erased<'a, Result<S, OpError>>,
) -> bool {
    place.session = None;
    if since == Since::Left {
        place.endpoint = job.routes.after(place.endpoint);
    }
    let mut backoff = Backoff::new(now_ns() ^ u64::from(place.endpoint));
    let mut pauses = since != Since::Wanted;
    let begun_ns = now_ns();
    loop {
        let pause_ns = if std::mem::replace(&mut pauses, true) {
            backoff.next_ns()
        } else {
            0
        };
        let at_ns = now_ns() + pause_ns;
        if !wait_in_window(at_ns, axis).await {
            return false;
        }
        let by_ns = now_ns() + job.timeout_ns;
        let error = match ended_by(job, cell, by_ns, connect(place.endpoint)).await {
            Ok(session) => {
                place.session = Some(session);
                return true;
            }
            Err(error) => error,
        };
        if error.leave_node || now_ns() - begun_ns >= LOYAL_NS {
            place.endpoint = job.routes.after(place.endpoint);
        }
    }
}

/// Sleeps in steps short enough to notice that the window was brought forward.
async fn wait_in_window(until_ns: u64, axis: &Axis) -> bool {
    const STEP_NS: u64 = 50_000_000;
    loop {
        let now = now_ns();
        if now >= axis.window_end_ns() {
            return false;
        }
        if now >= until_ns {
            return true;
        }
        sleep_until(until_ns.min(now + STEP_NS)).await;
    }
}

/// 10 ms doubling to 1 s, each between half and the whole, so that many users do not come back as one.
struct Backoff {
    ceiling_ns: u64,
    random: SplitMix64,
}

impl Backoff {
    fn new(seed: u64) -> Self {
        Self {
            ceiling_ns: 10_000_000,
            random: SplitMix64(seed),
        }
    }

    fn next_ns(&mut self) -> u64 {
        let pause_ns = self.ceiling_ns / 2 + self.random.draw() % (self.ceiling_ns / 2);
        self.ceiling_ns = (self.ceiling_ns * 2).min(1_000_000_000);
        pause_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_doubles_from_10_ms_to_1_s() {
        let mut backoff = Backoff::new(1);
        for ceiling_ms in [10, 20, 40, 80, 160, 320, 640, 1000, 1000] {
            let pause_ms = backoff.next_ns() as f64 / 1e6;
            assert!(
                (ceiling_ms as f64 / 2.0..=ceiling_ms as f64).contains(&pause_ms),
                "{pause_ms} {ceiling_ms}"
            );
        }
    }
}
