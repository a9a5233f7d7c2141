//! How anybody waits. Pacing, back-off and the null driver call [`sleep_until`]; the runner of the current thread has
//! installed the timer that carries it out, so neither workloads nor drivers know which runner they are on.
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Nanoseconds of the kernel's monotonic clock (never 0). About 25 ns a call; asked of the C library directly, because
/// `Instant` and `Duration` on top of it cost another 10.
#[inline]
pub fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills the structure it is given; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

static EPOCH_NS: AtomicU64 = AtomicU64::new(0);

/// The run's time axis begins here (start of the warm-up). Called once, when the start time is known, which may lie a
/// little ahead.
pub fn set_epoch_ns(epoch_ns: u64) {
    EPOCH_NS.store(epoch_ns, Ordering::Relaxed);
}

/// `None` before a run's start is known, and in other phases.
pub fn epoch_ns() -> Option<u64> {
    match EPOCH_NS.load(Ordering::Relaxed) {
        0 => None,
        ns => Some(ns),
    }
}

/// A runner's timer: one per worker thread, never shared.
pub trait Timer {
    /// Called from a future's `poll` when `deadline_ns` lies ahead. Either blocks until then and returns true
    /// (blocking runners), or arranges that `waker` is woken at about that time and returns false.
    fn wait(&self, deadline_ns: u64, waker: &Waker) -> bool;
}

thread_local! {
    static TIMER: RefCell<Option<Rc<dyn Timer>>> = const { RefCell::new(None) };
}

/// Installed once by a runner on each of its threads, before any session is opened there.
pub fn install_timer(timer: Rc<dyn Timer>) {
    TIMER.with(|slot| *slot.borrow_mut() = Some(timer));
}

/// Completes at `deadline_ns` (see [`now_ns`]) or at once if that has passed.
pub fn sleep_until(deadline_ns: u64) -> SleepUntil {
    SleepUntil { deadline_ns }
}

pub fn sleep(duration: Duration) -> SleepUntil {
    sleep_until(now_ns() + duration.as_nanos() as u64)
}

#[must_use]
pub struct SleepUntil {
    deadline_ns: u64,
}

impl Future for SleepUntil {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if now_ns() >= self.deadline_ns {
            return Poll::Ready(());
        }
        let timer = TIMER.with(|slot| slot.borrow().clone());
        match timer {
            Some(timer) if timer.wait(self.deadline_ns, cx.waker()) => Poll::Ready(()),
            Some(_) => Poll::Pending,
            None => {
                // Outside any runner (a unit test): block, which is always right and never fast.
                std::thread::sleep(Duration::from_nanos(self.deadline_ns.saturating_sub(now_ns())));
                Poll::Ready(())
            }
        }
    }
}
