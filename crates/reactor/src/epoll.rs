//! epoll, for kernels and containers that do not allow io_uring. Edge-triggered and registered once per connection, so
//! that an exchange costs a send, a receive and its share of one wait: the receive is only tried once there is input.
use crate::conn::{Conn, Conns, Step};
use crate::sys;
use crate::timers::Wait;
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;

const EVENTS: usize = 1024;
/// Marks the timer among the events, as no slot does.
const TIMER: u64 = u64::MAX;
const INPUT: i32 = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET;
/// Only where something waits for it: a unix socket tells of room whenever the other side has read, which would wake us
/// once more for each request.
const INPUT_AND_ROOM: i32 = INPUT | libc::EPOLLOUT;

pub struct Epoll {
    fd: OwnedFd,
    events: RefCell<Vec<libc::epoll_event>>,
    conns: RefCell<Conns>,
    in_flight: Cell<usize>,
    timer: OwnedFd,
    /// What the timer is set for; 0: it is not set. Set once per deadline, and not with each wait.
    timer_ns: Cell<u64>,
}

impl Epoll {
    pub fn new() -> io::Result<Self> {
        // SAFETY: makes a descriptor.
        let fd = sys::owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }.into())?;
        // SAFETY: makes a descriptor.
        let timer =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        let timer = sys::owned(timer.into())?;
        watch(
            &fd,
            libc::EPOLL_CTL_ADD,
            timer.as_raw_fd(),
            libc::EPOLLIN | libc::EPOLLET,
            TIMER,
        )?;
        Ok(Self {
            fd,
            timer,
            timer_ns: Cell::new(0),
            events: RefCell::new(vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS]),
            conns: RefCell::default(),
            in_flight: Cell::new(0),
        })
    }

    pub fn attach(&self, conn: &Rc<Conn>) -> io::Result<()> {
        let mut conns = self.conns.borrow_mut();
        let slot = conns.reserve();
        if let Err(error) = watch(
            &self.fd,
            libc::EPOLL_CTL_ADD,
            conn.raw(),
            INPUT_AND_ROOM,
            slot.into(),
        ) {
            conns.release(slot);
            return Err(error);
        }
        conns.put(slot, conn);
        Ok(())
    }

    /// From here on there is room until a send says otherwise.
    pub fn connected(&self, conn: &Conn) -> io::Result<()> {
        self.change(conn, INPUT)
    }

    fn change(&self, conn: &Conn, interest: i32) -> io::Result<()> {
        watch(
            &self.fd,
            libc::EPOLL_CTL_MOD,
            conn.raw(),
            interest,
            conn.slot.get().into(),
        )
    }

    pub fn detach(&self, conn: &Conn) {
        // The kernel forgets a descriptor when it is closed, which is when the last owner lets go of `conn`.
        // SAFETY: removes our own descriptor; the event is not read.
        unsafe {
            libc::epoll_ctl(
                self.fd.as_raw_fd(),
                libc::EPOLL_CTL_DEL,
                conn.raw(),
                std::ptr::null_mut(),
            );
        }
        self.conns.borrow_mut().release(conn.slot.get());
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.get()
    }

    #[inline]
    pub fn begin(&self, conn: &Conn) {
        self.in_flight.set(self.in_flight.get() + 1);
        // Ended at once (an error, or an answer that had arrived): its future sees that in the same poll.
        if self.advance(conn) {
            self.in_flight.set(self.in_flight.get() - 1);
        }
    }

    /// Goes as far as it can without waiting. True: the operation has ended.
    #[inline]
    fn advance(&self, conn: &Conn) -> bool {
        let step = conn.step.get();
        if step == Step::Connect {
            if conn.writable.get() {
                conn.complete(0);
            }
            return conn.writable.get();
        }
        if matches!(step, Step::Exchange | Step::Send) && !self.write(conn) {
            return !conn.is_in_flight();
        }
        if step == Step::Send {
            conn.complete(conn.sent.get() as i32);
            return true;
        }
        if conn.readable.get() {
            self.read(conn)
        } else {
            false
        }
    }

    /// True: all is sent. Otherwise either it waits, or it has ended with an error.
    #[inline]
    fn write(&self, conn: &Conn) -> bool {
        loop {
            let (bytes, length) = conn.unsent();
            if length == 0 {
                return true;
            }
            // SAFETY: the request stays where it is for as long as the operation is in flight.
            let sent = unsafe { libc::send(conn.raw(), bytes.cast(), length, libc::MSG_NOSIGNAL) };
            match sys::checked(sent as i64) {
                Ok(sent) => conn.sent.set(conn.sent.get() + sent as usize),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) if self.change(conn, INPUT_AND_ROOM).is_ok() => return false,
                    number => {
                        conn.complete(-number.unwrap_or(libc::EIO));
                        return false;
                    }
                },
            }
        }
    }

    /// True: the operation has ended.
    #[inline]
    fn read(&self, conn: &Conn) -> bool {
        loop {
            let (bytes, length) = conn.room();
            // SAFETY: room for `length` bytes, which nobody else looks at before they are counted as received.
            let received = unsafe { libc::recv(conn.raw(), bytes.cast(), length, 0) };
            match sys::checked(received as i64) {
                Ok(received) => {
                    // Less than there was room for: nothing is left, and the next edge will tell of more. But an end
                    // that came with these bytes has had its edge.
                    conn.readable
                        .set(received == 0 || received as usize == length || conn.ended.get());
                    conn.complete(received as i32);
                    return true;
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) => {
                        conn.readable.set(false);
                        return false;
                    }
                    number => {
                        conn.complete(-number.unwrap_or(libc::EIO));
                        return true;
                    }
                },
            }
        }
    }

    /// True: the wait ended because its time was over.
    pub fn turn(&self, wait: Wait, wake: &mut dyn FnMut(u32)) -> io::Result<bool> {
        if let Wait::Until { deadline_ns, now_ns } = wait {
            self.set_timer(deadline_ns, now_ns)?;
        }
        let mut events = self.events.borrow_mut();
        let count = self.wait(&mut events, wait)?;
        let mut timed_out = false;
        for event in &events[..count] {
            if event.u64 == TIMER {
                self.timer_ns.set(0);
                timed_out = true;
                continue;
            }
            let (slot, seen) = (event.u64 as u32, event.events as i32);
            let Some(conn) = self.conns.borrow().get(slot).cloned() else {
                continue;
            };
            if seen & !libc::EPOLLOUT != 0 {
                conn.readable.set(true);
            }
            if seen & (libc::EPOLLRDHUP | libc::EPOLLERR | libc::EPOLLHUP) != 0 {
                conn.ended.set(true);
            }
            if seen & (libc::EPOLLOUT | libc::EPOLLERR | libc::EPOLLHUP) != 0 {
                conn.writable.set(true);
            }
            // Only after room: each change has the kernel tell again of what still holds, such as a hang-up.
            if seen & libc::EPOLLOUT != 0 && conn.step.get() != Step::Connect {
                self.change(&conn, INPUT)?;
            }
            if conn.is_in_flight() && self.advance(&conn) {
                self.in_flight.set(self.in_flight.get() - 1);
                if conn.abandoned.get() {
                    self.detach(&conn);
                } else {
                    wake(conn.task.get());
                }
            }
        }
        Ok(timed_out)
    }

    /// How many events there are.
    fn wait(&self, events: &mut [libc::epoll_event], wait: Wait) -> io::Result<usize> {
        let limit_ms = if wait == Wait::Not { 0 } else { -1 };
        // SAFETY: room for as many events as is said.
        let answer = unsafe {
            libc::epoll_wait(
                self.fd.as_raw_fd(),
                events.as_mut_ptr(),
                events.len() as i32,
                limit_ms,
            )
        };
        match sys::checked(answer.into()) {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Unless it is set to end as early.
    fn set_timer(&self, deadline_ns: u64, now_ns: u64) -> io::Result<()> {
        let set_ns = self.timer_ns.get();
        if set_ns != 0 && set_ns <= deadline_ns {
            return Ok(());
        }
        let setting = libc::itimerspec {
            it_interval: sys::timespec(0),
            it_value: sys::timespec(deadline_ns.saturating_sub(now_ns).max(1)),
        };
        self.timer_ns.set(deadline_ns);
        // SAFETY: valid descriptor and setting; the old setting is not asked for.
        let set = unsafe { libc::timerfd_settime(self.timer.as_raw_fd(), 0, &setting, std::ptr::null_mut()) };
        sys::checked(set.into()).map(drop)
    }
}

fn watch(epoll: &OwnedFd, how: i32, fd: RawFd, interest: i32, mark: u64) -> io::Result<()> {
    let mut event = libc::epoll_event {
        events: interest as u32,
        u64: mark,
    };
    // SAFETY: both descriptors are open and the event is valid for the call.
    let watched = unsafe { libc::epoll_ctl(epoll.as_raw_fd(), how, fd, &mut event) };
    sys::checked(watched.into()).map(drop)
}
