//! Our own executor, for our own wire clients: io_uring, or epoll where that is not allowed.
use super::{Erased, Runner};
use crate::record::recorder::Recorder;
use crate::record::times::add;
use crate::words::usage;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::run::IoKind;
use bakeoff_model::time::sleep;
use bakeoff_reactor::Margin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub struct ReactorRunner;

/// Chosen once per process, before any worker starts.
static IO: OnceLock<IoKind> = OnceLock::new();

/// Up to this many sessions per worker cost less over epoll: io_uring gains by what it does for many at once
/// (docs/method/reactor.md has the figures).
const FEW_SESSIONS: u32 = 4;

/// The kind that the plan requests, or else [`choose`]. Error: the plan requests io_uring, which is not available.
pub fn choose_io(asked: Option<IoKind>, sessions_per_worker: u32) -> Result<(), Trouble> {
    let usable = bakeoff_reactor::io_uring_usable();
    let kind = match (asked, usable) {
        (Some(IoKind::IoUring), Err(error)) => {
            return Err(usage(
                format!("io_uring cannot be used here: {error}"),
                "run.json: io",
                "leave `io` out, or set it to epoll; containers often forbid io_uring (kernel.io_uring_disabled, seccomp)",
            ));
        }
        (Some(asked), _) => asked,
        (None, usable) => choose(usable.is_ok(), sessions_per_worker),
    };
    IO.get_or_init(|| kind);
    Ok(())
}

/// How it talks to the kernel; `None`: no run of this process is on the reactor.
pub fn io() -> Option<IoKind> {
    IO.get().copied()
}

/// Why this process cannot use io_uring; `None`: it can.
pub fn io_uring_refusal() -> Option<String> {
    bakeoff_reactor::io_uring_usable()
        .err()
        .map(|error| error.to_string())
}

fn choose(io_uring_usable: bool, sessions_per_worker: u32) -> IoKind {
    if io_uring_usable && sessions_per_worker > FEW_SESSIONS {
        IoKind::IoUring
    } else {
        IoKind::Epoll
    }
}

impl Runner for ReactorRunner {
    fn run(&self, recorder: Arc<Recorder>, spins: bool, main: Erased<'_, ()>) -> Result<(), Trouble> {
        let kind = io().unwrap_or(IoKind::Epoll);
        let count_spin = Box::new(move |ns| add(&recorder.counters.spin_ns, ns));
        bakeoff_reactor::block_on(kind, Margin::new(spins), count_spin, main).map_err(environment)
    }

    fn run_all(&self, futures: Vec<Erased<'static, ()>>) -> Erased<'static, ()> {
        Box::pin(async { drop(bakeoff_reactor::join_all(futures).await) })
    }

    fn every(&self, period: Duration, mut tick: Box<dyn FnMut()>) {
        bakeoff_reactor::spawn(async move {
            loop {
                sleep(period).await;
                tick();
            }
        });
    }
}

fn environment(error: std::io::Error) -> Trouble {
    Trouble::new(
        TroubleKind::Environment,
        format!("the reactor could not go on: {error}"),
        "engine worker",
        "raise the limits of open files (ulimit -n) and of locked memory (ulimit -l), or ask for `io` epoll",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_uring_is_taken_where_it_may_be_used_and_many_share_a_worker() {
        assert_eq!(choose(true, FEW_SESSIONS + 1), IoKind::IoUring);
        assert_eq!(choose(true, FEW_SESSIONS), IoKind::Epoll);
        assert_eq!(choose(false, 1000), IoKind::Epoll);
    }
}
