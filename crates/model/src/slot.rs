//! Memory in which the futures of a session's calls lie, one after the other, whatever their types: a call through an object
//! then allocates nothing. A future is dropped in place, as any other; of one that is leaked ([`std::mem::forget`]) the memory
//! is never used again.
use std::future::Future;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit, forget, replace, take};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// Room for one future, which grows to the largest.
#[derive(Default)]
pub struct Slot {
    room: Vec<MaybeUninit<u128>>,
    /// A future lies in it, or was leaked there.
    taken: bool,
}

/// A future in a slot, which is free again when this is dropped.
pub struct Placed<'s, F: ?Sized>(NonNull<F>, PhantomData<&'s mut Slot>);

/// A future in a slot that has been polled once.
pub enum Started<'s, T> {
    Ended(T),
    Waits(Placed<'s, dyn Future<Output = T> + 's>),
}

/// Calls what starts a future, with the context of who awaits it, and awaits what was started.
#[inline(always)]
pub fn started<'s, T, S: FnOnce(&mut Context<'_>) -> Started<'s, T>>(start: S) -> Call<'s, S, T> {
    Call::Starts(start)
}

pub enum Call<'s, S, T> {
    Starts(S),
    Waits(Placed<'s, dyn Future<Output = T> + 's>),
    Over,
}

impl<S, T> Unpin for Call<'_, S, T> {}

impl<'s, T, S: FnOnce(&mut Context<'_>) -> Started<'s, T>> Future for Call<'s, S, T> {
    type Output = T;
    #[inline(always)] // deep in a future the compiler takes every call for a rare one
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if let Call::Waits(placed) = &mut *self {
            return Pin::new(placed).poll(cx);
        }
        let Call::Starts(start) = replace(&mut *self, Call::Over) else {
            return Poll::Pending;
        };
        match start(cx) {
            Started::Ended(output) => Poll::Ready(output),
            Started::Waits(placed) => {
                *self = Call::Waits(placed);
                Poll::Pending
            }
        }
    }
}

/// What lies in a slot, in the order in which it ends.
struct Guest<'s, F> {
    future: F,
    _frees: Frees<'s>,
}

struct Frees<'s>(&'s mut bool);

impl Slot {
    #[inline(always)]
    fn put<'s, F: Future + 's>(&'s mut self, make: impl FnOnce() -> F) -> Placed<'s, Guest<'s, F>> {
        const { assert!(align_of::<Guest<'s, F>>() <= align_of::<u128>()) };
        let units = size_of::<Guest<'s, F>>().div_ceil(size_of::<u128>());
        if self.taken || self.room.capacity() < units {
            self.renew(units);
        }
        self.taken = true;
        let place: *mut Guest<'s, F> = self.room.as_mut_ptr().cast();
        // SAFETY: the room is large enough and aligned (above), and nothing lies in it (`taken` was false, or it is new). It
        // stays where it is and as it is for 's, in which nobody else may use the slot, and after that if the guest is leaked.
        let placed = unsafe {
            (&raw mut (*place).future).write(make());
            (&raw mut (*place)._frees).write(Frees(&mut self.taken));
            NonNull::new_unchecked(place)
        };
        Placed(placed, PhantomData)
    }

    /// Puts a future in and polls it, so that one which is ready at once costs its caller one call through an object.
    #[inline(always)]
    pub fn start<'s, F: Future + 's>(
        &'s mut self,
        cx: &mut Context<'_>,
        make: impl FnOnce() -> F,
    ) -> Started<'s, F::Output> {
        let mut placed = self.put(make);
        match Pin::new(&mut placed).poll(cx) {
            Poll::Ready(output) => Started::Ended(output),
            Poll::Pending => Started::Waits(placed.erased()),
        }
    }

    #[cold]
    fn renew(&mut self, units: usize) {
        self.abandon_leaked();
        self.room = Vec::with_capacity(units.max(16));
    }

    fn abandon_leaked(&mut self) {
        if take(&mut self.taken) {
            forget(take(&mut self.room));
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.abandon_leaked();
    }
}

impl<F: Future> Future for Guest<'_, F> {
    type Output = F::Output;
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: a projection to a field that is pinned with the whole: `Guest` has neither `Drop` nor `Unpin` of its own, and
        // nothing moves `future`.
        unsafe { self.map_unchecked_mut(|guest| &mut guest.future) }.poll(cx)
    }
}

impl<'s, F: Future + 's> Placed<'s, F> {
    fn erased(self) -> Placed<'s, dyn Future<Output = F::Output> + 's> {
        Placed(ManuallyDrop::new(self).0, PhantomData)
    }
}

