//! Was the client the limit?
pub mod verdict;
pub mod witness;
