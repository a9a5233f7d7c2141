//! Sessions that were given up in the middle of a statement, until the server has ended them. A worker has one task
//! for all of its own, so that a server on which everything times out is not asked by a thousand connections at once.
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::thread::LocalKey;
use std::time::Duration;

/// Connecting, or ending one session, takes no longer; nobody waits for it.
pub const LIMIT: Duration = Duration::from_secs(5);
/// Of those beyond this nothing is kept: their connection is closed, which is all that they get.
const KEPT_MAX: usize = 4096;

/// Those of one thread.
pub struct Abandoned<S> {
    waiting: RefCell<VecDeque<S>>,
    /// Somebody works on them.
    in_hand: Cell<bool>,
}

impl<S> Default for Abandoned<S> {
    fn default() -> Self {
        Self {
            waiting: RefCell::default(),
            in_hand: Cell::new(false),
        }
    }
}

impl<S: 'static> Abandoned<S> {
    /// Keeps one more. The future that ends all of them, where nobody is at it; to be run alongside everything else.
    pub fn add<F: Future<Output = ()>>(
        these: &'static LocalKey<Self>,
        session: S,
        end_all: impl FnOnce() -> F,
    ) -> Option<impl Future<Output = ()>> {
        let begin = these
            .try_with(|these| {
                let mut waiting = these.waiting.borrow_mut();
                if waiting.len() < KEPT_MAX {
                    waiting.push_back(session);
                }
                !these.in_hand.replace(true)
            })
            .unwrap_or(false);
        begin.then(|| {
            let in_hand = InHand(these);
            let ending = end_all();
            async move {
                ending.await;
                drop(in_hand);
            }
        })
    }

    /// The next to be ended, of those that `suits` where it is given.
    pub fn next(these: &'static LocalKey<Self>, suits: impl Fn(&S) -> bool) -> Option<S> {
        these.with(|these| {
            let mut waiting = these.waiting.borrow_mut();
            let index = waiting.iter().position(suits)?;
            waiting.remove(index)
        })
    }

    /// Nothing can be done about these.
    pub fn forget(these: &'static LocalKey<Self>, unreachable: impl Fn(&S) -> bool) {
        these.with(|these| these.waiting.borrow_mut().retain(|session| !unreachable(session)));
    }
}

/// However the task ends, and it may be dropped with its runner: what it has left is not for the next.
struct InHand<S: 'static>(&'static LocalKey<Abandoned<S>>);

impl<S> Drop for InHand<S> {
    fn drop(&mut self) {
        let left = self.0.try_with(|these| {
            these.in_hand.set(false);
            these.waiting.take()
        });
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Waker};

    thread_local! {
        static THESE: Abandoned<u32> = Abandoned::default();
        static ENDED: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    }

    async fn end_all() {
        Abandoned::forget(&THESE, |session| *session == 13);
        while let Some(session) = Abandoned::next(&THESE, |_| true) {
            ENDED.with_borrow_mut(|ended| ended.push(session));
        }
    }

    fn give_up(session: u32) -> Option<impl Future<Output = ()>> {
        Abandoned::add(&THESE, session, end_all)
    }

    #[test]
    fn one_task_ends_all_and_the_next_one_is_begun_after_it() {
        let mut cx = Context::from_waker(Waker::noop());
        let task = give_up(1).map(Box::pin);
        assert!(give_up(2).is_none() && give_up(13).is_none(), "somebody is at it");
        assert!(task.unwrap().as_mut().poll(&mut cx).is_ready());
        assert_eq!(ENDED.take(), [1, 2]);
        // A runner that ends drops its tasks, also those that never ran.
        drop(give_up(3));
        let task = pin!(give_up(4).unwrap());
        assert!(task.poll(&mut cx).is_ready());
        assert_eq!(ENDED.take(), [4]);
        for session in 0..2 * KEPT_MAX as u32 {
            std::mem::forget(give_up(session));
        }
        assert_eq!(THESE.with(|these| these.waiting.borrow().len()), KEPT_MAX);
    }
}
