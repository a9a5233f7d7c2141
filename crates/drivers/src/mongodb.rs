//! MongoDB and what else speaks its protocol, through our own client on the reactor.
//!
//! A document is stored as BSON under its key as `_id`, with one member more, `#rev`: a number that no other write has, by which
//! a later write knows that nobody came between. Integers are stored as the server's own shell stores them, other numbers as
//! doubles. A session is one connection, and one request with its answer at a time; per operation nothing is allocated.
//!
//! Sources: MongoDB documentation, "MongoDB Wire Protocol", "Database Commands", "Transactions"; bsonspec.org. The member names
//! of commands are those of the documentation.
mod bson;
mod commands;
mod documents;
mod errors;
mod json;
mod login;
mod message;
mod options;
mod scram;
mod session;

use crate::registration::{self, ClientLibrary, Options, Registration};
use crate::server::target::Target;
use crate::server::tls::Encryption;
use crate::server::whereabouts::Whereabouts;
use crate::server::within;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::run::{RunSpec, RunnerKind};
pub use options::{MongodbSpec, ReadConcern, ReadPreference};
use scram::Password;
pub use session::MongodbSession;
use std::sync::Arc;
use std::time::Duration;

pub const DRIVER: Registration = Registration {
    kind: "mongodb",
    options: Options::of::<MongodbSpec>().offering(|said| {
        let transactions = said.get("transactions").is_some_and(|said| said == true);
        Offers::NONE.and_if(transactions, Offer::Transactions)
    }),
    library: || "wire (our own, on the reactor)".into(),
    isolation: &[],
    client: ClientLibrary {
        name: "wire",
        runners: MongodbDriver::RUNNERS,
        offers: OFFERS,
        make: Make::Documents(|spec| Ok(object(driver(spec)?, AnyDocuments::new))),
    },
};

/// Transactions come with the option.
const OFFERS: Offers = Offers::of(&[
    Offer::Scan,
    Offer::CountsFound,
    Offer::Tls,
    Offer::Patch,
    Offer::Revisions,
    Offer::Find,
    Offer::PathIndex,
]);

fn driver(spec: &RunSpec) -> Result<MongodbDriver, Trouble> {
    MongodbDriver::new(registration::options(spec)?, spec.timeout())
}

pub struct MongodbDriver {
    spec: MongodbSpec,
    /// Of all endpoints, in their order.
    routes: Vec<Route>,
    password: Option<Password>,
    connect_timeout: Duration,
}

/// One endpoint, and who connects to it.
struct Route {
    target: Target,
    whereabouts: Whereabouts,
    encryption: Option<Arc<Encryption>>,
}

impl MongodbDriver {
    /// Looks up names, which may block, and finds the password; connects to nothing. `timeout` bounds connecting, too.
    pub fn new(spec: MongodbSpec, timeout: Duration) -> Result<Self, Trouble> {
        let targets = options::targets(&spec)?;
        let password = targets[0].password.as_deref().map(Password::new).transpose();
        let password = password.map_err(|error| {
            let hint = "choose another password";
            crate::server::target::usage(&error.message, options::DRIVER, hint)
        })?;
        let encryptions = Encryption::towards(spec.tls.as_ref(), &targets, options::DRIVER)?;
        let route = |(target, encryption): (Target, _)| {
            Ok(Route {
                whereabouts: target.address.locate(&target.place, options::DRIVER)?,
                target,
                encryption,
            })
        };
        let routes = targets.into_iter().zip(encryptions).map(route);
        Ok(Self {
            routes: routes.collect::<Result<_, _>>()?,
            password,
            spec,
            connect_timeout: timeout,
        })
    }
}

impl Driver for MongodbDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Reactor];
    type Client = ();
    type Session = MongodbSession;

    fn offers(&self) -> Offers {
        OFFERS.and_if(self.spec.transactions, Offer::Transactions)
    }
    fn client(&self) -> &'static str {
        "wire"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(&self, _client: &(), endpoint: usize, _needs: Needs) -> Result<MongodbSession, OpError> {
        let route = &self.routes[endpoint % self.routes.len()];
        let opening = MongodbSession::connect(self, route);
        match within(self.connect_timeout, opening).await {
            Some(opened) => opened.map_err(|error| route.target.connect_failed(error)),
            None => Err(route.target.timed_out(self.connect_timeout)),
        }
    }
}
