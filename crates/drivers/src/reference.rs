//! The reference store: a small replicated store in this process, whose faults are switched on one by one.
//!
//! It is for testing the checks of `bakeoff verify`: correct, it must pass them all, and with a bug the right one must fail.
//! It is no database. It keeps rows in memory for one experiment, knows the statements of `verify` alone ([`statement`]),
//! and its figures of performance are those of its options.
mod node;
mod options;
mod rows;
mod session;
mod statement;
pub mod store;
mod table;

use crate::registration::{self, ClientLibrary, Options, Registration};
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{FailClass, OpError, Trouble, TroubleKind};
use bakeoff_model::run::{Isolation, RunSpec, RunnerKind};
use bakeoff_model::time::{now_ns, sleep_until};
pub use options::{ReferenceBug, ReferenceDelay, ReferenceFault, ReferenceFaultKind, ReferenceSpec};
use session::{ReferenceSession, locked};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::Store;

pub const DRIVER: Registration = Registration {
    kind: "reference",
    options: Options::of::<ReferenceSpec>(),
    library: String::new,
    isolation: &[Isolation::Snapshot, Isolation::Serializable],
    client: ClientLibrary {
        name: "reference",
        runners: ReferenceDriver::RUNNERS,
        offers: OFFERS,
        make: Make::Experiments(|spec| Ok(object(driver(spec)?, AnySql::new))),
    },
};

const OFFERS: Offers = Offers::of(&[Offer::Transactions, Offer::CountsFound]);

fn driver(spec: &RunSpec) -> Result<ReferenceDriver, Trouble> {
    let options: ReferenceSpec = registration::options(spec)?;
    let faulty = options.faults.iter().map(|fault| ("faults", fault.node));
    let named = [
        ("write_nodes", options.write_nodes),
        ("read_nodes", options.read_nodes),
    ];
    if let Some((option, number)) = named
        .into_iter()
        .chain(faulty)
        .find(|(_, number)| *number > options.nodes)
    {
        return Err(Trouble::new(
            TroubleKind::Usage,
            format!("`{option}` says {number}, and `nodes` is {}", options.nodes),
            format!("driver.{option}"),
            format!("write at most {}, or more `nodes`", options.nodes),
        ));
    }
    let level = spec.isolation.unwrap_or(Isolation::Serializable);
    Ok(ReferenceDriver {
        latency: Duration::from_nanos(options.latency_ns),
        nodes: options.nodes as usize,
        store: Arc::new(Mutex::new(Store::new(options, level, spec.seed, now_ns()))),
    })
}

pub struct ReferenceDriver {
    store: Arc<Mutex<Store>>,
    latency: Duration,
    nodes: usize,
}

impl Driver for ReferenceDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Thread];
    type Client = ();
    type Session = ReferenceSession;

    fn offers(&self) -> Offers {
        OFFERS
    }
    fn client(&self) -> &'static str {
        "reference"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        Ok(())
    }
    /// At a node that has crashed it waits until that is up again.
    async fn session(
        &self,
        _client: &(),
        endpoint: usize,
        _needs: Needs,
    ) -> Result<ReferenceSession, OpError> {
        let node = endpoint % self.nodes;
        let up_ns = locked(&self.store).node(node).up_ns(now_ns());
        sleep_until(up_ns).await;
        Ok(ReferenceSession::new(self.store.clone(), self.latency, node))
    }
}

fn refused(code: &str, what: impl Into<String>) -> OpError {
    OpError::fail(FailClass::Refused, code, what)
}
