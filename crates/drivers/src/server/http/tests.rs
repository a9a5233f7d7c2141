//! Against servers that follow a script.
#![allow(clippy::unwrap_used)]
use super::*;
use bakeoff_model::outcome::Outcome;
use bakeoff_model::run::IoKind;
use bakeoff_reactor::{Margin, block_on};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

static PROTOCOL: Protocol = Protocol {
    driver: "http test",
    server: "HTTP",
    default_port: 80,
    denied: &[],
    advice: |_| None,
};

/// What a server says to each request of one connection, before it closes.
type Script = Vec<&'static [u8]>;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nETag: 7\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nlast";

/// Serves one connection after the other; what was requested of each.
fn serve(scripts: Vec<Script>, piece_bytes: usize) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let follow = move |script: Script| {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut heard = String::new();
        for said in script {
            heard.push_str(&hear(&mut stream));
            said.chunks(piece_bytes).for_each(|piece| {
                let _ = stream.write_all(piece); // the other side may have heard enough
            });
        }
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        heard
    };
    let serving = std::thread::spawn(move || scripts.into_iter().map(follow).collect());
    (address, serving)
}

/// A whole request.
fn hear(stream: &mut TcpStream) -> String {
    let mut heard = String::new();
    let mut byte = [0];
    while !heard.ends_with("\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        heard.push(byte[0].into());
    }
    let length = heard.split("Content-Length:").nth(1);
    let length = length.map_or(0, |rest| rest.lines().next().unwrap().trim().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    heard + std::str::from_utf8(&body).unwrap()
}

fn route(address: &str, tls: Option<&TlsSpec>) -> Arc<Route> {
    let endpoint = Endpoint {
        name: "h".into(),
        address: address.into(),
        role: String::new(),
    };
    Route::all(&PROTOCOL, &[endpoint], "u", None, tls)
        .unwrap()
        .remove(0)
}

fn run<T>(test: impl Future<Output = T>) -> T {
    block_on(IoKind::Epoll, Margin::new(false), Box::new(|_| {}), test).unwrap()
}

async fn open(address: SocketAddr) -> (Http, Template, Template) {
    let route = route(&address.to_string(), None);
    let http = Http::connect(&route, Duration::from_secs(60)).await.unwrap();
    let get = Template::new("GET", "/d/", &route, &[]);
    (
        http,
        get,
        Template::new("POST", "/", &route, &[("Accept", "a/b")]),
    )
}

async fn get(http: &mut Http, get: &Template) -> Result<String, OpError> {
    http.begin(get).await?;
    http.fields(get)?;
    http.exchange().await?;
    Ok(String::from_utf8(http.answer().to_vec()).unwrap())
}

#[test]
fn a_request_is_written_as_it_was_prepared() {
    let (address, serving) = serve(vec![vec![OK, OK, OK, OK]], usize::MAX);
    run(async {
        let (mut http, get, post) = open(address).await;
        escape(http.begin(&get).await.unwrap(), "a/ü".as_bytes());
        http.fields(&get).unwrap().extend_from_slice(b"X-More: 1\r\n");
        assert_eq!(http.exchange().await.unwrap(), 200);
        http.begin_body(&post)
            .await
            .unwrap()
            .extend_from_slice(b"0123456789");
        let (head, body) = http.written().unwrap();
        head[..4].copy_from_slice(b"SEND");
        assert_eq!(body, b"0123456789");
        assert_eq!(http.exchange().await.unwrap(), 200);
        http.begin_body(&get).await.unwrap();
        assert_eq!(http.exchange().await.unwrap(), 200);
        http.begin(&post).await.unwrap();
        http.fields(&post).unwrap();
        assert_eq!(http.exchange().await.unwrap(), 200);
    });
    let wanted = format!(
        "GET /d/a%2F%C3%BC HTTP/1.1\r\nHost: {address}\r\nX-More: 1\r\n\r\n\
         SEND / HTTP/1.1\r\nHost: {address}\r\nAccept: a/b\r\nContent-Length:         10\r\n\r\n0123456789\
         GET /d/ HTTP/1.1\r\nHost: {address}\r\nContent-Length:          0\r\n\r\n\
         POST / HTTP/1.1\r\nHost: {address}\r\nAccept: a/b\r\nContent-Length: 0\r\n\r\n"
    );
    assert_eq!(serving.join().unwrap(), [wanted]);
}

#[test]
fn one_connection_serves_many_requests_however_its_answers_are_cut() {
    for piece_bytes in [1, 7, usize::MAX] {
        let (address, serving) = serve(vec![vec![OK, CHUNKED, OK]], piece_bytes);
        run(async {
            let (mut http, template, _) = open(address).await;
            assert_eq!(get(&mut http, &template).await.unwrap(), "ok");
            assert_eq!(get(&mut http, &template).await.unwrap(), "abcde");
            assert_eq!(http.field("etag"), Some(&b"7"[..]));
            assert_eq!(get(&mut http, &template).await.unwrap(), "ok");
        });
        assert_eq!(serving.join().unwrap().len(), 1);
    }
}

#[test]
fn a_connection_that_ends_after_an_answer_is_followed_by_another() {
    let until_closed: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nto the end";
    let old: &[u8] = b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold";
    let (address, serving) = serve(vec![vec![OK, LAST], vec![until_closed], vec![old], vec![OK]], 3);
    run(async {
        let (mut http, template, _) = open(address).await;
        for wanted in ["ok", "last", "to the end", "old", "ok"] {
            assert_eq!(get(&mut http, &template).await.unwrap(), wanted);
        }
    });
    assert_eq!(serving.join().unwrap().len(), 4);
}

#[test]
fn a_connection_that_was_closed_while_idle_is_not_used() {
    let (address, serving) = serve(vec![vec![OK], vec![OK]], usize::MAX);
    run(async {
        let (mut http, template, _) = open(address).await;
        assert_eq!(get(&mut http, &template).await.unwrap(), "ok");
        while !http.channel.as_ref().unwrap().is_stale() {
            std::thread::yield_now();
        }
        http.last_used_ns = 0;
        assert_eq!(get(&mut http, &template).await.unwrap(), "ok");
    });
    assert_eq!(serving.join().unwrap().len(), 2);
}

#[test]
fn nobody_knows_whether_a_request_without_a_whole_answer_was_carried_out() {
    for said in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
        b"220 smtp\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!",
    ] {
        let (address, serving) = serve(vec![vec![said], vec![OK]], usize::MAX);
        run(async {
            let (mut http, template, _) = open(address).await;
            let error = get(&mut http, &template).await.unwrap_err();
            assert_eq!(
                (error.outcome, error.connection_lost),
                (Outcome::Unknown, true),
                "{error}"
            );
            assert_eq!(get(&mut http, &template).await.unwrap(), "ok");
        });
        assert_eq!(serving.join().unwrap().len(), 2);
    }
}

