//! Tables are loaded one after the other, each by all loaders at once: a row whose table refers to another finds that one's
//! rows stored. Chunks are handed out in their order, so whoever waits, waits for chunks that others have in hand.
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::time::sleep;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(2);

#[derive(Debug, Default)]
pub struct Order(Mutex<Stored>);

#[derive(Debug, Default)]
struct Stored {
    /// All chunks before it are stored.
    first_open: u64,
    /// Chunks that are stored beyond it.
    beyond: BTreeSet<u64>,
    /// A chunk will never be stored.
    failed: bool,
}

impl Order {
    /// Waits until the first `chunks` of them are stored; false: they never will be.
    pub async fn wait(&self, chunks: u64) -> bool {
        loop {
            let (reached, failed) = {
                let stored = self.stored();
                (stored.first_open >= chunks, stored.failed)
            };
            if reached || failed {
                return reached;
            }
            sleep(LOOK).await;
        }
    }

    /// What an attempt at a chunk came to. After a conflict there is another.
    pub fn note(&self, chunk: u64, error: Option<&OpError>) {
        let mut stored = self.stored();
        match error.map(|error| error.outcome) {
            None => {
                stored.beyond.insert(chunk);
                while let Some(next) = stored
                    .beyond
                    .first()
                    .copied()
                    .filter(|next| *next == stored.first_open)
                {
                    stored.beyond.remove(&next);
                    stored.first_open += 1;
                }
            }
            Some(Outcome::Fail(FailClass::Conflict | FailClass::Overload)) => {}
            Some(_) => stored.failed = true,
        }
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// `None`: it would wait.
    fn waited(order: &Order, chunks: u64) -> Option<bool> {
        let stored = order.stored();
        let decided = stored.first_open >= chunks || stored.failed;
        drop(stored);
        decided.then(
            || match pin!(order.wait(chunks)).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(reached) => reached,
                Poll::Pending => panic!("it does not wait"),
            },
        )
    }

    #[test]
    fn a_chunk_waits_for_all_before_it_whoever_is_ready_first() {
        let order = Order::default();
        assert_eq!(waited(&order, 0), Some(true));
        order.note(1, None);
        assert_eq!(waited(&order, 1), None);
        order.note(0, Some(&OpError::fail(FailClass::Conflict, "1213", "deadlock")));
        assert_eq!(waited(&order, 1), None);
        order.note(0, None);
        assert_eq!(waited(&order, 2), Some(true));
        assert_eq!(waited(&order, 3), None);
    }

    #[test]
    fn nobody_waits_for_what_never_comes() {
        let order = Order::default();
        order.note(
            0,
            Some(&OpError::fail(FailClass::Constraint, "1452", "no such row")),
        );
        assert_eq!(waited(&order, 1), Some(false));
    }
}
