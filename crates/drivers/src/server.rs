//! What every client of a server needs, whatever is spoken there: where the server is, who asks, how long to wait.
#[cfg(feature = "mysql")]
pub mod abandoned;
pub mod account;
pub mod address;
#[cfg(feature = "aws")]
pub mod aws;
#[cfg(feature = "tls")]
pub mod channel;
pub mod digits;
pub mod errors;
#[cfg(feature = "http")]
pub mod http;
pub mod read;
pub mod statement;
pub mod target;
#[cfg(feature = "tls")]
pub mod tls;
pub mod whereabouts;

use bakeoff_model::time::{now_ns, sleep_until};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// `None`: `limit` passed first, and the future is dropped.
pub async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut sleep = pin!(sleep_until(now_ns() + limit.as_nanos() as u64));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => sleep.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// Who it is that greets as no server of ours does, if the first words tell.
pub fn stranger(heard: &[u8]) -> Option<&'static str> {
    Some(match heard {
        [b'H', b'T', b'T', b'P', ..] => "it speaks HTTP",
        [b'S', b'S', b'H', b'-', ..] => "it speaks SSH",
        [0x14..=0x17, 3, ..] => "it speaks TLS from the first byte on",
        // A packet numbered 0, of version 10 of its protocol.
        [_, _, 0, 0, 10, b'0'..=b'9', ..] => "it greets as MariaDB and MySQL do",
        _ => return None,
    })
}
