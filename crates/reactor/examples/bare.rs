//! What the kernel takes of any client that asks one thing at a time over each of its connections: no protocol, no clock,
//! no user, only requests of 60 bytes and answers of 190 over loopback TCP, from a process with a thread for each
//! connection that works 12 us for each. The bound below which no client comes (docs/method/reactor.md). Prints CPU per
//! operation and its ratio to `poll`, which is how pgbench does it; medians and quartiles of rounds in random order:
//!
//!     cargo run --release -p bakeoff-reactor --example bare -- SESSIONS [ROUNDS [shared | apart]]
//!
//! One session shares a core with its server; `apart` gives each a core of its own.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // nobody is served by a tool that goes on

use io_uring::types::{BufRingEntry, Fd};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

const REQUEST: [u8; 60] = [1; 60];
const ANSWER: [u8; 190] = [2; 190];
const WORK: Duration = Duration::from_micros(12);
const RUN: Duration = Duration::from_millis(150);
/// Until sessions are open and the server's threads wait.
const PAUSE: Duration = Duration::from_millis(20);
/// Begin a receive by waiting (linux/io_uring.h), as the reactor does.
const POLL_FIRST: u16 = 1;
/// Buffers of `multishot`, and of each its size.
const SHARED: u16 = 512;
const SHARED_BYTES: usize = 4096;

/// Asks over all connections until the time is over; operations done.
type Way = fn(&[RawFd], Instant) -> u64;
const WAYS: [(&str, Way); 4] = [
    ("poll", poll),
    ("epoll", epoll),
    ("io_uring", io_uring),
    ("multishot", multishot),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize, usual: &str| arguments.get(at).map_or(usual.to_owned(), String::clone);
    if argument(0, "") == "serve" {
        return serve();
    }
    let (sessions, rounds) = (
        argument(0, "8").parse().unwrap(),
        argument(1, "30").parse().unwrap(),
    );
    let (ours, servers) = match (sessions, argument(2, "shared").as_str()) {
        (1, _) => (Some(0), Some(0)),
        (_, "apart") => (Some(0), Some(1)),
        _ => (None, None),
    };
    let (mut server, address) = start_server(servers);
    ours.into_iter().for_each(pin);
    if sessions > 1 {
        wait_for_turn();
    }
    let mut ways = WAYS.to_vec();
    if sessions == 1 {
        ways.push(("blocking", blocking));
    }
    let mut costs_us = vec![Vec::new(); ways.len()];
    let mut dice = rounds as u64;
    for _ in 0..rounds {
        for way in shuffled(ways.len(), &mut dice) {
            costs_us[way].push(measure(address, sessions, ways[way].1));
        }
    }
    for ((name, _), own_us) in ways.iter().zip(&costs_us) {
        let [low, ratio, high] = quartiles(own_us.iter().zip(&costs_us[0]).map(|(own, poll)| own / poll));
        let [_, cost_us, _] = quartiles(own_us.iter().copied());
        println!("{name:10} {cost_us:6.2} us, {ratio:.2} ({low:.2} to {high:.2}) of poll");
    }
    server.kill().unwrap();
    server.wait().unwrap();
}

/// CPU of this thread per operation, us.
fn measure(address: SocketAddr, sessions: usize, way: Way) -> f64 {
    let connect = |_| {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    };
    let streams: Vec<TcpStream> = (0..sessions).map(connect).collect();
    let sockets: Vec<RawFd> = streams.iter().map(AsRawFd::as_raw_fd).collect();
    std::thread::sleep(PAUSE);
    let before = cpu();
    let operations = way(&sockets, Instant::now() + RUN);
    (cpu() - before).as_secs_f64() * 1e6 / operations as f64
}

fn send(socket: RawFd) {
    // SAFETY: the request lives as long as the program.
    let sent = unsafe { libc::send(socket, REQUEST.as_ptr().cast(), REQUEST.len(), libc::MSG_NOSIGNAL) };
    assert_eq!(sent, REQUEST.len() as isize);
}

fn receive(socket: RawFd) {
    let mut answer = [0u8; 4096];
    // SAFETY: room for as many bytes as is said.
    let received = unsafe { libc::recv(socket, answer.as_mut_ptr().cast(), answer.len(), 0) };
    assert_eq!(received, ANSWER.len() as isize);
    std::hint::black_box(&answer);
}

