//! The lines of a worker, which of them have room, and where the slots of a cluster are.
use super::Settings;
use super::cluster::{Redirect, Tag, no_tags, slots, tags};
use super::line::{Line, Turn};
use super::resp::command;
use super::scripts::Scripts;
use crate::server::channel::Channel;
use crate::server::within;
use bakeoff_model::outcome::{OpError, Outcome};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A request is redirected at most so often.
const HOPS_MAX: usize = 5;

/// What the sessions of a worker share.
pub struct Client {
    settings: Arc<Settings>,
    /// With the places of their endpoints.
    lines: RefCell<Vec<(usize, Rc<Line>)>>,
    scripts: Cell<Option<Scripts>>,
    /// Of a cluster: for each slot the place of the endpoint that has it.
    slots: RefCell<Vec<u16>>,
}

/// A session's place on a line.
struct Seat(Rc<Line>);

impl Seat {
    fn on(line: &Rc<Line>) -> Self {
        line.sessions.set(line.sessions.get() + 1);
        Self(line.clone())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.sessions.set(self.0.sessions.get() - 1);
    }
}

impl Client {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            lines: RefCell::default(),
            scripts: Cell::default(),
            slots: RefCell::default(),
        }
    }

    /// On a line with room, or a new one. Somebody may still be connecting it.
    async fn seat(&self, endpoint: usize) -> Result<Seat, OpError> {
        let target = &self.settings.routes[endpoint].target;
        let limit = self.settings.timeout;
        let seated = within(limit, async {
            let Some(seat) = self.with_room(endpoint) else {
                return self.connect(endpoint).await;
            };
            let mut turn = seat.0.ask(1, |request| command(request, &[b"PING"])).await?;
            turn.number().await?;
            drop(turn);
            Ok(seat)
        });
        match seated.await {
            Some(seated) => seated.map_err(|error| target.connect_failed(error)),
            None => Err(target.timed_out(limit)),
        }
    }

    fn with_room(&self, endpoint: usize) -> Option<Seat> {
        let mut lines = self.lines.borrow_mut();
        lines.retain(|(_, line)| line.is_open() && line.sessions.get() > 0);
        let room = |line: &Line| line.sessions.get() < self.settings.sessions_per_line;
        let found = lines.iter().find(|(at, line)| *at == endpoint && room(line));
        found.map(|(_, line)| Seat::on(line))
    }

    async fn connect(&self, endpoint: usize) -> Result<Seat, OpError> {
        let (line, mut turn) = Line::opening();
        let seat = Seat::on(&line);
        if self.settings.sessions_per_line > 1 {
            self.lines.borrow_mut().push((endpoint, line));
        }
        match self.open(endpoint, &mut turn).await {
            Ok(()) => turn.over(),
            Err(error) => {
                turn.failed(&error);
                return Err(error);
            }
        }
        Ok(seat)
    }

    async fn open(&self, endpoint: usize, turn: &mut Turn) -> Result<(), OpError> {
        let Settings { routes, timeout, .. } = &*self.settings;
        let route = &routes[endpoint];
        let (stream, _) = route.whereabouts.connect(*timeout).await?;
        let mut channel = Channel::new(stream);
        if let Some(encryption) = &route.encryption {
            channel.encrypt(encryption).await?;
        }
        turn.opened(channel);
        let target = &route.target;
        if let Some(password) = &target.password {
            let (user, password) = (target.user.as_bytes(), password.as_bytes());
            let said: &[&[u8]] = match user {
                b"" => &[b"AUTH", password],
                user => &[b"AUTH", user, password],
            };
            accepted(turn, said).await?;
        }
        if self.settings.database > 0 {
            accepted(turn, &[b"SELECT", self.settings.database.to_string().as_bytes()]).await?;
        }
        self.scripts.set(Some(Scripts::load(turn).await?));
        if self.settings.cluster {
            turn.send_alone(&[b"CLUSTER", b"SLOTS"]).await?;
            let read = turn.answer(|input| slots(input, endpoint, routes)).await;
            *self.slots.borrow_mut() = read.map_err(|error| error.with_statement("CLUSTER SLOTS"))?;
        }
        Ok(())
    }
}

async fn accepted(turn: &mut Turn, said: &[&[u8]]) -> Result<(), OpError> {
    turn.send_alone(said).await?;
    let command = String::from_utf8_lossy(said[0]);
    turn.number()
        .await
        .map(drop)
        .map_err(|error| error.with_statement(&*command))
}

/// How one session reaches the nodes.
pub struct Links {
    client: Rc<Client>,
    pub scripts: Scripts,
    /// Of the names of a table's parts.
    pub tags: &'static [Tag],
    /// By the places of their endpoints.
    seats: Vec<Option<Seat>>,
    /// Place of the endpoint that it is at, and of the one that was asked last.
    home: usize,
    asked: usize,
}

impl Links {
    pub async fn open(client: &Rc<Client>, home: usize) -> Result<Self, OpError> {
        let home = home % client.settings.routes.len();
        let mut seats: Vec<_> = client.settings.routes.iter().map(|_| None).collect();
        seats[home] = Some(client.seat(home).await?);
        let is_cluster = client.settings.cluster;
        for (node, seat) in seats
            .iter_mut()
            .enumerate()
            .filter(|(node, _)| is_cluster && *node != home)
        {
            if client.slots.borrow().contains(&(node as u16)) {
                *seat = Some(client.seat(node).await?);
            }
        }
        let scripts = client
            .scripts
            .get()
            .ok_or_else(|| OpError::lost("IO", "no scripts"))?;
        Ok(Self {
            scripts,
            tags: if is_cluster { tags() } else { no_tags() },
            seats,
            home,
            asked: home,
            client: client.clone(),
        })
    }

