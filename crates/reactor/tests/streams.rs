//! Connections over both ways to the kernel, against plain blocking servers on threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // test code throughout
use bakeoff_model::run::IoKind;
use bakeoff_model::time::{now_ns, sleep, sleep_until};
use bakeoff_reactor::{Address, Margin, Stream, block_on, io_uring_usable, join_all};
use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Longer than any machine keeps a test from running. Where the reactor is right nobody waits for it.
const FOR_GOOD: Duration = Duration::from_secs(600);

fn kinds() -> Vec<IoKind> {
    match io_uring_usable() {
        Ok(()) => vec![IoKind::IoUring, IoKind::Epoll],
        Err(error) => {
            println!("io_uring is left out: {error}");
            vec![IoKind::Epoll]
        }
    }
}

fn run<F: Future>(kind: IoKind, main: F) -> F::Output {
    block_on(kind, Margin::new(false), Box::new(|_| {}), main).unwrap()
}

/// Serves every connection with `serve` on a thread of its own.
fn server(serve: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream.unwrap()));
        }
    });
    Address::Tcp(address)
}

/// Takes connections, and neither reads nor writes nor hangs up.
fn silent_server() -> Address {
    server(|stream| {
        std::thread::sleep(FOR_GOOD);
        drop(stream);
    })
}

/// Answers each byte by itself plus one, at once.
fn successor(mut stream: impl Read + Write) {
    let mut buffer = [0u8; 65536];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        buffer[..read]
            .iter_mut()
            .for_each(|byte| *byte = byte.wrapping_add(1));
        if stream.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}

async fn ask(stream: &mut Stream, byte: u8) -> u8 {
    stream.request().push(byte);
    stream.exchange().await.unwrap();
    let answer = stream.input()[0];
    assert_eq!(stream.input().len(), 1);
    stream.consume(1);
    answer
}

#[test]
fn many_connections_at_once_each_get_their_own_answers() {
    for kind in kinds() {
        let address = server(successor);
        let users = (0..100u8).map(|user| {
            let address = address.clone();
            async move {
                let mut stream = Stream::connect(&address).await.unwrap();
                for turn in 0..50u8 {
                    let byte = user.wrapping_mul(7).wrapping_add(turn);
                    assert_eq!(ask(&mut stream, byte).await, byte.wrapping_add(1));
                }
                user
            }
        });
        let users: Vec<_> = users.collect();
        let done = run(kind, async move { join_all(users).await });
        assert_eq!(done, (0..100).collect::<Vec<u8>>());
    }
}