fn blocking(sockets: &[RawFd], until: Instant) -> u64 {
    let mut operations = 0;
    while Instant::now() < until {
        send(sockets[0]);
        receive(sockets[0]);
        operations += 1;
    }
    operations
}

/// Whoever has been answered asks again, until the time is over. `wait` says who has been.
fn circle(sockets: &[RawFd], until: Instant, mut wait: impl FnMut(&mut Vec<usize>)) -> u64 {
    sockets.iter().copied().for_each(send);
    let (mut operations, mut answered) = (0, Vec::new());
    while Instant::now() < until {
        wait(&mut answered);
        for which in answered.drain(..) {
            receive(sockets[which]);
            send(sockets[which]);
            operations += 1;
        }
    }
    operations
}

fn poll(sockets: &[RawFd], until: Instant) -> u64 {
    let watch = |&fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut watched: Vec<libc::pollfd> = sockets.iter().map(watch).collect();
    circle(sockets, until, |answered| {
        // SAFETY: as many as is said.
        unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, -1) };
        answered.extend((0..watched.len()).filter(|&which| watched[which].revents != 0));
    })
}

fn epoll(sockets: &[RawFd], until: Instant) -> u64 {
    // SAFETY: makes a descriptor, which goes with the process.
    let epoll = unsafe { libc::epoll_create1(0) };
    for (which, &socket) in sockets.iter().enumerate() {
        let events = (libc::EPOLLIN | libc::EPOLLET) as u32;
        // SAFETY: both descriptors are open, and the event is valid for the call.
        unsafe {
            libc::epoll_ctl(
                epoll,
                libc::EPOLL_CTL_ADD,
                socket,
                &mut libc::epoll_event {
                    events,
                    u64: which as u64,
                },
            )
        };
    }
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; sockets.len()];
    circle(sockets, until, |answered| {
        // SAFETY: room for as many events as is said.
        let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), events.len() as i32, -1) };
        answered.extend(
            events[..count.max(0) as usize]
                .iter()
                .map(|event| event.u64 as usize),
        );
    })
}

/// As the reactor's: a send and a receive handed over together.
fn io_uring(sockets: &[RawFd], until: Instant) -> u64 {
    let mut answers = vec![[0u8; 4096]; sockets.len()];
    let mut ring = ring();
    let ask = |ring: &mut IoUring, which: usize, answers: &mut [[u8; 4096]]| {
        let (place, length) = (answers[which].as_mut_ptr(), answers[which].len() as u32);
        let receive = opcode::Recv::new(Fd(sockets[which]), place, length)
            .ioprio(POLL_FIRST)
            .build();
        push(ring, sending(sockets[which]));
        push(ring, receive.user_data(which as u64));
    };
    (0..sockets.len()).for_each(|which| ask(&mut ring, which, &mut answers));
    let (mut operations, mut answered) = (0, Vec::new());
    while Instant::now() < until {
        ring.submit_and_wait(1).unwrap();
        answered.extend(
            ring.completion()
                .map(|one| (one.user_data() as usize, one.result())),
        );
        for (which, received) in answered.drain(..) {
            assert_eq!(received, ANSWER.len() as i32);
            ask(&mut ring, which, &mut answers);
            operations += 1;
        }
    }
    operations
}

/// One receive stays armed for each connection; the kernel takes buffers that all share, and each is copied out of.
fn multishot(sockets: &[RawFd], until: Instant) -> u64 {
    let mut ring = ring();
    let mut shared = Shared::register(&ring);
    let arm = |ring: &mut IoUring, which: usize| {
        push(
            ring,
            opcode::RecvMulti::new(Fd(sockets[which]), 0)
                .build()
                .user_data(which as u64),
        );
    };
    for (which, &socket) in sockets.iter().enumerate() {
        arm(&mut ring, which);
        push(&mut ring, sending(socket));
    }
    let (mut operations, mut answered) = (0, Vec::new());
    while Instant::now() < until {
        ring.submit_and_wait(1).unwrap();
        answered.extend(
            ring.completion()
                .map(|one| (one.user_data() as usize, one.result(), one.flags())),
        );
        for (which, received, flags) in answered.drain(..) {
            assert_eq!(received, ANSWER.len() as i32);
            shared.take(cqueue::buffer_select(flags).unwrap());
            if !cqueue::more(flags) {
                arm(&mut ring, which);
            }
            push(&mut ring, sending(sockets[which]));
            operations += 1;
        }
        shared.hand_back();
    }
    operations
}

