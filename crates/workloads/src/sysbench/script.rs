//! What each script consists of: groups of like statements in their order, and what follows from it.
use bakeoff_model::run::sysbench::{SysbenchScript, SysbenchSpec};

/// One form of statement. The number is its place in tables by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
    /// Numbered by the system, which wants the column left out for it.
    InsertWithoutId,
    RandomPoints,
    RandomRanges,
}

impl Kind {
    pub const COUNT: usize = 12;

    #[inline]
    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::IndexUpdate | Self::NonIndexUpdate | Self::Delete | Self::Insert | Self::InsertWithoutId
        )
    }
}

/// Statements of one kind, all on one table where tables are chosen per group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub kind: Kind,
    /// At least 1.
    pub times: u32,
}

#[derive(Clone, Debug)]
pub struct Script {
    pub groups: Vec<Group>,
    /// A deleted row is inserted again by the statement that follows.
    pub puts_back: bool,
    /// Between begin and commit.
    pub transaction: bool,
    /// Every row that was loaded is there at every moment, so what a statement finds is determined.
    pub rows_stay: bool,
    /// Nothing is written.
    pub reads_only: bool,
}

impl Script {
    pub fn new(spec: &SysbenchSpec) -> Self {
        use SysbenchScript as S;
        let groups = groups(spec);
        let deletes = groups.iter().any(|group| group.kind == Kind::Delete);
        let writes = groups.iter().any(|group| group.kind.writes());
        let transactional = matches!(spec.script, S::OltpReadWrite | S::OltpReadOnly | S::OltpWriteOnly);
        Self {
            groups,
            transaction: transactional && !spec.skip_trx,
            puts_back: deletes && spec.script != S::OltpDelete,
            rows_stay: !deletes,
            reads_only: !writes && spec.script != S::BulkInsert,
        }
    }
}

fn groups(spec: &SysbenchSpec) -> Vec<Group> {
    let group = |kind, times| Group { kind, times };
    let points = group(Kind::PointSelect, spec.point_selects);
    let ranges = [
        group(Kind::SimpleRange, spec.simple_ranges),
        group(Kind::SumRange, spec.sum_ranges),
        group(Kind::OrderRange, spec.order_ranges),
        group(Kind::DistinctRange, spec.distinct_ranges),
    ];
    let index_updates = group(Kind::IndexUpdate, spec.index_updates);
    let non_index_updates = group(Kind::NonIndexUpdate, spec.non_index_updates);
    let delete_inserts = group(Kind::Delete, spec.delete_inserts);
    let reads = || std::iter::once(points).chain(ranges.into_iter().filter(|_| spec.range_selects));
    let writes = [index_updates, non_index_updates, delete_inserts];
    let all: Vec<Group> = match spec.script {
        SysbenchScript::OltpReadWrite => reads().chain(writes).collect(),
        SysbenchScript::OltpReadOnly => reads().collect(),
        SysbenchScript::OltpWriteOnly => writes.into(),
        SysbenchScript::OltpPointSelect => vec![group(Kind::PointSelect, 1)],
        SysbenchScript::OltpUpdateIndex => vec![index_updates],
        SysbenchScript::OltpUpdateNonIndex => vec![non_index_updates],
        SysbenchScript::OltpDelete => vec![group(Kind::Delete, 1)],
        SysbenchScript::OltpInsert => vec![group(Kind::Insert, 1)],
        SysbenchScript::BulkInsert => vec![],
        SysbenchScript::SelectRandomPoints => vec![group(Kind::RandomPoints, 1)],
        SysbenchScript::SelectRandomRanges => vec![group(Kind::RandomRanges, 1)],
    };
    all.into_iter().filter(|group| group.times > 0).collect()
}

/// Of the original's file, and of the one operation that an event is.
pub fn name(script: SysbenchScript) -> &'static str {
    match script {
        SysbenchScript::OltpReadWrite => "oltp_read_write",
        SysbenchScript::OltpReadOnly => "oltp_read_only",
        SysbenchScript::OltpWriteOnly => "oltp_write_only",
        SysbenchScript::OltpPointSelect => "oltp_point_select",
        SysbenchScript::OltpUpdateIndex => "oltp_update_index",
        SysbenchScript::OltpUpdateNonIndex => "oltp_update_non_index",
        SysbenchScript::OltpDelete => "oltp_delete",
        SysbenchScript::OltpInsert => "oltp_insert",
        SysbenchScript::BulkInsert => "bulk_insert",
        SysbenchScript::SelectRandomPoints => "select_random_points",
        SysbenchScript::SelectRandomRanges => "select_random_ranges",
    }
}
