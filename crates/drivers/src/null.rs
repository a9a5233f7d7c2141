//! The test bench of the instrument: a system with known behaviour, and the template of a driver.
//!
//! It answers after a known time, fails, lies and stalls as its options say, and can keep rows in memory so that
//! integrity checks mean something. Processes that follow each other find the rows in files.
//! Cost of an operation with latency 0 and nothing else asked: a few nanoseconds, no allocation, no clock.
mod faults;
mod kept;
mod memory;
mod options;
mod session;

use crate::registration::{self, ClientLibrary, Options, Registration};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::{Driver, Make, object};
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Trouble, TroubleKind};
use bakeoff_model::random::SplitMix64;
use bakeoff_model::run::{Phase, RunSpec, RunnerKind};
use faults::Orders;
pub use options::{NullLatency, NullSpec, NullStall};
pub use session::NullSession;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub const DRIVER: Registration = Registration {
    kind: "null",
    options: Options::of::<NullSpec>(),
    library: String::new,
    isolation: &[],
    client: ClientLibrary {
        name: "null",
        runners: NullDriver::RUNNERS,
        offers: OFFERS,
        make: Make::Records(|spec| Ok(object(driver(spec)?, AnyRecords::new))),
    },
};

const OFFERS: Offers = Offers::of(&[
    Offer::Transactions,
    Offer::Scan,
    Offer::CountsFound,
    Offer::RowLocks,
]);

fn driver(spec: &RunSpec) -> Result<NullDriver, Trouble> {
    let options: NullSpec = registration::options(spec)?;
    let options = match spec.phase {
        Phase::Run => options,
        _ => faultless(&options),
    };
    // Every client draws faults of its own.
    let seed = spec.seed.wrapping_add(u64::from(spec.client.index));
    Ok(NullDriver::new(options, seed))
}

pub struct NullDriver {
    orders: Arc<Orders>,
    seed: u64,
    sessions: AtomicU64,
    /// The rows of earlier processes were read.
    read: Mutex<bool>,
}

impl NullDriver {
    /// `seed` begins the random stream of each session (faults, exponential latency).
    pub fn new(spec: NullSpec, seed: u64) -> Self {
        Self {
            orders: Arc::new(Orders::new(spec)),
            seed,
            sessions: AtomicU64::new(0),
            read: Mutex::new(false),
        }
    }

    fn files(&self) -> Option<&Path> {
        let spec = &self.orders.spec;
        spec.store_path.as_deref().filter(|_| spec.store).map(Path::new)
    }
}

/// What lies, fails or loses does so in the measured run alone: with the rest of it a run would not be reached, or begin
/// from other data than it says. Time is kept in every phase.
fn faultless(spec: &NullSpec) -> NullSpec {
    NullSpec {
        error_ratio: 0.0,
        wrong_ratio: 0.0,
        lost_write_ratio: 0.0,
        ..spec.clone()
    }
}

fn not_kept(error: &std::io::Error, folder: &Path) -> Trouble {
    Trouble::new(
        TroubleKind::Environment,
        format!("the rows of the null system cannot be kept: {error}"),
        folder.display().to_string(),
        "is there space on that disk? load the data again",
    )
}

impl Driver for NullDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Tokio, RunnerKind::Thread, RunnerKind::Reactor];
    type Client = ();
    type Session = NullSession;

    fn offers(&self) -> Offers {
        OFFERS
    }
    fn client(&self) -> &'static str {
        "null"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        let Some(folder) = self.files() else {
            return Ok(());
        };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if !*read {
            kept::read(folder).map_err(|error| not_kept(&error, folder))?;
            *read = true;
        }
        Ok(())
    }
    fn close(&self) -> Result<(), Trouble> {
        match self.files() {
            Some(folder) => kept::write(folder).map_err(|error| not_kept(&error, folder)),
            None => Ok(()),
        }
    }
    async fn session(&self, _client: &(), _endpoint: usize, _needs: Needs) -> Result<NullSession, OpError> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let mut random = SplitMix64(self.seed ^ number.wrapping_mul(0xD1B5_4A32_D192_ED03));
        random.draw();
        Ok(NullSession::new(&self.orders, random))
    }
}
