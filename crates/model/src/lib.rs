//! What crosses the boundary between the two planes, and the interfaces every driver and workload keeps.
//!
//! Read [`run`] (what the engine is asked), [`event`] (what it answers), then the interfaces: [`driver`] opens
//! sessions, [`record`], [`sql`] and [`document`] are the three shapes of a session, [`any`] has each as an object, [`sql_records`],
//! [`sql_documents`], [`document_records`] and [`record_documents`] make one of another, [`pipeline`] is what a session may be sent at once, [`transaction`] what only some have, [`needs`] what is
//! checked against what a driver offers, [`workload`] asks the questions, [`outcome`]
//! names how each one ended, [`time`] is how anybody waits, [`random`] has random numbers from a seed; [`options`] are checked and described from their own lines,
//! and [`resolve`] is what may be asked before a run. Nothing here reads, writes or knows a product's name.
//!
//! `schema/*.json` is generated from [`run::RunSpec`] and [`event::Event`] (`bakeoff-engine schema`).
#![allow(async_fn_in_trait)] // sessions never leave their worker, so nobody needs a `Send` bound

pub mod any;
pub mod capacity;
pub mod deadlines;
pub mod dialect;
pub mod document;
pub mod document_records;
pub mod driver;
pub mod endpoint;
pub mod event;
pub mod json;
pub mod json_patches;
pub mod needs;
pub mod options;
pub mod outcome;
pub mod pipeline;
pub mod random;
pub mod record;
pub mod record_documents;
pub mod resolve;
pub mod row;
pub mod run;
pub mod short;
pub mod slot;
pub mod sql;
pub mod sql_documents;
pub mod sql_records;
pub mod statement;
pub mod time;
pub mod transaction;
pub mod value;
pub mod workload;

/// Version of every document that crosses the boundary. A newer one is refused.
pub const FORMAT: u32 = 1;
