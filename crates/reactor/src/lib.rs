//! The third runner's engine room: one executor per OS thread, over io_uring or epoll, and the connections it drives.
//!
//! [`block_on`] makes a reactor on the calling thread and runs a future on it; [`join_all`] runs many side by side;
//! [`Stream`] is a connection whose requests and answers cost one turn of the loop. Nothing here crosses a thread:
//! a waker that is used on another thread does nothing. Per operation nothing is allocated and no lock is taken.
//!
//! An operation in flight is never dropped: when its future is, the connection is shut down, the kernel gives the
//! operation back, and only then are its buffers and its descriptor freed.
mod conn;
mod connect;
mod epoll;
mod executor;
mod margin;
mod ring;
mod stream;
mod sys;
mod timers;

pub use conn::Buffers;
pub use connect::Address;
pub use executor::{block_on, join_all, spawn, spawn_to_end};
pub use margin::Margin;
pub use ring::usable as io_uring_usable;
pub use stream::Stream;
pub use timers::{Timers, Wait};
