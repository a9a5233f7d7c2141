//! Isolation from lists: transactions append unique values to lists and read them, so that a list tells the order of
//! all that was appended to it, and each read tells what had been.
//!
//! Kingsbury, Alvaro: "Elle: inferring isolation anomalies from experimental observations", VLDB 2020. In four steps:
//!
//! - `versions`: who wrote each element that was read, and the order of a key's elements, by the longest list;
//! - `direct`: what is wrong with a list by itself;
//! - `dependencies`: who must come before whom;
//! - `cycles`: where that has no solution, by Adya's classes.
//!
//! Only reads of acknowledged transactions count. One with an unknown outcome is committed if a value of it
//! was read and no longer list does without it.

mod cycles;
mod dependencies;
mod direct;
mod versions;

use serde::Serialize;

use crate::error::Error;
use crate::findings::{Finding, Findings};
use crate::graph::{Graph, Kind};
use crate::history::History;
use crate::level::{Anomaly, Level, Order, implied};
use crate::record::Outcome;
use crate::verdict::{Sufficiency, Verdict, upper_bound};
use versions::Versions;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub verdict: Verdict,
    pub claim: Option<Level>,
    /// Which order was examined in addition.
    pub order: Order,
    /// The strongest level that what was seen allows, without that order; `None` if no level allows it.
    pub implied: Option<Level>,
    /// The claim forbids these.
    pub violations: Vec<Finding<Anomaly>>,
    /// The claim allows these.
    pub allowed: Vec<Finding<Anomaly>>,
    pub exposure: Exposure,
    /// Without a violation: at most this share of transactions in conflict violates the claim, with 95 % confidence.
    pub violations_share_max: Option<f64>,
    /// Whether the search for cycles ended by itself.
    pub finished: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Exposure {
    pub committed: u64,
    pub failed: u64,
    /// Of these, those that were read are also in `committed`.
    pub unknown: u64,
    /// One read what the other one replaced while both ran.
    pub in_conflict: u64,
    pub in_conflict_share: f64,
    pub ww_edges: u64,
    pub wr_edges: u64,
    pub rw_edges: u64,
    pub order_edges: u64,
}

impl Exposure {
    fn of(history: &History, versions: &Versions<'_>, graph: &Graph) -> Self {
        let mut exposure = Self::default();
        for (id, transaction) in history.iter() {
            exposure.committed += u64::from(versions.is_committed(id));
            exposure.failed += u64::from(transaction.outcome == Outcome::Fail);
            exposure.unknown += u64::from(transaction.outcome == Outcome::Unknown);
        }
        let mut in_conflict = vec![false; history.transactions.len()];
        for (from, edge) in graph.iter() {
            *match edge.kind() {
                Kind::Ww => &mut exposure.ww_edges,
                Kind::Wr => &mut exposure.wr_edges,
                Kind::Rw => &mut exposure.rw_edges,
                Kind::Order => &mut exposure.order_edges,
            } += 1;
            if edge.kind() == Kind::Rw && history.transaction(from).overlaps(history.transaction(edge.to)) {
                in_conflict[from as usize] = true;
                in_conflict[edge.to as usize] = true;
            }
        }
        exposure.in_conflict = in_conflict.iter().filter(|conflict| **conflict).count() as u64;
        exposure.in_conflict_share = exposure.in_conflict as f64 / exposure.committed.max(1) as f64;
        exposure
    }

    pub fn sufficiency(&self) -> Sufficiency {
        Sufficiency::of_conflicts(self.committed, self.in_conflict)
    }
}

/// With `Order::RealTime`, a claim of `Level::Serializable` is one of strict serializability.
pub fn judge(history: &History, claim: Option<Level>, order: Order) -> Result<Report, Error> {
    let versions = Versions::of(history)?;
    let mut findings = Findings::new(history);
    direct::check(history, &versions, &mut findings);
    let graph = Graph::build(history.transactions.len(), |emit| {
        dependencies::each(history, &versions, emit);
        dependencies::each_of_order(history, &versions, order, emit);
    });
    let finished = cycles::search(history, &versions, &graph, order, &mut findings);
    let exposure = Exposure::of(history, &versions, &graph);
    let findings = findings.finish();
    let implied = implied(findings.iter().map(|finding| finding.anomaly));
    let (violations, allowed): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .partition(|finding| claim.is_some_and(|claim| finding.anomaly.class.forbidden_from() <= claim));
    Ok(Report {
        verdict: Verdict::of(
            claim.is_some(),
            !violations.is_empty(),
            finished && exposure.sufficiency().is_enough(),
        ),
        claim,
        order,
        implied,
        violations_share_max: claim.and_then(|_| upper_bound(violations.len() as u64, exposure.in_conflict)),
        violations,
        allowed,
        exposure,
        finished,
    })
}
