//! A connection as the kernel's side sees it: its descriptor, and at most one operation in flight, with the two buffers
//! that belong to it until it has ended. And the table of all that a reactor has. Plain data: rings and streams use it.
use std::cell::Cell;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;

/// Room for an answer at first; doubled whenever one fills it. Thousands of sessions own one each.
const INPUT_BYTES: usize = 4096;
/// Beyond this a buffer is not kept for the next request or answer.
const KEPT_BYTES: usize = 256 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Waiting until the socket can be written to (a connect has ended).
    Connect,
    /// The whole request, then the first bytes of the answer.
    Exchange,
    Send,
    Receive,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    InFlight,
    /// Bytes moved, or a negative error number.
    Done(i32),
}

/// A request, and what has been received.
#[derive(Default)]
pub struct Buffers {
    pub request: Vec<u8>,
    input: Vec<u8>,
    /// What was received and not yet consumed: `input[start..end]`.
    start: usize,
    end: usize,
}

impl Buffers {
    /// What has been received and not consumed.
    #[inline]
    pub fn received(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Counts `bytes` more as received; the free room given out must have held them.
    #[inline]
    pub fn fill(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// Free room for what comes next, at least 1 byte.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.input.len() > KEPT_BYTES {
                self.input = Vec::new();
            }
        }
        if self.end == self.input.len() {
            self.grow();
        }
        &mut self.input[self.end..]
    }

    /// Makes room: by moving what is left to the front when that is half or more, else by doubling.
    #[cold]
    fn grow(&mut self) {
        if self.start > 0 && self.start >= self.input.len() / 2 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        } else {
            let wanted = (self.input.len() * 2).max(INPUT_BYTES);
            self.input.reserve_exact(wanted - self.input.len());
            self.input.resize(wanted, 0);
        }
    }
}

/// What the reactor keeps of a connection for as long as anything is in flight on it.
pub struct Conn {
    pub fd: OwnedFd,
    /// Place in the reactor's table.
    pub slot: Cell<u32>,
    pub task: Cell<u32>,
    state: Cell<State>,
    pub step: Cell<Step>,
    /// The stream's buffers, while an operation is in flight.
    held: Cell<Option<Box<Buffers>>>,
    /// In them, the request and the room for the answer: place and length.
    request: Cell<(*const u8, usize)>,
    room: Cell<(*mut u8, usize)>,
    /// io_uring: number of the operation, by which its completions are known.
    pub operation: Cell<u32>,
    /// io_uring: what the kernel said to the sending half of an exchange; 0: nothing went wrong.
    pub send_error: Cell<i32>,
    /// epoll: of the request, bytes sent.
    pub sent: Cell<usize>,
    /// epoll: an edge was seen and not yet used up.
    pub readable: Cell<bool>,
    /// epoll: the other side will send no more.
    pub ended: Cell<bool>,
    /// epoll: a connect has ended.
    pub writable: Cell<bool>,
    /// The stream is gone: freed when nothing is in flight.
    pub abandoned: Cell<bool>,
}

impl Conn {
    pub fn new(fd: OwnedFd) -> Self {
        Self {
            fd,
            slot: Cell::new(0),
            task: Cell::new(0),
            state: Cell::new(State::Idle),
            step: Cell::new(Step::Connect),
            held: Cell::default(),
            request: Cell::new((std::ptr::null(), 0)),
            room: Cell::new((std::ptr::null_mut(), 0)),
            operation: Cell::new(0),
            send_error: Cell::new(0),
            sent: Cell::new(0),
            readable: Cell::new(false),
            ended: Cell::new(false),
            writable: Cell::new(false),
            abandoned: Cell::new(false),
        }
    }

    pub fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    #[inline]
    pub fn is_in_flight(&self) -> bool {
        self.state.get() == State::InFlight
    }

    /// Neither is anything in flight, nor has anything ended that nobody has taken.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.state.get() == State::Idle
    }

    /// Only of one that is idle.
    #[inline]
    pub fn begin(&self, step: Step, task: u32, mut buffers: Box<Buffers>) {
        self.request
            .set((buffers.request.as_ptr(), buffers.request.len()));
        if matches!(step, Step::Exchange | Step::Receive) {
            let room = buffers.room();
            self.room.set((room.as_mut_ptr(), room.len()));
        }
        self.held.set(Some(buffers));
        self.task.set(task);
        self.step.set(step);
        self.sent.set(0);
        self.send_error.set(0);
        self.state.set(State::InFlight);
    }

    /// The operation in flight has ended with bytes moved or a negative error number.
    #[inline]
    pub fn complete(&self, result: i32) {
        self.state.set(State::Done(result));
    }

    /// Once, what the operation has ended with, and its buffers.
    #[inline]
    pub fn take_result(&self) -> Option<(i32, Option<Box<Buffers>>)> {
        let State::Done(result) = self.state.get() else {
            return None;
        };
        self.state.set(State::Idle);
        Some((result, self.held.take()))
    }

    /// What is left to send: place and length.
    #[inline]
    pub fn unsent(&self) -> (*const u8, usize) {
        let (request, length) = self.request.get();
        let sent = self.sent.get();
        (request.wrapping_add(sent), length - sent)
    }

    /// Free room for what will be received: place and length, at least 1.
    #[inline]
    pub fn room(&self) -> (*mut u8, usize) {
        self.room.get()
    }
}

/// The connections of a reactor, each at a place that is its own until it is released.
#[derive(Default)]
pub struct Conns {
    slots: Vec<Option<Rc<Conn>>>,
    free: Vec<u32>,
}

impl Conns {
    /// A place for one more, which either is `put` there or has its place released.
    pub fn reserve(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        })
    }

    pub fn put(&mut self, slot: u32, conn: &Rc<Conn>) {
        conn.slot.set(slot);
        self.slots[slot as usize] = Some(conn.clone());
    }

    pub fn release(&mut self, slot: u32) {
        self.slots[slot as usize] = None;
        self.free.push(slot);
    }

    #[inline]
    pub fn get(&self, slot: u32) -> Option<&Rc<Conn>> {
        self.slots.get(slot as usize)?.as_ref()
    }
}
