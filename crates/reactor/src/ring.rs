//! io_uring: requests and answers are put into a ring shared with the kernel, and one system call a turn hands over
//! whatever has gathered and takes back whatever has ended. An exchange is a send and a receive, handed over together;
//! only the receive is reported when all is well. A large request is linked to its receive, so that an answer that comes
//! early cannot end the operation while the kernel still reads the request. A small one fits into the socket's buffer,
//! which the last answer has shown to be empty, and is sent before the call returns or not at all: there the link, whose
//! second half the kernel begins in a step of its own, is left out (docs/method/reactor.md).
//!
//! Each completion names its operation, not its connection alone. Of a failed send and the receive linked to it the kernel
//! reports one or both; the first ends the operation, and one that comes later belongs to nothing any more.
use crate::conn::{Conn, Conns, Step};
use crate::sys;
use crate::timers::Wait;
use io_uring::types::{Fd, Fixed, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

const SUBMISSIONS: u32 = 1024;
const COMPLETIONS: u32 = 8192;
/// Descriptors that are registered with the kernel once, not at each operation; further ones are used unregistered.
const REGISTERED: [u32; 2] = [16_384, 1_024];
/// `user_data`, from below: what has ended, the slot, the operation's number.
const PART_BITS: u32 = 2;
const SLOT_BITS: u32 = 30;
const OPERATION_BITS: u32 = 31;
/// The operation, or of an exchange the receive.
const LAST: u64 = 0;
/// The sending half of an exchange: reported only when it fails.
const SENDING: u64 = 1;
/// The same, and the receive is linked to it: it will not be begun.
const SENDING_LINKED: u64 = 2;
/// A request of at most this is taken by an empty socket at once: the smallest send buffer is larger.
const SURE_BYTES: usize = 2048;
/// Marks a timer; the other bits are its deadline.
const TIMER: u64 = 1 << 63;
/// From linux/io_uring.h: begin a receive by waiting, because the answer cannot be there yet.
const POLL_FIRST: u16 = 1;

pub struct Ring {
    ring: RefCell<IoUring>,
    conns: RefCell<Conns>,
    registered: u32,
    in_flight: Cell<usize>,
    /// Operations begun.
    operations: Cell<u32>,
    /// Deadline of the timer that the next wait relies on; 0: none. Set once per deadline and not once per wait: to
    /// set and cancel one cost as much as the rest of a turn.
    timer_ns: Cell<u64>,
    /// How long that timer runs, where the kernel reads it.
    timer: Cell<Timespec>,
}

/// The connection whose operation has this mark, unless that has ended.
#[inline]
fn find(conns: &Conns, user_data: u64) -> Option<&Rc<Conn>> {
    let conn = conns.get(low(user_data >> PART_BITS, SLOT_BITS) as u32)?;
    let same = mark(conn) >> PART_BITS == user_data >> PART_BITS;
    (same && conn.is_in_flight()).then_some(conn)
}

/// Of the operation that was begun last on a connection.
#[inline]
fn mark(conn: &Conn) -> u64 {
    let operation = low(conn.operation.get().into(), OPERATION_BITS);
    (operation << SLOT_BITS | u64::from(conn.slot.get())) << PART_BITS
}

#[inline]
fn low(value: u64, bits: u32) -> u64 {
    value & ((1 << bits) - 1)
}

fn build() -> io::Result<IoUring> {
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_cqsize(COMPLETIONS)
        .dontfork()
        .build(SUBMISSIONS)
}

/// Whether this kernel has, and this process may use, all of io_uring that is needed. The error says what is missing.
pub fn usable() -> io::Result<()> {
    let mut ring = build()?;
    // SAFETY: an operation that does nothing, with no memory of ours. A filter may let a ring be made and not be entered.
    if unsafe { ring.submission().push(&opcode::Nop::new().build()) }.is_ok() {
        ring.submit_and_wait(1)?;
    }
    let params = ring.params();
    if params.is_feature_ext_arg() && params.is_feature_skip_cqe_on_success() && params.is_feature_nodrop() {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this kernel's io_uring is too old (6.1 or newer is needed)",
        ))
    }
}

