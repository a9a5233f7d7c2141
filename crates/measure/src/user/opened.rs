//! What a worker opens before there is a clock: a client, and the sessions of its users.
use crate::job::Job;
use crate::threads::placement::Placement;
use crate::user::session::{Place, Seat, open};
use crate::user::watchdog::{UserCell, watched};
use crate::words::server_trouble;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::workload::Workload;
use std::rc::Rc;
use std::sync::Arc;

/// Connections that a worker opens at once: a server's queue of new ones is short.
const OPENED_AT_ONCE: usize = 16;

/// A worker with its sessions.
pub struct Opened<W: Workload> {
    /// Of its users.
    pub cells: Vec<Rc<UserCell>>,
    pub client: Rc<dyn AnyClient<W::Session>>,
    pub places: Vec<Place<W::Session>>,
}

impl<W: Workload> Opened<W> {
    pub async fn by(job: &Arc<Job<W>>, placement: &Placement) -> Result<Self, Trouble> {
        let cells = watched(job, placement.threads.len());
        let client: Rc<dyn AnyClient<_>> = job.driver.open(placement.worker).await?.into();
        let places = open_places(job, &client, &cells, &placement.sessions).await?;
        Ok(Self {
            cells,
            client,
            places,
        })
    }
}

/// The sessions of one worker, opened a few at a time, each attached to the workload.
async fn open_places<W: Workload>(
    job: &Arc<Job<W>>,
    client: &Rc<dyn AnyClient<W::Session>>,
    cells: &[Rc<UserCell>],
    sessions: &[u32],
) -> Result<Vec<Place<W::Session>>, Trouble> {
    let of_client = job.spec.sessions.unwrap_or(job.spec.threads);
    let shift = job.spec.client.index.wrapping_mul(of_client);
    let mut places = Vec::with_capacity(sessions.len());
    let waiting: Vec<_> = sessions.iter().zip(cells).collect();
    for group in waiting.chunks(OPENED_AT_ONCE) {
        let opening = group.iter().map(|(session, cell)| {
            let (job, client, cell) = (job.clone(), client.clone(), Rc::clone(cell));
            let number = shift.wrapping_add(**session);
            async move { open_place(&job, &*client, &cell, number).await }
        });
        for place in job.on().join_all(opening).await {
            places.push(place?);
        }
    }
    Ok(places)
}

async fn open_place<W: Workload>(
    job: &Job<W>,
    client: &dyn AnyClient<W::Session>,
    cell: &UserCell,
    number: u32,
) -> Result<Place<W::Session>, Trouble> {
    let seat = async |endpoint| match open(job, client, cell, endpoint).await {
        Ok(session) => Ok(Seat::new(session, endpoint, number)),
        Err(e) => Err(server_trouble(
            &e,
            &job.spec.driver,
            format!("opening a session at endpoint {endpoint}"),
        )),
    };
    Ok(Place {
        seat: seat(job.routes.of(number)).await?,
        reader: match job.routes.reader_of(number) {
            Some(endpoint) => Some(Box::new(seat(endpoint).await?)),
            None => None,
        },
    })
}
