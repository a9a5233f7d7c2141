//! A library to preload (`LD_PRELOAD`) into a database server. It replaces functions of the C library: those that change
//! files, and those that tell the time of day.
//!
//! - With a journal, it keeps what a file held before each write, until the file is synced. After the process was killed,
//!   `bakeoff-powerloss apply` writes that back: the folder then holds what a power loss would have left.
//! - With a slowed device, each sync and each written byte takes the time that a plan says.
//! - With a clock, the time of day is wrong by what a file says.
//!
//! How to read it: `calls` has the replaced functions, a file per subject. They use `descriptors` (is this one of ours?),
//! `journal` (old content), `changes` (names, in strict mode), `device` (time), `clock` and `notes` (what the library cannot undo).
//! `format` is shared with the program. All go to the kernel through `sys`.
//!
//! The library runs in other people's processes, so it allocates nothing after the start, keeps no descriptor but one, and has
//! no state that a fork could break: the journal is files, and their locks are the kernel's.

mod calls;
mod changes;
mod clock;
mod descriptors;
mod device;
#[allow(dead_code, reason = "the program reads what the library writes")]
mod format;
mod journal;
mod loading;
mod notes;
mod settings;
mod sys;
