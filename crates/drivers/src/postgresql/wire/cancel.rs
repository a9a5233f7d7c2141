//! What a session that was given up has asked of the server goes on there, with its locks: a server that computes does not
//! look whether anybody still listens. It is asked to stop, by a connection that says nothing else.
use super::link::Link;
use super::request::{self, CancelKey};
use crate::server::errors::lost;
use crate::server::tls::Encryption;
use crate::server::within;
use bakeoff_model::outcome::OpError;
use bakeoff_reactor::{Address, Stream, spawn_to_end};
use std::sync::Arc;
use std::time::Duration;

/// Nobody waits for it.
const LIMIT: Duration = Duration::from_secs(5);

/// Starts the request as a task of its own.
pub fn cancel(address: Address, encryption: Option<Arc<Encryption>>, key: CancelKey) {
    // The server does not say whether it cancelled: it closes the connection in any case.
    spawn_to_end(async move { drop(within(LIMIT, ask(&address, encryption.as_deref(), key)).await) });
}

async fn ask(address: &Address, encryption: Option<&Encryption>, key: CancelKey) -> Result<(), OpError> {
    let mut link = Link::new(Stream::connect(address).await.map_err(lost)?);
    if let Some(encryption) = encryption {
        link.encrypt(encryption).await?;
    }
    request::cancel(link.request(), key);
    link.ask().await
}
