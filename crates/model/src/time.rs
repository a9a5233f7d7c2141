//! How anybody waits. Pacing, back-off and the null driver call [`sleep_until`]; the runner of the current thread has
//! installed the timer that carries it out, so neither workloads nor drivers know which runner they are on.
use crate::deadlines::Place;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// How many 2^-32 ns a tick of the processor's counter lasts; 0: the counter is not in use.
static NS_PER_TICK: AtomicU64 = AtomicU64::new(0);
/// A moment on both clocks.
static BASE_TICKS: AtomicU64 = AtomicU64::new(0);
static BASE_NS: AtomicU64 = AtomicU64::new(0);

/// Nanoseconds of the kernel's monotonic clock (never 0). Read off the processor's own counter once [`use_counter`] has
/// succeeded (12 ns, and out of order with what surrounds it by some tens of ns), otherwise asked of the kernel (30 ns
/// and more on a virtual machine; through `Instant` 10 more).
#[inline]
pub fn now_ns() -> u64 {
    match NS_PER_TICK.load(Ordering::Relaxed) {
        0 => kernel_ns(),
        scale => {
            let since = ticks().wrapping_sub(BASE_TICKS.load(Ordering::Relaxed));
            BASE_NS.load(Ordering::Relaxed) + scaled(since, scale)
        }
    }
}

fn kernel_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills the structure it is given; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[inline]
fn scaled(ticks: u64, scale: u64) -> u64 {
    ((u128::from(ticks) * u128::from(scale)) >> 32) as u64
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has this instruction; a kernel that forbids it to us does not use it itself.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

/// Makes [`now_ns`] read the processor's counter. Only for a process that has looked at no clock yet, on a machine
/// whose kernel itself keeps time by that counter (else it may stop, or differ between cores). Takes `over` and a half
/// to learn the counter's speed, to within 100 ns per `over`. False, and no change: it did not foretell the kernel's clock.
pub fn use_counter(over: Duration) -> bool {
    let first = both_clocks();
    std::thread::sleep(over);
    let second = both_clocks();
    let (ticks, ns) = (second.0.wrapping_sub(first.0), second.1 - first.1);
    if ticks == 0 {
        return false;
    }
    let scale = ((u128::from(ns) << 32) / u128::from(ticks)) as u64;
    std::thread::sleep(over / 2);
    let third = both_clocks();
    let foretold_ns = second.1 + scaled(third.0.wrapping_sub(second.0), scale);
    if foretold_ns.abs_diff(third.1) > 1_000 {
        return false;
    }
    BASE_TICKS.store(second.0, Ordering::Relaxed);
    BASE_NS.store(second.1, Ordering::Relaxed);
    NS_PER_TICK.store(scale, Ordering::Relaxed);
    true
}

/// Counter and kernel's clock at the same moment: the closest of many tries.
fn both_clocks() -> (u64, u64) {
    let look = || {
        let before = ticks();
        let ns = kernel_ns();
        let took = ticks().wrapping_sub(before);
        (took, before.wrapping_add(took / 2), ns)
    };
    let (_, ticks, ns) = (0..50).map(|_| look()).min().unwrap_or_default();
    (ticks, ns)
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
    /// (blocking runners), or arranges that `waker` is woken at about that time and returns false. `place` is the
    /// future's own, where the timer keeps what it needs to know it again.
    fn wait(&self, deadline_ns: u64, waker: &Waker, place: &mut Option<Place>) -> bool;

    /// The future that has this place was dropped.
    fn forget(&self, _place: Place) {}
}

thread_local! {
    static TIMER: RefCell<Option<Rc<dyn Timer>>> = const { RefCell::new(None) };
}

thread_local! {
    static DEADLINE_NS: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// On a blocking runner, where nobody else can end a call: what this thread does from now on may take until then.
/// `u64::MAX`: as long as it takes.
pub fn set_deadline_ns(deadline_ns: u64) {
    DEADLINE_NS.set(deadline_ns);
}

/// For a driver whose calls block.
pub fn deadline_ns() -> u64 {
    DEADLINE_NS.get()
}

/// Installed once by a runner on each of its threads, before any session is opened there.
pub fn install_timer(timer: Rc<dyn Timer>) {
    TIMER.with(|slot| *slot.borrow_mut() = Some(timer));
}

/// The runner of this thread is gone.
pub fn remove_timer() {
    TIMER.with(|slot| *slot.borrow_mut() = None);
}

/// Completes at `deadline_ns` (see [`now_ns`]) or at once if that has passed.
pub fn sleep_until(deadline_ns: u64) -> SleepUntil {
    SleepUntil {
        deadline_ns,
        place: None,
    }
}

pub fn sleep(duration: Duration) -> SleepUntil {
    sleep_until(now_ns() + duration.as_nanos() as u64)
}

#[must_use]
pub struct SleepUntil {
    deadline_ns: u64,
    /// With the timer of the thread it was polled on.
    place: Option<Place>,
}

impl Drop for SleepUntil {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let _ = TIMER.try_with(|slot| {
            // Borrowed: the timer itself is being removed.
            if let Ok(Some(timer)) = slot.try_borrow().as_deref() {
                timer.forget(place);
            }
        });
    }
}

impl Future for SleepUntil {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if now_ns() >= self.deadline_ns {
            return Poll::Ready(());
        }
        let timer = TIMER.with(|slot| slot.borrow().clone());
        let deadline_ns = self.deadline_ns;
        match timer {
            Some(timer) if timer.wait(deadline_ns, cx.waker(), &mut self.place) => Poll::Ready(()),
            Some(_) => Poll::Pending,
            None => {
                // Outside any runner (a unit test): block, which is always right and never fast.
                std::thread::sleep(Duration::from_nanos(self.deadline_ns.saturating_sub(now_ns())));
                Poll::Ready(())
            }
        }
    }
}

