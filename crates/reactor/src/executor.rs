//! Tasks and the loop: poll what is ready, wake whom the clock wakes, hand over to the kernel and take back, again.
use crate::conn::Conn;
use crate::epoll::Epoll;
use crate::margin::Margin;
use crate::ring::Ring;
use crate::timers::{Timers, Wait};
use bakeoff_model::deadlines::Place;
use bakeoff_model::run::IoKind;
use bakeoff_model::time::{Timer, install_timer, now_ns, sleep};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::mem::ManuallyDrop;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Duration;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Task number of the future given to `block_on`.
const MAIN: u32 = 0;
/// Turns that may pass without a look at the kernel while tasks keep each other busy.
const TURNS_WITHOUT_IO: u32 = 16;
/// For connections that were shut down when their work was dropped: the kernel gives them back at once.
const LAST_WAIT_NS: u64 = 1_000_000_000;
/// What others still have to do once the main future has ended may take so long: a server that answers needs a few ms.
const PATIENCE: Duration = Duration::from_millis(300);

thread_local! {
    static CURRENT: RefCell<Option<Rc<Reactor>>> = const { RefCell::new(None) };
}

/// How the reactor talks to the kernel.
#[expect(clippy::large_enum_variant)] // one per thread
pub enum Io {
    Ring(Ring),
    Epoll(Epoll),
}

pub struct Reactor {
    tasks: RefCell<Tasks>,
    /// Task numbers, each at most once.
    ready: RefCell<Vec<u32>>,
    current: Cell<u32>,
    /// Tasks that are waited for once the main future has ended.
    owed: Cell<usize>,
    timers: Timers,
    pub io: Io,
}

#[derive(Default)]
struct Tasks {
    /// `None`: free, the main future, or being polled.
    futures: Vec<Option<Task>>,
    queued: Vec<bool>,
    free: Vec<u32>,
}

macro_rules! on_either {
    ($io:expr, $it:ident => $do:expr) => {
        match $io {
            Io::Ring($it) => $do,
            Io::Epoll($it) => $do,
        }
    };
}

impl Io {
    fn new(kind: IoKind) -> io::Result<Self> {
        Ok(match kind {
            IoKind::IoUring => Io::Ring(Ring::new()?),
            IoKind::Epoll => Io::Epoll(Epoll::new()?),
        })
    }
    pub fn attach(&self, conn: &Rc<Conn>) -> io::Result<()> {
        on_either!(self, io => io.attach(conn))
    }
    pub fn detach(&self, conn: &Rc<Conn>) {
        on_either!(self, io => io.detach(conn))
    }
    pub fn connected(&self, conn: &Conn) -> io::Result<()> {
        on_either!(self, io => io.connected(conn))
    }
    #[inline]
    pub fn begin(&self, conn: &Conn) {
        on_either!(self, io => io.begin(conn))
    }
    fn in_flight(&self) -> usize {
        on_either!(self, io => io.in_flight())
    }
    #[inline]
    fn turn(&self, wait: Wait, mut wake: impl FnMut(u32)) -> io::Result<bool> {
        on_either!(self, io => io.turn(wait, &mut wake))
    }
}

/// Runs `main`, and whatever it spawns, on the calling thread. `margin`: how long before a deadline it stays awake;
/// `count_spin` receives the ns. Errors: the kernel refused a ring, an epoll, or the call that waits.
pub fn block_on<F: Future>(
    kind: IoKind,
    margin: Margin,
    count_spin: Box<dyn Fn(u64)>,
    main: F,
) -> io::Result<F::Output> {
    let reactor = Rc::new(Reactor {
        tasks: RefCell::new(Tasks {
            futures: vec![None],
            queued: vec![true],
            free: vec![],
        }),
        ready: RefCell::new(vec![MAIN]),
        current: Cell::new(MAIN),
        owed: Cell::new(0),
        timers: Timers::new(margin, count_spin),
        io: Io::new(kind)?,
    });
    CURRENT.with(|slot| *slot.borrow_mut() = Some(reactor.clone()));
    install_timer(Rc::new(ReactorTimer(reactor.clone())));
    // Also when a task panics: nothing may be in flight when the buffers go.
    let _close = Close(reactor.clone());
    reactor.run(pin!(main))
}

/// Adds a future to the others. Only inside [`block_on`]; outside it is dropped.
pub fn spawn(future: impl Future<Output = ()> + 'static) {
    if let Ok(reactor) = Reactor::current() {
        reactor.add(Box::pin(future));
    }
}

/// The same, and [`block_on`] gives it a moment to end before it returns.
pub fn spawn_to_end(future: impl Future<Output = ()> + 'static) {
    if let Ok(reactor) = Reactor::current() {
        let owed = Owed(reactor.clone());
        reactor.owed.set(reactor.owed.get() + 1);
        reactor.add(Box::pin(async move {
            future.await;
            drop(owed);
        }));
    }
}

async fn lose_patience() {
    sleep(PATIENCE).await;
    if let Ok(reactor) = Reactor::current() {
        reactor.owed.set(0);
    }
}

/// Held by a task that is waited for.
struct Owed(Rc<Reactor>);

impl Drop for Owed {
    fn drop(&mut self) {
        self.0.owed.set(self.0.owed.get().saturating_sub(1));
    }
}

