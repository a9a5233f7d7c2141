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
