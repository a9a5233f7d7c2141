//! Delays packets of sockets that have a mark (SO_MARK), as a longer way between machines does: a rule hands those that
//! arrive to a queue of the kernel, and they are released in their order when their time has come.
//!
//! - [`netlink`]: messages to the kernel's packet filter, and its answers;
//! - [`rule`]: which packets are queued; the kernel removes the rule with the process that made it;
//! - [`queue`]: the kernel's queue.
mod netlink;
mod queue;
mod rule;

use queue::Queue;
use rule::Rule;
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::{self, BufRead, ErrorKind, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// What is read from stdin, as one line of JSON. mark: above 0. delay_us: one way, so an answer takes twice as long.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    mark: u32,
    delay_us: u64,
}

/// Delays packets until `stdin` ends, then releases all. Says `{"delays":true}` when it begins to. Needs CAP_NET_ADMIN.
pub fn run(stdin: &io::Stdin, mut stdout: impl Write) -> io::Result<()> {
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    let asked: Asked = serde_json::from_str(&line)?;
    let mut queue = Queue::open()?;
    let rule = Rule::add(asked.mark, queue.number())?;
    stdout.write_all(b"{\"delays\":true}\n")?;
    stdout.flush()?;
    let mut waiting = Waiting::new(Duration::from_micros(asked.delay_us));
    while !ended(&queue, stdin.as_raw_fd(), waiting.next())? {
        while let Some(packet) = queue.receive()? {
            waiting.add(packet, Instant::now());
        }
        if let Some(packet) = waiting.due(Instant::now()) {
            queue.release(packet)?;
        }
    }
    drop(rule);
    while let Some(packet) = queue.receive()? {
        queue.release(packet)?;
    }
    waiting.last().map_or(Ok(()), |packet| queue.release(packet))
}

/// Waits for a packet, or until this time. Whether stdin has ended.
fn ended(queue: &Queue, stdin: RawFd, until: Option<Instant>) -> io::Result<bool> {
    let watch = |fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut watched = [watch(queue.as_raw_fd()), watch(stdin)];
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let timeout = left.map(|left| libc::timespec {
        tv_sec: left.as_secs() as libc::time_t,
        tv_nsec: left.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: two descriptors that the arguments keep open, and a time that lives until the call returns.
    let done = unsafe { libc::ppoll(watched.as_mut_ptr(), 2, timeout, std::ptr::null()) };
    match done {
        -1 => Err(io::Error::last_os_error()).or_else(|error| match error.kind() {
            ErrorKind::Interrupted => Ok(false),
            _ => Err(error),
        }),
        _ => Ok(watched[1].revents != 0),
    }
}

/// Packets in the order in which they arrived, which is that of their numbers: all have the same delay.
struct Waiting {
    delay: Duration,
    packets: VecDeque<(Instant, u32)>,
}

impl Waiting {
    fn new(delay: Duration) -> Self {
        Self {
            delay,
            packets: VecDeque::new(),
        }
    }

    fn add(&mut self, packet: u32, now: Instant) {
        self.packets.push_back((now + self.delay, packet));
    }

    fn next(&self) -> Option<Instant> {
        self.packets.front().map(|(due, _)| *due)
    }

    /// The last one whose time has come, which no longer waits, nor do those before it.
    fn due(&mut self, now: Instant) -> Option<u32> {
        let count = self.packets.partition_point(|(due, _)| *due <= now);
        self.packets.drain(..count).next_back().map(|(_, packet)| packet)
    }

    fn last(&self) -> Option<u32> {
        self.packets.back().map(|(_, packet)| *packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_released_together_up_to_the_last_whose_time_has_come() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let mut waiting = Waiting::new(Duration::from_millis(20));
        for (packet, ms) in [(1, 0), (2, 5), (3, 5), (4, 30)] {
            waiting.add(packet, at(ms));
        }
        assert_eq!(waiting.next(), Some(at(20)));
        assert_eq!(waiting.due(at(19)), None);
        assert_eq!(waiting.due(at(25)), Some(3));
        assert_eq!((waiting.next(), waiting.last()), (Some(at(50)), Some(4)));
        assert_eq!(waiting.due(at(50)), Some(4));
        assert_eq!((waiting.next(), waiting.due(at(99))), (None, None));
    }
}
