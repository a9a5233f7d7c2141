//! Carrying a script out in a session.
use super::scripts::Scripts;
use crate::script::Number;
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::sql::SqlSession;
use bakeoff_model::transaction::Transactional;
use bakeoff_model::workload::{Answer, Probe};

/// Of one user: variables, and buffers that grow once.
#[derive(Debug)]
pub struct User {}

impl User {
    /// `values`: of the variables that have one before any script begins, in the places of `scripts.names`.
    pub fn new(_scripts: &Scripts, _values: &[Number]) -> Self {
        Self {}
    }
}

impl Scripts {
    /// All statements of all scripts, in a session that is new.
    pub async fn prepare<S: SqlSession>(&self, _session: &mut S) -> Result<(), OpError> {
        Ok(())
    }

    /// One attempt at script `script`. `again`: it is not the first with this seed.
    pub async fn carry_out<S: SqlSession + Transactional, P: Probe>(
        &self,
        script: usize,
        _seed: u64,
        _again: bool,
        _user: &mut User,
        _session: &mut S,
        _probe: &mut P,
    ) -> Result<Answer<'_>, OpError> {
        let words = format!("{} is not carried out yet", self.all[script].name);
        Err(OpError::fail(FailClass::Refused, "SCRIPT", words))
    }
}