/// Runs all to their ends, side by side; outputs in the order of the futures.
pub async fn join_all<F: Future<Output: 'static> + 'static>(futures: Vec<F>) -> Vec<F::Output> {
    let count = futures.len();
    let outputs = Rc::new(RefCell::new((0..count).map(|_| None).collect::<Vec<_>>()));
    let left = Rc::new(Cell::new(count));
    let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
    for (index, future) in futures.into_iter().enumerate() {
        let (outputs, left, waker) = (outputs.clone(), left.clone(), waker.clone());
        spawn(async move {
            let output = future.await;
            outputs.borrow_mut()[index] = Some(output);
            left.set(left.get() - 1);
            if left.get() == 0 {
                waker.wake_by_ref();
            }
        });
    }
    poll_fn(|_| {
        if left.get() == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    outputs.take().into_iter().flatten().collect()
}

impl Reactor {
    pub fn current() -> io::Result<Rc<Reactor>> {
        let current = CURRENT.with(|slot| slot.borrow().clone());
        current.ok_or_else(|| io::Error::other("a connection can only be opened inside a reactor"))
    }

    #[inline]
    pub fn current_task(&self) -> u32 {
        self.current.get()
    }

    fn add(&self, future: Task) {
        let mut tasks = self.tasks.borrow_mut();
        let id = match tasks.free.pop() {
            Some(id) => {
                tasks.futures[id as usize] = Some(future);
                id
            }
            None => {
                tasks.futures.push(Some(future));
                tasks.queued.push(false);
                tasks.futures.len() as u32 - 1
            }
        };
        drop(tasks);
        self.wake(id);
    }

    #[inline]
    fn wake(&self, task: u32) {
        let mut tasks = self.tasks.borrow_mut();
        if let Some(queued) = tasks.queued.get_mut(task as usize)
            && !*queued
        {
            *queued = true;
            self.ready.borrow_mut().push(task);
        }
    }

    fn run<F: Future>(&self, mut main: Pin<&mut F>) -> io::Result<F::Output> {
        let mut turn = Vec::new();
        let mut turns_without_io = 0;
        let mut ended = None;
        loop {
            std::mem::swap(&mut turn, &mut *self.ready.borrow_mut());
            for task in turn.drain(..) {
                self.tasks.borrow_mut().queued[task as usize] = false;
                self.current.set(task);
                if task != MAIN {
                    self.poll_task(task);
                } else if ended.is_none()
                    && let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&waker(MAIN)))
                {
                    ended = Some(output);
                    if self.owed.get() > 0 {
                        spawn(lose_patience());
                    }
                }
            }
            if ended.is_some()
                && self.owed.get() == 0
                && let Some(output) = ended.take()
            {
                return Ok(output);
            }
            let mut wait = self.timers.turn();
            if !self.ready.borrow().is_empty() {
                turns_without_io += 1;
                if turns_without_io < TURNS_WITHOUT_IO {
                    continue;
                }
                wait = Wait::Not;
            }
            turns_without_io = 0;
            if self.io.turn(wait, |task| self.wake(task))?
                && let Wait::Until { deadline_ns, .. } = wait
            {
                self.timers.slept_until(deadline_ns);
            }
        }
    }

    #[inline]
    fn poll_task(&self, task: u32) {
        // Taken out while it is polled, so that it may spawn and wake others.
        let Some(mut future) = self.tasks.borrow_mut().futures[task as usize].take() else {
            return; // woken after its end
        };
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker(task)));
        let mut tasks = self.tasks.borrow_mut();
        if polled.is_pending() {
            tasks.futures[task as usize] = Some(future);
        } else {
            tasks.free.push(task);
            drop(tasks);
            drop(future);
        }
    }
}

struct Close(Rc<Reactor>);

impl Drop for Close {
    /// Drops what never ended, and waits until the kernel has given back every buffer.
    fn drop(&mut self) {
        // What is dropped may spawn: that goes into a table of its own, and is never polled.
        let tasks = self.0.tasks.take();
        drop(tasks);
        let until_ns = now_ns() + LAST_WAIT_NS;
        while self.0.io.in_flight() > 0 {
            let now_ns = now_ns();
            let wait = Wait::Until {
                deadline_ns: until_ns,
                now_ns,
            };
            if now_ns >= until_ns || self.0.io.turn(wait, |_| {}).is_err() {
                // Cannot be; but the kernel may still write there.
                std::mem::forget(self.0.clone());
                break;
            }
        }
        CURRENT.with(|slot| *slot.borrow_mut() = None);
        bakeoff_model::time::remove_timer();
    }
}

struct ReactorTimer(Rc<Reactor>);

impl Timer for ReactorTimer {
    fn wait(&self, deadline_ns: u64, waker: &Waker, place: &mut Option<Place>) -> bool {
        self.0.timers.add(deadline_ns, waker, place);
        false
    }

    fn forget(&self, place: Place) {
        self.0.timers.forget(place);
    }
}

/// A waker is its task's number and nothing else: making and dropping one is free. It finds its reactor through the
/// thread it is used on, so on another thread it wakes nobody, or a task of that thread once too often.
fn waker(task: u32) -> ManuallyDrop<Waker> {
    // SAFETY: the functions of the table use the pointer as a number only.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw(task)) })
}

fn raw(task: u32) -> RawWaker {
    const TABLE: RawWakerVTable = RawWakerVTable::new(
        |data| raw(data.addr() as u32),
        |data| wake(data.addr() as u32),
        |data| wake(data.addr() as u32),
        |_| {},
    );
    RawWaker::new(std::ptr::without_provenance(task as usize), &TABLE)
}

fn wake(task: u32) {
    CURRENT.with(|slot| {
        if let Some(reactor) = &*slot.borrow() {
            reactor.wake(task);
        }
    });
}