fn ring() -> IoUring {
    let mut builder = IoUring::builder();
    builder
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all();
    builder.setup_cqsize(8192).build(1024).unwrap()
}

fn sending(socket: RawFd) -> squeue::Entry {
    opcode::Send::new(Fd(socket), REQUEST.as_ptr(), REQUEST.len() as u32)
        .flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
        .build()
        .flags(squeue::Flags::SKIP_SUCCESS)
}

fn push(ring: &mut IoUring, entry: squeue::Entry) {
    // SAFETY: its memory is never freed before the ring.
    unsafe { ring.submission().push(&entry) }.unwrap();
}

/// Buffers that the kernel takes by itself and gets back by their numbers. Left to the process's end.
struct Shared {
    entries: &'static mut [BufRingEntry],
    bytes: &'static mut [[u8; SHARED_BYTES]],
    tail: u16,
}

impl Shared {
    fn register(ring: &IoUring) -> Self {
        let length = usize::from(SHARED) * size_of::<BufRingEntry>();
        let (access, how) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_ANONYMOUS | libc::MAP_PRIVATE,
        );
        // SAFETY: pages of our own, aligned as the kernel wants them, all zeros, which are valid entries.
        let entries = unsafe {
            let pages = libc::mmap(std::ptr::null_mut(), length, access, how, -1, 0);
            ring.submitter()
                .register_buf_ring_with_flags(pages as u64, SHARED, 0, 0)
                .unwrap();
            std::slice::from_raw_parts_mut(pages.cast(), SHARED.into())
        };
        let bytes = vec![[0; SHARED_BYTES]; SHARED.into()].leak();
        let mut shared = Self {
            entries,
            bytes,
            tail: 0,
        };
        (0..SHARED).for_each(|number| shared.give(number));
        shared.hand_back();
        shared
    }

    fn take(&mut self, number: u16) {
        let mut answer = [0; ANSWER.len()];
        answer.copy_from_slice(&self.bytes[usize::from(number)][..ANSWER.len()]);
        std::hint::black_box(&answer);
        self.give(number);
    }

    fn give(&mut self, number: u16) {
        let entry = &mut self.entries[usize::from(self.tail % SHARED)];
        entry.set_addr(self.bytes[usize::from(number)].as_mut_ptr() as u64);
        entry.set_len(SHARED_BYTES as u32);
        entry.set_bid(number);
        self.tail = self.tail.wrapping_add(1);
    }

    fn hand_back(&mut self) {
        // SAFETY: the tail lies inside the first entry, and only we write it.
        let tail = unsafe { &*BufRingEntry::tail(self.entries.as_ptr()).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        stream.set_nodelay(true).unwrap();
        std::thread::spawn(move || {
            while stream.read(&mut [0; 4096]).is_ok_and(|received| received > 0) {
                let begin = Instant::now();
                while begin.elapsed() < WORK {
                    std::hint::spin_loop();
                }
                if stream.write_all(&ANSWER).is_err() {
                    break;
                }
            }
        });
    }
}

fn start_server(core: Option<usize>) -> (Child, SocketAddr) {
    core.into_iter().for_each(pin);
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut server = command.arg("serve").stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    (server, said.trim().parse().unwrap())
}

/// This thread, and what it starts from now on.
fn pin(core: usize) {
    // SAFETY: a set of bits, one of which is set; affects the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
    }
}

/// As the engine's workers do (SCHED_BATCH).
fn wait_for_turn() {
    // SAFETY: affects the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &libc::sched_param { sched_priority: 0 }) };
}

fn cpu() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: filled by the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn shuffled(count: usize, dice: &mut u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        *dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (*dice >> 33) as usize % (last + 1));
    }
    order
}

fn quartiles(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[sorted.len() * quarter / 4])
}
