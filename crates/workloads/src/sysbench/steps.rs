//! Drawing an event: one statement after the other, as arithmetic on the event's own random numbers. What is drawn
//! depends on the event's seed alone, never on what the statements before it were answered.
use super::random::Distribution;
use super::script::{Kind, Script};
use crate::rng::Random;
use bakeoff_model::run::sysbench::{SysbenchSpec, TableChoice};

/// One statement with what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub kind: Kind,
    /// From 1.
    pub table: u32,
    pub id: u64,
    /// A range's last id; an inserted row's k.
    pub other: u64,
    /// What its texts or its many values are drawn from.
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

/// The statements of one event, in their order.
#[derive(Clone, Debug)]
pub struct Steps {
    rng: Random,
    /// Of the group that comes after the present one.
    next_group: usize,
    /// Statements left in the present group.
    left: u32,
    kind: Kind,
    put_back: bool,
    table: u32,
    deleted_id: Option<u64>,
}

impl Steps {
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Random::new(seed),
            next_group: 0,
            left: 0,
            kind: Kind::PointSelect,
            put_back: false,
            table: 0,
            deleted_id: None,
        }
    }

    #[inline]
    pub fn next(&mut self, draws: &Draws) -> Option<Step> {
        if let Some(id) = self.deleted_id.take() {
            return Some(self.step(Kind::Insert, id, draws));
        }
        if self.left == 0 {
            let group = draws.script.groups.get(self.next_group)?;
            if self.next_group == 0 || !draws.one_table {
                self.table = 1 + self.rng.below(u64::from(draws.tables)) as u32;
            }
            (self.kind, self.left, self.put_back) = (group.kind, group.times, group.put_back);
            self.next_group += 1;
        }
        self.left -= 1;
        let id = draws.id(&mut self.rng);
        if self.put_back {
            self.deleted_id = Some(id);
        }
        Some(self.step(self.kind, id, draws))
    }

    #[inline]
    fn step(&mut self, kind: Kind, id: u64, draws: &Draws) -> Step {
        let (other, seed) = match kind {
            Kind::PointSelect | Kind::IndexUpdate | Kind::Delete => (0, 0),
            Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => {
                (id + draws.range_size - 1, 0)
            }
            Kind::Insert => (draws.id(&mut self.rng), self.rng.bits()),
            Kind::NonIndexUpdate | Kind::RandomPoints | Kind::RandomRanges => (0, self.rng.bits()),
        };
        Step {
            kind,
            table: self.table,
            id,
            other,
            seed,
        }
    }
}