impl<F: Future + ?Sized> Future for Placed<'_, F> {
    type Output = F::Output;
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: written by `put`, borrowed by nobody else, and moved nowhere until `drop` ends it in place; where that never
        // comes its memory is not used again.
        unsafe { Pin::new_unchecked(self.0.as_mut()) }.poll(cx)
    }
}

impl<F: ?Sized> Drop for Placed<'_, F> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: written by `put`, and ended nowhere else.
        unsafe { self.0.drop_in_place() };
    }
}

impl Drop for Frees<'_> {
    #[inline]
    fn drop(&mut self) {
        *self.0 = false;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // test code throughout
    use super::*;
    use std::cell::Cell;
    use std::future::{poll_fn, ready};
    use std::pin::pin;
    use std::rc::Rc;
    use std::task::Waker;

    fn now<T>(future: impl Future<Output = T>) -> Poll<T> {
        pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Counts what is dropped.
    struct Counts(Rc<Cell<u32>>);

    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    /// Waits once; borrows from itself across that.
    async fn waits(counts: Counts, kilobytes: u8) -> usize {
        let bytes = vec![1_u8; 1000 * usize::from(kilobytes)];
        let borrowed = &bytes;
        let large = [u64::from(kilobytes); 64];
        let mut polled = false;
        poll_fn(|_| {
            if std::mem::replace(&mut polled, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        let _ = &counts;
        borrowed.len() + large[63] as usize
    }

    #[test]
    fn futures_of_any_size_come_and_go_in_one_place() {
        let mut slot = Slot::default();
        let mut places = vec![];
        for round in 0..4 {
            assert_eq!(now(slot.put(|| ready(round))), Poll::Ready(round));
            places.push(slot.room.as_ptr());
        }
        assert!(places.iter().all(|place| *place == places[0]));
        let dropped = Rc::new(Cell::new(0));
        let mut placed = slot.put(|| waits(Counts(dropped.clone()), 2));
        assert_eq!(now(&mut placed), Poll::Pending);
        assert_eq!(now(&mut placed), Poll::Ready(2002));
        drop(placed);
        assert_eq!(dropped.get(), 1);
        assert!(!slot.taken && slot.room.capacity() * 16 >= 512);
    }

    #[test]
    fn a_call_that_is_started_ends_at_once_or_waits_in_the_slot() {
        let (mut slot, dropped) = (Slot::default(), Rc::new(Cell::new(0)));
        assert_eq!(now(started(|cx| slot.start(cx, || ready(3)))), Poll::Ready(3));
        assert!(!slot.taken);
        let mut context = Context::from_waker(Waker::noop());
        let mut call = Box::pin(started(|cx| slot.start(cx, || waits(Counts(dropped.clone()), 1))));
        assert_eq!(call.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(call.as_mut().poll(&mut context), Poll::Ready(1001));
        drop(call);
        assert!(!slot.taken);
        assert_eq!(dropped.get(), 1);
    }

    #[test]
    fn a_future_that_is_given_up_is_dropped_where_it_lies() {
        let (mut slot, dropped) = (Slot::default(), Rc::new(Cell::new(0)));
        for given_up in 1..=3 {
            let mut placed = slot.put(|| waits(Counts(dropped.clone()), 1));
            assert_eq!(now(&mut placed), Poll::Pending);
            drop(placed);
            assert_eq!(dropped.get(), given_up);
        }
        drop(slot.put(|| waits(Counts(dropped.clone()), 1)));
        assert_eq!(dropped.get(), 4, "never polled");
    }

    #[test]
    fn a_leaked_future_keeps_its_memory() {
        let (mut slot, dropped) = (Slot::default(), Rc::new(Cell::new(0)));
        let mut leaked = slot.put(|| waits(Counts(dropped.clone()), 1));
        assert_eq!(now(&mut leaked), Poll::Pending);
        let place = leaked.0.as_ptr().cast::<()>().cast_const();
        forget(leaked);
        assert_eq!(now(slot.put(|| ready(7))), Poll::Ready(7));
        assert_ne!(slot.room.as_ptr().cast::<()>(), place);
        drop(slot);
        assert_eq!(dropped.get(), 0);
    }

    #[test]
    fn a_slot_is_free_after_a_panic() {
        let (mut slot, dropped) = (Slot::default(), Rc::new(Cell::new(0)));
        let counts = Counts(dropped.clone());
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            now(slot.put(|| async move {
                let _counts = counts;
                std::panic::resume_unwind(Box::new("told to"));
            }))
        }));
        assert!(panics.is_err());
        assert_eq!(dropped.get(), 1);
        assert_eq!(now(slot.put(|| ready(1))), Poll::Ready(1));
    }
}