    pub fn asked(&self) -> Option<u32> {
        self.client.settings.cluster.then_some(self.asked as u32)
    }

    /// Sends a request to the node that has the slot, or to the one that `hop` leads to.
    #[inline]
    pub async fn ask(
        &mut self,
        slot: u16,
        hop: Option<Redirect>,
        answers: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Turn, OpError> {
        if !self.client.settings.cluster {
            let Some(seat) = &self.seats[self.home] else {
                return Err(no_seat());
            };
            return seat.0.ask(answers, write).await;
        }
        let has_slot = || usize::from(self.client.slots.borrow()[usize::from(slot)]);
        let (node, once) = hop.map_or_else(|| (has_slot(), false), |hop| (hop.node, hop.once));
        self.asked = node;
        if self.seats[node].is_none() {
            self.seats[node] = Some(self.client.seat(node).await?);
        }
        let Some(seat) = &self.seats[node] else {
            return Err(no_seat());
        };
        let mut turn = seat
            .0
            .ask(answers + usize::from(once), |request| {
                if once {
                    command(request, &[b"ASKING"]);
                }
                write(request);
            })
            .await?;
        if once {
            turn.number().await?;
        }
        Ok(turn)
    }

    /// Where the request whose answer is this error has to go; else the error. Later ones for the same slot go there, too,
    /// unless it is for this one alone.
    #[cold]
    pub fn follow(&mut self, error: OpError, hops: &mut usize) -> Result<Redirect, OpError> {
        if error.code == "NOSCRIPT" {
            self.retire();
        }
        let settings = &self.client.settings;
        *hops += 1;
        let found = Redirect::of(&error, self.asked, &settings.routes)
            .filter(|_| settings.cluster && *hops <= HOPS_MAX);
        let redirect = found.unwrap_or(Err(error))?;
        if !redirect.once {
            self.client.slots.borrow_mut()[usize::from(redirect.slot)] = redirect.node as u16;
        }
        Ok(redirect)
    }

    /// The line that was asked has lost its scripts: those who lose their sessions by that get another.
    fn retire(&self) {
        if let Some(seat) = &self.seats[self.asked] {
            seat.0.retired.set(true);
        }
    }

    /// A request whose answer is a number.
    #[inline]
    pub async fn number(&mut self, slot: u16, write: impl Fn(&mut Vec<u8>)) -> Result<i64, OpError> {
        let (mut hop, mut hops) = (None, 0);
        loop {
            let mut turn = self.ask(slot, hop, 1, &write).await?;
            let answer = turn.number().await;
            drop(turn);
            match answer {
                Err(error) => hop = Some(self.follow(error, &mut hops)?),
                number => return number,
            }
        }
    }

    /// The same of a write, which waits for replicas if the plan says so.
    #[inline]
    pub async fn written(&mut self, slot: u16, write: impl Fn(&mut Vec<u8>)) -> Result<i64, OpError> {
        if self.client.settings.wait.is_none() {
            return self.number(slot, write).await;
        }
        let settings = self.client.settings.clone();
        let (mut hop, mut hops) = (None, 0);
        loop {
            let asked = self.ask(slot, hop, 2, |request| {
                write(request);
                settings.wait.iter().for_each(|wait| wait.write(request));
            });
            let mut turn = asked.await?;
            let number = match turn.number().await {
                Err(error) if error.connection_lost => return Err(error),
                number => number,
            };
            let applied = turn.number().await;
            drop(turn);
            match number {
                Err(error) => hop = Some(self.follow(error, &mut hops)?),
                Ok(number) => {
                    let waited = settings.wait.as_ref().map_or(Ok(()), |wait| wait.judged(applied));
                    return waited.map(|()| number);
                }
            }
        }
    }
}

/// For replicas, after a write.
pub struct Wait {
    replicas: i64,
    request: Vec<u8>,
}

impl Wait {
    /// `limit`: as long as an operation may take.
    pub(super) fn new(replicas: u32, limit: Duration) -> Self {
        let (number, ms) = (replicas.to_string(), limit.as_millis().max(1).to_string());
        let mut request = vec![];
        command(&mut request, &[b"WAIT", number.as_bytes(), ms.as_bytes()]);
        let replicas = i64::from(replicas);
        Self { replicas, request }
    }

    #[inline]
    fn write(&self, request: &mut Vec<u8>) {
        request.extend_from_slice(&self.request);
    }

    /// `applied`: how many replicas have the write, which was carried out.
    fn judged(&self, applied: Result<i64, OpError>) -> Result<(), OpError> {
        let mut error = match applied {
            Ok(applied) if applied >= self.replicas => return Ok(()),
            Ok(applied) => {
                let what = format!("{applied} of {} replicas have applied it", self.replicas);
                OpError::new(Outcome::Unknown, false, "WAIT", what)
            }
            Err(error) => error,
        };
        error.outcome = Outcome::Unknown;
        Err(error.with_statement("WAIT"))
    }
}

#[cold]
fn no_seat() -> OpError {
    OpError::lost("IO", "no connection to this node")
}
