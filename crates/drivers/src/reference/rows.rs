//! Rows of the reference store, what changes them, and conditions on them.
use std::cmp::Ordering;
use std::ops::RangeInclusive;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    Int(i64),
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Insert(Cell),
    Set(Cell),
    Add(i64),
    Append(String),
    Delete,
}

impl Change {
    pub fn is_update(&self) -> bool {
        matches!(self, Self::Set(_) | Self::Add(_) | Self::Append(_))
    }

    /// What is left of a row.
    pub fn of(&self, before: Option<Cell>) -> Option<Cell> {
        match (self, before) {
            (Self::Insert(cell), _) | (Self::Set(cell), Some(_)) => Some(cell.clone()),
            (Self::Add(amount), Some(Cell::Int(number))) => Some(Cell::Int(number.wrapping_add(*amount))),
            (Self::Append(end), Some(Cell::Text(text))) => Some(Cell::Text(text + end)),
            (Self::Delete, _) => None,
            (_, before) => before,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Id,
    Value,
}

#[derive(Clone, Copy, Debug)]
pub enum Test {
    Constant(bool),
    /// The column, or what is left of it by this divisor, compares so with the number.
    Column(Column, Option<i64>, &'static [Ordering], i64),
}

/// All of these hold.
#[derive(Clone, Debug, Default)]
pub struct Condition(pub Vec<Test>);

impl Condition {
    pub fn id(id: i64) -> Self {
        Self(vec![Test::Column(Column::Id, None, &[Ordering::Equal], id)])
    }

    /// No row outside of these fits.
    pub fn ids(&self) -> RangeInclusive<i64> {
        let (mut from, mut to) = (i64::MIN, i64::MAX);
        for test in &self.0 {
            if let Test::Column(Column::Id, None, fits, number) = test {
                if !fits.contains(&Ordering::Less) {
                    from = from.max(*number);
                }
                if !fits.contains(&Ordering::Greater) {
                    to = to.min(*number);
                }
            }
        }
        from..=to.max(from)
    }

    pub fn only_id(&self) -> Option<i64> {
        let ids = self.ids();
        (ids.start() == ids.end()).then_some(*ids.start())
    }

    pub fn holds(&self, id: i64, value: &Cell) -> bool {
        self.0.iter().all(|test| match test {
            Test::Constant(holds) => *holds,
            Test::Column(column, modulo, fits, with) => {
                let number = match (column, value) {
                    (Column::Id, _) => id,
                    (Column::Value, Cell::Int(number)) => *number,
                    (Column::Value, Cell::Text(_)) => return false,
                };
                fits.contains(&modulo.map_or(number, |by| number % by).cmp(with))
            }
        })
    }
}
