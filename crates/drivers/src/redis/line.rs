//! One connection, and the sessions that share it: one, or as many as `pipeline` says.
//!
//! Requests are numbered in the order in which they are made, and answered in it. Whoever's turn it is to be answered has the
//! connection: it sends all requests that wait, its own and those of others, as one, and reads its own answer; then it is the
//! next one's turn. While a turn waits for the server, requests gather for the next time. So nobody waits for others to ask,
//! and the more users ask at once, the more goes into one packet. Each of them waits for its own answer alone.
//!
//! An operation that is given up leaves an answer that nobody reads: the connection ends, for all who share it.
use super::resp::{Answer, Element, command, one};
use crate::server::channel::Channel;
use crate::server::errors::malformed;
use crate::server::stranger;
use bakeoff_model::outcome::OpError;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::mem::swap;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

#[derive(Default)]
pub struct Line {
    state: RefCell<State>,
    /// Sessions that use it.
    pub sessions: Cell<usize>,
    /// No more of them: its server has lost what this connection had prepared.
    pub retired: Cell<bool>,
}

#[derive(Default)]
struct State {
    /// `None`: whose turn it is has it, or it is gone.
    channel: Option<Channel>,
    /// Requests that wait to be sent.
    requests: Vec<u8>,
    /// Number of the one whose turn it is; of the next request; of the first that was not sent.
    turn: u64,
    next: u64,
    unsent: u64,
    /// Those after the turn, in their order.
    waiting: VecDeque<Waker>,
    /// It is gone.
    broken: Option<OpError>,
}

impl Line {
    /// A line without a connection yet, and the turn that makes one.
    pub fn opening() -> (Rc<Self>, Turn) {
        let line = Rc::new(Self::default());
        {
            let mut state = line.state.borrow_mut();
            (state.next, state.unsent) = (1, 1);
        }
        let turn = Turn {
            line: line.clone(),
            channel: None,
            owed: 1,
        };
        (line, turn)
    }

    pub fn is_open(&self) -> bool {
        !self.retired.get() && self.state.borrow().broken.is_none()
    }

    /// Sends what `write` writes, which is answered by `answers` answers, and waits for the turn to read them.
    #[inline]
    pub async fn ask(
        self: &Rc<Self>,
        answers: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Turn, OpError> {
        let number = {
            let mut state = self.state.borrow_mut();
            if let Some(why) = &state.broken {
                return Err(why.clone());
            }
            write(&mut state.requests);
            state.next += 1;
            state.next - 1
        };
        let waiting = Waiting {
            line: self,
            number,
            over: false,
        };
        let mut turn = Turn {
            channel: Some(waiting.await?),
            line: self.clone(),
            owed: answers,
        };
        turn.send(number).await?;
        Ok(turn)
    }

    /// Nothing more can be read from it.
    #[cold]
    fn give_up(&self, why: OpError) {
        let mut state = self.state.borrow_mut();
        state.channel = None;
        state.broken.get_or_insert(why);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// For a turn.
struct Waiting<'a> {
    line: &'a Rc<Line>,
    number: u64,
    over: bool,
}

impl Future for Waiting<'_> {
    type Output = Result<Channel, OpError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.line.state.borrow_mut();
        let ended = match (&state.broken, (self.number - state.turn) as usize) {
            (Some(why), _) => Err(why.clone()),
            (None, 0) => state.channel.take().ok_or_else(lost),
            (None, after) if after > state.waiting.len() => {
                state.waiting.push_back(cx.waker().clone());
                return Poll::Pending;
            }
            (None, after) => {
                state.waiting[after - 1].clone_from(cx.waker());
                return Poll::Pending;
            }
        };
        drop(state);
        self.over = true;
        Poll::Ready(ended)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.line.give_up(lost());
        }
    }
}

/// The right to read answers.
pub struct Turn {
    line: Rc<Line>,
    channel: Option<Channel>,
    /// Answers that were not read yet.
    owed: usize,
}

impl Turn {
    /// Everything that waits to be sent, unless that was done when the answer before was read.
    #[inline]
    async fn send(&mut self, number: u64) -> Result<(), OpError> {
        let channel = self.channel.as_mut().ok_or_else(lost)?;
        {
            let mut state = self.line.state.borrow_mut();
            if number < state.unsent {
                return Ok(());
            }
            state.unsent = state.next;
            swap(channel.request(), &mut state.requests);
        }
        // All that was sent before has been answered.
        if !channel.input().is_empty() {
            let what = stranger(channel.input()).unwrap_or("an answer to nothing");
            return Err(self.lose(malformed(what)));
        }
        let sent = channel.exchange().await;
        sent.map_err(|error| self.lose(error))
    }

    /// Those who wait fail for the same reason.
    #[cold]
    fn lose(&self, why: OpError) -> OpError {
        self.line.give_up(why.clone());
        why
    }

    /// The next answer, when all of it has arrived. `read` may be asked several times.
    #[inline]
    pub async fn answer<T>(
        &mut self,
        mut read: impl FnMut(&[u8]) -> Result<Option<Answer<T>>, OpError>,
    ) -> Result<T, OpError> {
        let channel = self.channel.as_mut().ok_or_else(lost)?;
        let broken = loop {
            match read(channel.input()) {
                Ok(Some((answer, size))) => {
                    channel.consume(size);
                    self.owed -= 1;
                    return answer;
                }
                Ok(None) => {}
                Err(error) => break error,
            }
            if let Err(error) = channel.receive().await {
                break error;
            }
        };
        Err(self.lose(broken))
    }

    /// An answer that is no error; a number, where it is one.
    #[inline]
    pub async fn number(&mut self) -> Result<i64, OpError> {
        self.answer(|input| {
            one(input, |element| match element {
                Element::Int(number) => Some(number),
                Element::Line(_) => Some(0),
                _ => None,
            })
        })
        .await
    }

    /// A connection, for the turn that [`Line::opening`] gave. Nobody else's request is sent before that is [over](Self::over).
    pub fn opened(&mut self, channel: Channel) {
        self.channel = Some(channel);
    }

    /// Sends a command of that turn, and no other.
    pub async fn send_alone(&mut self, said: &[&[u8]]) -> Result<(), OpError> {
        let channel = self.channel.as_mut().ok_or_else(lost)?;
        self.owed += 1;
        command(channel.request(), said);
        channel.exchange().await
    }

    pub fn over(mut self) {
        self.owed = 0;
    }

    /// There is no connection.
    pub fn failed(self, why: &OpError) {
        self.line.give_up(why.clone());
    }
}

impl Drop for Turn {
    #[inline]
    fn drop(&mut self) {
        if self.owed > 0 {
            return self.line.give_up(lost());
        }
        let mut state = self.line.state.borrow_mut();
        if state.broken.is_some() {
            return; // somebody behind has given up
        }
        state.channel = self.channel.take();
        state.turn += 1;
        let next = state.waiting.pop_front();
        drop(state);
        if let Some(next) = next {
            next.wake();
        }
    }
}

#[cold]
fn lost() -> OpError {
    OpError::lost("IO", "the connection ended, which it shared with others")
}
