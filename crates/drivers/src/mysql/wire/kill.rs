//! What a session that was given up has asked of the server goes on there, with its locks: a server that computes does not
//! look whether anybody still listens. Another connection of the same account ends it.
use super::login;
use super::{Link, Route, answer, request};
use crate::mysql::kill::{Origin, is_ours, kill_statement};
use crate::server::abandoned::{Abandoned, LIMIT};
use crate::server::within;
use bakeoff_model::needs::Affected;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_reactor::{Address, Stream, spawn_to_end};
use std::sync::Arc;

/// A session of ours in the middle of a statement.
pub struct Victim {
    pub route: Arc<Route>,
    pub address: Address,
    /// The server's number for it.
    pub id: u32,
    pub origin: Origin,
}

thread_local! {
    static VICTIMS: Abandoned<Victim> = Abandoned::default();
}

/// Starts it as a task of its own.
pub fn kill(victim: Victim) {
    if let Some(ending) = Abandoned::add(&VICTIMS, victim, end_all) {
        spawn_to_end(ending);
    }
}

async fn end_all() {
    while let Some(victim) = Abandoned::next(&VICTIMS, |_| true) {
        let same = |other: &Victim| other.address == victim.address;
        match within(LIMIT, Killer::connect(&victim)).await {
            Some(Ok(mut killer)) => {
                let mut next = Some(&victim);
                let mut other;
                while let Some(victim) = next {
                    if !matches!(within(LIMIT, killer.end(victim)).await, Some(Ok(()))) {
                        break;
                    }
                    other = Abandoned::next(&VICTIMS, same);
                    next = other.as_ref();
                }
                killer.link.say(&request::QUIT);
            }
            // It lets nobody in: closed connections are all that can be done.
            _ => Abandoned::forget(&VICTIMS, same),
        }
    }
}

/// No session: one that is given up would be a victim itself.
struct Killer {
    link: Link,
    terms: login::Terms,
    row: RowBuf,
}

impl Killer {
    async fn connect(victim: &Victim) -> Result<Self, OpError> {
        let stream = Stream::connect(&victim.address).await;
        let mut link = Link::new(stream.map_err(crate::server::errors::lost)?);
        let account = victim.route.account(&victim.address, Affected::Found);
        let terms = login::log_in(&mut link, &account).await?;
        Ok(Self {
            link,
            terms,
            row: RowBuf::default(),
        })
    }

    async fn end(&mut self, victim: &Victim) -> Result<(), OpError> {
        let ours = is_ours(victim.id, victim.origin, self.terms.connection_id);
        // A server that was restarted, or another behind the same address, may have given the number to somebody else.
        if self.run(&ours).await? == 1 {
            let killed = self.run(&kill_statement(victim.id)).await;
            // It has ended by itself, or may not be ended by us; the next one may.
            return match killed {
                Err(error) if error.connection_lost => Err(error),
                _ => Ok(()),
            };
        }
        Ok(())
    }

    async fn run(&mut self, sql: &str) -> Result<u64, OpError> {
        request::query(self.link.request(), sql);
        self.link.ask().await?;
        let rows = answer::Rows::Text;
        let (seen, _) = answer::read(&mut self.link, self.terms, rows, &mut self.row, &mut |_| {}).await?;
        Ok(seen)
    }
}
