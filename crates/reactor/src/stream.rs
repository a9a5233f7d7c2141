//! A connection as its user sees it: a request to write, an answer to read, and one operation at a time. The buffers are
//! the stream's, and are handed over with each operation: nobody but the kernel can reach them until it has ended.
use crate::conn::{Buffers, Conn, Step};
use crate::connect::{Address, open_socket};
use crate::executor::Reactor;
use crate::sys;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A server's queue of new connections was full: tried again after this.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);

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
            Some(buffers) => buffers.received(),
            None => &[],
        }
    }

    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        if let Some(buffers) = &mut self.buffers {
            buffers.consume(bytes);
        }
    }

    /// Takes other buffers: what the next operation sends and where it receives to.
    pub fn swap_buffers(&mut self, others: &mut Option<Box<Buffers>>) {
        std::mem::swap(&mut self.buffers, others);
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

    /// What has arrived and was not received, without waiting: bytes, at most 1; 0: the other side has closed. Errors:
    /// `WouldBlock` when nothing has arrived.
    pub fn peek(&self) -> io::Result<usize> {
        sys::peek(self.conn.raw())
    }

    /// This side's port; `None` on a unix socket.
    pub fn local_port(&self) -> Option<u16> {
        sys::local_port(&self.conn.fd)
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
                    buffers.fill(bytes);
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
            if !stream.conn.is_idle() {
                return Poll::Ready(Err(abandoned()));
            }
            let buffers = stream.buffers.take().unwrap_or_default();
            stream.conn.begin(*step, stream.reactor.current_task(), buffers);
            stream.reactor.io.begin(&stream.conn);
            *begun = true;
        }
        let Some((result, buffers)) = stream.conn.take_result() else {
            return Poll::Pending;
        };
        stream.buffers = buffers;
        // A receive that ends with nothing after a send that failed was ended for that failure.
        let whole = result > 0 || (result == 0 && stream.conn.send_error.get() == 0);
        Poll::Ready(match whole {
            true => Ok(result as usize),
            false => Err(failed(&stream.conn, result)),
        })
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
