//! Fewer sessions than users: a free session goes to whoever has waited longest. One pool per worker, so nothing is
//! shared between threads.
use crate::user::session::Place;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

pub struct Pool<S> {
    free: RefCell<Vec<Place<S>>>,
    waiting: RefCell<VecDeque<Rc<Ticket<S>>>>,
}

/// One user's place in the queue, made once.
pub struct Ticket<S> {
    place: RefCell<Option<Place<S>>>,
    waker: RefCell<Option<Waker>>,
}

impl<S> Default for Ticket<S> {
    fn default() -> Self {
        Self {
            place: RefCell::new(None),
            waker: RefCell::new(None),
        }
    }
}

impl<S> Pool<S> {
    pub fn new(places: Vec<Place<S>>, users: usize) -> Self {
        Self {
            free: RefCell::new(places),
            waiting: RefCell::new(VecDeque::with_capacity(users)),
        }
    }

    /// Whoever drops it before it completes must [`leave`](Self::leave).
    pub async fn acquire(&self, ticket: &Rc<Ticket<S>>) -> Place<S> {
        // Whoever gives a session back hands it to the first in the queue, so a free one means an empty queue.
        if let Some(place) = self.free.borrow_mut().pop() {
            return place;
        }
        self.waiting.borrow_mut().push_back(ticket.clone());
        poll_fn(|cx| match ticket.place.borrow_mut().take() {
            Some(place) => Poll::Ready(place),
            None => {
                *ticket.waker.borrow_mut() = Some(cx.waker().clone());
                Poll::Pending
            }
        })
        .await
    }

    /// Gives up the place in the queue, and a session that has come meanwhile.
    pub fn leave(&self, ticket: &Rc<Ticket<S>>) {
        self.waiting
            .borrow_mut()
            .retain(|other| !Rc::ptr_eq(other, ticket));
        let come = ticket.place.borrow_mut().take();
        come.into_iter().for_each(|place| self.release(place));
    }

    pub fn release(&self, place: Place<S>) {
        let Some(next) = self.waiting.borrow_mut().pop_front() else {
            self.free.borrow_mut().push(place);
            return;
        };
        *next.place.borrow_mut() = Some(place);
        if let Some(waker) = next.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::session::Seat;
    use std::future::Future;
    use std::task::Context;

    fn place(session: &str) -> Place<&str> {
        Place {
            seat: Seat::new(session, 0, 0),
            reader: None,
        }
    }

    #[test]
    fn a_session_goes_to_whoever_has_waited_longest() {
        let pool = Pool::new(vec![place("a")], 3);
        let tickets: Vec<Rc<Ticket<&str>>> = (0..3).map(|_| Rc::default()).collect();
        let mut cx = Context::from_waker(Waker::noop());
        let mut asked: Vec<_> = tickets.iter().map(|t| Box::pin(pool.acquire(t))).collect();
        let Poll::Ready(place) = asked[1].as_mut().poll(&mut cx) else {
            panic!("a session was free")
        };
        assert!(asked[2].as_mut().poll(&mut cx).is_pending());
        assert!(asked[0].as_mut().poll(&mut cx).is_pending());
        pool.release(place);
        assert!(asked[0].as_mut().poll(&mut cx).is_pending());
        assert!(asked[2].as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn whoever_leaves_the_queue_takes_no_session_along() {
        let place = place("a");
        let pool = Pool::new(vec![], 2);
        let tickets: Vec<Rc<Ticket<&str>>> = (0..2).map(|_| Rc::default()).collect();
        let mut cx = Context::from_waker(Waker::noop());
        let mut asked: Vec<_> = tickets.iter().map(|t| Box::pin(pool.acquire(t))).collect();
        assert!(asked.iter_mut().all(|a| a.as_mut().poll(&mut cx).is_pending()));
        pool.release(place);
        pool.leave(&tickets[0]); // it had been given the session
        assert!(asked[1].as_mut().poll(&mut cx).is_ready());
        let third = Rc::default();
        assert!(Box::pin(pool.acquire(&third)).as_mut().poll(&mut cx).is_pending());
        pool.leave(&third); // it was still in the queue
        assert!(pool.waiting.borrow().is_empty());
    }
}
