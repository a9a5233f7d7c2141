//! What a workload needs, held against what a driver offers, before anything starts.
use crate::outcome::{Trouble, TroubleKind};
use crate::run::Isolation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a workload asks of its sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Begin, commit and rollback.
    pub transactions: bool,
    /// Records in the order of their keys, from any key on.
    pub scan: bool,
    /// What a count of affected rows must mean, where the system counts them.
    pub affected: Affected,
    /// Where that is not offered another count will do: the workload then asks in another way.
    pub affected_if_offered: bool,
    /// A user's operations share a transaction, so each user needs a session of its own: no pool.
    pub own_session: bool,
    /// Tables whose id has a plain index in place of the primary key.
    pub plain_index: bool,
    /// Several statements sent together.
    pub pipeline: bool,
}

/// What a driver can do, so that a plan which asks for more is refused before anything starts.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// begin/commit/rollback over several operations.
    pub transactions: bool,
    /// Records in the order of their keys.
    pub scan: bool,
    /// What an UPDATE can be asked to count; empty: nothing is counted.
    pub affected: Vec<Affected>,
    pub batch_insert: bool,
    /// CREATE TABLE may list plain indexes (`KEY name (column)`) and have no primary key.
    pub plain_index: bool,
    /// Several statements can be sent before the first is answered ([`crate::pipeline`]).
    pub pipeline: bool,
    /// Isolation levels that can be asked for, in portable names.
    pub isolation: Vec<Isolation>,
    /// Whether operations may be cancelled by a timeout (false: the call blocks until the engine returns).
    pub cancel: bool,
    pub tls: bool,
}

/// Which rows an UPDATE counts.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Affected {
    /// All that it found.
    #[default]
    Found,
    /// Those that were not so before.
    Changed,
}

impl Needs {
    /// Refuses, naming both, what the driver does not offer.
    pub fn check(&self, workload: &str, offers: &Capabilities, driver: &str) -> Result<(), Trouble> {
        let Some(unmet) = self.unmet(offers) else {
            return Ok(());
        };
        Err(Trouble::new(
            TroubleKind::Usage,
            format!("{workload} needs {unmet}, which {driver} does not offer"),
            "driver",
            "choose another system, or options of the workload that do without",
        ))
    }

    fn unmet(&self, offers: &Capabilities) -> Option<&'static str> {
        if self.transactions && !offers.transactions {
            return Some("transactions");
        }
        if self.scan && !offers.scan {
            return Some("scans in the order of keys");
        }
        if self.plain_index && !offers.plain_index {
            return Some("a plain index in place of the primary key");
        }
        if self.pipeline && !offers.pipeline {
            return Some("statements sent together (a pipeline)");
        }
        let counts = self.affected_if_offered
            || offers.affected.is_empty()
            || offers.affected.contains(&self.affected);
        match self.affected {
            _ if counts => None,
            Affected::Found => Some("updates that count the rows they found"),
            Affected::Changed => Some("updates that count the rows they changed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Capabilities = Capabilities {
        transactions: false,
        scan: false,
        affected: vec![],
        batch_insert: false,
        plain_index: false,
        pipeline: false,
        isolation: vec![],
        cancel: false,
        tls: false,
    };

    #[test]
    fn what_is_needed_and_not_offered_is_refused_and_both_are_named() {
        let none = Needs::default();
        let needs = Needs {
            transactions: true,
            ..none
        };
        let told = |needs: Needs, offers: &Capabilities| needs.check("tpcc", offers, "redis");
        let trouble = told(needs, &NOTHING);
        let what = trouble.map_err(|trouble| trouble.what);
        assert_eq!(
            what,
            Err("tpcc needs transactions, which redis does not offer".into())
        );
        assert_eq!(told(none, &NOTHING), Ok(()), "a system that does not count");
        let found = Capabilities {
            affected: vec![Affected::Found],
            ..NOTHING
        };
        let changed = Needs {
            affected: Affected::Changed,
            ..none
        };
        assert_eq!(told(none, &found), Ok(()));
        assert!(told(changed, &found).is_err());
        let rather_changed = Needs {
            affected_if_offered: true,
            ..changed
        };
        assert_eq!(told(rather_changed, &found), Ok(()));
        let scan = Needs { scan: true, ..none };
        assert!(told(scan, &found).is_err());
        let plain_index = Needs {
            plain_index: true,
            ..none
        };
        assert!(told(plain_index, &found).is_err());
        let pipeline = Needs {
            pipeline: true,
            ..none
        };
        assert!(told(pipeline, &found).is_err());
        let offering = Capabilities {
            pipeline: true,
            ..found
        };
        assert_eq!(told(pipeline, &offering), Ok(()));
    }
}
