//! A connection: its descriptor, its two buffers, and at most one operation in flight. The buffers are the stream's, and
//! are handed over with each operation: nobody but the kernel can reach them until it has ended.
use crate::connect::{Address, open_socket};
use crate::executor::Reactor;
use crate::sys;
use std::cell::Cell;
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
struct Buffers {
    request: Vec<u8>,
    input: Vec<u8>,
    /// What was received and not yet consumed: `input[start..end]`.
    start: usize,
    end: usize,
}

impl Buffers {
    /// Free room for what will be received: place and length, at least 1.
    #[inline]
    fn room(&mut self) -> (*mut u8, usize) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.input.len() > KEPT_BYTES {
                self.input = Vec::new();
            }
        }
        if self.end == self.input.len() {
            self.grow();
        }
        let room = &mut self.input[self.end..];
        (room.as_mut_ptr(), room.len())
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
    fn new(fd: OwnedFd) -> Self {
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

    #[inline]
    fn begin(&self, step: Step, task: u32, mut buffers: Box<Buffers>) {
        self.request
            .set((buffers.request.as_ptr(), buffers.request.len()));
        if matches!(step, Step::Exchange | Step::Receive) {
            self.room.set(buffers.room());
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

/// One connection of the current thread's reactor. Dropping it while an operation is in flight shuts it down at once;
/// memory and descriptor are freed when the kernel has given the operation back.
pub struct Stream {
    conn: Rc<Conn>,
    reactor: Rc<Reactor>,
    /// `None`: an operation is in flight, or was given up and has them still.
    buffers: Option<Box<Buffers>>,
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
                buffers: None,
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
        &mut self.buffers.get_or_insert_default().request
    }

    /// What has been received and not consumed.
    #[inline]
    pub fn input(&self) -> &[u8] {
        match &self.buffers {
            Some(buffers) => &buffers.input[buffers.start..buffers.end],
            None => &[],
        }
    }

    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        if let Some(buffers) = &mut self.buffers {
            buffers.start = (buffers.start + bytes).min(buffers.end);
        }
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
        let wanted = self.request().len();
        let result = self.operate(Step::Send).await;
        self.request().clear();
        if result? == wanted {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    /// Whether an operation has not ended: its future waits, or was dropped.
    pub fn is_in_flight(&self) -> bool {
        self.conn.is_in_flight()
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
                if let Some(buffers) = &mut self.buffers {
                    buffers.end += bytes;
                }
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
        let Operation { stream, step, begun } = &mut *self;
        if !*begun {
            if stream.conn.state.get() != State::Idle {
                return Poll::Ready(Err(abandoned()));
            }
            let buffers = stream.buffers.take().unwrap_or_default();
            stream.conn.begin(*step, stream.reactor.current_task(), buffers);
            stream.reactor.io.begin(&stream.conn);
            *begun = true;
        }
        match stream.conn.state.get() {
            State::Done(result) => {
                stream.conn.state.set(State::Idle);
                stream.buffers = stream.conn.held.take();
                Poll::Ready(match usize::try_from(result) {
                    Ok(bytes) => Ok(bytes),
                    Err(_) => Err(failed(&stream.conn, result)),
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
