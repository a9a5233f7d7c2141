//! Which workloads there are, and what is asked of any of them before a run.
use crate::prelude::*;
use crate::resolve::Kind;
use crate::trouble::refuse;
use crate::{documents, hatshop, linkbench, lua, replay, sql, sysbench, tpcc, ycsb};
use bakeoff_model::resolve::{Listed, Preview, PreviewRequest};

/// Most operations of one preview.
const PREVIEWED_MAX: u32 = 1000;

pub const KINDS: &[Kind] = &[
    ycsb::KIND,
    sysbench::KIND,
    sql::KIND,
    lua::KIND,
    replay::KIND,
    linkbench::KIND,
    tpcc::KIND,
    hatshop::KIND,
    documents::KIND,
];

pub fn list() -> Vec<Listed> {
    let listed = |kind: &Kind| Listed {
        kind: kind.kind.into(),
        summary: kind.summary.into(),
        preset: kind.preset.into(),
        options: (kind.describe)(),
    };
    KINDS.iter().map(listed).collect()
}

/// The options decided, and what the workload then needs of a driver.
pub fn resolve(request: &WorkloadRequest) -> Result<(Resolved, Needs), Trouble> {
    match KINDS.iter().find(|kind| kind.kind == request.kind) {
        Some(kind) => (kind.resolve)(request),
        None => {
            let known: Vec<&str> = KINDS.iter().map(|kind| kind.kind).collect();
            let hint = format!("it is one of: {}", known.join(", "));
            Err(refuse(
                "kind",
                format!("there is no workload `{}`", request.kind),
                hint,
            ))
        }
    }
}

/// What a user will ask first; nothing of a workload that cannot tell.
pub fn preview(request: &PreviewRequest) -> Result<Preview, Trouble> {
    let kind = KINDS.iter().find(|kind| kind.kind == request.workload.kind());
    let count = request.count.min(PREVIEWED_MAX) as usize;
    Ok(match kind.and_then(|kind| kind.preview) {
        Some(preview) => Preview {
            operations: preview(&request.workload, request.seed, count)?,
        },
        None => Preview::default(),
    })
}
