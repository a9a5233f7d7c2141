//! One `current_thread` tokio runtime per worker, for ordinary async client libraries.
//!
//! Tokio's own timer has a resolution of 1 ms, too coarse for pacing. Ours is the reactor's, looked after by
//! one task: it sleeps on a timerfd until the next deadline or, where it may spin, until shortly before it, and then spins
//! by waking itself, so that between two looks at the clock everything else that is ready runs and input is polled for.
use super::{Erased, Runner};
use crate::record::recorder::Recorder;
use crate::record::times::add;
use bakeoff_model::deadlines::Place;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::time::{Timer, install_timer};
use bakeoff_reactor::{Margin, Timers, Wait};
use std::cell::{Cell, RefCell};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, LocalOptions};

/// Task polls between two polls for input. Tokio's 61 would leave an answer unread for that many turns of the spin.
const EVENT_INTERVAL: u32 = 16;

pub struct TokioRunner;

impl Runner for TokioRunner {
    fn run(&self, recorder: Arc<Recorder>, spins: bool, main: Erased<'_, ()>) -> Result<(), Trouble> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .event_interval(EVENT_INTERVAL)
            .build_local(LocalOptions::default())
            .map_err(environment)?;
        runtime.block_on(async {
            let timer = Rc::new(HeapTimer::new(recorder, spins).map_err(environment)?);
            install_timer(timer.clone());
            tokio::task::spawn_local(std::future::poll_fn(move |cx| timer.drive(cx)));
            main.await;
            Ok(())
        })
    }

    fn run_all(&self, futures: Vec<Erased<'static, ()>>) -> Erased<'static, ()> {
        Box::pin(async {
            let tasks: Vec<_> = futures.into_iter().map(tokio::task::spawn_local).collect();
            for task in tasks {
                match task.await {
                    Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
                    _ => {} // cancelled: the runtime is going down
                }
            }
        })
    }

    fn every(&self, period: Duration, mut tick: Box<dyn FnMut()>) {
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(period).await;
                tick();
            }
        });
    }
}

fn environment(error: std::io::Error) -> Trouble {
    Trouble::new(
        TroubleKind::Environment,
        format!("could not set up a tokio runtime: {error}"),
        "engine worker",
        "raise the limit of open files (ulimit -n), or give the client fewer workers",
    )
}

struct HeapTimer {
    timers: Timers,
    fd: AsyncFd<OwnedFd>,
    /// What `drive` sleeps until; an earlier one must wake it.
    awaited_ns: Cell<u64>,
    /// When the timerfd was set to fire; 0: not set.
    armed_for_ns: Cell<u64>,
    driver: RefCell<Option<Waker>>,
}

impl Timer for HeapTimer {
    fn wait(&self, deadline_ns: u64, waker: &Waker, place: &mut Option<Place>) -> bool {
        self.timers.add(deadline_ns, waker, place);
        if self.timers.early_ns(deadline_ns) < self.awaited_ns.get() {
            self.driver.borrow().iter().for_each(Waker::wake_by_ref);
        }
        false
    }

    fn forget(&self, place: Place) {
        self.timers.forget(place);
    }
}

impl HeapTimer {
    /// Inside a runtime with its I/O driver enabled.
    fn new(recorder: Arc<Recorder>, spins: bool) -> std::io::Result<Self> {
        // SAFETY: makes a new descriptor, checked below.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: just created, owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: the descriptor is owned by the AsyncFd from here on, and stays open as long as it does.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?;
        Ok(Self {
            timers: Timers::new(
                Margin::new(spins),
                Box::new(move |spin_ns| add(&recorder.counters.spin_ns, spin_ns)),
            ),
            fd,
            awaited_ns: Cell::new(u64::MAX),
            armed_for_ns: Cell::new(0),
            driver: RefCell::new(None),
        })
    }

    /// The task that looks after the deadlines; never completes.
    fn drive(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.driver.borrow_mut().get_or_insert_with(|| cx.waker().clone());
        loop {
            match self.timers.turn() {
                // Those just woken run first: to set the timerfd is a system call they need not wait for.
                Wait::Not => return self.look_again(cx),
                Wait::Forever => {
                    self.awaited_ns.set(u64::MAX);
                    return Poll::Pending;
                }
                Wait::Until { deadline_ns, now_ns } => {
                    self.awaited_ns.set(deadline_ns);
                    ready!(self.sleep(cx, now_ns, deadline_ns));
                }
            }
        }
    }

    /// At the end of the queue: everything that is ready runs before.
    fn look_again(&self, cx: &Context<'_>) -> Poll<()> {
        // It will look anyway, whatever deadline is added until then.
        self.awaited_ns.set(0);
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Ready once the timerfd has fired (or had fired for an earlier setting: the caller looks again).
    fn sleep(&self, cx: &mut Context<'_>, now: u64, until_ns: u64) -> Poll<()> {
        if self.armed_for_ns.get() != until_ns {
            self.arm(until_ns - now);
            self.armed_for_ns.set(until_ns);
        }
        let Ok(mut guard) = ready!(self.fd.poll_read_ready(cx)) else {
            return Poll::Pending; // the runtime is shutting down
        };
        let mut expirations = [0u8; 8];
        // SAFETY: reads at most 8 bytes into an array of 8; the descriptor does not block.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), expirations.as_mut_ptr().cast(), 8) };
        guard.clear_ready();
        if read == 8 {
            self.timers.slept_until(self.armed_for_ns.replace(0));
        }
        Poll::Ready(())
    }

    fn arm(&self, after_ns: u64) {
        let zero = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let setting = libc::itimerspec {
            it_interval: zero,
            it_value: libc::timespec {
                tv_sec: (after_ns / 1_000_000_000) as libc::time_t,
                tv_nsec: (after_ns % 1_000_000_000).max(1) as libc::c_long,
            },
        };
        // SAFETY: valid descriptor and setting; the old setting is not asked for.
        unsafe { libc::timerfd_settime(self.fd.as_raw_fd(), 0, &setting, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::time::{SleepUntil, now_ns, remove_timer, sleep_until};
    use std::pin::Pin;
    use std::sync::Mutex;
    use std::task::Wake;

    /// Drops a sleep when it is woken.
    struct Drops(Mutex<Option<SleepUntil>>);

    impl Wake for Drops {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().unwrap().take());
        }
    }

    fn poll(sleep: &mut SleepUntil, waker: &Waker) {
        let mut cx = Context::from_waker(waker);
        assert!(Pin::new(sleep).poll(&mut cx).is_pending());
    }

    #[test]
    fn a_sleep_that_is_dropped_leaves_nothing_with_the_timer_even_while_others_are_woken() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let timer = Rc::new(HeapTimer::new(Arc::new(Recorder::new(0, 1, 1)), false).unwrap());
        install_timer(timer.clone());
        let turn = || timer.timers.turn();

        let mut sleep = sleep_until(u64::MAX);
        poll(&mut sleep, Waker::noop());
        assert!(matches!(
            turn(),
            Wait::Until {
                deadline_ns: u64::MAX,
                ..
            }
        ));
        drop(sleep);
        assert_eq!(turn(), Wait::Forever);

        let mut later = sleep_until(u64::MAX);
        poll(&mut later, Waker::noop());
        let soon = Duration::from_millis(500);
        let mut sooner = sleep_until(now_ns() + soon.as_nanos() as u64);
        poll(&mut sooner, &Arc::new(Drops(Mutex::new(Some(later)))).into());
        std::thread::sleep(soon);
        assert_eq!(turn(), Wait::Not);
        assert_eq!(turn(), Wait::Forever);
        remove_timer();
    }
}
