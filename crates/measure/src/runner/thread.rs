//! One OS thread per session, for embedded and blocking engines: whatever a future waits for, its thread waits for.
use super::{Erased, Runner};
use crate::record::recorder::Recorder;
use crate::record::times::add;
use bakeoff_model::deadlines::Place;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::time::{Timer, install_timer, now_ns};
use bakeoff_reactor::Margin;
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

pub struct ThreadRunner;

impl Runner for ThreadRunner {
    fn run(&self, recorder: Arc<Recorder>, spins: bool, main: Erased<'_, ()>) -> Result<(), Trouble> {
        // Sleep to the nanosecond asked for: the default lets the kernel be 50 us late.
        // SAFETY: affects only the calling thread's timers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1usize) };
        install_timer(Rc::new(SleepThenSpin {
            margin: RefCell::new(Margin::new(spins)),
            recorder,
        }));
        block_on(main);
        Ok(())
    }

    fn run_all(&self, futures: Vec<Erased<'static, ()>>) -> Erased<'static, ()> {
        Box::pin(async {
            for future in futures {
                future.await;
            }
        })
    }

    fn every(&self, _: Duration, _: Box<dyn FnMut()>) {}
}

struct SleepThenSpin {
    margin: RefCell<Margin>,
    recorder: Arc<Recorder>,
}

impl Timer for SleepThenSpin {
    fn wait(&self, deadline_ns: u64, _: &Waker, _: &mut Option<Place>) -> bool {
        let mut margin = self.margin.borrow_mut();
        let wake_at_ns = deadline_ns.saturating_sub(margin.get_ns());
        let now = now_ns();
        if wake_at_ns > now {
            std::thread::sleep(Duration::from_nanos(wake_at_ns - now));
            margin.learn(now_ns().saturating_sub(wake_at_ns));
        }
        let spin_from_ns = now_ns();
        while now_ns() < deadline_ns {
            std::hint::spin_loop();
        }
        add(
            &self.recorder.counters.spin_ns,
            now_ns().saturating_sub(spin_from_ns),
        );
        true
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The least executor there is.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