#[test]
fn what_could_not_be_sent_was_not_carried_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    run(async {
        let (mut http, template, _) = open(address).await;
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        stream.write_all(LAST).unwrap();
        assert_eq!(get(&mut http, &template).await.unwrap(), "last");
        let error = get(&mut http, &template).await.unwrap_err();
        assert_eq!(
            (error.outcome, error.connection_lost),
            (Outcome::Fail(FailClass::Other), true)
        );
        assert!(error.message.contains("could not connect to h at"), "{error}");
        assert_eq!(http.exchange().await.unwrap_err().code, "CLIENT");
    });
}

#[test]
fn a_request_that_was_given_up_is_not_answered_by_the_next() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    run(async {
        let (mut http, template, _) = open(address).await;
        let (_silent, _) = listener.accept().unwrap();
        let asked = within(Duration::from_millis(20), get(&mut http, &template)).await;
        assert!(asked.is_none());
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            hear(&mut stream);
            stream.write_all(OK).unwrap();
        });
        assert_eq!(get(&mut http, &template).await.unwrap(), "ok");
        serving.join().unwrap();
    });
}

#[test]
fn a_large_body_arrives_whole() {
    static BODY: std::sync::LazyLock<(Vec<u8>, Vec<u8>)> = std::sync::LazyLock::new(|| {
        let body = vec![b'x'; 3 << 20];
        let plain = [
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(),
            &body,
        ]
        .concat();
        let chunk = [
            format!("{:x}\r\n", body.len() / 3).as_bytes(),
            &body[..body.len() / 3],
            b"\r\n",
        ]
        .concat();
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        (plain, [head, chunk.repeat(3), b"0\r\n\r\n".to_vec()].concat())
    });
    let (address, serving) = serve(vec![vec![&BODY.0, &BODY.1, OK]], usize::MAX);
    run(async {
        let (mut http, template, post) = open(address).await;
        for _ in 0..2 {
            http.begin_body(&post)
                .await
                .unwrap()
                .extend_from_slice(&[b'y'; 2 << 20]);
            assert_eq!(http.exchange().await.unwrap(), 200);
            assert_eq!(http.answer().len(), 3 << 20);
        }
        assert_eq!(get(&mut http, &template).await.unwrap(), "ok");
        assert!(http.chunks.capacity() <= KEPT_BYTES);
    });
    assert!(serving.join().unwrap()[0].len() > 4 << 20);
}

#[test]
fn names_and_passwords_are_spelt_as_the_standard_says() {
    for (plain, text) in [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("Aladdin:open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    ] {
        assert_eq!(base64(plain.as_bytes()), text);
    }
    assert_eq!(route("[::1]:5984", None).host(), "[::1]:5984");
    assert_eq!(route("127.0.0.1", None).host(), "127.0.0.1");
    assert_eq!(route("127.0.0.1", None).basic(), None);
}