#[cfg(test)]
mod sleeping {
    use super::*;
    use crate::deadlines::Deadlines;

    impl Timer for RefCell<Deadlines> {
        fn wait(&self, deadline_ns: u64, waker: &Waker, place: &mut Option<Place>) -> bool {
            self.borrow_mut().set(deadline_ns, waker, place);
            false
        }
        fn forget(&self, place: Place) {
            self.borrow_mut().forget(place);
        }
    }

    #[test]
    fn a_sleep_that_is_polled_again_and_again_and_dropped_leaves_nothing_with_its_timer() {
        let timer = Rc::new(RefCell::new(Deadlines::default()));
        install_timer(timer.clone());
        let mut cx = Context::from_waker(Waker::noop());
        let mut sleep = sleep_until(u64::MAX);
        for _ in 0..100 {
            assert!(Pin::new(&mut sleep).poll(&mut cx).is_pending());
        }
        assert_eq!(timer.borrow().entries(), 1);
        drop(sleep);
        assert_eq!(timer.borrow_mut().next_ns(), None);
        assert_eq!(timer.borrow().entries(), 0);
        remove_timer();
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_counter_keeps_the_kernels_time_and_never_goes_back() {
        let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let trusted = std::fs::read_to_string(clock).is_ok_and(|name| name.trim() == "tsc");
        if !trusted || !use_counter(Duration::from_millis(20)) {
            return; // a machine whose counter is not to be trusted: nothing was changed
        }
        let learned_ns = kernel_ns();
        for _ in 0..50 {
            let (before_ns, counted_ns, after_ns) = (kernel_ns(), now_ns(), kernel_ns());
            // The speed is accepted where it errs by 1 in 10,000, and the kernel may steer its own by 5 in 10,000.
            let drift_ns = 20_000 + (after_ns - learned_ns) / 1_000;
            assert!(counted_ns + drift_ns > before_ns && counted_ns < after_ns + drift_ns);
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut last_ns = now_ns();
        for _ in 0..1_000_000 {
            let now = now_ns();
            assert!(now >= last_ns);
            last_ns = now;
        }
    }
}