impl Ring {
    pub fn new() -> io::Result<Self> {
        let ring = build()?;
        let register = |count: &u32| ring.submitter().register_files_sparse(*count).is_ok();
        let registered = REGISTERED.into_iter().find(register).unwrap_or(0);
        Ok(Self {
            ring: RefCell::new(ring),
            conns: RefCell::default(),
            registered,
            in_flight: Cell::new(0),
            operations: Cell::new(0),
            timer_ns: Cell::new(0),
            timer: Cell::new(Timespec::new()),
        })
    }

    pub fn attach(&self, conn: &Rc<Conn>) -> io::Result<()> {
        let mut conns = self.conns.borrow_mut();
        let slot = conns.reserve();
        if slot < self.registered {
            let ring = self.ring.borrow();
            if let Err(error) = ring.submitter().register_files_update(slot, &[conn.raw()]) {
                conns.release(slot);
                return Err(error);
            }
        }
        conns.put(slot, conn);
        Ok(())
    }

    /// From here on the ring does the waiting: a descriptor that does not block would be answered with an error.
    pub fn connected(&self, conn: &Conn) -> io::Result<()> {
        sys::set_blocking(&conn.fd)
    }

    pub fn detach(&self, conn: &Conn) {
        let slot = conn.slot.get();
        if slot < self.registered {
            let _ = self.ring.borrow().submitter().register_files_update(slot, &[-1]);
        }
        self.conns.borrow_mut().release(slot);
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.get()
    }

    #[inline]
    pub fn begin(&self, conn: &Conn) {
        self.in_flight.set(self.in_flight.get() + 1);
        self.operations.set(self.operations.get().wrapping_add(1));
        conn.operation.set(self.operations.get());
        let last = mark(conn) | LAST;
        match conn.step.get() {
            Step::Exchange => {
                let (sending, how, link) = if conn.unsent().1 > SURE_BYTES {
                    (SENDING_LINKED, libc::MSG_WAITALL, squeue::Flags::IO_LINK)
                } else {
                    // Should a socket be full all the same, the kernel may not come back to a request that an early
                    // answer has freed.
                    (SENDING, libc::MSG_DONTWAIT, squeue::Flags::empty())
                };
                let send = self.send(conn, how).flags(link | squeue::Flags::SKIP_SUCCESS);
                let receive = self.receive(conn, POLL_FIRST).user_data(last);
                self.push(&[send.user_data(last | sending), receive]);
            }
            Step::Receive => self.push(&[self.receive(conn, 0).user_data(last)]),
            Step::Send => self.push(&[self.send(conn, libc::MSG_WAITALL).user_data(last)]),
            Step::Connect => {
                let poll = opcode::PollAdd::new(Fd(conn.raw()), libc::POLLOUT as u32);
                self.push(&[poll.build().user_data(last)]);
            }
        }
    }

    #[inline]
    fn send(&self, conn: &Conn, how: i32) -> squeue::Entry {
        let (bytes, length) = conn.unsent();
        let slot = conn.slot.get();
        if slot < self.registered {
            opcode::Send::new(Fixed(slot), bytes, length as u32)
                .flags(libc::MSG_NOSIGNAL | how)
                .build()
        } else {
            opcode::Send::new(Fd(conn.raw()), bytes, length as u32)
                .flags(libc::MSG_NOSIGNAL | how)
                .build()
        }
    }

    #[inline]
    fn receive(&self, conn: &Conn, how: u16) -> squeue::Entry {
        let (bytes, length) = conn.room();
        let slot = conn.slot.get();
        if slot < self.registered {
            opcode::Recv::new(Fixed(slot), bytes, length as u32)
                .ioprio(how)
                .build()
        } else {
            opcode::Recv::new(Fd(conn.raw()), bytes, length as u32)
                .ioprio(how)
                .build()
        }
    }

    /// Both halves of an exchange go in together.
    #[inline]
    fn push(&self, entries: &[squeue::Entry]) {
        let mut ring = self.ring.borrow_mut();
        // SAFETY: the buffers belong to a `Conn` that stays in the table until its operation has been given back.
        while unsafe { ring.submission().push_multiple(entries) }.is_err() {
            // Full: submit the entries so far. An error here occurs again at the next turn, and is reported then.
            if ring.submit().is_err() {
                std::hint::spin_loop();
            }
        }
    }

