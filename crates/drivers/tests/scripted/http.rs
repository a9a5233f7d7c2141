//! A server of HTTP that says what was written down beforehand, on one connection.
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// Gives these answers, one to each request; what was asked, whole. Spaces before a length are one. To a HEAD the length of what
/// it would have answered is said, and nothing more.
pub fn answers(said: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let answer = |said: String| {
            let heard = hear(&mut stream);
            let said = match heard.starts_with("HEAD") {
                true => said.replace("Content-Length: 0\r\n", "Content-Length: 77\r\n"),
                false => said,
            };
            stream.write_all(said.as_bytes()).unwrap();
            heard
        };
        said.into_iter().map(answer).collect()
    });
    (address, serving)
}

/// `head`: status and fields, without the body's length.
pub fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A whole request.
pub fn hear(stream: &mut TcpStream) -> String {
    let mut head = String::new();
    let mut byte = [0];
    while !head.ends_with("\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0].into());
    }
    let Some((before, behind)) = head.split_once("Content-Length:") else {
        return head;
    };
    let behind = behind.trim_start();
    let mut body = vec![0; behind.lines().next().unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    format!(
        "{before}Content-Length: {behind}{}",
        String::from_utf8(body).unwrap()
    )
}
