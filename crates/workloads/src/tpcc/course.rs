//! The course of a transaction: drawn, carried out from begin to end, and booked.
use super::Tpcc;
use super::attempt::{Attempt, End};
use super::booking;
use super::input::Input;
use super::order_status::order_status;
use super::stock_level::stock_level;
use super::thread::{Attempted, Drawn, Thread};
use super::transaction::Transaction;
use crate::prelude::*;
use crate::rng::Random;

impl Tpcc {
    /// About 200 ns for a new order, 50 ns for another.
    pub(super) fn draw(&self, thread: &mut Thread) -> Transaction {
        let mut rng = Random::new(thread.stream.next_seed());
        let mut transaction = match thread.witness {
            true => Transaction::OrderStatus,
            false => thread.deck.next(&self.choice, &mut rng),
        };
        let last = thread.drawn.map(|last| last.transaction);
        let input = self.inputs.draw(transaction, &thread.terminal, &mut rng);
        if matches!(input, Input::NewOrder(order) if order.rolls_back) {
            transaction = Transaction::NewOrderRollback;
        }
        if let Some(pacing) = &self.pacing {
            thread.pause_ns = pacing.pause_ns(last, transaction, &mut rng);
        }
        if thread.hash.is_open() {
            thread.hash.add([transaction as u64, input.digest()]);
        }
        thread.drawn = Some(Drawn { transaction, input });
        thread.attempted = Attempted::default();
        transaction
    }

    /// One attempt at the transaction drawn last.
    pub(super) async fn attempt(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Answer<'static>, OpError> {
        if !thread.attempted.begun {
            booking::begin(thread);
        }
        thread.attempted.committed = false;
        let Some(Drawn { input, .. }) = &thread.drawn else {
            return Ok(Answer::Right); // cannot be: it is drawn first
        };
        let access = Access {
            read_only: input.reads_only(),
            isolation: None,
        };
        session.begin(access).await?;
        let mut attempt = Attempt::new(session);
        attempt.queries.other += 1;
        let buffers = &mut thread.buffers;
        let mut delivered = 0;
        let ended = match input {
            Input::NewOrder(order) => self.new_order(order, buffers, &mut attempt).await,
            Input::Payment(payment) => self.payment(payment, buffers, &mut attempt).await,
            Input::OrderStatus { home, customer } => {
                order_status(*home, customer, &mut buffers.namesakes, &mut attempt).await
            }
            Input::Delivery { warehouse, carrier } => {
                let done = self.delivery(*warehouse, *carrier, &mut buffers.delivered, &mut attempt);
                done.await.map(|(end, orders)| {
                    delivered = orders;
                    end
                })
            }
            Input::StockLevel { place, threshold } => stock_level(*place, *threshold, &mut attempt).await,
        };
        let (answer, mut counted) = (attempt.answer(), attempt.queries);
        let ended = match ended {
            Ok(End::Rollback) => session
                .rollback()
                .await
                .map(|()| End::Rollback)
                .map_err(|mut error| {
                    // Nobody knows what is still open in the session.
                    error.connection_lost = true;
                    error
                }),
            ended => session.end(ended).await,
        };
        // The commit, or the rollback.
        counted.other += u32::from(!ended.as_ref().is_err_and(|error| error.connection_lost));
        *queries = counted;
        thread.attempted.committed = matches!(ended, Ok(End::Commit));
        thread.attempted.delivered = delivered;
        ended.map(|_| answer)
    }
}