    /// Unless one is set that ends as early. A later one is left to end by itself.
    fn set_timer(&self, deadline_ns: u64, now_ns: u64) {
        let set_ns = self.timer_ns.get();
        if set_ns != 0 && set_ns <= deadline_ns {
            return;
        }
        let left = sys::timespec(deadline_ns.saturating_sub(now_ns));
        self.timer
            .set(Timespec::new().sec(left.tv_sec as u64).nsec(left.tv_nsec as u32));
        self.timer_ns.set(deadline_ns);
        let timer = opcode::Timeout::new(self.timer.as_ptr()).build();
        self.push(&[timer.user_data(deadline_ns | TIMER)]);
    }

    /// Hands over and takes back. True: the wait ended because its time was over.
    pub fn turn(&self, wait: Wait, wake: &mut dyn FnMut(u32)) -> io::Result<bool> {
        if let Wait::Until { deadline_ns, now_ns } = wait {
            self.set_timer(deadline_ns, now_ns);
        }
        let mut ring = self.ring.borrow_mut();
        enter(&mut ring, wait)?;
        let mut timed_out = false;
        let mut dead = Vec::new();
        {
            let conns = self.conns.borrow();
            for completion in ring.completion() {
                if completion.user_data() & TIMER != 0 {
                    if completion.user_data() == self.timer_ns.get() | TIMER {
                        self.timer_ns.set(0);
                        timed_out = true;
                    }
                    continue;
                }
                let Some(conn) = find(&conns, completion.user_data()) else {
                    continue;
                };
                let part = low(completion.user_data(), PART_BITS);
                if part == SENDING {
                    // The other half would wait for an answer that cannot come.
                    conn.send_error
                        .set(send_error(completion.result(), libc::ENOBUFS));
                    sys::shut_down(conn.raw());
                    continue;
                }
                self.in_flight.set(self.in_flight.get() - 1);
                conn.complete(match part {
                    SENDING_LINKED => send_error(completion.result(), libc::EPIPE),
                    _ => completion.result(),
                });
                if conn.abandoned.get() {
                    dead.push(conn.clone());
                } else {
                    wake(conn.task.get());
                }
            }
        }
        drop(ring);
        dead.iter().for_each(|conn| self.detach(conn));
        Ok(timed_out)
    }
}

/// Of a send that did not take the whole request: its own error number, or `short` where it has none.
#[cold]
fn send_error(result: i32, short: i32) -> i32 {
    if result < 0 && result != -libc::EAGAIN {
        result
    } else {
        -short
    }
}

/// The one system call.
fn enter(ring: &mut IoUring, wait: Wait) -> io::Result<()> {
    let waiting = ring.submission().len() as u32;
    let completions = u32::from(wait != Wait::Not);
    // SAFETY: no signal mask is given.
    let entered = unsafe {
        ring.submitter()
            .enter::<libc::sigset_t>(waiting, completions, EnterFlags::GETEVENTS.bits(), None)
    };
    match entered {
        Ok(_) => Ok(()),
        // Interrupted by a signal, or completions have to be taken first: the next turn goes on.
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::executor::{Io, Reactor, block_on};
    use crate::margin::Margin;
    use crate::stream::Stream;
    use bakeoff_model::run::IoKind;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Stands for the second completion of a failed exchange, which some kernels post and others do not.
    #[test]
    fn a_completion_of_an_operation_that_has_ended_touches_no_later_one() {
        if usable().is_err() {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = crate::Address::Tcp(listener.local_addr().unwrap());
        let serving = std::thread::spawn(move || {
            for byte in [1, 2] {
                let mut stream = listener.accept().unwrap().0;
                let _ = stream.read(&mut [0]).unwrap();
                stream.write_all(&[byte]).unwrap();
            }
        });
        let ask = async |stream: &mut Stream| {
            stream.request().push(0);
            stream.exchange().await.unwrap();
            stream.input().to_vec()
        };
        let main = async {
            let reactor = Reactor::current().unwrap();
            let Io::Ring(ring) = &reactor.io else { return };
            let mut first = Stream::connect(&address).await.unwrap();
            assert_eq!(ask(&mut first).await, [1]);
            let late = mark(ring.conns.borrow().get(0).unwrap()) | LAST;
            drop(first);
            let mut second = Stream::connect(&address).await.unwrap();
            ring.push(&[opcode::Nop::new().build().user_data(late)]);
            assert_eq!(ask(&mut second).await, [2]);
            assert_eq!(ring.in_flight(), 0);
        };
        block_on(IoKind::IoUring, Margin::new(false), Box::new(|_| {}), main).unwrap();
        serving.join().unwrap();
    }
}
