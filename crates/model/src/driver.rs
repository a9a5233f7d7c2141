//! What a driver is: our file that speaks to a kind of system.
//!
//! Order of calls: the engine builds the driver from its spec (once, any thread); each worker calls `open` once and
//! keeps the client; each session is opened from that client on the same thread and never leaves it. Sessions and
//! clients need not be `Send`. A session has at most one operation in flight.
//!
//! Drivers keep [`Driver`]; everybody else knows objects ([`AnyDriver`]), whose sessions are of one shape ([`Make`]).
use crate::any::{AnyDocuments, AnyRecords, AnySql};
use crate::capacity::CapacityMeter;
use crate::needs::{Needs, Offers};
use crate::outcome::{OpError, Trouble};
use crate::run::{RunSpec, RunnerKind};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub trait Driver: Send + Sync + Sized + 'static {
    /// Runners that suit the client library, preferred one first.
    const RUNNERS: &'static [RunnerKind];
    /// What a worker holds: a shared pool, or just the parsed options.
    type Client: 'static;
    type Session: 'static;

    /// Those of them that this driver, as it is set up, may use.
    fn runners(&self) -> &'static [RunnerKind] {
        Self::RUNNERS
    }
    fn offers(&self) -> Offers;
    /// Name of the client library that speaks to the system; every report shows it.
    fn client(&self) -> &'static str;
    /// Of a service that says what each request consumed.
    fn capacity(&self) -> Option<Arc<CapacityMeter>> {
        None
    }
    /// Called once on each worker thread, inside its runner.
    async fn open(&self, worker: usize) -> Result<Self::Client, Trouble>;
    /// Connects, applies what is asked of a session (isolation, session variables, what `needs` says of counts) and checks
    /// that it took effect. `needs` are met by what this driver offers.
    /// `OpError` rather than `Trouble`, because it is also called in the middle of a run to replace a lost session.
    async fn session(
        &self,
        client: &Self::Client,
        endpoint: usize,
        needs: Needs,
    ) -> Result<Self::Session, OpError>;
    /// Called once when a phase has come to its end, after the last answer that anybody waits for.
    fn close(&self) -> Result<(), Trouble> {
        Ok(())
    }
}

/// A future whose type is erased, so that what runs it is not compiled again for each.
pub type Erased<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A driver as an object; its sessions are all of one type.
pub trait AnyDriver<S>: Send + Sync {
    fn runners(&self) -> &'static [RunnerKind];
    fn offers(&self) -> Offers;
    fn client(&self) -> &'static str;
    fn capacity(&self) -> Option<Arc<CapacityMeter>>;
    fn open(&self, worker: usize) -> Erased<'_, Result<Box<dyn AnyClient<S>>, Trouble>>;
    fn close(&self) -> Result<(), Trouble>;
}

/// What a worker holds of a driver.
pub trait AnyClient<S> {
    fn session(&self, endpoint: usize, needs: Needs) -> Erased<'_, Result<S, OpError>>;
}

/// From a run's document to the driver that it asks for.
pub type MakeDriver<S> = fn(&RunSpec) -> Result<Box<dyn AnyDriver<S>>, Trouble>;

/// How a run's driver is made, by the shape of its sessions.
#[derive(Clone, Copy)]
pub enum Make {
    Sql(MakeDriver<AnySql>),
    Records(MakeDriver<AnyRecords>),
    /// Records whose values are short, at most this number of bytes: no document fits.
    ShortRecords(u32, MakeDriver<AnyRecords>),
    Documents(MakeDriver<AnyDocuments>),
    /// Its records are made of SQL or of what lies below, as its options say.
    SqlAndRecords(MakeDriver<AnySql>, MakeDriver<AnyRecords>),
    /// SQL for experiments alone: no workload runs on it.
    Experiments(MakeDriver<AnySql>),
}

impl Make {
    /// Bytes of the longest value that fits, where that is less than any workload stores.
    pub fn value_bytes_max(self) -> Option<u32> {
        match self {
            Self::ShortRecords(most, _) => Some(most),
            _ => None,
        }
    }

    /// `None`: it has no SQL for workloads.
    pub fn sql(self) -> Option<MakeDriver<AnySql>> {
        match self {
            Self::Sql(make) | Self::SqlAndRecords(make, _) => Some(make),
            Self::Records(_) | Self::ShortRecords(..) | Self::Documents(_) | Self::Experiments(_) => None,
        }
    }

