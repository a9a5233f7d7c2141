//! Timeouts that cost nothing per operation: a user writes its deadline into its cell; now and then the worker looks
//! at all its cells and wakes those overdue, whose operation is then dropped and its session replaced. Nothing here
//! reaches a blocking runner, where a call returns when it returns.
use crate::job::Terms;
use bakeoff_model::time::now_ns;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Shorter ones would be looked for too seldom.
pub const TIMEOUT_MIN_S: f64 = 0.01;

/// How often the worker looks: ten times per timeout, so that none is kept a tenth longer than was asked, and at least
/// every 10 ms.
fn period(timeout_ns: u64) -> Duration {
    Duration::from_nanos(timeout_ns / 10).clamp(Duration::from_millis(1), Duration::from_millis(10))
}

/// One user, as its worker's watchdog sees it.
pub struct UserCell {
    deadline_ns: Cell<u64>,
    expired: Cell<bool>,
    /// Whether anything was waited for since `take_pended`.
    pended: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Default for UserCell {
    fn default() -> Self {
        Self {
            deadline_ns: Cell::new(u64::MAX),
            expired: Cell::new(false),
            pended: Cell::new(false),
            waker: RefCell::new(None),
        }
    }
}

impl UserCell {
    #[inline]
    pub fn take_pended(&self) -> bool {
        self.pended.replace(false)
    }

    /// The next operation may take until then.
    #[inline]
    pub fn arm(&self, deadline_ns: u64) {
        self.deadline_ns.set(deadline_ns);
    }

    #[inline]
    pub fn disarm(&self) {
        self.deadline_ns.set(u64::MAX);
        self.expired.set(false);
    }

    #[inline]
    pub fn is_expired(&self) -> bool {
        self.expired.get()
    }

    fn expire_if_due(&self, now: u64) {
        if now > self.deadline_ns.get() {
            self.expired.set(true);
            self.wake();
        }
    }

    /// Polls the user again, so that it sees what has changed.
    pub fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

/// Runs `future` until it completes or its deadline passes (`None`; the caller then drops it). For what happens now and
/// then: a user's operations have a leaner future of their own.
pub async fn timed<T>(
    cell: &UserCell,
    deadline_ns: u64,
    future: Pin<&mut dyn Future<Output = T>>,
) -> Option<T> {
    cell.arm(deadline_ns);
    let answer = Timed { cell, future }.await;
    cell.disarm();
    answer
}

struct Timed<'a, T> {
    cell: &'a UserCell,
    future: Pin<&'a mut dyn Future<Output = T>>,
}

impl<T> Future for Timed<'_, T> {
    type Output = Option<T>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.future.as_mut().poll(cx) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if self.cell.is_expired() => Poll::Ready(None),
            Poll::Pending => {
                self.cell.remember(cx);
                Poll::Pending
            }
        }
    }
}

impl UserCell {
    /// A task's waker is the same for all its life, so it is cloned once.
    pub fn remember(&self, cx: &Context<'_>) {
        self.pended.set(true);
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
    }
}

/// The cells of one worker's users, and a watchdog over them.
pub fn watched(job: &Terms, users: usize) -> Vec<Rc<UserCell>> {
    let cells: Vec<Rc<UserCell>> = (0..users).map(|_| Rc::default()).collect();
    let (seen, control) = (cells.clone(), job.control.clone());
    let mut was_stopped = false;
    let look = move || {
        let stopped = control.is_stopped();
        scan(&seen, stopped && !was_stopped);
        was_stopped = stopped;
    };
    job.on().every(period(job.timeout_ns), Box::new(look));
    cells
}

/// One look at all cells. `wake_all`: something has changed that everybody must see.
pub fn scan(cells: &[Rc<UserCell>], wake_all: bool) {
    let now = now_ns();
    for cell in cells {
        cell.expire_if_due(now);
        if wake_all {
            cell.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    /// Polls once, looks at the cell once, polls again.
    fn poll_twice<F: Future<Output: Copy>>(
        cell: &Rc<UserCell>,
        deadline_ns: u64,
        future: F,
    ) -> Poll<Option<F::Output>> {
        let mut cx = Context::from_waker(Waker::noop());
        let future = pin!(future);
        let mut timed = pin!(timed(cell, deadline_ns, future));
        if let Poll::Ready(answer) = timed.as_mut().poll(&mut cx) {
            return Poll::Ready(answer);
        }
        scan(std::slice::from_ref(cell), false);
        timed.as_mut().poll(&mut cx)
    }

    #[test]
    fn an_overdue_future_is_given_up_and_the_next_one_starts_afresh() {
        let cell = Rc::new(UserCell::default());
        assert_eq!(
            poll_twice(&cell, now_ns(), std::future::pending::<()>()),
            Poll::Ready(None)
        );
        assert_eq!(
            poll_twice(&cell, u64::MAX, std::future::ready(7)),
            Poll::Ready(Some(7))
        );
    }

    #[test]
    fn a_timeout_is_kept_to_a_tenth_of_itself() {
        for timeout_ms in [10_u64, 15, 50, 100] {
            let late = period(timeout_ms * 1_000_000);
            assert!(
                late <= Duration::from_millis(timeout_ms) / 10,
                "{timeout_ms}: {late:?}"
            );
        }
        assert_eq!(period(60_000_000_000), Duration::from_millis(10));
        assert_eq!(period(1), Duration::from_millis(1));
    }

    #[test]
    fn nothing_expires_before_its_deadline() {
        let cell = Rc::new(UserCell::default());
        let later_ns = now_ns() + 1_000_000_000;
        assert_eq!(
            poll_twice(&cell, later_ns, std::future::pending::<()>()),
            Poll::Pending
        );
    }
}