#[test]
fn a_unix_socket_serves_as_well() {
    for kind in kinds() {
        let path = std::env::temp_dir().join(format!("bakeoff-reactor-{}-{kind:?}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || successor(listener.accept().unwrap().0));
        run(kind, async {
            let mut stream = Stream::connect(&Address::Unix(path.clone())).await.unwrap();
            assert_eq!(ask(&mut stream, 41).await, 42);
        });
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn requests_and_answers_larger_than_any_buffer_arrive_whole() {
    let bytes = 5_000_000;
    for kind in kinds() {
        let address = server(move |mut stream| {
            let mut got = vec![0; bytes];
            stream.read_exact(&mut got).unwrap();
            stream.write_all(&got).unwrap();
            let _ = stream.read(&mut [0]); // until the other side is done
        });
        run(kind, async {
            let mut stream = Stream::connect(&address).await.unwrap();
            let sent: Vec<u8> = (0..bytes).map(|i| (i % 251) as u8).collect();
            stream.request().extend_from_slice(&sent);
            stream.exchange().await.unwrap();
            while stream.input().len() < bytes {
                stream.receive().await.unwrap();
            }
            assert!(stream.input() == sent);
        });
    }
}

#[test]
fn an_answer_consumed_in_part_is_kept_and_continued() {
    for kind in kinds() {
        let address = server(|mut stream| {
            let _ = stream.read(&mut [0]);
            for part in [b"one".as_slice(), b"two", b"three"] {
                stream.write_all(part).unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        run(kind, async {
            let mut stream = Stream::connect(&address).await.unwrap();
            stream.request().push(0);
            stream.exchange().await.unwrap();
            stream.consume(1);
            while stream.input().len() < 10 {
                stream.receive().await.unwrap();
            }
            assert_eq!(stream.input(), b"netwothree");
            assert_eq!(
                stream.receive().await.unwrap_err().kind(),
                ErrorKind::UnexpectedEof
            );
        });
    }
}

#[test]
fn a_refused_connection_is_an_error() {
    for kind in kinds() {
        // A port that nobody is given by chance.
        let closed = Address::Tcp(([127, 0, 0, 1], 1).into());
        let error = run(kind, async { Stream::connect(&closed).await.err().unwrap() });
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let nowhere = Address::Unix("/no/such/socket".into());
        let error = run(kind, async { Stream::connect(&nowhere).await.err().unwrap() });
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}

#[test]
fn a_server_that_hangs_up_in_the_middle_is_an_error_and_so_is_every_use_after() {
    for kind in kinds() {
        let address = server(|mut stream| {
            let _ = stream.read(&mut [0]);
        });
        run(kind, async {
            let mut stream = Stream::connect(&address).await.unwrap();
            stream.request().push(0);
            assert!(stream.exchange().await.is_err());
            stream.request().push(0);
            assert!(stream.exchange().await.is_err());
        });
    }
}

#[test]
fn an_end_that_came_with_the_last_bytes_is_seen_after_them() {
    for kind in kinds() {
        let address = server(|mut stream| {
            let _ = stream.read(&mut [0]);
            stream.write_all(b"part").unwrap();
        });
        run(kind, async {
            let mut stream = Stream::connect(&address).await.unwrap();
            stream.request().push(0);
            stream.send().await.unwrap();
            std::thread::sleep(Duration::from_millis(50)); // both have arrived before anybody looks
            stream.receive().await.unwrap();
            assert_eq!(stream.input(), b"part");
            let patience_ns = FOR_GOOD.as_nanos() as u64;
            let end = give_up(now_ns() + patience_ns, stream.receive()).await;
            let end = end.expect("the end of the stream is not seen");
            assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        });
    }
}

#[test]
fn a_connection_that_broke_while_idle_keeps_nobody_busy() {
    for kind in kinds() {
        let address = server(|mut stream| {
            let _ = stream.read(&mut [0]);
            let _ = stream.write_all(b"x"); // and ends with our second byte unread, which resets the connection
        });
        run(kind, async {
            let mut stream = Stream::connect(&address).await.unwrap();
            stream.request().extend_from_slice(b"12");
            stream.exchange().await.unwrap();
            let before_ns = thread_cpu_ns();
            bakeoff_model::time::sleep(Duration::from_millis(300)).await;
            let cpu_ns = thread_cpu_ns() - before_ns;
            assert!(
                cpu_ns < 150_000_000,
                "{kind:?}: {cpu_ns} ns of CPU while nothing was to do"
            );
        });
    }
}

fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Polls `future` until `deadline_ns`, then drops it: what a timeout does.
async fn give_up<F: Future>(deadline_ns: u64, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut sleep = pin!(sleep_until(deadline_ns));
    std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => sleep.as_mut().poll(cx).map(|()| None),
    })
    .await
}

#[test]
fn a_silent_server_costs_its_own_connection_and_the_others_go_on() {
    for kind in kinds() {
        let silent = silent_server();
        let lively = server(successor);
        run(kind, async {
            let mut first = Stream::connect(&silent).await.unwrap();
            let mut second = Stream::connect(&lively).await.unwrap();
            // More than the kernel's buffers take, so that the request itself is stuck.
            first.request().resize(20_000_000, 7);
            let answer = give_up(now_ns() + 50_000_000, first.exchange()).await;
            assert!(answer.is_none());
            assert!(
                first.request().is_empty() && first.input().is_empty(),
                "what the kernel still reads is not at hand"
            );
            assert!(
                first.receive().await.is_err(),
                "a given up operation spoils its connection"
            );
            drop(first);
            for byte in 0..100 {
                assert_eq!(ask(&mut second, byte).await, byte + 1);
            }
            let mut third = Stream::connect(&silent).await.unwrap();
            third.request().push(0);
            assert!(give_up(now_ns() + 50_000_000, third.exchange()).await.is_none());
        });
    }
}

#[test]
fn what_is_in_flight_at_the_end_is_given_back_before_the_memory_goes() {
    for kind in kinds() {
        let silent = silent_server();
        let began_ns = now_ns();
        run(kind, async {
            let asking = (0..20).map(|_| {
                let silent = silent.clone();
                async move {
                    let mut stream = Stream::connect(&silent).await.unwrap();
                    stream.request().push(0);
                    let _ = stream.exchange().await;
                }
            });
            let asking: Vec<_> = asking.collect();
            let ended = give_up(now_ns() + 30_000_000, join_all(asking)).await;
            assert!(ended.is_none());
        });
        assert!(
            now_ns() - began_ns < FOR_GOOD.as_nanos() as u64,
            "the end was waited for until the server hung up"
        );
    }
}

#[test]
fn deadlines_are_met_in_their_order_and_not_early() {
    for kind in kinds() {
        run(kind, async {
            let start_ns = now_ns();
            let sleeping = [30u64, 10, 20].map(|ms| async move {
                let due_ns = start_ns + ms * 1_000_000;
                sleep_until(due_ns).await;
                (now_ns(), due_ns)
            });
            for (woken_ns, due_ns) in join_all(Vec::from(sleeping)).await {
                assert!(woken_ns >= due_ns);
            }
            sleep(Duration::from_micros(50)).await;
        });
    }
}

#[test]
fn a_task_that_panics_takes_the_reactor_down_and_leaves_nothing_in_flight() {
    for kind in kinds() {
        let silent = silent_server();
        let ended = std::panic::catch_unwind(|| {
            run(kind, async {
                let mut stream = Stream::connect(&silent).await.unwrap();
                stream.request().push(0);
                let waiting = pin!(stream.exchange());
                assert!(give_up(now_ns() + 1_000_000, waiting).await.is_none());
                panic!("on purpose");
            })
        });
        assert!(ended.is_err());
        // The thread can have another reactor afterwards.
        run(kind, async { sleep(Duration::from_millis(1)).await });
    }
}
