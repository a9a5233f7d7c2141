//! As in our own client: sessions that were given up are ended by another connection of the same account.
use crate::mysql::kill::{Origin, came_from, is_ours, kill_statement};
use crate::server::abandoned::{Abandoned, LIMIT};
use bakeoff_model::owed::Owed;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts};
use tokio::time::timeout;

/// A session of ours in the middle of a statement.
pub struct Victim {
    pub opts: Opts,
    /// The server's number for it.
    pub id: u32,
    pub origin: Origin,
}

thread_local! {
    static VICTIMS: Abandoned<Victim> = Abandoned::default();
}

/// The library does not say, and the server must be asked while it is not busy. `None`: nor does the server.
pub async fn origin(conn: &mut Conn) -> Result<Option<Origin>, Error> {
    match conn.query_first::<String, _>(came_from(conn.id())).await {
        Ok(host) => Ok(host.and_then(|host| Origin::of(&host, conn.opts().socket().is_some()))),
        Err(Error::Server(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Starts it as a task of its own; outside tokio nothing can be done.
pub fn kill(victim: Victim) {
    let ending = Abandoned::add(&VICTIMS, victim, end_all);
    if let (Some(ending), Ok(runtime)) = (ending, tokio::runtime::Handle::try_current()) {
        let owed = Owed::new();
        runtime.spawn(async move {
            ending.await;
            drop(owed);
        });
    }
}

async fn end_all() {
    while let Some(victim) = Abandoned::next(&VICTIMS, |_| true) {
        let ended = timeout(LIMIT, end(&victim)).await;
        if !matches!(ended, Ok(Ok(()))) {
            let same = |other: &Victim| {
                (other.opts.ip_or_hostname(), other.opts.tcp_port())
                    == (victim.opts.ip_or_hostname(), victim.opts.tcp_port())
            };
            Abandoned::forget(&VICTIMS, same);
        }
    }
}

async fn end(victim: &Victim) -> Result<(), Error> {
    let mut conn = Conn::new(victim.opts.clone()).await?;
    let asking = is_ours(victim.id, victim.origin, conn.id());
    let ours: Option<u8> = conn.query_first(asking).await?;
    if ours.is_some() {
        // It may have ended by itself.
        let _ = conn.query_drop(kill_statement(victim.id)).await;
    }
    conn.disconnect().await
}
