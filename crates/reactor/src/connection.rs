//! A connection: its descriptor, its two buffers, and at most one operation in flight.
use crate::connect::{Address, open_socket};
use crate::executor::Reactor;
use crate::sys;
use std::cell::{Cell, UnsafeCell};
use std::future::Future;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Room for an answer at first; doubled whenever one fills it. Thousands of sessions own one each.
const INPUT_BYTES: usize = 4096;
/// Beyond this a buffer is not kept for the next request or answer.
const KEPT_BYTES: usize = 256 * 1024;
/// A server's queue of new connections was full: tried again after this.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);

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

#[derive(Default)]
pub struct Input {
    pub bytes: Vec<u8>,
    /// What was received and not yet consumed: `bytes[start..end]`.
    pub start: usize,
    pub end: usize,
}

/// What the reactor keeps of a connection for as long as anything is in flight on it.
pub struct Conn {
    pub fd: OwnedFd,
    /// Place in the reactor's table.
    pub slot: Cell<u32>,
    pub task: Cell<u32>,
    state: Cell<State>,
    pub step: Cell<Step>,
    /// Of the request, bytes sent.
    pub sent: Cell<usize>,
    /// What the kernel said to the sending half of an exchange; 0: nothing went wrong.
    pub send_error: Cell<i32>,
    /// epoll: an edge was seen and not yet used up.
    pub readable: Cell<bool>,
    /// epoll: the other side will send no more.
    pub ended: Cell<bool>,
    /// epoll: a connect has ended.
    pub writable: Cell<bool>,
    /// The stream is gone: freed when nothing is in flight.
    pub abandoned: Cell<bool>,
    request: UnsafeCell<Vec<u8>>,
    input: UnsafeCell<Input>,
}

impl Conn {
    fn new(fd: OwnedFd) -> Self {
        Self {
            fd,
            slot: Cell::new(0),
            task: Cell::new(0),
            state: Cell::new(State::Idle),
            step: Cell::new(Step::Connect),
            sent: Cell::new(0),
            send_error: Cell::new(0),
            readable: Cell::new(false),
            ended: Cell::new(false),
            writable: Cell::new(false),
            abandoned: Cell::new(false),
            request: UnsafeCell::default(),
            input: UnsafeCell::default(),
        }
    }

    pub fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    pub fn is_in_flight(&self) -> bool {
        self.state.get() == State::InFlight
    }

    /// The operation in flight has ended with bytes moved or a negative error number.
    #[inline]
    pub fn complete(&self, result: i32) {
        self.state.set(State::Done(result));
    }

    /// What is left to send: place and length.
    #[inline]
    pub fn unsent(&self) -> (*const u8, usize) {
        // SAFETY: the request is only changed through `&mut Stream` while nothing is in flight, and this is asked when an
        // operation begins or goes on; nothing keeps a reference beyond this call.
        let request = unsafe { &*self.request.get() };
        let sent = self.sent.get().min(request.len());
        (request[sent..].as_ptr(), request.len() - sent)
    }

    /// Free room for what will be received: place and length, at least 1.
    #[inline]
    pub fn room(&self) -> (*mut u8, usize) {
        // SAFETY: as for `unsent`.
        let input = unsafe { &mut *self.input.get() };
        if input.start == input.end {
            (input.start, input.end) = (0, 0);
            if input.bytes.len() > KEPT_BYTES {
                input.bytes = Vec::new();
            }
        }
        if input.end == input.bytes.len() {
            grow(input);
        }
        let room = &mut input.bytes[input.end..];
        (room.as_mut_ptr(), room.len())
    }

    #[inline]
    fn received(&self, bytes: usize) {
        // SAFETY: nothing is in flight any more, and the only other user is the stream that is being polled.
        unsafe { (*self.input.get()).end += bytes };
    }
}

/// Makes room: by moving what is left to the front when that is half or more, else by doubling.
#[cold]
fn grow(input: &mut Input) {
    if input.start > 0 && input.start >= input.bytes.len() / 2 {
        input.bytes.copy_within(input.start..input.end, 0);
        (input.start, input.end) = (0, input.end - input.start);
    } else {
        let wanted = (input.bytes.len() * 2).max(INPUT_BYTES);
        input.bytes.reserve_exact(wanted - input.bytes.len());
        input.bytes.resize(wanted, 0);
    }
}

/// One connection of the current thread's reactor. Dropping it while an operation is in flight shuts it down at once;
/// memory and descriptor are freed when the kernel has given the operation back.
pub struct Stream {
    conn: Rc<Conn>,
    reactor: Rc<Reactor>,
}

