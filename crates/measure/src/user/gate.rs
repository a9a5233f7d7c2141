//! Where users wait, made and at their places, until their worker knows when the run begins. To make 50,000 of them takes
//! a third of a second, several times that where others work: it may not happen on the run's time.
use crate::user::watchdog::UserCell;
use std::cell::OnceCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// Of one worker.
pub struct Gate<T>(OnceCell<Rc<T>>);

impl<T> Default for Gate<T> {
    fn default() -> Self {
        Self(OnceCell::new())
    }
}

impl<T> Gate<T> {
    /// What everybody waits for; only the first one counts.
    pub fn open(&self, shared: T, cells: &[Rc<UserCell>]) {
        let _ = self.0.set(Rc::new(shared));
        cells.iter().for_each(|cell| cell.wake());
    }

    pub async fn opened(&self, cell: &UserCell) -> Rc<T> {
        poll_fn(|cx| match self.0.get() {
            Some(shared) => Poll::Ready(shared.clone()),
            None => {
                cell.remember(cx);
                Poll::Pending
            }
        })
        .await
    }
}
