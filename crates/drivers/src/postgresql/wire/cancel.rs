//! What a session that was given up has asked of the server goes on there, with its locks: a server that computes does not
//! look whether anybody still listens. It is asked to stop, by a connection that says nothing else.
use super::request::{self, CancelKey};
use crate::server::within;
use bakeoff_reactor::{Address, Stream, spawn_to_end};
use std::io;
use std::time::Duration;

/// Nobody waits for it.
const LIMIT: Duration = Duration::from_secs(5);

/// Begins it beside whatever else runs.
pub fn cancel(address: Address, key: CancelKey) {
    // Whether it was heard is not told: the server closes the connection in any case.
    spawn_to_end(async move { drop(within(LIMIT, ask(&address, key)).await) });
}

async fn ask(address: &Address, key: CancelKey) -> io::Result<()> {
    let mut stream = Stream::connect(address).await?;
    request::cancel(stream.request(), key);
    stream.send().await?;
    stream.receive().await
}