impl Stream {
    /// Connects; on TCP without delay of small packets. Errors: what the kernel says, and `Other` outside a reactor.
    pub async fn connect(address: &Address) -> io::Result<Stream> {
        let reactor = Reactor::current()?;
        loop {
            let (fd, connected) = match open_socket(address) {
                Err(error) if address.is_local() && error.kind() == io::ErrorKind::WouldBlock => {
                    bakeoff_model::time::sleep(QUEUE_PAUSE).await;
                    continue;
                }
                opened => opened?,
            };
            let conn = Rc::new(Conn::new(fd));
            reactor.io.attach(&conn)?;
            let mut stream = Stream {
                conn,
                reactor: reactor.clone(),
            };
            if !connected {
                stream.operate(Step::Connect).await?;
            }
            sys::take_error(&stream.conn.fd)?;
            stream.reactor.io.connected(&stream.conn)?;
            return Ok(stream);
        }
    }

    /// The request to send next; what was sent is cleared from it.
    #[inline]
    pub fn request(&mut self) -> &mut Vec<u8> {
        debug_assert!(!self.conn.is_in_flight());
        // SAFETY: `&mut self`, and the kernel has the buffer only while an operation is in flight, during which the
        // stream is borrowed by its future; if that future was dropped, `operate` refuses every further use.
        unsafe { &mut *self.conn.request.get() }
    }

    /// What has been received and not consumed.
    #[inline]
    pub fn input(&self) -> &[u8] {
        // SAFETY: bytes up to `end` are never written to by an operation; the buffer is moved only by `&mut self`.
        let input = unsafe { &*self.conn.input.get() };
        &input.bytes[input.start..input.end]
    }

    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        // SAFETY: `&mut self`, nothing in flight.
        let input = unsafe { &mut *self.conn.input.get() };
        input.start = (input.start + bytes).min(input.end);
    }

    /// Sends the request and receives the first bytes of the answer, as one operation. At least one byte more is in
    /// `input` afterwards. Errors: what the kernel says; `UnexpectedEof` when the other side has closed.
    #[inline]
    pub async fn exchange(&mut self) -> io::Result<()> {
        let result = self.operate(Step::Exchange).await;
        self.request().clear();
        self.take_in(result)
    }

    /// At least one byte more in `input`.
    #[inline]
    pub async fn receive(&mut self) -> io::Result<()> {
        let result = self.operate(Step::Receive).await;
        self.take_in(result)
    }

    /// Sends the whole request and waits for no answer.
    pub async fn send(&mut self) -> io::Result<()> {
        let result = self.operate(Step::Send).await;
        self.request().clear();
        result.map(drop)
    }

    /// Hands the kernel some last bytes without waiting, if nothing is in flight and there is room for them.
    pub fn say(&mut self, bytes: &[u8]) {
        if !self.conn.is_in_flight() {
            sys::send_now(self.conn.raw(), bytes);
        }
    }

    #[inline]
    fn take_in(&mut self, result: io::Result<usize>) -> io::Result<()> {
        match result? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            )),
            bytes => {
                self.conn.received(bytes);
                Ok(())
            }
        }
    }

    #[inline]
    fn operate(&mut self, step: Step) -> Operation<'_> {
        Operation {
            stream: self,
            step,
            begun: false,
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.conn.is_in_flight() {
            self.conn.abandoned.set(true);
            sys::shut_down(self.conn.raw());
        } else {
            self.reactor.io.detach(&self.conn);
        }
    }
}

struct Operation<'a> {
    stream: &'a mut Stream,
    step: Step,
    begun: bool,
}

impl Future for Operation<'_> {
    type Output = io::Result<usize>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let stream = &*self.stream;
        let conn = &stream.conn;
        if !self.begun {
            if conn.state.get() != State::Idle {
                return Poll::Ready(Err(abandoned()));
            }
            conn.task.set(stream.reactor.current_task());
            conn.step.set(self.step);
            conn.sent.set(0);
            conn.send_error.set(0);
            conn.state.set(State::InFlight);
            stream.reactor.io.begin(conn);
            self.begun = true;
        }
        let conn = &self.stream.conn;
        match conn.state.get() {
            State::Done(result) => {
                conn.state.set(State::Idle);
                Poll::Ready(match usize::try_from(result) {
                    Ok(bytes) => Ok(bytes),
                    Err(_) => Err(failed(conn, result)),
                })
            }
            _ => Poll::Pending,
        }
    }
}

#[cold]
fn failed(conn: &Conn, result: i32) -> io::Error {
    let send_error = conn.send_error.get();
    io::Error::from_raw_os_error(-if send_error < 0 { send_error } else { result })
}

#[cold]
fn abandoned() -> io::Error {
    io::Error::other("an operation on this connection was given up before it ended")
}
