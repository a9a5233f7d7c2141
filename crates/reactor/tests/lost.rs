//! A server that goes while a request is being sent. One test at a time, because descriptors of the process are counted.
#![allow(clippy::unwrap_used, clippy::expect_used)] // test code throughout
use bakeoff_model::run::IoKind;
use bakeoff_model::time::{now_ns, sleep_until};
use bakeoff_reactor::{Address, Margin, Stream, block_on, io_uring_usable};
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Nobody waits for it where the reactor is right.
const PATIENCE_NS: u64 = 60_000_000_000;

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Reads a little and resets the connection, so that a send which is under way fails.
fn hang_up(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 1000]);
    reset(stream);
}

fn reset(stream: TcpStream) {
    let reset = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: an open descriptor, and an option of the length given.
    let set = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const reset).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    assert_eq!(set, 0);
}

/// Whether the exchange failed, and not by waiting too long.
async fn is_lost(address: &Address, bytes: usize) -> bool {
    let mut stream = Stream::connect(address).await.unwrap();
    stream.request().resize(bytes, 7);
    let mut exchange = pin!(stream.exchange());
    let mut patience = pin!(sleep_until(now_ns() + PATIENCE_NS));
    poll_fn(|cx| match exchange.as_mut().poll(cx) {
        Poll::Ready(ended) => Poll::Ready(ended.is_err()),
        Poll::Pending => patience.as_mut().poll(cx).map(|()| false),
    })
    .await
}

#[test]
fn a_server_that_goes_during_a_large_request_is_lost_at_once_and_leaves_nothing_behind() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for kind in [IoKind::IoUring, IoKind::Epoll] {
        if kind == IoKind::IoUring && io_uring_usable().is_err() {
            continue;
        }
        let before = open_descriptors();
        // The second is more than any buffer takes: it is still being sent when the reset comes.
        let sizes = [100_000, 30_000_000];
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let serving = std::thread::spawn(move || sizes.map(|_| hang_up(listener.accept().unwrap().0)));
        block_on(kind, Margin::new(false), Box::new(|_| {}), async {
            for bytes in sizes {
                assert!(
                    is_lost(&address, bytes).await,
                    "{kind:?}, {bytes} bytes: not noticed"
                );
            }
        })
        .unwrap();
        serving.join().unwrap();
        assert_eq!(open_descriptors(), before, "{kind:?}: descriptors are left open");
    }
}

#[test]
fn a_request_that_could_not_be_sent_fails_with_the_kernels_reason() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for kind in [IoKind::IoUring, IoKind::Epoll] {
        if kind == IoKind::IoUring && io_uring_usable().is_err() {
            continue;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let failed = block_on(kind, Margin::new(false), Box::new(|_| {}), async {
            let mut stream = Stream::connect(&address).await.unwrap();
            reset(listener.accept().unwrap().0);
            stream.request().push(7);
            stream.exchange().await.unwrap_err()
        });
        let failed = failed.unwrap();
        assert!(
            matches!(failed.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
            "{kind:?}: {failed}"
        );
    }
}
