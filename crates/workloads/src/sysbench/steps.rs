//! Drawing an event: one statement after the other, as arithmetic on the event's own random numbers. What is drawn
//! depends on the event's seed alone, never on what the statements before it were answered.
use super::random::Distribution;
use crate::rng::Random;
use bakeoff_model::run::sysbench::{SysbenchScript, SysbenchSpec, TableChoice};

/// One statement with what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub kind: Kind,
    /// From 1.
    pub table: u32,
    pub id: u64,
    /// A range's last id; an inserted row's k; of other kinds what was left there.
    pub other: u64,
    /// What its texts or its many values are drawn from; of other kinds what was left there.
    pub seed: u64,
}

/// What events are drawn from, the same for every user.
#[derive(Clone, Debug)]
pub struct Draws {
    pub script: Script,
    pub distribution: Distribution,
    pub tables: u32,
    pub table_size: u64,
    range_size: u64,
    one_table: bool,
}

impl Draws {
    pub fn new(spec: &SysbenchSpec) -> Self {
        Self {
            script: Script::new(spec),
            distribution: Distribution::new(spec),
            tables: spec.tables,
            table_size: spec.table_size,
            range_size: u64::from(spec.range_size),
            one_table: spec.table_choice == TableChoice::PerTransaction,
        }
    }

    #[inline]
    pub fn id(&self, rng: &mut Random) -> u64 {
        self.distribution.draw(rng, 1, self.table_size)
    }
}

/// The statements of one event, in their order. The present one stays in its place and is read there: handed out whole,
/// it would be read back before its parts had left the processor's store buffer, which cost 10 ns of a point select.
#[derive(Clone, Debug)]
pub struct Steps {
    rng: Random,
    /// Of the group that comes after the present one.
    next_group: usize,
    /// Statements left in the present group.
    left: u32,
    /// The present statement's row is deleted, and goes back next.
    put_back: bool,
    /// The present group's kind.
    kind: Kind,
    step: Step,
}

impl Steps {
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Random::new(seed),
            next_group: 0,
            left: 0,
            put_back: false,
            kind: Kind::PointSelect,
            step: Step {
                kind: Kind::PointSelect,
                table: 0,
                id: 0,
                other: 0,
                seed: 0,
            },
        }
    }

    /// The next statement, or `None` after the last.
    #[inline]
    pub fn next(&mut self, draws: &Draws) -> Option<&Step> {
        if std::mem::take(&mut self.put_back) {
            self.step.kind = Kind::Insert;
        } else {
            if self.left == 0 {
                let group = draws.script.groups.get(self.next_group)?;
                if self.next_group == 0 || !draws.one_table {
                    self.step.table = 1 + self.rng.below(u64::from(draws.tables)) as u32;
                }
                (self.kind, self.left) = (group.kind, group.times);
                self.next_group += 1;
            }
            self.left -= 1;
            self.step.kind = self.kind;
            self.step.id = draws.id(&mut self.rng);
            self.put_back = self.kind == Kind::Delete && draws.script.puts_back;
        }
        match self.step.kind {
            Kind::PointSelect | Kind::IndexUpdate | Kind::Delete => {}
            Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => {
                self.step.other = self.step.id + draws.range_size - 1;
            }
            Kind::Insert | Kind::InsertWithoutId => {
                self.step.other = draws.id(&mut self.rng);
                self.step.seed = self.rng.bits();
            }
            Kind::NonIndexUpdate | Kind::RandomPoints | Kind::RandomRanges => {
                self.step.seed = self.rng.bits();
            }
        }
        Some(&self.step)
    }
}

// What each script consists of: groups of like statements in their order, and what follows from it.

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
