//! io_uring: requests and answers are put into a ring shared with the kernel, and one system call a turn hands over
//! whatever has gathered and takes back whatever has ended. An exchange is a send and a receive, handed over together;
//! only the receive is reported when all is well. A large request is linked to its receive, so that an answer that comes
//! early cannot end the operation while the kernel still reads the request. A small one fits into the socket's buffer,
//! which the last answer has shown to be empty, and is sent before the call returns: there the link, whose second half
//! the kernel begins in a step of its own, is left out (docs/method/reactor.md).
use crate::connection::{Conn, Step};
use crate::sys;
use crate::timers::Wait;
use io_uring::types::{Fd, Fixed, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

const SUBMISSIONS: u32 = 1024;
const COMPLETIONS: u32 = 8192;
/// Descriptors the kernel is told once instead of at each operation; more than these are used as they are.
const REGISTERED: [u32; 2] = [16_384, 1_024];
/// Bits of `user_data` below the slot.
const KIND_BITS: u32 = 1;
const LAST: u64 = 0;
/// The sending half of an exchange: reported only when it fails.
const SENDING_HALF: u64 = 1;
/// A request of at most this is taken by an empty socket at once: the smallest send buffer is larger.
const SURE_BYTES: usize = 2048;
/// Marks a timer; the other bits are its deadline.
const TIMER: u64 = 1 << 63;
/// From linux/io_uring.h: begin a receive by waiting, because the answer cannot be there yet.
const POLL_FIRST: u16 = 1;
const SEND_FLAGS: i32 = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;

pub struct Ring {
    ring: RefCell<IoUring>,
    conns: RefCell<Conns>,
    registered: u32,
    in_flight: Cell<usize>,
    /// Deadline of the timer that the next wait relies on; 0: none. Set once per deadline and not once per wait: to
    /// set and cancel one cost as much as the rest of a turn.
    timer_ns: Cell<u64>,
    /// How long that timer runs, where the kernel reads it.
    timer: Cell<Timespec>,
}

#[derive(Default)]
struct Conns {
    slots: Vec<Option<Rc<Conn>>>,
    free: Vec<u32>,
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
            timer_ns: Cell::new(0),
            timer: Cell::new(Timespec::new()),
        })
    }

    pub fn attach(&self, conn: &Rc<Conn>) -> io::Result<()> {
        let mut conns = self.conns.borrow_mut();
        let slot = match conns.free.pop() {
            Some(slot) => slot,
            None => {
                conns.slots.push(None);
                conns.slots.len() as u32 - 1
            }
        };
        if slot < self.registered {
            let ring = self.ring.borrow();
            if let Err(error) = ring.submitter().register_files_update(slot, &[conn.raw()]) {
                conns.free.push(slot);
                return Err(error);
            }
        }
        conn.slot.set(slot);
        conns.slots[slot as usize] = Some(conn.clone());
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
        let mut conns = self.conns.borrow_mut();
        conns.slots[slot as usize] = None;
        conns.free.push(slot);
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.get()
    }

    #[inline]
    pub fn begin(&self, conn: &Conn) {
        self.in_flight.set(self.in_flight.get() + 1);
        let last = u64::from(conn.slot.get()) << KIND_BITS | LAST;
        match conn.step.get() {
            Step::Exchange => {
                let linked = if conn.unsent().1 > SURE_BYTES {
                    squeue::Flags::IO_LINK
                } else {
                    squeue::Flags::empty()
                };
                let sending = self.send(conn).flags(linked | squeue::Flags::SKIP_SUCCESS);
                let receiving = self.receive(conn, POLL_FIRST).user_data(last);
                self.push(&[sending.user_data(last | SENDING_HALF), receiving]);
            }
            Step::Receive => self.push(&[self.receive(conn, 0).user_data(last)]),
            Step::Send => self.push(&[self.send(conn).user_data(last)]),
            Step::Connect => {
                let poll = opcode::PollAdd::new(Fd(conn.raw()), libc::POLLOUT as u32);
                self.push(&[poll.build().user_data(last)]);
            }
        }
    }

    #[inline]
    fn send(&self, conn: &Conn) -> squeue::Entry {
        let (bytes, length) = conn.unsent();
        let slot = conn.slot.get();
        if slot < self.registered {
            opcode::Send::new(Fixed(slot), bytes, length as u32)
                .flags(SEND_FLAGS)
                .build()
        } else {
            opcode::Send::new(Fd(conn.raw()), bytes, length as u32)
                .flags(SEND_FLAGS)
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
            // Full: hand over what there is. An error here will show again, and be told, at the next turn.
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
    pub fn turn(&self, wait: Wait, wake: &mut impl FnMut(u32)) -> io::Result<bool> {
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
                let (slot, kind) = (completion.user_data() >> KIND_BITS, completion.user_data() & 1);
                let Some(Some(conn)) = conns.slots.get(slot as usize) else {
                    continue;
                };
                if kind == SENDING_HALF {
                    conn.send_error.set(completion.result().min(-1));
                    // The other half would wait for an answer that cannot come.
                    sys::shut_down(conn.raw());
                    continue;
                }
                self.in_flight.set(self.in_flight.get() - 1);
                conn.complete(completion.result());
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
