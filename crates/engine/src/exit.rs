//! How the process ends: with which code, and at once. A call into a blocked engine or a client library cannot be
//! interrupted, so nobody joins threads: what is to be said is said, then `_exit`.
use bakeoff_model::outcome::{Trouble, TroubleKind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub const DONE: u8 = 0;
pub const USAGE: u8 = 2;
pub const SYSTEM: u8 = 3;
pub const INTERRUPTED: u8 = 130;

static SIGNALLED: AtomicBool = AtomicBool::new(false);

pub fn signalled() -> bool {
    SIGNALLED.load(Relaxed)
}

/// Whether it was signalled before.
pub fn note_signal() -> bool {
    SIGNALLED.swap(true, Relaxed)
}

pub fn code(trouble: &Trouble) -> u8 {
    match trouble.kind {
        _ if signalled() => INTERRUPTED,
        TroubleKind::Usage => USAGE,
        TroubleKind::Server | TroubleKind::Environment => SYSTEM,
    }
}

pub fn now(code: u8) -> ! {
    // SAFETY: ends the process; events have been written, and nothing else here has buffers to lose.
    unsafe { libc::_exit(i32::from(code)) }
}

/// A thread that nobody joins.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Trouble> {
    let spawned = std::thread::Builder::new().name(name.into()).spawn(body);
    spawned.map(drop).map_err(|error| {
        Trouble::new(
            TroubleKind::Environment,
            format!("could not start a thread: {error}"),
            name,
            "raise the limit of processes (ulimit -u, or pids.max of the control group)",
        )
    })
}
