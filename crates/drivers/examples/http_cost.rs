//! What the HTTP client costs next to the bare exchange of the same bytes: CPU of this thread per request of 1 KB and its
//! answer of 200 bytes, over loopback, to a server in another process. The bound is 12 us more than the bare one.
//!
//! `cargo run --release -p bakeoff-drivers --example http_cost -- [SESSIONS [SECONDS]]`
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a bench by hand

use bakeoff_drivers::Protocol;
use bakeoff_drivers::http::{Http, Route, Template};
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::run::IoKind;
use bakeoff_reactor::{Address, Margin, Stream, block_on, join_all};
use std::cell::Cell;
use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

static PROTOCOL: Protocol = Protocol {
    driver: "http_cost",
    server: "HTTP",
    default_port: 80,
    denied: &[],
    advice: |_| None,
};
const BODY: [u8; 1000] = [b'x'; 1000];
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "serve") {
        return serve();
    }
    let number = |at: usize, usual: u64| arguments.get(at).map_or(usual, |text| text.parse().unwrap());
    let (sessions, time) = (number(0, 64), Duration::from_secs(number(1, 2)));
    let mut server = Command::new(std::env::current_exe().unwrap());
    let mut server = server.arg("serve").stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    let address: SocketAddr = said.trim().parse().unwrap();
    // Alternately, so that what else the machine does meets both.
    for _ in 0..ROUNDS {
        let (bare, http) = (
            measure(sessions, time, |done, until| bare(address, done, until)),
            { measure(sessions, time, |done, until| http(address, done, until)) },
        );
        println!(
            "{sessions} sessions: bare {bare:.2} us, HTTP {http:.2} us: {:.2} us more",
            http - bare
        );
    }
    server.kill().unwrap();
    server.wait().unwrap();
}

/// CPU per request, us.
fn measure<F: Future<Output = ()> + 'static>(
    sessions: u64,
    time: Duration,
    session: impl Fn(Rc<Cell<u64>>, Instant) -> F,
) -> f64 {
    let done = Rc::new(Cell::new(0));
    let before = thread_cpu_us();
    let until = Instant::now() + time;
    let all = (0..sessions).map(|_| session(done.clone(), until)).collect();
    block_on(
        IoKind::IoUring,
        Margin::new(false),
        Box::new(|_| {}),
        join_all(all),
    )
    .unwrap();
    (thread_cpu_us() - before) / done.get() as f64
}

async fn bare(address: SocketAddr, done: Rc<Cell<u64>>, until: Instant) {
    let mut stream = Stream::connect(&Address::Tcp(address)).await.unwrap();
    let head = format!("POST / HTTP/1.1\r\nHost: {address}\r\nContent-Length:       1000\r\n\r\n");
    let request = [head.as_bytes(), &BODY].concat();
    while Instant::now() < until {
        stream.request().extend_from_slice(&request);
        stream.exchange().await.unwrap();
        let received = stream.input().len();
        stream.consume(received);
        done.set(done.get() + 1);
    }
}

async fn http(address: SocketAddr, done: Rc<Cell<u64>>, until: Instant) {
    let endpoint = Endpoint {
        name: "h".into(),
        role: String::new(),
        address: address.to_string(),
    };
    let route = Route::all(&PROTOCOL, &[endpoint], "", None, None)
        .unwrap()
        .remove(0);
    let post = Template::new("POST", "/", &route, &[]);
    let mut http = Http::connect(&route, Duration::from_secs(10)).await.unwrap();
    while Instant::now() < until {
        http.begin_body(&post).await.unwrap().extend_from_slice(&BODY);
        assert_eq!(http.exchange().await.unwrap(), 200);
        assert_eq!(http.answer().len(), 100);
        done.set(done.get() + 1);
    }
}

/// Answers each kilobyte, and looks at none.
fn serve() {
    let answer = format!(
        "HTTP/1.1 200 OK\r\nDate: Wed, 25 Nov 2026 00:00:00 GMT\r\nContent-Type: a/b\r\nContent-Length: 100\r\n\r\n{}",
        "y".repeat(100)
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    for stream in listener.incoming() {
        let (mut stream, answer) = (stream.unwrap(), answer.clone());
        stream.set_nodelay(true).unwrap();
        std::thread::spawn(move || {
            let (mut heard, mut buffer) = (0, [0; 4096]);
            while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
                heard += bytes;
                if heard > BODY.len() {
                    heard = 0;
                    if stream.write_all(answer.as_bytes()).is_err() {
                        break;
                    }
                }
            }
        });
    }
}

/// From the kernel's run-time counter in ns.
fn thread_cpu_us() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e3
}
