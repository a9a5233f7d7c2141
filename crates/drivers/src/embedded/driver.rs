//! A driver of any store.
use super::{Kept, RecordsSession, Store};
use bakeoff_model::driver::Driver;
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{OpError, Trouble, TroubleKind};
use bakeoff_model::run::{Isolation, RunnerKind};
use std::sync::{Arc, Mutex, PoisonError};

pub const OFFERS: Offers = Offers::of(&[Offer::Transactions, Offer::Scan, Offer::CountsFound]);
pub const RUNNERS: &[RunnerKind] = &[RunnerKind::Thread];

pub struct EmbeddedDriver<S: Store> {
    spec: S::Spec,
    /// Open from the first worker on, until the phase ends.
    kept: Mutex<Option<Arc<Kept<S>>>>,
}

impl<S: Store> EmbeddedDriver<S> {
    pub fn new(spec: S::Spec, isolation: Option<Isolation>) -> Result<Self, Trouble> {
        if isolation.is_some_and(|level| level != S::LEVEL) {
            return Err(Trouble::new(
                TroubleKind::Usage,
                format!("{} has no isolation level but {}", S::CLIENT, S::LEVEL.name()),
                S::path(&spec).display().to_string(),
                format!("leave `isolation` out, or ask for `{}`", S::LEVEL.name()),
            ));
        }
        if S::path(&spec).as_os_str().is_empty() {
            // fjall ends the process.
            let hint = "name the store's folder";
            return Err(Trouble::new(
                TroubleKind::Usage,
                "there is no path",
                S::CLIENT,
                hint,
            ));
        }
        Ok(Self {
            spec,
            kept: Mutex::new(None),
        })
    }
}

impl<S: Store> Driver for EmbeddedDriver<S> {
    const RUNNERS: &'static [RunnerKind] = RUNNERS;
    type Client = Arc<Kept<S>>;
    type Session = RecordsSession<S>;

    fn offers(&self) -> Offers {
        OFFERS
    }
    fn client(&self) -> &'static str {
        S::CLIENT
    }
    async fn open(&self, _worker: usize) -> Result<Self::Client, Trouble> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*kept {
            return Ok(kept.clone());
        }
        let opened = S::opened().at(S::path(&self.spec), || Ok(Kept::new(S::open(&self.spec)?)))?;
        *kept = Some(opened.clone());
        Ok(opened)
    }
    async fn session(
        &self,
        client: &Self::Client,
        _endpoint: usize,
        _needs: Needs,
    ) -> Result<Self::Session, OpError> {
        RecordsSession::new(client.clone())
    }
    fn close(&self) -> Result<(), Trouble> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let flushed = kept.map_or(Ok(()), |kept| kept.store.flush());
        flushed.map_err(|error| {
            Trouble::new(
                TroubleKind::Environment,
                format!("could not write all data to the {} store: {error}", S::CLIENT),
                S::path(&self.spec).display().to_string(),
                "is there space on that disk? load the data again",
            )
        })
    }
}
