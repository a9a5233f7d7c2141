//! The judges from outside: each fault that is planted is found, what is correct is not accused, and exact searches on
//! small histories say the same.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // test code throughout
mod bank;
mod brute_force;
mod builders;
mod convergence;
mod elle;
mod export;
mod graph;
mod list_append;
mod porcupine;
mod reading;
mod register;
mod replicas;
mod store;