    /// `None`: it has no SQL for experiments.
    pub fn experiments(self) -> Option<MakeDriver<AnySql>> {
        match self {
            Self::Experiments(make) => Some(make),
            other => other.sql(),
        }
    }

    pub fn runs_workloads(self) -> bool {
        !matches!(self, Self::Experiments(_))
    }

    /// Records of its own, or made of its SQL or its documents.
    pub fn records(self, spec: &RunSpec) -> Result<Box<dyn AnyDriver<AnyRecords>>, Trouble> {
        match self {
            Self::Records(make) | Self::ShortRecords(_, make) | Self::SqlAndRecords(_, make) => make(spec),
            Self::Sql(make) | Self::Experiments(make) => Ok(formed(make(spec)?, AnyRecords::of_sql)),
            Self::Documents(make) => Ok(formed(make(spec)?, AnyRecords::of_documents)),
        }
    }

    /// Documents of its own, or made of its SQL or its records.
    pub fn documents(self, spec: &RunSpec) -> Result<Box<dyn AnyDriver<AnyDocuments>>, Trouble> {
        match self {
            Self::Documents(make) => make(spec),
            Self::Sql(make) | Self::SqlAndRecords(make, _) | Self::Experiments(make) => {
                Ok(formed(make(spec)?, AnyDocuments::of_sql))
            }
            Self::Records(make) | Self::ShortRecords(_, make) => {
                Ok(formed(make(spec)?, AnyDocuments::of_records))
            }
        }
    }
}

impl<D: Driver> AnyDriver<D::Session> for Arc<D> {
    fn runners(&self) -> &'static [RunnerKind] {
        D::runners(self)
    }
    fn offers(&self) -> Offers {
        D::offers(self)
    }
    fn client(&self) -> &'static str {
        D::client(self)
    }
    fn capacity(&self) -> Option<Arc<CapacityMeter>> {
        D::capacity(self)
    }
    fn open(&self, worker: usize) -> Erased<'_, Result<Box<dyn AnyClient<D::Session>>, Trouble>> {
        Box::pin(async move {
            let client = D::open(self, worker).await?;
            Ok(Box::new((self.clone(), client)) as _)
        })
    }
    fn close(&self) -> Result<(), Trouble> {
        D::close(self)
    }
}

impl<D: Driver> AnyClient<D::Session> for (Arc<D>, D::Client) {
    fn session(&self, endpoint: usize, needs: Needs) -> Erased<'_, Result<D::Session, OpError>> {
        Box::pin(self.0.session(&self.1, endpoint, needs))
    }
}

/// `form`: what each of its sessions becomes.
pub fn object<D: Driver, S: 'static>(driver: D, form: fn(D::Session) -> S) -> Box<dyn AnyDriver<S>> {
    formed(Box::new(Arc::new(driver)), form)
}

/// The same driver, each of its sessions made into another type.
pub fn formed<A: 'static, B: 'static>(
    driver: Box<dyn AnyDriver<A>>,
    form: fn(A) -> B,
) -> Box<dyn AnyDriver<B>> {
    Box::new(Formed { of: driver, form })
}

/// A driver, or a client of it.
struct Formed<O, A, B> {
    of: O,
    form: fn(A) -> B,
}

impl<A: 'static, B: 'static> AnyDriver<B> for Formed<Box<dyn AnyDriver<A>>, A, B> {
    fn runners(&self) -> &'static [RunnerKind] {
        self.of.runners()
    }
    fn offers(&self) -> Offers {
        self.of.offers()
    }
    fn client(&self) -> &'static str {
        self.of.client()
    }
    fn capacity(&self) -> Option<Arc<CapacityMeter>> {
        self.of.capacity()
    }
    fn open(&self, worker: usize) -> Erased<'_, Result<Box<dyn AnyClient<B>>, Trouble>> {
        Box::pin(async move {
            let (of, form) = (self.of.open(worker).await?, self.form);
            Ok(Box::new(Formed { of, form }) as _)
        })
    }
    fn close(&self) -> Result<(), Trouble> {
        self.of.close()
    }
}

impl<A: 'static, B: 'static> AnyClient<B> for Formed<Box<dyn AnyClient<A>>, A, B> {
    fn session(&self, endpoint: usize, needs: Needs) -> Erased<'_, Result<B, OpError>> {
        Box::pin(async move { Ok((self.form)(self.of.session(endpoint, needs).await?)) })
    }
}
